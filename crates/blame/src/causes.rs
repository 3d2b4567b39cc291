//! The hold that caused a wait in the end: a thread that waits for a lock may wait for a thread that waits for another
//! lock itself, and then the holder of that other lock keeps both waiting (blame shifting: Tallent, Mellor-Crummey and
//! Porterfield, PPoPP 2010).

use std::collections::{HashMap, VecDeque};

/// A thread that took a lock, and the pair that says where.
pub type Taker = (u32, u32);

/// A period in which a thread held the object that was waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub taker: Taker,
    pub from: f64,
    pub to: f64,
}

/// The blame of all waits.
#[derive(Default)]
pub struct Causes {
    /// Time waited, by the pair that waited and the pair that was the cause.
    pub by_pair: HashMap<(u32, u32), f64>,
    /// Recent causes of a thread's waits, in order of time, without gaps where it waited; each with the time of that
    /// wait.
    lately: HashMap<u32, VecDeque<(Span, Stretch)>>,
}

/// The time after which the causes of a thread's waits are forgotten where room is needed.
const RECENT_NS: f64 = 10e9;

#[derive(Clone, Copy)]
struct Span {
    from: f64,
    to: f64,
}

/// Number of kept stretches of each thread.
const MOST: usize = 256;
/// Threads whose causes are remembered: a program can start threads for as long as it runs.
const MOST_THREADS: usize = 16_384;

impl Causes {
    /// Attributes a thread's wait at a pair to the threads that had the lock. The waits of those threads themselves
    /// were judged before, since they ended before.
    pub fn judge(&mut self, (thread, pair): Taker, stretches: &[Stretch]) {
        let mut roots = Vec::new();
        stretches.iter().for_each(|stretch| self.follow(*stretch, &mut roots));
        for root in &roots {
            *self.by_pair.entry((pair, root.taker.1)).or_default() += root.to - root.from;
        }
        let (from, to) = (stretches.iter().map(|one| one.from), stretches.iter().map(|one| one.to));
        let span = Span { from: from.fold(f64::INFINITY, f64::min), to: to.fold(f64::NEG_INFINITY, f64::max) };
        if self.lately.len() >= MOST_THREADS {
            self.forget_before(span.from - RECENT_NS);
        }
        let lately = self.lately.entry(thread).or_default();
        lately.extend(roots.into_iter().map(|root| (span, root)));
        lately.drain(..lately.len().saturating_sub(MOST));
    }

    /// Forgets the threads whose last wait ended before this time, and all threads if those are few.
    fn forget_before(&mut self, time: f64) {
        self.lately.retain(|_, lately| lately.back().is_some_and(|(wait, _)| wait.to >= time));
        if self.lately.len() > MOST_THREADS / 2 {
            self.lately.clear();
        }
    }

    /// Forgets the sums, but not the recent causes.
    pub fn begin_part(&mut self) {
        self.by_pair.clear();
    }

    /// Adds what a stretch is due to: where its taker waited, to what kept that one waiting.
    fn follow(&self, stretch: Stretch, roots: &mut Vec<Stretch>) {
        let Stretch { taker, mut from, to } = stretch;
        let mut push = |taker: Taker, from: f64, to: f64| {
            if to > from {
                roots.push(Stretch { taker, from, to });
            }
        };
        // A thread's waits come one after another, so those that are meant are found without looking at all.
        let own = self.lately.get(&taker.0);
        let first = own.map_or(0, |own| own.partition_point(|(wait, _)| wait.to <= stretch.from));
        let own = own.into_iter().flat_map(|own| own.range(first..)).take_while(|(wait, _)| wait.from < to);
        for (_, cause) in own.filter(|(_, cause)| cause.to > stretch.from && cause.from < to) {
            push(taker, from, cause.from);
            push(cause.taker, cause.from.max(from), cause.to.min(to));
            from = from.max(cause.to);
        }
        push(taker, from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(taker: Taker, from: f64, to: f64) -> Stretch {
        Stretch { taker, from, to }
    }

    #[test]
    fn who_waits_for_a_waiting_holder_waits_for_whom_that_one_waits() {
        let mut causes = Causes::default();
        // Thread 2 waits for what 1 has from 10 to 30, with what 3 waits for in hand from 5 to 40.
        causes.judge((2, 20), &[stretch((1, 10), 10.0, 30.0)]);
        causes.judge((3, 30), &[stretch((2, 21), 5.0, 40.0)]);
        assert_eq!(causes.by_pair[&(20, 10)], 20.0);
        assert_eq!(causes.by_pair[&(30, 10)], 20.0);
        assert_eq!(causes.by_pair[&(30, 21)], 15.0);
        // And so on: 4 waits for 3.
        causes.judge((4, 40), &[stretch((3, 31), 0.0, 50.0)]);
        assert_eq!([10, 21, 31].map(|root| causes.by_pair[&(40, root)]), [20.0, 15.0, 15.0]);
    }
}
