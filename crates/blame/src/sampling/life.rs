//! The account of one thread.

use super::budget::{Budget, Part};
use super::priority::Priority;
use super::waited::{Path, Wait};
use super::{Call, Sample, State};
use crate::pairs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Life {
    pub process: u32,
    pub thread: u32,
    /// The name that it gave itself, as it was seen last.
    pub name: String,
    /// A path of it, as far as the function that the thread began with.
    pub path: Option<Path>,
    #[serde(with = "pairs")]
    pub waits: BTreeMap<Wait, f64>,
    /// Where it waited, and for how long; and where it ran, in samples.
    #[serde(with = "pairs")]
    pub waited: BTreeMap<(Wait, Path), f64>,
    pub ran: BTreeMap<Path, u64>,
    /// How long it held each lock that the library notes, by the lock's slot, as far as samples found it with the lock.
    pub holds: BTreeMap<u32, f64>,
    /// Time on a CPU while it waited for a lock, by the samples.
    pub spun_s: f64,
    /// Time in which it gave up its CPU again and again.
    pub yielded_s: f64,
    /// How often it had come to a CPU at the first sample and at the last.
    pub(super) turns_before: u64,
    pub(super) turns: u64,
    /// The CPUs that it may use, as a bit each, and its priority.
    pub allowed: Allowed,
    pub priority: Option<Priority>,
    pub(super) began_s: f64,
    pub(super) seen_s: f64,
    /// The kernel's sums at the first sample and at the last.
    pub(super) before: [u64; 2],
    pub(super) sums: [u64; 2],
    /// The place where it was blocked the last time.
    #[serde(skip)]
    pub(super) blocked: Option<(Call, [u64; 2], Option<Path>)>,
    #[serde(skip)]
    pub(super) tries: Tries,
    /// Whether the library knows it, which it does from its first use of a lock.
    pub(super) is_noted: bool,
}

/// Places of each thread that are kept.
const MOST_PLACES: usize = 64;

/// The sleeps of a thread, of which there were at most `count`.
#[derive(Clone, Copy, Debug)]
pub struct Naps {
    pub slept_s: f64,
    pub lived_s: f64,
    pub count: u64,
}

/// CPUs as a bit each, as many as the kernel's `cpu_set_t` has.
pub type Allowed = [u64; 16];

impl Life {
    /// Divides the life. `part` says why a wait is one; `kin` are the waits of threads of the same group, which count
    /// where no sample found this one blocked. `shares` divide the waits for futex words of a thread whose language says
    /// more of them than the kernel.
    pub fn budget(&self, part: &dyn Fn(Wait) -> Part, kin: &BTreeMap<Wait, f64>, shares: &[(Part, f64)]) -> Budget {
        let [ran, ready] = [0, 1].map(|sum| self.sum_s(sum));
        let waits = if self.waits.values().sum::<f64>() > 0.0 { &self.waits } else { kin };
        let blocked = waits.iter().flat_map(|(wait, seconds)| {
            let is_shared = !shares.is_empty() && matches!(wait, Wait::Lock(_) | Wait::Word { .. });
            let by_kernel = (!is_shared).then(|| (part(*wait), *seconds));
            let by_language =
                shares.iter().filter(move |_| is_shared).map(move |(part, share)| (*part, share * seconds));
            by_kernel.into_iter().chain(by_language)
        });
        Budget::of(self.seen_s - self.began_s, ran, ready, blocked)
    }

    /// Returns the path of a blocked thread that did not run since its last sample.
    pub(super) fn known_path(&self, sample: &Sample) -> Option<Path> {
        let State::Blocked(call) = sample.state else { return None };
        let (before, sums, path) = self.blocked?;
        path.filter(|_| (before, sums) == (call, [sample.ran_ns, sample.ready_ns]))
    }

    pub(super) fn waited_at(&mut self, wait: Wait, path: Path, seconds: f64) {
        if self.waited.len() < MOST_PLACES || self.waited.contains_key(&(wait, path)) {
            *self.waited.entry((wait, path)).or_default() += seconds;
        }
    }

    pub(super) fn ran_at(&mut self, path: Path) {
        if self.ran.len() < MOST_PLACES || self.ran.contains_key(&path) {
            *self.ran.entry(path).or_default() += 1;
        }
    }

    /// Returns where it spent its time: waiting, each wait with its place, and on a CPU, in seconds.
    pub fn places(&self) -> impl Iterator<Item = (Option<Wait>, Path, f64)> {
        let (ran_s, samples) = (self.sum_s(0), self.ran.values().sum::<u64>().max(1) as f64);
        let waited = self.waited.iter().map(|((wait, path), seconds)| (Some(*wait), *path, *seconds));
        waited.chain(self.ran.iter().map(move |(path, count)| (None, *path, ran_s * *count as f64 / samples)))
    }

    /// Returns how long it was seen.
    pub fn lived_s(&self) -> f64 {
        self.seen_s - self.began_s
    }

    /// Returns a path of it, as far as the function that the thread began with.
    pub fn any_path(&self) -> Option<Path> {
        self.path.or_else(|| self.ran.keys().next().copied())
    }

    /// Returns how long it was on a CPU, or ready for one.
    pub fn runnable_s(&self) -> f64 {
        (0..2).map(|sum| self.sum_s(sum)).sum()
    }

    /// Returns how long it was on a CPU.
    pub fn ran_s(&self) -> f64 {
        self.sum_s(0)
    }

    /// Returns how long it was on a CPU, or ready for one without it: the first or the second of the kernel's sums.
    pub(super) fn sum_s(&self, sum: usize) -> f64 {
        self.sums[sum].saturating_sub(self.before[sum]) as f64 / 1e9
    }

    /// Returns its sleeps, if it is asleep for most of its time, for moments, and does something in between. `is_sleep` says which
    /// waits are sleeps.
    pub fn naps(&self, is_sleep: impl Fn(&Wait) -> bool) -> Option<Naps> {
        /// A thread that works for less of its time, or sleeps for longer, looks now and then whether there is something to do.
        const LEAST_WORK: f64 = 0.02;
        const LONGEST_S: f64 = 0.05;
        const FEWEST: u64 = 20;
        let slept_s = self.waits.iter().filter(|(wait, _)| is_sleep(wait)).map(|(_, seconds)| seconds).sum();
        let naps = Naps { slept_s, lived_s: self.lived_s(), count: self.turns.saturating_sub(self.turns_before) };
        let is_short = slept_s <= LONGEST_S * naps.count as f64 && naps.count >= FEWEST;
        // Where other programs have the CPUs, it would sleep in the time that it is ready.
        let without_ready_s = naps.lived_s - self.sum_s(1);
        (is_short && slept_s > 0.5 * without_ready_s && self.runnable_s() >= LEAST_WORK * naps.lived_s).then_some(naps)
    }

    /// Returns whether a thread gave up its CPU again and again since its last sample, which was this many ns ago and found it
    /// not blocked: it was never without something to run, and came to a CPU again and again for moments.
    pub(super) fn yields(&self, sample: &Sample, elapsed_ns: f64) -> bool {
        /// The kernel takes a CPU away from a thread that works after a millisecond or more.
        const MOMENT_NS: f64 = 20e3;
        const SEVERAL: u64 = 3;
        let [ran, ready] = [sample.ran_ns - self.sums[0], sample.ready_ns - self.sums[1]].map(|ns| ns as f64);
        let turns = sample.turns.saturating_sub(self.turns);
        let is_runnable = sample.state == State::Runnable && self.blocked.is_none();
        is_runnable && turns >= SEVERAL && ran < MOMENT_NS * turns as f64 && ran + ready >= 0.9 * elapsed_ns
    }

    pub(super) fn begin_part(&mut self) {
        self.waits.clear();
        self.waited.clear();
        self.ran.clear();
        self.holds.clear();
        (self.spun_s, self.yielded_s, self.began_s, self.before) = (0.0, 0.0, self.seen_s, self.sums);
        self.turns_before = self.turns;
    }

    /// Forgets the numbers of paths, which are given to others.
    pub(super) fn forget_paths(&mut self) {
        self.path = None;
        self.waited.clear();
        self.ran.clear();
        self.blocked.iter_mut().for_each(|(_, _, path)| *path = None);
    }

    pub(super) fn absorb(&mut self, other: Self) {
        self.seen_s += other.seen_s - other.began_s;
        self.spun_s += other.spun_s;
        self.yielded_s += other.yielded_s;
        self.is_noted |= other.is_noted;
        self.turns += other.turns - other.turns_before;
        other.waits.into_iter().for_each(|(wait, seconds)| *self.waits.entry(wait).or_default() += seconds);
        for sum in 0..2 {
            self.sums[sum] += other.sums[sum] - other.before[sum];
        }
    }
}

/// Returns the CPUs that a thread may use.
pub(super) fn allowed(thread: u32) -> Option<Allowed> {
    let mut allowed = Allowed::default();
    let thread = libc::pid_t::try_from(thread).ok()?;
    // SAFETY: the kernel writes into the array alone, no more than its length.
    let length =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, size_of::<Allowed>(), allowed.as_mut_ptr()) };
    (length > 0).then_some(allowed)
}

/// The tries in vain of a thread to acquire a lock, in succession, as the library counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    /// The pair's place, plus 1, and the number at the last sample.
    polled: u32,
    count: u32,
    /// Sums of the times between samples in which the tries went on: the number of tries, and the time on a CPU.
    all: f64,
    ran_ns: f64,
    /// Whether a sample showed the thread asleep at the try.
    sleeps: bool,
}

impl Tries {
    /// A thread that runs for less time from one try to the next does nothing else.
    const MOST_NS: f64 = 2e3;
    /// The same of a thread that sleeps between two tries: to sleep and to be woken takes longer.
    const MOST_WITH_SLEEP_NS: f64 = 25e3;
    /// Tries in succession between two samples that show the same.
    const MANY: u32 = 64;

    /// Notes that the thread was asleep at the try.
    pub(super) fn sleeps(&mut self) {
        self.sleeps = true;
    }

    /// Takes the number of tries, and the time on a CPU since the last sample. Returns whether the thread did nothing but
    /// try since then.
    pub(super) fn next(&mut self, polled: u32, count: u32, ran_ns: f64) -> bool {
        let before = std::mem::replace(self, Self { polled, count, ..*self });
        let is_same = before.polled == polled && count >= before.count;
        if before.polled != polled {
            (self.all, self.ran_ns, self.sleeps) = (0.0, 0.0, false);
        }
        let new = if is_same { count - before.count } else { count };
        if is_same {
            (self.all, self.ran_ns) = (self.all + f64::from(new), self.ran_ns + ran_ns);
        }
        let most_ns = if self.sleeps { Self::MOST_WITH_SLEEP_NS } else { Self::MOST_NS };
        let is_quick = match self.all > 0.0 {
            true => self.ran_ns <= most_ns * self.all,
            false => count >= Self::MANY && ran_ns <= most_ns * f64::from(count),
        };
        count >= 2 && is_quick && (new > 0 || ran_ns <= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether each of these samples shows a thread that does nothing but try: the number of its tries in
    /// succession, and the time on a CPU since the sample before, in us.
    fn polls<const COUNT: usize>(sleeps: bool, samples: [(u32, f64); COUNT]) -> [bool; COUNT] {
        let mut tries = Tries { polled: 7, sleeps, ..Tries::default() };
        samples.map(|(count, ran_us)| tries.next(7, count, ran_us * 1e3))
    }

    #[test]
    fn thread_that_tries_often_and_runs_little_polls() {
        // It sleeps for longer than a period at times.
        let samples = [(1, 20.0), (5, 80.0), (9, 80.0), (9, 0.0), (12, 40.0)];
        assert_eq!(polls(true, samples), [false, true, true, true, true]);
        // Without a pause the first sample shows it.
        assert_eq!(polls(false, [(9_000, 4_000.0), (18_000, 4_000.0)]), [true, true]);
    }

    #[test]
    fn thread_that_computes_between_two_tries_does_not_poll() {
        assert_eq!(polls(true, [(1, 4_000.0), (8, 4_000.0), (15, 0.0), (22, 4_000.0)]), [false; 4]);
        // A cache that goes on where its lock is not free: 6 us of work between two tries.
        assert_eq!(polls(false, [(600, 4_000.0), (1_300, 4_000.0), (700, 4_000.0)]), [false; 3]);
    }
}
