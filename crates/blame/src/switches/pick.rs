//! The choice of the threads that are followed: a thread that was followed once pays for it with each switch as long as
//! it lives, so the rate of its switches is read first.

use super::timeline::came;
use std::collections::HashMap;

/// A thread that lives, by the kernel's number of it, and since when, in ns since the start.
#[derive(Clone, Copy)]
pub struct Live {
    pub thread: u32,
    pub since: f64,
}

/// The known rates of the threads, and the remaining budget.
pub struct Pick {
    looks: HashMap<u32, Look>,
    /// Switches a second that can be paid for, in addition to those of the threads that were followed.
    left_per_s: f64,
    /// Threads that ended and were never followed.
    ended_left_out: usize,
}

/// A thread as it was looked at last.
struct Look {
    at: f64,
    /// Number of times that it had come to a CPU.
    came: u64,
    /// Number of times that it comes to a CPU in a second.
    per_s: f64,
    /// Whether that is paid for.
    is_paid: bool,
}

/// Cost of a switch of a thread that was followed and is not any more.
const REST_NS: f64 = 200.0;
/// The part of its time that the program can lose by that.
const BUDGET: f64 = 0.01;
/// The largest part of one CPU's budget for one thread: otherwise a few threads that do little but leave their CPU
/// would restrict all others to short windows.
const MOST: f64 = 1.0 / 3.0;
/// Age of a thread when it is looked at first, and the time until it is looked at again.
const AGE_NS: f64 = 2e6;
const AGAIN_NS: f64 = 100e6;

impl Pick {
    pub fn for_cpus(cpus: usize) -> Self {
        Self { looks: HashMap::new(), left_per_s: BUDGET * cpus as f64 * 1e9 / REST_NS, ended_left_out: 0 }
    }

    /// Returns the threads that can be followed: those that were followed before, and those that can be paid for.
    pub fn calm(&mut self, threads: &[Live], now: f64) -> Vec<u32> {
        let is_paid = |live: &Live| self.looks.get(&live.thread).is_some_and(|look| look.is_paid);
        let (paid, others): (Vec<Live>, Vec<Live>) = threads.iter().copied().partition(is_paid);
        let mut calm: Vec<u32> = paid.iter().map(|live| live.thread).collect();
        let mut looked: Vec<u32> = others.into_iter().filter_map(|live| self.look(live, now)).collect();
        looked.sort_by(|one, other| self.looks[one].per_s.total_cmp(&self.looks[other].per_s));
        let most = MOST * BUDGET * 1e9 / REST_NS;
        for thread in looked {
            let Some(look) = self.looks.get_mut(&thread).filter(|look| look.per_s <= most.min(self.left_per_s)) else {
                break;
            };
            look.is_paid = true;
            self.left_per_s -= look.per_s;
            calm.push(thread);
        }
        calm
    }

    /// Looks how often a thread comes to a CPU; `None` before it is time to say so.
    fn look(&mut self, live: Live, now: f64) -> Option<u32> {
        let before = self.looks.get(&live.thread).map(|look| (look.at, look.came, AGAIN_NS));
        let (since, came_before, least) = before.unwrap_or((live.since, 0, AGE_NS));
        if now - since < least {
            return None;
        }
        // Where the kernel keeps no account every thread is calm.
        let came = came(live.thread).unwrap_or(0);
        let per_s = came.saturating_sub(came_before) as f64 / (now - since) * 1e9;
        self.looks.insert(live.thread, Look { at: now, came, per_s, is_paid: false });
        Some(live.thread)
    }

    /// Marks a thread that cannot be followed, so that it is not chosen again.
    pub fn refuse(&mut self, thread: u32) {
        if let Some(look) = self.looks.get_mut(&thread) {
            self.left_per_s += look.per_s;
            (look.at, look.is_paid) = (f64::INFINITY, false);
        }
    }

    /// Forgets threads that are not to be kept.
    pub fn keep(&mut self, is_kept: impl Fn(u32) -> bool) {
        for (_, look) in self.looks.extract_if(|thread, _| !is_kept(*thread)) {
            match look.is_paid {
                true => self.left_per_s += look.per_s,
                false => self.ended_left_out += 1,
            }
        }
    }

    /// Returns the number of threads that were never followed.
    pub fn left_out(&self) -> usize {
        self.ended_left_out + self.looks.values().filter(|look| !look.is_paid).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The account is the kernel's, so the test varies the budget.
    #[test]
    fn frequently_switching_threads_are_excluded_until_quiet() {
        let live = [Live { thread: std::process::id(), since: 0.0 }];
        let mut pick = Pick::for_cpus(1);
        assert!(pick.calm(&live, AGE_NS / 2.0).is_empty(), "it is too young");
        assert_eq!(pick.left_out(), 0);
        pick.left_per_s = -1.0;
        assert!(pick.calm(&live, AGE_NS).is_empty());
        pick.left_per_s = f64::INFINITY;
        assert!(pick.calm(&live, AGE_NS + 1.0).is_empty(), "it was read a moment ago");
        assert_eq!(pick.left_out(), 1);
        assert_eq!(pick.calm(&live, AGE_NS + AGAIN_NS), [live[0].thread]);
        pick.left_per_s = -1.0;
        assert_eq!(pick.calm(&live, AGE_NS + AGAIN_NS), [live[0].thread], "it is paid for");
        assert_eq!(pick.left_out(), 0);
        pick.refuse(live[0].thread);
        pick.left_per_s = f64::INFINITY;
        assert!(pick.calm(&live, 1e18).is_empty(), "it cannot be followed");
        pick.left_per_s = -1.0;
        pick.keep(|_| false);
        assert!(pick.calm(&live, AGE_NS).is_empty(), "its number is another's");
        pick.keep(|_| false);
        assert_eq!(pick.left_out(), 2);
    }
}
