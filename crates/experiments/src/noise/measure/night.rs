//! Eight hours in the accounts: pieces as a sampling or a sleeping thread would produce them, without the waiting.

use super::cell::Cell;
use super::every_cpu::{Moments, TimeBins};
use super::sum::Sum;
use super::turn::Piece;
use crate::night::{passes_alone, resident_kib};
use crate::noise::cells::CellPlan;
use crate::noise::wake::night::Sleeping;
use harness::Interruption;
use instruments::clock::Clock;
use instruments::cpus::schedule::Schedule;
use instruments::evidence::{Event, EventKind, Names, Source, Timeline};
use instruments::gaps::{Gap, Watch};
use instruments::neighbour::Widths;
use std::sync::atomic::Ordering;
use std::time::Duration;

const CPU: usize = 3;
const READER: u32 = 1;
const HOUR: u64 = 3_600;
/// The length of one piece, in seconds.
const PIECE: u64 = 8;
const PIECES: u64 = 8 * HOUR / PIECE;
const GAPS: u64 = 40;
/// The piece in which the culprit runs, and its time in nanoseconds.
const CULPRIT_AT: u64 = 5 * HOUR / PIECE + 17;
const CULPRIT_NS: u64 = 80_000;

/// All accounts of a run.
struct Accounts {
    clock: Clock,
    cell: Cell,
    moments: Moments,
    bins: TimeBins,
    sleeping: Sleeping,
    turn: Sum,
    /// An interruption as after a signal: no search for periods, which would take minutes of a debug build.
    cut_short: Interruption,
}

impl Accounts {
    fn new() -> Self {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let cut_short = Interruption::default();
        cut_short.flag().store(true, Ordering::Relaxed);
        let plan = CellPlan {
            name: "quiet".into(),
            scenario: None,
            reader: Schedule::Idle,
            reader_cpu: CPU,
            competitor: None,
            rescheduler: None,
        };
        Self {
            clock,
            cell: Cell::new(plan, clock, 0, false),
            moments: Moments::since(0, clock),
            bins: TimeBins::over(0, clock.ticks_in(Duration::from_secs(60))),
            sleeping: Sleeping::new(CPU, clock),
            turn: Sum::default(),
            cut_short,
        }
    }

    fn ticks(&self, ns: u64) -> u64 {
        self.clock.to_ticks(ns as f64)
    }

    /// Adds a piece: another process in every gap, like a compilation that lasts all night.
    fn piece(&mut self, piece: u64) {
        let start = self.ticks(piece * PIECE * 1_000_000_000);
        let length = self.ticks(PIECE * 1_000_000_000 - 1_000_000);
        let (mut names, mut events, mut gaps) = (Names::default(), Vec::new(), Vec::new());
        for number in 0..GAPS {
            let serial = piece * GAPS + number;
            let is_culprit = (piece, number) == (CULPRIT_AT, GAPS - 1);
            // The lengths are 1 to 21 µs and do not repeat.
            let ns = if is_culprit { CULPRIT_NS } else { 1_000 + serial.wrapping_mul(2_654_435_761) % 20_000 };
            let gap = Gap { start: start + self.ticks((number + 1) * 150_000_000), length: self.ticks(ns) };
            let task = 1_000 + serial as u32;
            names.name_task(task, task, if is_culprit { "culprit" } else { "rustc" });
            // One in forty stays unexplained.
            if number != 0 {
                let left = EventKind::Left { task: READER, next: Some(task), preempted: true };
                events.push(Event { at: gap.start, kind: left });
                events.push(Event { at: gap.end(), kind: EventKind::Took { task: READER, previous: Some(task) } });
            }
            gaps.push(gap);
        }
        let watch = Watch { gaps, span: length, start, passes: 1_000, threshold: 1, full: false, looks: Vec::new() };
        let events = [(Some(CPU), events)];
        let span = start..start + length;
        let timeline = Timeline::of_events(self.clock, Source::CpuRecord, span, READER, names, &events);
        self.moments.add(&watch);
        self.bins.add(&watch);
        self.sleeping.piece(start, &timeline);
        let is_stopped = piece == CULPRIT_AT;
        let read =
            Piece { watch, preempted: Vec::new(), timeline: Some(timeline), is_stopped, widths: Widths::default() };
        self.turn.add(&read.watch, self.clock);
        self.cell.add(&read, &self.cut_short);
        if piece % 8 == 7 {
            self.cell.causes.end_turn(self.clock, &self.cut_short);
            self.cell.turns.push(std::mem::take(&mut self.turn));
        }
    }
}

#[test]
#[ignore = "the test below runs it, alone in a process"]
fn eight_hours() {
    let mut accounts = Accounts::new();
    let mut after = Vec::new();
    for piece in 0..PIECES {
        accounts.piece(piece);
        if (piece + 1) % (HOUR / PIECE) == 0 {
            after.push(resident_kib());
        }
    }
    // Without bounds the causes alone take 3 MiB an hour.
    assert!(after[7] < after[1] + 4 * 1024, "{after:?}");
    let all = accounts.cell.all_turns().unwrap();
    assert_eq!(all.gaps, PIECES * GAPS);
    assert_eq!(accounts.cell.lengths.count(), all.gaps);
    assert_eq!(accounts.sleeping.wakes(), PIECES * Sleeping::A_PIECE);
    let stopped = accounts.cell.stopped.unwrap();
    assert_eq!(stopped.cause.name.as_deref(), Some("culprit"));
    assert!((stopped.length_us - CULPRIT_NS as f64 / 1e3).abs() < 0.1, "{stopped:?}");
    assert!(stopped.story.iter().any(|part| part.who.name.as_deref() == Some("culprit")), "{stopped:?}");
    assert_eq!(accounts.cell.longest.rows(accounts.clock)[0].cause.name.as_deref(), Some("culprit"));
}

#[test]
fn eight_hours_use_no_more_memory_than_two() {
    passes_alone("noise::measure::night::eight_hours");
}
