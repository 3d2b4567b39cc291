//! Windows of the record of futex calls.
//!
//! A server can make 50,000 futex calls in a second. To record each with its stack takes several microseconds, and as long
//! as any system call has a tracepoint, all system calls of the machine take longer. Where the record costs more than a
//! small share of the CPUs, it therefore pauses, for a random time that brings the cost down to that share. Sums are then
//! those of the windows, scaled to the whole time; [`blame::futexes::follow`] counts the waits that reach beyond a window
//! with their part in it.

use std::time::{Duration, Instant};

/// The share of all CPUs that a record without pauses may take, and that of a record with pauses: contend's own time, and
/// estimates of the kernel's. A server whose threads wait for each other became slower by three to four times of that share.
const TOLERATED: f64 = 0.008;
const SHARE: f64 = 0.004;
/// The same in the first seconds: a short trace is exact, unless the process makes calls all the time.
const TOLERATED_AT_FIRST: f64 = 0.06;
const AT_FIRST: Duration = Duration::from_secs(3);
/// Both of a program that contend has started: its user runs it to be traced.
const OF_STARTED: f64 = 0.05;
/// The length of a window; the shortest, where a longer one would cost more than this.
const LENGTH: Duration = Duration::from_millis(100);
const SHORTEST: Duration = Duration::from_millis(10);
const DEAR: Duration = Duration::from_millis(10);
/// The longest time between two looks at the cost of a record that does not pause.
const LONGEST: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(2_000);

/// The times at which futex calls are recorded.
pub struct Windows {
    began: Instant,
    cpus: f64,
    /// Whether they may pause.
    may_pause: bool,
    /// The shares that a record may take without pauses and with pauses, after the first seconds.
    tolerated: f64,
    share: f64,
    state: State,
    /// The time of the windows that ended since the part began.
    ended: Duration,
    /// Pauses of this part.
    pub pauses: u32,
    /// The time of an open window that counts for this part.
    counts_since: Instant,
    slice_began: Instant,
}

enum State {
    /// Since the time of the last look, at which the cost was this.
    Open { looked: Instant, cost_ns: u64, length: Duration },
    /// The next window will have this length.
    Paused { until: Instant, length: Duration },
}

impl Windows {
    /// Begins the first window. Without `may_pause` it lasts to the end.
    pub fn begin(cpus: usize, may_pause: bool, now: Instant) -> Self {
        Self {
            began: now,
            cpus: cpus as f64,
            may_pause,
            tolerated: TOLERATED,
            share: SHARE,
            state: State::Open { looked: now, cost_ns: 0, length: LENGTH },
            ended: Duration::ZERO,
            pauses: 0,
            counts_since: now,
            slice_began: now,
        }
    }

    /// Begins the first window for a program that contend has started.
    pub fn of_started(cpus: usize, may_pause: bool, now: Instant) -> Self {
        Self { tolerated: OF_STARTED, share: OF_STARTED, ..Self::begin(cpus, may_pause, now) }
    }

    /// Returns whether the record is to pause, by what is known of its cost.
    pub fn ends(&mut self, now: Instant, cost_ns: u64) -> bool {
        let State::Open { looked, cost_ns: before, length } = self.state else { return false };
        let window = now - looked;
        if !self.may_pause || window < length {
            return false;
        }
        let tolerated = if now - self.began < AT_FIRST { TOLERATED_AT_FIRST } else { self.tolerated };
        let is_cheap = Duration::from_nanos(cost_ns.saturating_sub(before)) < window.mul_f64(tolerated * self.cpus);
        if is_cheap && window > LONGEST {
            self.state = State::Open { looked: now, cost_ns, length: LENGTH };
        }
        // What a short window has cost is known after it.
        !is_cheap || length < LENGTH
    }

    /// Ends the window, which lasted until `ended` and has cost this.
    pub fn pause(&mut self, ended: Instant, cost_ns: u64) {
        let State::Open { looked, cost_ns: before, .. } = self.state else { return };
        let (window, cost) = (ended - looked, Duration::from_nanos(cost_ns.saturating_sub(before)));
        let pause = cost.div_f64(self.share * self.cpus).saturating_sub(window).min(LONGEST_PAUSE);
        let length = window.mul_f64(DEAR.div_duration_f64(cost.max(SHORTEST / 100))).clamp(SHORTEST, LENGTH);
        self.ended += ended.saturating_duration_since(self.counts_since);
        // A random time, so that nothing that the program does periodically is always seen at the same point.
        self.state = State::Paused { until: ended + pause.mul_f64(0.5 + fastrand::f64()), length };
        self.pauses += 1;
    }

    /// Returns whether a slice of the window is over, and begins the next one: slices are as long as a window, so that
    /// their sums can be compared.
    pub fn is_slice_over(&mut self, now: Instant) -> bool {
        let is_over = self.is_open() && now - self.slice_began >= LENGTH;
        if is_over {
            self.slice_began = now;
        }
        is_over
    }

    /// Returns whether a pause is over.
    pub fn is_due(&self, now: Instant) -> bool {
        self.paused_until().is_some_and(|until| now >= until)
    }

    /// Begins the next window.
    pub fn begin_next(&mut self, now: Instant, cost_ns: u64) {
        let length = if let State::Paused { length, .. } = self.state { length } else { LENGTH };
        self.state = State::Open { looked: now, cost_ns, length };
        (self.counts_since, self.slice_began) = (now, now);
    }

    /// Makes this pause end later, since the record could not be continued.
    pub fn postpone(&mut self, now: Instant) {
        self.state = State::Paused { until: now + LONGEST_PAUSE, length: LENGTH };
    }

    /// Counts from now on. A pause ends, so that each part has a window.
    pub fn begin_part(&mut self, now: Instant) {
        (self.ended, self.counts_since, self.pauses) = (Duration::ZERO, now, 0);
        if let State::Paused { until, .. } = &mut self.state {
            *until = now;
        }
    }

    /// Returns whether calls are recorded.
    pub fn is_open(&self) -> bool {
        self.paused_until().is_none()
    }

    /// Returns when the pause is over; `None` in a window.
    pub fn paused_until(&self) -> Option<Instant> {
        match self.state {
            State::Paused { until, .. } => Some(until),
            State::Open { .. } => None,
        }
    }

    /// Returns the time of the windows since the part began.
    pub fn watched(&self, now: Instant) -> Duration {
        let open = if self.is_open() { now.saturating_duration_since(self.counts_since) } else { Duration::ZERO };
        self.ended + open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs for a simulated minute, in steps of 10 ms, at this cost for each second of the record; returns the share of the
    /// time in windows, of the first seconds and of the others.
    fn watched_shares(cost_per_s: Duration, may_pause: bool) -> [f64; 2] {
        let began = Instant::now();
        watched_shares_of(Windows::begin(2, may_pause, began), began, cost_per_s)
    }

    fn watched_shares_of(mut windows: Windows, began: Instant, cost_per_s: Duration) -> [f64; 2] {
        let (step, minute) = (Duration::from_millis(10), Duration::from_secs(60));
        let (mut cost, mut now) = (0, began);
        let mut at_first = Duration::ZERO;
        while now < began + minute {
            now += step;
            if windows.is_open() {
                cost += (cost_per_s.as_nanos() / 100) as u64;
                if windows.ends(now, cost) {
                    windows.pause(now, cost);
                }
            } else if windows.is_due(now) {
                windows.begin_next(now, cost);
            }
            if now <= began + AT_FIRST {
                at_first = windows.watched(now);
            }
        }
        let others = windows.watched(now) - at_first;
        [at_first.div_duration_f64(AT_FIRST), others.div_duration_f64(minute - AT_FIRST)]
    }

    #[test]
    fn record_that_costs_little_never_pauses() {
        assert_eq!(watched_shares(Duration::from_millis(15), true), [1.0, 1.0]);
        assert_eq!(watched_shares(Duration::from_millis(900), false), [1.0, 1.0]);
    }

    /// Two CPUs: a record with pauses may cost 8 ms a second, and 120 ms in each of the first seconds.
    #[test]
    fn pauses_bring_the_cost_down_to_its_share() {
        for cost in [20, 60, 110] {
            let [at_first, share] = watched_shares(Duration::from_millis(cost), true);
            let spent = share * cost as f64;
            assert!(at_first > 0.99 && (6.0..10.5).contains(&spent), "{at_first}, {share} of {cost} ms");
        }
        let [at_first, share] = watched_shares(Duration::from_secs(2), true);
        assert!(at_first < 0.4 && (0.003..0.02).contains(&share), "short windows: {at_first}, {share}");
    }

    /// 100 ms a second on two CPUs are a twentieth of them.
    #[test]
    fn record_of_a_started_program_may_cost_more() {
        let began = Instant::now();
        let share = |cost_ms| {
            let windows = Windows::of_started(2, true, began);
            watched_shares_of(windows, began, Duration::from_millis(cost_ms))[1]
        };
        assert_eq!(share(90), 1.0);
        assert!((0.3..0.6).contains(&share(220)), "{}", share(220));
    }

    #[test]
    fn part_that_begins_in_a_pause_has_a_window() {
        let began = Instant::now();
        let mut windows = Windows::begin(2, true, began);
        let later = began + LENGTH;
        assert!(windows.ends(later, 100_000_000));
        windows.pause(later, 100_000_000);
        assert!(!windows.is_due(later));
        windows.begin_part(later);
        assert!(windows.is_due(later) && windows.watched(later) == Duration::ZERO);
    }
}
