//! The contestants in this process, and the limits: a file each, or one for a family, and a line each in the registry.

mod chase;
mod class;
mod coroutines;
mod kind;
mod ping_pong;
mod protothreads;
mod ring_spec;
mod system_call;
mod threads;
mod tokio;

use self::protothreads::{
    ASYNC_BYTES, Backward, Forward, HAND_WRITTEN_BYTES, asynchronous, asynchronous_anywhere, bitmap, hand_written,
    hand_written_anywhere, ordinary,
};
use self::tokio::{current_thread, multi_thread};
use ::protothreads::{Fifo, InOrder, Random, Reverse, RunNext};
use std::io;

pub use class::Class;
pub use kind::BuiltIn;
pub use ring_spec::{Arrangement, RingResult, RingSpec};

const LARGEST: usize = 10_000_000;
/// A thread of the kernel takes about 32 KiB, and a system has room for 30,000 or so.
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

/// One that looks for the token where it is not: a hop takes as long as the ring.
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

/// Seeds the order in which threads are polled at random: the same in every turn.
const RANDOM_ORDER: u64 = 2008;

/// Those that compete.
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
    // Each stack takes two of the mappings of which a process may have 65,530.
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

/// What the machine allows.
pub static LIMITS: &[BuiltIn] = &[
    BuiltIn { threads: None, max_threads: LARGEST, ..limit("chase", 1.0, 0, chase::over_lines) },
    large(HAND_WRITTEN_BYTES, limit("chase-12-bytes", 3.0, 0, chase::over_bytes::<HAND_WRITTEN_BYTES>)),
    large(ASYNC_BYTES, limit("chase-40-bytes", 3.0, 0, chase::over_bytes::<ASYNC_BYTES>)),
    limit("system-call", 100.0, 1, system_call::calls),
    across("cache-line-across", 50.0, ping_pong::ring),
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

    /// Hops mod threads + 1, for everyone.
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
}
