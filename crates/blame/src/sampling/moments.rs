//! The activity of a word's holder: samples in which a thread waited for the word, kept until the kernel's record shows which
//! thread had it then.
//!
//! A program's own lock does not name its holder. The thread that wakes its waiters had it until then, which is known only at
//! the end of a wait; the samples of the time before show what that thread did.

use super::State;
use super::holders::{Seen, ready};
use super::waited::{Holder, Path, Wait};
use std::collections::{HashMap, VecDeque};

/// A part of a wait for a word that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub process: u32,
    pub address: u64,
    pub waiter: u32,
    /// The thread that had it; `None` where it was free, and the waiter on its way.
    pub by: Option<u32>,
    /// Times of the kernel's record, in ns.
    pub from: u64,
    pub to: u64,
}

/// A sample in which threads waited for words.
struct Moment {
    at: u64,
    threads: HashMap<u32, Did>,
    /// The waiters whose holders are not known yet.
    waits: Vec<Waiting>,
    /// The holders that are known, by the waiter.
    holders: HashMap<u32, u32>,
}

struct Waiting {
    object: Wait,
    thread: u32,
    span: f64,
}

/// The state of a thread in a sample.
#[derive(Clone, Copy)]
struct Did {
    process: u32,
    wait: Option<Wait>,
    path: Option<Path>,
    ran_in: Option<Path>,
    ran_share: f64,
}

/// The activity of a holder for a part of a wait.
#[derive(Debug, PartialEq)]
pub(super) struct Done {
    pub(super) object: Wait,
    pub(super) holder: Holder,
    pub(super) seconds: f64,
    /// The functions of its language in which it ran, or was ready for a CPU.
    pub(super) ran_in: Option<Path>,
}

/// The samples that are kept, the oldest first.
#[derive(Default)]
pub(super) struct Moments {
    kept: VecDeque<Moment>,
    /// Threads in all of them.
    threads: usize,
}

/// States of threads that are kept: those of a server with 200 threads for 20 s.
const MOST_STATES: usize = 1 << 18;

/// Holders that wait for words themselves, one after another, are followed so far.
const LONGEST_CHAIN: usize = 8;

impl Moments {
    /// Keeps a sample that was made at this time; returns waits of others that are given up for it.
    pub(super) fn keep(&mut self, at: u64, seen: &[Seen], object: fn(&Seen) -> Option<Wait>) -> Vec<(Wait, f64)> {
        let wait = |seen: &Seen| {
            let object = object(seen).filter(|object| matches!(object, Wait::Word { .. }) && seen.span > 0.0)?;
            Some(Waiting { object, thread: seen.sample.thread, span: seen.span })
        };
        let waits: Vec<Waiting> = seen.iter().filter_map(wait).collect();
        if waits.is_empty() {
            return Vec::new();
        }
        let did = |seen: &Seen| {
            let wait = seen.wait.filter(|_| seen.sample.state != State::Runnable);
            let (path, ran_in, ran_share) = (seen.path, seen.ran_in, seen.ran_share);
            (seen.sample.thread, Did { process: seen.sample.process, wait, path, ran_in, ran_share })
        };
        let threads: HashMap<u32, Did> = seen.iter().map(did).collect();
        self.threads += threads.len();
        self.kept.push_back(Moment { at, threads, waits, holders: HashMap::new() });
        let mut lost = Vec::new();
        while self.threads > MOST_STATES
            && let Some(moment) = self.kept.pop_front()
        {
            self.threads -= moment.threads.len();
            lost.extend(moment.waits.into_iter().map(|wait| (wait.object, wait.span)));
        }
        lost
    }

    /// Returns the process of a thread, as the last samples have it.
    pub(super) fn process_of(&self, thread: u32) -> Option<u32> {
        self.kept.iter().rev().find_map(|moment| moment.threads.get(&thread)).map(|did| did.process)
    }

    /// Gives up all waits whose holders are not known.
    pub(super) fn give_up(&mut self) -> Vec<(Wait, f64)> {
        self.threads = 0;
        let waits = self.kept.drain(..).flat_map(|moment| moment.waits);
        waits.map(|wait| (wait.object, wait.span)).collect()
    }

    /// Notes who had a word; returns what it did, for how much of the waits in the samples of that time.
    pub(super) fn note(&mut self, turn: &Turn) -> Vec<Done> {
        let object = Wait::Word { process: turn.process, address: turn.address };
        let first = self.kept.partition_point(|moment| moment.at < turn.from);
        let mut done = Vec::new();
        for moment in self.kept.range_mut(first..).take_while(|moment| moment.at < turn.to) {
            let is_it = |wait: &Waiting| wait.thread == turn.waiter && wait.object == object;
            let Some(place) = moment.waits.iter().position(is_it) else { continue };
            let wait = moment.waits.swap_remove(place);
            turn.by.into_iter().for_each(|by| _ = moment.holders.insert(turn.waiter, by));
            let all = moment.done(object, turn.waiter, turn.by);
            let ran_in = |holder| match holder {
                Holder::Running | Holder::Ready | Holder::Outranked { .. } => moment.threads.get(&turn.by?)?.ran_in,
                _ => None,
            };
            done.extend(all.map(|(holder, part)| Done {
                object,
                holder,
                seconds: part * wait.span,
                ran_in: ran_in(holder),
            }));
        }
        done
    }
}

impl Moment {
    /// Returns the activity of a holder, and of those whom it waits for; each with its part.
    fn done(&self, object: Wait, waiter: u32, by: Option<u32>) -> impl Iterator<Item = (Holder, f64)> {
        let Some(mut by) = by else { return vec![(Holder::None, 1.0)].into_iter() };
        let Some(mut did) = self.threads.get(&by) else { return vec![(Holder::Unknown, 1.0)].into_iter() };
        let mut held = object;
        for _ in 0..LONGEST_CHAIN {
            let Some(next @ Wait::Word { .. }) = did.wait.filter(|next| *next != held) else { break };
            let Some((other, its)) = self.holders.get(&by).and_then(|other| Some((*other, self.threads.get(other)?)))
            else {
                break;
            };
            (by, did, held) = (other, its, next);
        }
        let parts = match did.wait {
            Some(wait) => vec![(Holder::Blocked { wait, path: did.path, held, pair: None }, 1.0)],
            None if held != object => {
                let chained = |is_running| Holder::Chained { held, pair: None, is_running };
                vec![(chained(true), did.ran_share), (chained(false), 1.0 - did.ran_share)]
            }
            None => vec![(Holder::Running, did.ran_share), (ready(by, waiter), 1.0 - did.ran_share)],
        };
        parts.into_iter().filter(|(_, part)| *part > 0.0).collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Part;
    use super::super::holders::object;
    use super::super::{Call, Sample};
    use super::*;

    const WORD: Wait = Wait::Word { process: 1, address: 0xf00 };
    const OTHER: Wait = Wait::Word { process: 1, address: 0xe00 };
    const SLEEP: Wait = Wait::Call { number: 35, part: Part::Sleep, file: 0 };

    fn seen(thread: u32, wait: Option<Wait>) -> Seen {
        let call = Call { number: 202, arguments: [0; 4], pointer: 0, instruction: 0 };
        let state = if wait.is_some() { State::Blocked(call) } else { State::Runnable };
        Seen {
            sample: Sample { process: 1, thread, ran_ns: 0, ready_ns: 0, turns: 0, state },
            span: 0.01,
            noted: None,
            polls: false,
            held: Vec::new(),
            through: None,
            wait,
            path: Some(thread as Path),
            ran_in: wait.is_none().then_some(7),
            label: None,
            ran_share: 1.0,
        }
    }

    fn done(holder: Holder) -> Done {
        Done { object: WORD, holder, seconds: 0.01, ran_in: (holder == Holder::Running).then_some(7) }
    }

    fn turn(waiter: u32, by: Option<u32>, from: u64, to: u64) -> Turn {
        Turn { process: 1, address: 0xf00, waiter, by, from, to }
    }

    #[test]
    fn what_a_holder_did_is_in_the_samples_of_its_turn() {
        let mut moments = Moments::default();
        let all = [seen(2, Some(WORD)), seen(3, Some(SLEEP)), seen(4, None)];
        for at in [100, 200, 300, 400] {
            assert!(moments.keep(at, &all, object).is_empty());
        }
        let blocked = Holder::Blocked { wait: SLEEP, path: Some(3), held: WORD, pair: None };
        assert_eq!(moments.note(&turn(2, Some(3), 150, 250)), [done(blocked)]);
        assert_eq!(moments.note(&turn(2, Some(4), 250, 350)), [done(Holder::Running)]);
        assert_eq!(moments.note(&turn(2, None, 350, 450)), [done(Holder::None)]);
        assert_eq!(moments.note(&turn(2, Some(3), 150, 250)), [], "each sample once");
        assert_eq!(moments.give_up(), [(WORD, 0.01)], "nothing is known of the first");
    }

    /// Thread 2 waits for 3, which waits for another word, which 4 has.
    #[test]
    fn holder_that_waits_is_followed_to_whom_it_waits_for() {
        let mut moments = Moments::default();
        moments.keep(100, &[seen(2, Some(WORD)), seen(3, Some(OTHER)), seen(4, Some(SLEEP))], object);
        moments.note(&Turn { address: 0xe00, ..turn(3, Some(4), 50, 150) });
        let blocked = Holder::Blocked { wait: SLEEP, path: Some(4), held: OTHER, pair: None };
        assert_eq!(moments.note(&turn(2, Some(3), 50, 150)), [done(blocked)]);
    }

    #[test]
    fn kept_samples_are_bounded_and_the_oldest_are_given_up() {
        let mut moments = Moments::default();
        let all: Vec<Seen> = (2..1002).map(|thread| seen(thread, Some(WORD))).collect();
        let lost: usize = (0..300).map(|at| moments.keep(at, &all, object).len()).sum();
        assert!(moments.threads <= MOST_STATES);
        assert_eq!(lost, 300 * 1000 - moments.threads);
    }
}
