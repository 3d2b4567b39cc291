//! The times when one thread ran, as far as they were seen.

use crate::sampling::sums_in;
use std::collections::{HashMap, HashSet};
use std::fs::read_to_string;

// The kernel's account of a thread, which exists whether or not its switches are recorded.

/// Returns the time that the thread has run, in ns, and how often it came to a CPU. The account of one that runs is
/// brought up to date at each tick; it is 0 where the kernel keeps none.
fn sums(thread: u32) -> Option<(u64, u64)> {
    let text = read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    let [ran, _, came] = sums_in(&text)?;
    (ran > 0).then_some((ran, came))
}

/// Returns the time that the thread has run.
pub fn ran(thread: u32) -> Option<u64> {
    sums(thread).map(|(ran, _)| ran)
}

/// Returns how often the thread came to a CPU.
pub fn came(thread: u32) -> Option<u64> {
    sums(thread).map(|(_, came)| came)
}

/// The state of a thread that is not seen to be switched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Asleep,
    /// It runs, or would if it had a CPU; how long it had run until then.
    Ready(Option<u64>),
}

/// Returns the thread's current state.
pub fn state(thread: u32) -> State {
    let stat = read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    // The letter behind the name, in which there may be anything.
    let letter = stat.rsplit_once(") ").and_then(|(_, rest)| rest.bytes().next());
    if letter == Some(b'R') { State::Ready(ran(thread)) } else { State::Asleep }
}

/// The times when a thread did not run, the earliest first.
#[derive(Default)]
pub struct Timeline {
    absences: Vec<Absence>,
    /// Time since which it does not run, and whether it was made to leave.
    since: Option<(f64, bool)>,
    /// Times when its switches were seen; the last one may have no end yet.
    windows: Vec<(f64, f64)>,
    /// Its state when that began, as long as it was not switched.
    unswitched: Option<State>,
    /// The thread that ran next on the CPU that it left last, if that is known.
    next: Option<u32>,
}

struct Absence {
    from: f64,
    to: f64,
    is_preempted: bool,
    next: Option<u32>,
}

/// A time in which a thread was ready and another one ran in its place, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preemption {
    pub from: f64,
    pub to: f64,
    /// The thread that ran next on the CPU, if that is known.
    pub next: Option<u32>,
}

/// Known times of a thread in some period, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// The part of the period for which they are known.
    pub known: f64,
    /// The part of the known time in which it did not run.
    pub off: f64,
    /// The part of that time in which another was to run in its place.
    pub preempted: f64,
}

impl Seen {
    pub fn add(&mut self, other: Self) {
        self.known += other.known;
        self.off += other.off;
        self.preempted += other.preempted;
    }

    /// Returns the part in which it did not run; `None` if nothing is known.
    pub fn off_share(&self) -> Option<f64> {
        (self.known > 0.0).then(|| self.off / self.known)
    }

    /// Returns the part in which another ran in its place.
    pub fn preempted_share(&self) -> Option<f64> {
        (self.known > 0.0).then(|| self.preempted / self.known)
    }
}

/// The two records of one switch are at most this far apart.
const SAME_SWITCH_NS: f64 = 50e3;
/// Absences and windows that are kept of a thread.
const MOST: usize = 8_192;

impl Timeline {
    /// Returns whether its switches are seen now.
    pub fn is_open(&self) -> bool {
        self.windows.last().is_some_and(|last| last.1.is_infinite())
    }

    /// Begins a window in which the thread's switches are seen; until the first switch it is in this state.
    pub fn begin(&mut self, at: f64, state: State) {
        self.open_window(at);
        self.since = (state == State::Asleep).then_some((at, false));
        self.unswitched = Some(state);
    }

    fn open_window(&mut self, at: f64) {
        if self.windows.len() >= MOST {
            self.windows.drain(..MOST / 2);
        }
        self.windows.push((at, f64::INFINITY));
    }

    /// Notes that the thread left a CPU, or came to one. This begins the window of a thread that a followed one
    /// started.
    pub fn note(&mut self, at: f64, is_out: bool, is_preempted: bool) {
        if !self.is_open() {
            self.open_window(at);
        }
        let from = self.windows.last().map_or(at, |window| window.0);
        if at < from {
            return;
        }
        // Its state is read a moment after its switches are seen: a switch away from the CPU shows that it ran.
        let is_first = self.unswitched.take().is_some();
        self.next = self.next.filter(|_| !is_out);
        match (self.since, is_out) {
            (None, true) => self.since = Some((at, is_preempted)),
            (Some(_), true) if is_first => self.since = Some((at, is_preempted)),
            (Some(since), false) => self.absent(since, at),
            // It was ready, and had no CPU.
            (None, false) if is_first => self.absent((from, true), at),
            _ => {}
        }
    }

    /// Ends the window, if there is one; `ran` returns the time that the thread has run.
    pub fn close(&mut self, at: f64, ran: impl FnOnce() -> Option<u64>) {
        let Some(last) = self.windows.last_mut().filter(|last| last.1.is_infinite()) else { return };
        last.1 = at;
        let from = last.0;
        let unswitched = self.unswitched.take();
        if let Some(since) = self.since {
            self.absent(since, at);
        } else if let Some(State::Ready(Some(before))) = unswitched
            && ran() == Some(before)
        {
            // Neither switched nor running: others ran in its place all the time.
            self.absent((from, true), at);
        }
    }

    fn absent(&mut self, (from, is_preempted): (f64, bool), to: f64) {
        if self.absences.len() >= MOST {
            self.forget_half();
        }
        self.absences.push(Absence { from, to, is_preempted, next: self.next.take() });
        self.since = None;
    }

    /// Forgets the earlier half of the absences, and that the thread was seen at that time.
    fn forget_half(&mut self) {
        self.absences.drain(..self.absences.len() / 2);
        let from = self.absences.first().map_or(0.0, |first| first.from);
        self.windows.retain(|window| window.1 > from);
        if let Some(first) = self.windows.first_mut() {
            first.0 = first.0.max(from);
        }
    }

    /// Notes which thread ran next after the switch at this time.
    pub fn followed_by(&mut self, at: f64, next: u32) {
        let is_it = |from: f64| (from - at).abs() <= SAME_SWITCH_NS;
        if self.since.is_some_and(|(from, _)| is_it(from)) {
            self.next = Some(next);
        } else {
            let after = self.absences.partition_point(|absence| absence.from <= at + SAME_SWITCH_NS);
            let last = after.checked_sub(1).map(|place| &mut self.absences[place]);
            if let Some(absence) = last.filter(|absence| is_it(absence.from)) {
                absence.next = Some(next);
            }
        }
    }

    /// Returns when a thread that did not run at this time came to a CPU; `None` if it ran, or is not known.
    pub fn back_after(&self, at: f64) -> Option<f64> {
        let after = self.absences.partition_point(|absence| absence.from <= at);
        let last = self.absences.get(after.checked_sub(1)?)?;
        (last.to > at).then_some(last.to)
    }

    /// Returns the preemptions that began in this time and ended.
    pub fn preemptions(&self, from: f64, to: f64) -> impl Iterator<Item = Preemption> {
        let first = self.absences.partition_point(|absence| absence.from < from);
        let within = self.absences[first..].iter().take_while(move |absence| absence.from < to);
        let preempted = within.filter(|absence| absence.is_preempted);
        preempted.map(move |absence| Preemption { from: absence.from, to: absence.to.min(to), next: absence.next })
    }

    /// Returns the known parts of this time.
    pub fn seen(&self, from: f64, to: f64) -> Seen {
        let common = |one: f64, other: f64| (other.min(to) - one.max(from)).max(0.0);
        let mut seen = Seen::default();
        let first = self.windows.partition_point(|window| window.1 <= from);
        seen.known = self.windows[first..].iter().take_while(|window| window.0 < to).map(|w| common(w.0, w.1)).sum();
        let open = self.since.map(|(since, is_preempted)| Absence {
            from: since,
            to: f64::INFINITY,
            is_preempted,
            next: None,
        });
        let first = self.absences.partition_point(|absence| absence.to <= from);
        let over = self.absences[first..].iter().take_while(|absence| absence.from < to);
        for absence in over.chain(&open) {
            let off = common(absence.from, absence.to);
            seen.off += off;
            seen.preempted += if absence.is_preempted { off } else { 0.0 };
        }
        seen
    }
}

// The times when the threads of a program ran, and the threads that ran instead.

/// The thread that ran instead of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Competitor {
    /// Another thread of the program.
    Own,
    /// A thread of this name, of another program or of the kernel.
    Named(String),
    Unknown,
}

/// The threads of a program, as far as their switches are known.
#[derive(Default)]
pub struct Schedule {
    pub threads: HashMap<u32, Timeline>,
    /// The processes of these threads: their other threads belong to the program, too.
    pub processes: HashSet<u32>,
    /// The processes and the names of the threads that ran instead.
    pub competitors: HashMap<u32, (u32, String)>,
}

impl Schedule {
    /// Returns the known state of a thread in this time.
    pub fn seen(&self, thread: u32, from: f64, to: f64) -> Seen {
        self.threads.get(&thread).map_or_else(Seen::default, |timeline| timeline.seen(from, to))
    }

    /// Returns the preemptions of a thread that began in this time and ended.
    pub fn preemptions(&self, thread: u32, from: f64, to: f64) -> Vec<Preemption> {
        self.threads.get(&thread).map_or_else(Vec::new, |timeline| timeline.preemptions(from, to).collect())
    }

    /// Returns the name of a thread that ran instead of another.
    pub fn competitor(&self, thread: Option<u32>) -> Competitor {
        let Some(thread) = thread else { return Competitor::Unknown };
        match self.competitors.get(&thread) {
            _ if self.threads.contains_key(&thread) => Competitor::Own,
            Some((process, _)) if self.processes.contains(process) => Competitor::Own,
            Some((_, name)) => Competitor::Named(name.clone()),
            None => Competitor::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_that_is_away_comes_back_at_a_known_time() {
        let mut timeline = Timeline::default();
        timeline.begin(0.0, State::Asleep);
        for (at, is_out) in [(10.0, false), (20.0, true), (30.0, false)] {
            timeline.note(at, is_out, false);
        }
        assert_eq!(
            [5.0, 15.0, 20.0, 29.0, 30.0].map(|at| timeline.back_after(at)),
            [Some(10.0), None, Some(30.0), Some(30.0), None]
        );
        assert_eq!(Timeline::default().back_after(5.0), None);
    }

    fn seen(known: f64, off: f64, preempted: f64) -> Seen {
        Seen { known, off, preempted }
    }

    const NOT_ASKED: fn() -> Option<u64> = || panic!("its switches say it");

    #[test]
    fn absences_are_counted_as_far_as_they_lie_within() {
        let mut timeline = Timeline::default();
        timeline.begin(0.0, State::Ready(Some(1)));
        for (at, is_out) in [(10.0, true), (20.0, false), (30.0, true), (40.0, false), (50.0, true)] {
            timeline.note(at, is_out, at == 30.0);
        }
        assert_eq!(timeline.seen(0.0, 100.0), seen(100.0, 70.0, 10.0));
        assert_eq!(timeline.seen(15.0, 35.0), seen(20.0, 10.0, 5.0));
        assert_eq!(timeline.seen(20.0, 30.0), seen(10.0, 0.0, 0.0));
        assert_eq!(timeline.seen(60.0, 70.0), seen(10.0, 10.0, 0.0));
    }

    #[test]
    fn preemptions_have_the_thread_that_ran_next() {
        let mut timeline = Timeline::default();
        timeline.begin(0.0, State::Ready(Some(1)));
        for (at, is_out, next) in [(1e6, true, Some(7)), (2e6, false, None), (3e6, true, None), (4e6, false, None)] {
            timeline.note(at, is_out, at < 3e6);
            next.into_iter().for_each(|next| timeline.followed_by(at + 10.0, next));
        }
        timeline.note(5e6, true, true);
        timeline.note(6e6, false, false);
        // The record of the other thread may be read later.
        timeline.followed_by(5e6 - 10.0, 8);
        timeline.followed_by(5.5e6, 9);
        let preemption = |from: f64, to: f64, next: u32| Preemption { from, to, next: Some(next) };
        let all: Vec<Preemption> = timeline.preemptions(0.0, 10e6).collect();
        assert_eq!(all, [preemption(1e6, 2e6, 7), preemption(5e6, 6e6, 8)]);
        let within: Vec<Preemption> = timeline.preemptions(1.5e6, 5.5e6).collect();
        assert_eq!(within, [preemption(5e6, 5.5e6, 8)]);
    }

    #[test]
    fn thread_without_switch_has_one_state_in_the_window() {
        for (state, ran, known) in [
            (State::Ready(Some(7)), Some(9), seen(10.0, 0.0, 0.0)),
            (State::Ready(Some(7)), Some(7), seen(10.0, 10.0, 10.0)),
            (State::Ready(None), None, seen(10.0, 0.0, 0.0)),
        ] {
            let mut timeline = Timeline::default();
            timeline.begin(100.0, state);
            timeline.close(110.0, || ran);
            assert_eq!(timeline.seen(0.0, 200.0), known, "{state:?}");
        }
        let mut timeline = Timeline::default();
        timeline.begin(100.0, State::Asleep);
        timeline.close(110.0, NOT_ASKED);
        assert_eq!(timeline.seen(0.0, 200.0), seen(10.0, 10.0, 0.0));
    }

    #[test]
    fn the_first_switch_tells_what_was_before() {
        for (state, is_out, off, preempted) in [
            (State::Asleep, false, 4.0, 0.0),
            // The thread fell asleep, or woke up, while its state was read.
            (State::Asleep, true, 6.0, 6.0),
            (State::Ready(Some(7)), true, 6.0, 6.0),
            (State::Ready(Some(7)), false, 4.0, 4.0),
        ] {
            let mut timeline = Timeline::default();
            timeline.begin(100.0, state);
            timeline.note(99.0, !is_out, false);
            timeline.note(104.0, is_out, true);
            timeline.close(110.0, NOT_ASKED);
            assert_eq!(timeline.seen(0.0, 200.0), seen(10.0, off, preempted), "{state:?} {is_out}");
        }
    }

    #[test]
    fn states_are_known_within_windows_only() {
        let mut timeline = Timeline::default();
        timeline.note(5.0, false, false);
        timeline.note(10.0, true, false);
        timeline.close(20.0, NOT_ASKED);
        timeline.begin(100.0, State::Asleep);
        timeline.note(110.0, false, false);
        timeline.close(120.0, NOT_ASKED);
        assert_eq!(timeline.seen(0.0, 200.0), seen(35.0, 20.0, 0.0));
        assert_eq!(timeline.seen(30.0, 90.0), seen(0.0, 0.0, 0.0));
        assert_eq!(timeline.seen(105.0, 115.0), seen(10.0, 5.0, 0.0));
    }

    #[test]
    fn unfollowed_thread_of_a_followed_process_is_the_programs_own() {
        let mut schedule = Schedule::default();
        schedule.threads.insert(11, Timeline::default());
        schedule.processes.insert(10);
        for (thread, process, name) in [(12, 10, "worker"), (21, 20, "cc1"), (11, 10, "main")] {
            schedule.competitors.insert(thread, (process, name.to_owned()));
        }
        let found = [11, 12, 21, 31].map(|thread| schedule.competitor(Some(thread)));
        let named = Competitor::Named("cc1".into());
        assert_eq!(found, [Competitor::Own, Competitor::Own, named, Competitor::Unknown]);
        assert_eq!(schedule.competitor(None), Competitor::Unknown);
    }
}
