//! Eight hours in the accounts: windows as threads would produce them, without the waiting.

use super::baseline::Baseline;
use super::causes::SliceEvidence;
use super::other_threads::OtherThreads;
use super::other_threads::OthersProbes;
use super::series::{Series, SliceRounds};
use crate::night::{passes_alone, resident_kib};
use instruments::clock::Clock;
use instruments::evidence::{Event, EventKind, Names, Source, Timeline};
use instruments::neighbour::Sharing;
use loops::latency::{Round, Trace};
use std::time::Duration;

const CPU: usize = 3;
const LOCKER: u32 = 1;
const HOUR: u64 = 3_600;
/// The length of one window, in seconds.
const SLICE: u64 = 8;
const SLICES: u64 = 8 * HOUR / SLICE;
const ROUNDS: u64 = 60;
/// The number of windows of which one has evidence; its iterations are in no value.
const RECORDED_EVERY: u64 = 4;

struct Accounts {
    clock: Clock,
    series: Series,
    baseline: Baseline,
}

impl Accounts {
    fn new() -> Self {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let baseline = Baseline { lock: 20.0, hold: 20.0, unlock: 20.0 };
        let mut series = Series::default();
        series.note(baseline, Sharing::Alone);
        series.note(baseline, Sharing::Shared);
        Self { clock, series, baseline }
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.clock.to_ticks(ns as f64)
    }

    /// Returns iterations that wait for up to 20 µs, in steps of a clock.
    fn rounds(&self, slice: u64) -> Vec<Round> {
        let round = |number: u64| {
            let serial = slice * ROUNDS + number;
            let began = self.ticks(slice * SLICE * 1_000_000_000 + number * 100_000_000);
            let locked = began + self.ticks(5_000 + serial.wrapping_mul(2_654_435_761) % 500 * 40);
            let releasing = locked + self.ticks(6_100);
            Round { began, locked, releasing, ended: releasing + self.ticks(100 + serial % 50 * 40) }
        };
        (0..ROUNDS).map(round).collect()
    }

    /// Returns a timeline in which another process had the CPU in every wait, like a compilation that lasts all night.
    fn timeline(&self, slice: u64, rounds: &[Round]) -> Timeline {
        let (mut names, mut events) = (Names::default(), Vec::new());
        for (number, round) in rounds.iter().enumerate() {
            let task = 1_000 + (slice * ROUNDS) as u32 + number as u32;
            names.name_task(task, task, &format!("job {task}"));
            let left = EventKind::Left { task: LOCKER, next: Some(task), preempted: true };
            events.push(Event { at: round.began + 10, kind: left });
            events.push(Event { at: round.locked - 10, kind: EventKind::Took { task: LOCKER, previous: Some(task) } });
        }
        let span = rounds[0].began - 1..rounds[rounds.len() - 1].ended + 1;
        Timeline::of_events(self.clock, Source::CpuRecord, span, LOCKER, names, &[(Some(CPU), events)])
    }

    fn slice(&mut self, slice: u64) {
        let rounds = self.rounds(slice);
        let trace = Trace::of(rounds.clone());
        let window = 0..u64::MAX;
        if slice % RECORDED_EVERY == 2 {
            let (timeline, others) = (self.timeline(slice, &rounds), OtherThreads::default());
            let evidence = SliceEvidence {
                timeline: &timeline,
                task: LOCKER,
                trace: &trace,
                window,
                resolution: 20,
                others: &others,
                probes: &OthersProbes::default(),
            };
            self.series.attribute(&evidence, self.baseline, 0.0);
            return;
        }
        let half = rounds.len() / 2;
        let pieces = vec![(0..half, Sharing::Alone), (half..rounds.len(), Sharing::Shared)];
        let (baseline, probes) = (self.baseline, OthersProbes::default());
        self.series.add(&SliceRounds { trace: &trace, window, baseline, pieces, probes, resolution: 20 });
    }
}

#[test]
#[ignore = "the test below runs it, alone in a process"]
fn eight_hours() {
    let mut accounts = Accounts::new();
    let mut after = Vec::new();
    for slice in 0..SLICES {
        accounts.slice(slice);
        if (slice + 1) % (HOUR / SLICE) == 0 {
            after.push(resident_kib());
        }
    }
    let counted = (SLICES - SLICES / RECORDED_EVERY) * ROUNDS;
    assert_eq!(accounts.series.all.lock.count(), counted);
    assert!(accounts.series.all.lock.quantile(0.5, Duration::ZERO).unwrap().interval.is_some());
    // The names alone take a MiB an hour without bounds.
    assert!(after[7] < after[3] + 2 * 1024, "{after:?}");
}

#[test]
fn eight_hours_take_no_more_memory_than_four() {
    passes_alone("latency::measure::night::eight_hours");
}
