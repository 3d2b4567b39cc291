//! The contestants in this process, and the limits: a file for each family, and a line each in the registry
//! ([`CONTESTANTS`], [`LIMITS`]). A contestant runs a given ring, and returns the result.

mod coroutines;
mod limits;
mod protothreads;
mod threads;
mod tokio;

use self::protothreads::{
    ASYNC_BYTES, Backward, Forward, HAND_WRITTEN_BYTES, asynchronous, asynchronous_anywhere, bitmap, hand_written,
    hand_written_anywhere, ordinary,
};
use self::tokio::{current_thread, multi_thread};
use ::protothreads::{Fifo, InOrder, Random, Reverse, RunNext};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::io;

/// A contestant of this process.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    pub class: Class,
    pub scheduler: &'static str,
    pub limit: &'static str,
    pub ns_per_hop: f64,
    pub max_threads: usize,
    /// The number of threads, where it is fixed.
    pub threads: Option<usize>,
    /// Whether its threads must be on different CPUs.
    pub across: bool,
    /// The bytes of a thread, for a contestant that is also run as a large ring, in order and shuffled.
    pub large: Option<usize>,
    pub run: fn(&RingSpec) -> io::Result<RingResult>,
}

/// The mechanism of a hop. Values of different classes are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// a slot for one token, at which one thread of the program or its runtime waits
    Mailbox,
    /// a channel of the runtime, for any number of senders
    Channel,
    /// each hop blocks one kernel thread and wakes another
    OsBlock,
    /// A limit of the machine, without a runtime.
    #[value(skip)]
    Limit,
}

impl Class {
    /// Returns the name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mailbox => "mailbox",
            Self::Channel => "channel",
            Self::OsBlock => "os-block",
            Self::Limit => "limit",
        }
    }
}

/// A ring to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RingSpec {
    pub threads: usize,
    pub hops: u64,
    /// The arrangement of a large ring in memory; otherwise a thread's successor is adjacent.
    pub arrangement: Option<Arrangement>,
    /// The CPUs that the kernel threads are distributed over; if empty, they stay on the caller's.
    pub cpus: Vec<usize>,
    pub seed: u64,
}

/// The arrangement of a ring in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// A thread's successor is adjacent.
    InOrder,
    /// A thread's successor is anywhere.
    Shuffled,
}

impl Arrangement {
    /// Returns the arrangement in words.
    pub fn label(self) -> &'static str {
        match self {
            Self::InOrder => "in order",
            Self::Shuffled => "shuffled",
        }
    }
}

impl RingSpec {
    /// Returns the positions in memory in the order of the token, which starts at position 0.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.threads as u32).collect();
        if self.arrangement == Some(Arrangement::Shuffled) {
            fastrand::Rng::with_seed(self.seed).shuffle(&mut order[1..]);
        }
        order
    }

    /// Returns the position in memory of each thread's successor.
    pub fn neighbours(&self) -> Vec<u32> {
        let order = self.order();
        let mut next = vec![0; self.threads];
        for (number, &place) in order.iter().enumerate() {
            next[place as usize] = order[(number + 1) % self.threads];
        }
        next
    }

    /// Returns the number, from 1, of the thread at a position in memory.
    pub fn number_of(&self, place: usize) -> usize {
        match self.arrangement {
            None | Some(Arrangement::InOrder) => place + 1,
            Some(Arrangement::Shuffled) => {
                self.order().iter().take_while(|&&other| other as usize != place).count() + 1
            }
        }
    }
}

/// The result of a built-in contestant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingResult {
    /// The number, from 1, of the thread that got the last token.
    pub answer: usize,
    /// The time of all hops, without that of making the threads.
    pub hops_ns: f64,
    /// The number of polls of threads that could not run.
    pub wasted_polls: Option<u64>,
}

const LARGEST: usize = 10_000_000;
/// The maximum number of kernel threads: one takes about 32 KiB, and a system has room for about 30,000.
const LARGEST_OF_KERNEL: usize = 10_000;

const fn blocking(name: &'static str, limit: &'static str, run: fn(&RingSpec) -> io::Result<RingResult>) -> BuiltIn {
    BuiltIn {
        name,
        class: Class::OsBlock,
        scheduler: "kernel",
        limit,
        ns_per_hop: 4_000.0,
        max_threads: LARGEST_OF_KERNEL,
        threads: None,
        across: false,
        large: None,
        run,
    }
}

const fn limit(
    name: &'static str,
    ns_per_hop: f64,
    threads: usize,
    run: fn(&RingSpec) -> io::Result<RingResult>,
) -> BuiltIn {
    let max_threads = threads;
    let (class, scheduler, threads) = (Class::Limit, "none", Some(threads));
    BuiltIn { name, class, scheduler, limit: "", ns_per_hop, max_threads, threads, across: false, large: None, run }
}

const fn across(name: &'static str, ns_per_hop: f64, run: fn(&RingSpec) -> io::Result<RingResult>) -> BuiltIn {
    BuiltIn { across: true, ..limit(name, ns_per_hop, 2, run) }
}

const fn mailbox(
    name: &'static str,
    scheduler: &'static str,
    ns_per_hop: f64,
    run: fn(&RingSpec) -> io::Result<RingResult>,
) -> BuiltIn {
    let (class, limit, max_threads) = (Class::Mailbox, "chase", LARGEST);
    BuiltIn { name, class, scheduler, limit, ns_per_hop, max_threads, threads: None, across: false, large: None, run }
}

/// Returns a contestant that searches for the token in all other places: a hop takes as long as the ring.
const fn in_vain(
    name: &'static str,
    scheduler: &'static str,
    ns_per_hop: f64,
    run: fn(&RingSpec) -> io::Result<RingResult>,
) -> BuiltIn {
    BuiltIn { max_threads: 1_000_000, ..mailbox(name, scheduler, ns_per_hop, run) }
}

const fn large(bytes: usize, built_in: BuiltIn) -> BuiltIn {
    BuiltIn { large: Some(bytes), ..built_in }
}

const fn of_tokio(name: &'static str, class: Class, run: fn(&RingSpec) -> io::Result<RingResult>) -> BuiltIn {
    BuiltIn { class, max_threads: 200_000, ..mailbox(name, "runtime", 60.0, run) }
}

/// The seed of the random polling order: the same in every repetition.
const RANDOM_ORDER: u64 = 2008;

/// The contestants that compete.
pub static CONTESTANTS: &[BuiltIn] = &[
    mailbox("rust-optimum", "poll-in-order", 2.0, |ring| hand_written::<Forward>(ring, InOrder::new())),
    in_vain("rust-pessimum", "poll-in-reverse", 600.0, |ring| hand_written::<Forward>(ring, Reverse::new())),
    in_vain("rust-random", "poll-at-random", 7_000.0, |ring| {
        hand_written::<Forward>(ring, Random::seeded(RANDOM_ORDER))
    }),
    mailbox("rust-bitmap", "bitmap", 3.0, |ring| hand_written::<Forward>(ring, bitmap(ring.threads))),
    // The next bit is at the other end of all words.
    BuiltIn {
        max_threads: 100_000,
        ..mailbox("rust-bitmap-backward", "bitmap", 12.0, |ring| hand_written::<Backward>(ring, bitmap(ring.threads)))
    },
    large(HAND_WRITTEN_BYTES, mailbox("rust-fifo", "fifo", 2.0, |ring| hand_written_anywhere(ring, Fifo::new()))),
    mailbox("rust-fifo-backward", "fifo", 2.0, |ring| hand_written::<Backward>(ring, Fifo::new())),
    mailbox("rust-run-next", "run-next", 2.0, |ring| hand_written::<Forward>(ring, RunNext::new())),
    mailbox("rust-run-next-backward", "run-next", 2.0, |ring| hand_written::<Backward>(ring, RunNext::new())),
    mailbox("rust-async-optimum", "poll-in-order", 4.0, |ring| asynchronous::<Forward>(ring, InOrder::new())),
    in_vain("rust-async-pessimum", "poll-in-reverse", 600.0, |ring| asynchronous::<Forward>(ring, Reverse::new())),
    in_vain("rust-async-random", "poll-at-random", 7_000.0, |ring| {
        asynchronous::<Forward>(ring, Random::seeded(RANDOM_ORDER))
    }),
    mailbox("rust-async-bitmap", "bitmap", 5.0, |ring| asynchronous::<Forward>(ring, bitmap(ring.threads))),
    large(ASYNC_BYTES, mailbox("rust-async-fifo", "fifo", 4.0, |ring| asynchronous_anywhere(ring, Fifo::new()))),
    mailbox("rust-async-fifo-backward", "fifo", 4.0, |ring| asynchronous::<Backward>(ring, Fifo::new())),
    mailbox("rust-async-run-next", "run-next", 4.0, |ring| asynchronous::<Forward>(ring, RunNext::new())),
    mailbox("rust-waker-fifo", "fifo", 7.0, |ring| ordinary(ring, Fifo::new())),
    // Each stack takes two of the 65,530 mappings that a process may have.
    BuiltIn { max_threads: 20_000, ..mailbox("rust-corosensei", "fifo", 10.0, coroutines::ring) },
    of_tokio("tokio-notify", Class::Mailbox, |ring| tokio::notify(ring, current_thread())),
    of_tokio("tokio-notify-workers", Class::Mailbox, |ring| tokio::notify(ring, multi_thread())),
    of_tokio("tokio-channel", Class::Channel, |ring| tokio::channel(ring, current_thread())),
    of_tokio("tokio-channel-workers", Class::Channel, |ring| tokio::channel(ring, multi_thread())),
    blocking("rust-pthread-mutex", "futex", threads::ring::<threads::PthreadMutex>),
    blocking("rust-pthread-condvar", "futex", threads::ring::<threads::PthreadCondvar>),
    blocking("rust-futex", "futex", threads::ring::<threads::Futex>),
    blocking("rust-park", "futex", threads::ring::<threads::Park>),
    blocking("rust-pipe", "pipe", threads::ring::<threads::Pipe>),
    blocking("rust-eventfd", "eventfd", threads::ring::<threads::Eventfd>),
];

/// The limits of the machine.
pub static LIMITS: &[BuiltIn] = &[
    BuiltIn { threads: None, max_threads: LARGEST, ..limit("chase", 1.0, 0, limits::over_lines) },
    large(HAND_WRITTEN_BYTES, limit("chase-12-bytes", 3.0, 0, limits::over_bytes::<HAND_WRITTEN_BYTES>)),
    large(ASYNC_BYTES, limit("chase-40-bytes", 3.0, 0, limits::over_bytes::<ASYNC_BYTES>)),
    limit("system-call", 100.0, 1, limits::system_calls),
    across("cache-line-across", 50.0, limits::ping_pong),
    limit("sched-yield-one-cpu", 1_000.0, 2, threads::ring::<threads::Yield>),
    limit("futex-one-cpu", 2_000.0, 2, threads::ring::<threads::Futex>),
    across("futex-across", 10_000.0, threads::ring::<threads::Futex>),
    limit("eventfd-one-cpu", 2_000.0, 2, threads::ring::<threads::Eventfd>),
    across("eventfd-across", 10_000.0, threads::ring::<threads::Eventfd>),
    limit("pipe-one-cpu", 2_000.0, 2, threads::ring::<threads::Pipe>),
    across("pipe-across", 10_000.0, threads::ring::<threads::Pipe>),
    limit("socketpair-one-cpu", 4_000.0, 2, threads::ring::<threads::Socketpair>),
    across("socketpair-across", 10_000.0, threads::ring::<threads::Socketpair>),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer is hops mod threads + 1, for every contestant.
    #[test]
    fn every_answer_is_right() {
        for built_in in CONTESTANTS.iter().chain(LIMITS) {
            for threads in [1, 2, 503, 1_000].map(|threads| built_in.threads.unwrap_or(threads)) {
                let threads = threads.max(1);
                for hops in [0, 1, 502, 2_007] {
                    let arrangements: &[_] = match built_in.large {
                        Some(_) => &[None, Some(Arrangement::InOrder), Some(Arrangement::Shuffled)],
                        None => &[None],
                    };
                    for &arrangement in arrangements {
                        let spec = RingSpec { threads, hops, arrangement, cpus: Vec::new(), seed: 5 };
                        let result = (built_in.run)(&spec).unwrap();
                        assert_eq!(result.answer, hops as usize % threads + 1, "{}: {spec:?}", built_in.name);
                        assert!(result.hops_ns >= 0.0);
                    }
                }
            }
        }
    }

    #[test]
    fn shuffled_ring_is_a_single_cycle() {
        let spec =
            RingSpec { threads: 100, hops: 0, arrangement: Some(Arrangement::Shuffled), cpus: Vec::new(), seed: 1 };
        let mut numbers: Vec<usize> = (0..100).map(|place| spec.number_of(place)).collect();
        assert_eq!(numbers[0], 1);
        assert!(!numbers.is_sorted());
        numbers.sort();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    }
}
