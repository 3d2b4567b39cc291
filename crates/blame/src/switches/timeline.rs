//! When one thread ran, as far as that was seen.

/// When a thread did not run, the earliest first.
#[derive(Default)]
pub struct Timeline {
    absences: Vec<Absence>,
    /// Since when it does not, and whether it was made to leave.
    since: Option<(f64, bool)>,
    /// When its switches were seen; the last one may have no end yet.
    windows: Vec<(f64, f64)>,
}

struct Absence {
    from: f64,
    to: f64,
    is_preempted: bool,
}

/// What is known of a thread in some time, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// For how much of it that is known.
    pub known: f64,
    /// Of that: how much it did not run.
    pub off: f64,
    /// Of that: since another was to run in its place.
    pub preempted: f64,
}

impl Seen {
    pub fn add(&mut self, other: Self) {
        self.known += other.known;
        self.off += other.off;
        self.preempted += other.preempted;
    }

    /// The part in which it did not run; `None` if nothing is known.
    pub fn off_share(&self) -> Option<f64> {
        (self.known > 0.0).then(|| self.off / self.known)
    }

    /// The part in which another ran in its place.
    pub fn preempted_share(&self) -> Option<f64> {
        (self.known > 0.0).then(|| self.preempted / self.known)
    }
}

/// Where a thread was that was not switched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gone {
    Not,
    Asleep,
    /// Others ran in its place.
    Preempted,
}

/// Absences that are kept of a thread.
const MOST: usize = 200_000;

impl Timeline {
    /// It left a CPU, or came to one, within the window that began then.
    pub fn note(&mut self, at: f64, is_out: bool, is_preempted: bool, window: f64) {
        if self.windows.last().is_none_or(|last| last.0 != window) {
            self.close(window);
            self.windows.push((window, f64::INFINITY));
            // Its first switch tells what it did before.
            self.since = (!is_out && window.is_finite()).then_some((window, false));
        }
        match (self.since, is_out) {
            (None, true) => self.since = Some((at, is_preempted)),
            (Some(since), false) => self.absent(since, at),
            _ => {}
        }
    }

    /// The window ends.
    pub fn close(&mut self, at: f64) {
        if let Some(last) = self.windows.last_mut().filter(|last| last.1.is_infinite()) {
            last.1 = at;
        }
        if let Some(since) = self.since {
            self.absent(since, at);
        }
    }

    /// In the window that began and ends then it did the same all the time, if it was not switched.
    pub fn unswitched(&mut self, window: f64, end: f64, gone: Gone) {
        if self.windows.last().is_some_and(|last| last.0 == window) {
            return;
        }
        self.windows.push((window, end));
        if gone != Gone::Not {
            self.absent((window, gone == Gone::Preempted), end);
        }
    }

    fn absent(&mut self, (from, is_preempted): (f64, bool), to: f64) {
        if self.absences.len() >= MOST {
            self.absences.drain(..MOST / 2);
        }
        self.absences.push(Absence { from, to, is_preempted });
        self.since = None;
    }

    /// What is known of this time.
    pub fn seen(&self, from: f64, to: f64) -> Seen {
        let common = |one: f64, other: f64| (other.min(to) - one.max(from)).max(0.0);
        let mut seen = Seen::default();
        let first = self.windows.partition_point(|window| window.1 <= from);
        seen.known = self.windows[first..].iter().take_while(|window| window.0 < to).map(|w| common(w.0, w.1)).sum();
        let open = self.since.map(|(since, is_preempted)| Absence { from: since, to: f64::INFINITY, is_preempted });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(known: f64, off: f64, preempted: f64) -> Seen {
        Seen { known, off, preempted }
    }

    #[test]
    fn absences_are_counted_as_far_as_they_lie_within() {
        let mut timeline = Timeline::default();
        for (at, is_out) in [(5.0, false), (10.0, true), (20.0, false), (30.0, true), (40.0, false), (50.0, true)] {
            timeline.note(at, is_out, at == 30.0, f64::NEG_INFINITY);
        }
        assert_eq!(timeline.seen(0.0, 100.0), seen(100.0, 70.0, 10.0));
        assert_eq!(timeline.seen(15.0, 35.0), seen(20.0, 10.0, 5.0));
        assert_eq!(timeline.seen(20.0, 30.0), seen(10.0, 0.0, 0.0));
        assert_eq!(timeline.seen(60.0, 70.0), seen(10.0, 10.0, 0.0));
    }

    #[test]
    fn who_was_not_switched_in_a_window_was_there_or_was_not_for_all_of_it() {
        let mut timeline = Timeline::default();
        timeline.note(105.0, true, false, 100.0);
        timeline.note(106.0, false, false, 100.0);
        timeline.close(110.0);
        timeline.unswitched(100.0, 110.0, Gone::Asleep);
        timeline.unswitched(200.0, 210.0, Gone::Not);
        timeline.unswitched(300.0, 310.0, Gone::Asleep);
        timeline.unswitched(400.0, 410.0, Gone::Preempted);
        assert_eq!(timeline.seen(0.0, 150.0), seen(10.0, 1.0, 0.0));
        assert_eq!(timeline.seen(150.0, 500.0), seen(30.0, 20.0, 10.0));
    }

    #[test]
    fn between_windows_nothing_is_known_and_the_first_switch_of_one_tells_what_was_before() {
        let mut timeline = Timeline::default();
        timeline.note(10.0, true, false, f64::NEG_INFINITY);
        timeline.close(20.0);
        timeline.note(110.0, false, false, 100.0);
        timeline.close(120.0);
        assert_eq!(timeline.seen(0.0, 200.0), seen(40.0, 20.0, 0.0));
        assert_eq!(timeline.seen(30.0, 90.0), seen(0.0, 0.0, 0.0));
        assert_eq!(timeline.seen(105.0, 115.0), seen(10.0, 5.0, 0.0));
    }
}
