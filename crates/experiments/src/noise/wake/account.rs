//! The wake-ups of one CPU at one interval, in constant memory however many they are.
//!
//! The causes of the time between an instant and the wake-up come from the kernel trace of the CPU.
//!
//! In order: the timer may be late by the thread's slack; then its interrupt is awaited, by a CPU that idles (its idle
//! state has to be left) or by one that is awake (the timer is late); the interrupt's handler runs, and its deferred
//! work; the CPU leaves its idle loop, or its current task continues until the scheduler switches; and the thread
//! itself returns from the kernel.
//!
//! The time that an idle CPU's timer took to fire, and the time that the CPU then took to wake, cannot be
//! distinguished: both are idle time.

use super::record::LateWake;
use super::sleeper::{Piece, Wake};
use crate::noise::cause_sums::CauseSums;
use harness::story;
use instruments::clock::Clock;
use instruments::evidence::{Cause, Kind, Ran, Timeline, ran};
use instruments::statistics::Interval;
use instruments::statistics::slices::Slices;
use instruments::statistics::summary::CONFIDENCE;
use instruments::tally::Tally;
use std::collections::BTreeMap;
use std::time::Duration;

pub struct Account {
    pub cpu: usize,
    clock: Clock,
    /// The begin of the run, in ticks.
    origin: u64,
    slack: u64,
    /// The wake-up latencies in nanoseconds.
    late: Slices,
    pub causes: CauseSums,
    /// The causes by the latency, in steps of a sixteenth of an octave.
    by_lateness: BTreeMap<u32, CauseSums>,
    /// The latest wake-ups, the latest first.
    pub latest: Vec<LateWake>,
    pub stopped: Option<LateWake>,
}

/// The number of different latencies that are kept exactly.
const EXACT: usize = 1 << 14;
const STEPS_AN_OCTAVE: f64 = 16.0;
/// The number of causes that a step of latency has room for.
const CAUSES_A_STEP: usize = 24;
/// The number of late wake-ups whose event timelines are kept.
const LATEST: usize = 20;

impl Account {
    pub fn new(cpu: usize, clock: Clock, origin: u64, slack_ns: u64) -> Self {
        Self {
            cpu,
            clock,
            origin,
            slack: clock.to_ticks(slack_ns as f64),
            late: Slices::with_room(EXACT),
            causes: CauseSums::default(),
            by_lateness: BTreeMap::new(),
            latest: Vec::new(),
            stopped: None,
        }
    }

    /// Adds this CPU's wake-ups of a piece, with the kernel trace of it.
    pub fn add(&mut self, piece: &Piece, timeline: Option<&Timeline>) {
        let cpu = self.cpu;
        let wakes = || piece.wakes.iter().filter(|wake| wake.cpu == cpu);
        // Each wake-up had an interrupt: a kernel trace without any does not record them.
        let sees_interrupts = timeline.is_some_and(Timeline::has_handlers);
        for wake in wakes() {
            let parts = self.divided(wake, timeline, sees_interrupts);
            let step =
                self.by_lateness.entry(step(wake.late_ns)).or_insert_with(|| CauseSums::with_room(CAUSES_A_STEP));
            for (cause, ticks) in &parts {
                self.causes.add(cause, *ticks);
                step.add(cause, *ticks);
            }
            let is_last = piece.is_stopped && piece.wakes.last() == Some(wake);
            if is_last || self.latest.get(LATEST - 1).is_none_or(|least| wake.late_ns as f64 > least.late_us * 1e3) {
                self.keep(wake, &parts, timeline, is_last);
            }
        }
        self.late.add(wakes().map(|wake| wake.late_ns).collect());
    }

    /// Returns the latencies in nanoseconds.
    pub fn late(&self) -> &Tally {
        self.late.all()
    }

    /// Returns the 95 % interval of a quantile of the latency: adjacent wake-ups are correlated, so it is over pieces.
    pub fn late_interval(&self, q: f64) -> Option<Interval> {
        self.late.interval(q, CONFIDENCE)
    }

    /// Returns the 95 % interval of a quantile of the tail, for wake-ups over this time.
    pub fn tail_interval(&self, q: f64, span: Duration) -> Option<Interval> {
        self.late.tail_interval(q, CONFIDENCE, span)
    }

    fn due(&self, wake: &Wake) -> u64 {
        wake.woke.saturating_sub(self.clock.to_ticks(wake.late_ns as f64))
    }

    fn divided(&self, wake: &Wake, timeline: Option<&Timeline>, sees_interrupts: bool) -> Vec<(Cause, u64)> {
        let due = self.due(wake);
        let story = timeline.map(|timeline| ran(timeline, self.cpu, due, wake.woke)).unwrap_or_default();
        divide(&story, (due, wake.woke), self.slack, sees_interrupts)
    }

    fn keep(&mut self, wake: &Wake, parts: &[(Cause, u64)], timeline: Option<&Timeline>, is_last: bool) {
        let due = self.due(wake);
        let unknown = (Cause::unnamed(Kind::Unexplained), wake.woke - due);
        let (cause, ticks) = parts.first().unwrap_or(&unknown);
        let late = LateWake {
            start_s: self.clock.to_ns(due.saturating_sub(self.origin)) / 1e9,
            late_us: wake.late_ns as f64 / 1e3,
            cause: cause.clone(),
            cause_us: self.clock.to_ns(*ticks) / 1e3,
            story: timeline.map(|timeline| story(timeline, self.cpu, (due, wake.woke))).unwrap_or_default(),
        };
        self.stopped = is_last.then(|| late.clone()).or(self.stopped.take());
        let place = self.latest.partition_point(|other| other.late_us >= late.late_us);
        self.latest.insert(place, late);
        self.latest.truncate(LATEST);
    }

    /// Returns the main cause of the wake-ups with these latencies, in nanoseconds, and its share.
    pub fn cause_between(&self, from_ns: u64, to_ns: u64) -> Option<(Cause, f64)> {
        let mut sums = CauseSums::default();
        self.by_lateness.range(step(from_ns)..=step(to_ns)).for_each(|(_, step)| sums.absorb(step));
        let (cause, ticks) = sums.largest()?;
        Some((cause, ticks as f64 / sums.ticks().max(1) as f64))
    }
}

fn step(late_ns: u64) -> u32 {
    ((late_ns.max(1) as f64).log2() * STEPS_AN_OCTAVE) as u32
}

/// Divides a latency, whose event timeline begins at the instant or earlier, between its causes; all times in ticks.
///
/// The parts add up to it. Where interrupts are not recorded, a late timer cannot be detected.
pub fn divide(story: &[Ran], (due, woke): (u64, u64), slack: u64, sees_interrupts: bool) -> Vec<(Cause, u64)> {
    let mut parts = Parts { due, slack, sees_interrupts, has_fired: false, known: 0, sums: Vec::new() };
    for ran in story.iter().filter(|ran| ran.end > due && ran.start < woke || ran.start == ran.end) {
        let (start, end) = (ran.start.max(due), ran.end.min(woke));
        parts.add(&ran.who, start, end.max(start));
    }
    let unknown = (woke - due).saturating_sub(parts.known);
    parts.take(Cause::unnamed(Kind::Unexplained), unknown);
    parts.sums.retain(|(_, ticks)| *ticks > 0);
    parts.sums.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
    parts.sums
}

struct Parts {
    due: u64,
    slack: u64,
    sees_interrupts: bool,
    /// Whether an interrupt came, or was being served at the instant.
    has_fired: bool,
    known: u64,
    sums: Vec<(Cause, u64)>,
}

impl Parts {
    fn add(&mut self, who: &Cause, start: u64, end: u64) {
        self.known += end - start;
        match who.kind {
            Kind::Interrupt | Kind::Softirq => {
                self.has_fired = true;
                self.take(who.clone(), end - start);
            }
            // The thread runs: it had not gone to sleep yet, or has woken.
            Kind::Own | Kind::Unexplained => self.take(who.clone(), end - start),
            kind if self.has_fired => {
                // Until it leaves the CPU, the thread waits for this task.
                let cause = if kind == Kind::Idle { Cause::unnamed(kind) } else { who.clone() };
                self.take(cause, end - start);
            }
            kind => {
                let allowed = (self.due + self.slack).clamp(start, end) - start;
                self.take(Cause::unnamed(Kind::TimerSlack), allowed);
                let rest = match kind {
                    Kind::Task if self.sees_interrupts => Cause::unnamed(Kind::TimerLate),
                    Kind::Idle => Cause::unnamed(kind),
                    // The task may have run before the timer's interrupt or after it.
                    _ => who.clone(),
                };
                self.take(rest, end - start - allowed);
            }
        }
    }

    fn take(&mut self, cause: Cause, ticks: u64) {
        match self.sums.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += ticks,
            None => self.sums.push((cause, ticks)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spike_has_its_main_cause_and_the_latest_are_kept() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let mut account = Account::new(3, clock, 0, 0);
        for second in 0..100_u64 {
            let wake = |n: u64| Wake {
                woke: clock.to_ticks((second * 1_000 + n + 1) as f64 * 1e6),
                late_ns: 5_000 + n,
                cpu: 3,
            };
            let mut wakes: Vec<Wake> = (0..1_000).map(wake).collect();
            // Wake-ups of another CPU are not counted.
            wakes.push(Wake { cpu: 4, ..wakes[0] });
            account.add(&Piece { wakes, span: (0, 1), skipped: 0, is_stopped: false }, None);
        }
        assert_eq!((account.late().count(), account.latest.len()), (100_000, LATEST));
        assert!(account.latest.iter().all(|late| late.late_us >= 5.99));
        let (cause, share) = account.cause_between(5_000, 6_000).unwrap();
        assert_eq!((cause.kind, share), (Kind::Unexplained, 1.0));
    }

    #[test]
    fn night_of_latencies_fits() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let mut account = Account::new(0, clock, 0, 0);
        for second in 0..60_u64 {
            let wakes = (0..2_000).map(|n| Wake { woke: u64::MAX / 2, late_ns: 1_000 + second * 2_000 + n, cpu: 0 });
            account.add(&Piece { wakes: wakes.collect(), span: (0, 1), skipped: 0, is_stopped: false }, None);
        }
        assert_eq!(account.late().count(), 120_000);
        assert!(account.late().distinct() <= EXACT + 2_000, "{}", account.late().distinct());
    }

    #[test]
    fn interval_of_the_median_covers_correlated_wake_ups() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let (mut covered, runs) = (0, 100);
        for seed in 0..runs {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut account = Account::new(0, clock, 0, 0);
            for _ in 0..10 {
                let moment = 5_000 + random.u64(0..400);
                let wakes = (0..200).map(|number| Wake { woke: number, late_ns: moment + random.u64(0..200), cpu: 0 });
                let wakes = wakes.collect();
                account.add(&Piece { wakes, span: (0, 1), skipped: 0, is_stopped: false }, None);
            }
            covered += u64::from(account.late_interval(0.5).unwrap().contains(5_300.0));
        }
        assert!(covered >= 85, "{covered} of {runs}");
    }

    fn named(kind: Kind, name: &str) -> Cause {
        Cause { kind, name: Some(name.into()), pid: None }
    }

    fn ran(start: u64, end: u64, who: Cause) -> Ran {
        Ran { start, end, who }
    }

    /// Returns kinds with their ticks, the largest first.
    fn kinds(story: &[Ran], due: u64, woke: u64, slack: u64) -> Vec<(Kind, u64)> {
        divide(story, (due, woke), slack, true).into_iter().map(|(cause, ticks)| (cause.kind, ticks)).collect()
    }

    #[test]
    fn latency_of_an_idle_cpu_is_divided_by_phase() {
        let story = [
            ran(0, 170, Cause::unnamed(Kind::Idle)),
            ran(170, 173, named(Kind::Interrupt, "local_timer")),
            ran(173, 175, Cause::unnamed(Kind::Idle)),
            ran(175, 200, Cause::unnamed(Kind::Own)),
        ];
        // Due at 100, with a slack of 50: 20 for the idle state, and 2 after the interrupt.
        let found = kinds(&story, 100, 176, 50);
        assert_eq!(found, [(Kind::TimerSlack, 50), (Kind::Idle, 22), (Kind::Interrupt, 3), (Kind::Own, 1)]);
        assert_eq!(kinds(&story, 100, 176, 0)[0], (Kind::Idle, 72));
    }

    #[test]
    fn latency_of_a_busy_cpu_is_divided_by_phase() {
        let culprit = Cause { kind: Kind::Task, name: Some("culprit".into()), pid: Some(9) };
        let story = [
            ran(90, 110, culprit.clone()),
            ran(110, 112, named(Kind::Interrupt, "local_timer")),
            ran(112, 152, culprit.clone()),
            ran(152, 160, Cause::unnamed(Kind::Own)),
        ];
        let found = divide(&story, (100, 153), 0, true);
        assert_eq!(found[0], (culprit, 40));
        let rest: Vec<_> = found[1..].iter().map(|(cause, ticks)| (cause.kind, *ticks)).collect();
        assert_eq!(rest, [(Kind::TimerLate, 10), (Kind::Interrupt, 2), (Kind::Own, 1)]);
    }

    #[test]
    fn interrupt_at_the_instant_is_not_a_late_timer() {
        let story = [
            ran(80, 130, named(Kind::Interrupt, "virtio")),
            ran(130, 135, Cause::unnamed(Kind::Idle)),
            ran(135, 140, Cause::unnamed(Kind::Own)),
        ];
        assert_eq!(kinds(&story, 100, 136, 50), [(Kind::Interrupt, 30), (Kind::Idle, 5), (Kind::Own, 1)]);
    }

    #[test]
    fn trace_without_interrupts_has_no_late_timer() {
        let culprit = named(Kind::Task, "culprit");
        let story = [ran(90, 152, culprit.clone()), ran(152, 160, Cause::unnamed(Kind::Own))];
        let found = divide(&story, (100, 153), 10, false);
        assert_eq!(found[0], (culprit, 42));
        assert_eq!(found[1], (Cause::unnamed(Kind::TimerSlack), 10));
        let unknown = Cause::unnamed(Kind::SwitchedOut);
        assert_eq!(kinds(&[ran(90, 150, unknown)], 100, 150, 0), [(Kind::SwitchedOut, 50)]);
    }

    #[test]
    fn latency_without_kernel_events_is_unexplained() {
        assert_eq!(kinds(&[], 100, 150, 50), [(Kind::Unexplained, 50)]);
    }
}
