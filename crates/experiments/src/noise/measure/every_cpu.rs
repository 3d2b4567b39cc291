//! Sampling threads on several CPUs, all from one instant: what is lost where, when, and at the same moment.

use super::Measured;
use super::cell::{self, Cell};
use super::turn::TurnSetup;
use crate::noise::cells::CellPlan;
use crate::noise::every_cpu::role;
use crate::noise::plan::Plan;
use crate::noise::record::{Row, Together};
use anyhow::Context;
use harness::{MINUTE, Progress, Session, SmtMonitor};
use instruments::clock::Clock;
use instruments::coincidence::{coincidences, watched_by_all};
use instruments::environment::Cpu;
use instruments::evidence::Recorder;
use instruments::gaps::Watch;
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::Warning;
use record::distinct;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The number of repetitions whose order is kept.
const MOST_TURNS: usize = 1_000;

/// One CPU and its observations.
struct Watched {
    cell: Cell,
    record: Option<Recorder>,
    moments: Moments,
    bins: TimeBins,
    result: io::Result<()>,
}

/// Measures all CPUs of the plan together, repetition after repetition.
pub fn run_plan(plan: &Plan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<Measured> {
    let mut monitor = SmtMonitor::open(session, clock);
    let setup = TurnSetup { clock, plan, probe: monitor.probe, interruption: &session.interruption, progress };
    let (origin, began) = (clock.now(), Instant::now());
    let budget = plan.budget.unwrap_or(Duration::from_secs(1));
    // A map without a planned end begins with a minute, and grows.
    let mapped = session.planned(budget).unwrap_or(MINUTE);
    let mut all: Vec<Watched> = plan.cpus.iter().map(|cpu| Watched::new(plan, cpu, clock, origin, mapped)).collect();
    let (mut order, mut last_turn) = (Vec::new(), Duration::ZERO);
    for _ in 0..plan.turns {
        // The estimate is the length of the last one with its overhead: later gaps are on no map.
        let (turn_began, is_late) = (Instant::now(), began.elapsed() + last_turn > budget);
        if is_late || session.interruption.is_requested() {
            break;
        }
        progress.note(&format!("{} CPUs", all.len()));
        let members = all.iter_mut().map(|one| one.member(&setup)).collect();
        work_together(clock, plan.turn, members)?;
        for one in &mut all {
            let result = std::mem::replace(&mut one.result, Ok(()));
            result.with_context(|| format!("the sampling thread of CPU {}", one.cell.plan.reader_cpu))?;
        }
        if order.len() < MOST_TURNS {
            order.push((0..all.len()).collect());
        }
        last_turn = turn_began.elapsed();
        progress.minute(|| so_far(&all));
        if all.iter().any(|one| one.cell.stopped.is_some()) {
            break;
        }
    }
    let shared = together(all.iter().map(|one| &one.moments), session.seed);
    all.iter().for_each(|one| monitor.learn_widths(one.cell.plan.reader_cpu, &one.cell.widths.all()));
    let rows: Vec<Row> = all
        .iter()
        .zip(shared)
        .filter_map(|(one, together)| {
            let row = alone_on_its_core(cell::row(&one.cell, plan, &monitor)?, plan, &session.environment.cpu);
            let (lost_by_time, role) = (one.bins.shares(clock, began.elapsed()), role(row.cpu, &session.environment));
            Some(Row { together: Some(together), lost_by_time, role: Some(role), ..row })
        })
        .collect();
    let own = all.iter_mut().flat_map(|one| one.cell.warnings());
    let warnings: Vec<Warning> = plan.warnings.iter().cloned().chain(own).chain(monitor.warnings()).collect();
    Ok(Measured { rows, order, kept: super::GapTrace::default(), warnings: distinct(&warnings, Warning::clone) })
}

/// Returns, for a line of a long run, the CPU with the longest gap.
fn so_far(all: &[Watched]) -> String {
    let longest = |one: &&Watched| one.cell.longest.first(one.cell.clock).map_or(0.0, |gap| gap.length_us);
    let worst = all.iter().max_by(|a, b| longest(a).total_cmp(&longest(b)));
    worst.map_or_else(String::new, |one| format!("CPU {}: {}", one.cell.plan.reader_cpu, one.cell.words_so_far()))
}

/// Removes the observations of its core, if the SMT sibling there is another sampling thread.
fn alone_on_its_core(row: Row, plan: &Plan, machine: &Cpu) -> Row {
    let is_ours = plan.cpus.iter().any(|other| other != row.cpu && machine.share_a_core(row.cpu, other));
    if is_ours {
        Row { core_shared_share: None, core_shared_share_ci: None, width_lost_share: None, ..row }
    } else {
        row
    }
}

impl Watched {
    fn new(plan: &Plan, cpu: usize, clock: Clock, origin: u64, budget: Duration) -> Self {
        let cell = CellPlan { reader_cpu: cpu, ..plan.cells[0].clone() };
        Self {
            cell: Cell::new(cell, clock, origin, false),
            record: None,
            moments: Moments::since(origin, clock),
            bins: TimeBins::over(origin, clock.ticks_in(budget)),
            result: Ok(()),
        }
    }

    fn member<'a>(&'a mut self, setup: &'a TurnSetup<'a>) -> Member<'a> {
        let Self { cell, record, moments, bins, result } = self;
        let cpu = cell.plan.reader_cpu;
        let job = move |gate: &StartGate| {
            *result = cell.read_alone(setup, record, gate, |watch| {
                moments.add(watch);
                bins.add(watch);
            });
        };
        Member { cpu: Some(cpu), job: Box::new(job) }
    }
}

/// The moments of a CPU's gaps.
///
/// Their number is limited, however long the run: when the memory is full, the shorter half is dropped, and from then
/// on only longer ones are added.
pub struct Moments {
    origin: u64,
    clock: Clock,
    /// The length in ticks below which gaps are not kept.
    least: u64,
    /// The start and the length in ticks.
    gaps: Vec<(u64, u64)>,
    /// The sampled ranges, in ticks, without the time between repetitions and between their pieces.
    watched: Vec<Range<u64>>,
}

const MOST: usize = 20_000;
const MOST_STRETCHES: usize = 4_096;
/// The minimum length: shorter gaps come from the core or the hypervisor.
const LEAST_NS: f64 = 1_000.0;
/// The distance within which gaps count as simultaneous: an interrupt to all CPUs reaches them within it.
const WINDOW_NS: f64 = 25_000.0;

impl Moments {
    pub fn since(origin: u64, clock: Clock) -> Self {
        Self { origin, clock, least: clock.to_ticks(LEAST_NS), gaps: Vec::with_capacity(MOST), watched: Vec::new() }
    }

    pub fn add(&mut self, watch: &Watch) {
        let start = watch.start.saturating_sub(self.origin);
        self.watched.push(start..start + watch.span);
        if self.watched.len() > MOST_STRETCHES {
            self.forget_the_shorter_breaks();
        }
        for gap in &watch.gaps {
            if gap.length < self.least {
                continue;
            }
            if self.gaps.len() == MOST {
                self.forget_the_shorter_half();
            }
            self.gaps.push((gap.start.saturating_sub(self.origin), gap.length));
        }
    }

    fn forget_the_shorter_half(&mut self) {
        let mut lengths: Vec<u64> = self.gaps.iter().map(|gap| gap.1).collect();
        let median = *lengths.select_nth_unstable(MOST / 2).1;
        self.least = median + 1;
        // Among equally long gaps the first ones stay, as far as there is room.
        let mut room = MOST / 2 - self.gaps.iter().filter(|gap| gap.1 > median).count();
        self.gaps.retain(|gap| {
            let stays = gap.1 > median || gap.1 == median && room > 0;
            room -= usize::from(stays && gap.1 == median);
            stays
        });
    }

    /// Joins the pieces of a repetition in a long run, as if there were no pause between them, which is a thousandth of
    /// it.
    fn forget_the_shorter_breaks(&mut self) {
        let mut breaks: Vec<u64> =
            self.watched.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].end)).collect();
        let place = breaks.len() / 2;
        let median = *breaks.select_nth_unstable(place).1;
        self.watched.dedup_by(|next, last| {
            let joins = next.start.saturating_sub(last.end) <= median;
            last.end = if joins { next.end } else { last.end };
            joins
        });
    }

    /// Returns the sampled ranges, in nanoseconds since the run began, in order.
    pub fn watched_ns(&self) -> Vec<Range<f64>> {
        self.watched.iter().map(|stretch| self.clock.to_ns(stretch.start)..self.clock.to_ns(stretch.end)).collect()
    }

    /// Returns the starts in nanoseconds since the run began, in order.
    pub fn starts_ns(&self) -> Vec<f64> {
        self.gaps.iter().map(|gap| self.clock.to_ns(gap.0)).collect()
    }
}

/// Returns, for each CPU, the number of its gaps that coincided with those of others, and the number by chance, in the
/// time in which all of them were sampled.
pub fn together<'a>(all: impl Iterator<Item = &'a Moments>, seed: u64) -> Vec<Together> {
    let (trains, watched): (Vec<_>, Vec<_>) = all.map(|one| (one.starts_ns(), one.watched_ns())).unzip();
    let (trains, span_ns) = watched_by_all(&trains, &watched);
    let of = |found: instruments::coincidence::Coincidence| Together {
        gaps: found.moments,
        together: found.together,
        by_chance: found.by_chance,
        by_chance_deviation: found.deviation,
        is_common: found.is_common(),
        window_us: WINDOW_NS / 1e3,
    };
    coincidences(&trains, span_ns, WINDOW_NS, seed).into_iter().map(of).collect()
}

/// The number of bins, which fits the columns of a terminal.
const BINS: usize = 60;

/// The lost and the sampled ticks, piece by piece.
pub struct TimeBins {
    origin: u64,
    /// The length of a bin, in ticks.
    length: u64,
    /// The end of the last watch, in ticks since the origin.
    end: u64,
    lost: Vec<u64>,
}

impl TimeBins {
    pub fn over(origin: u64, ticks: u64) -> Self {
        Self { origin, length: (ticks / BINS as u64).max(1), end: 0, lost: vec![0; BINS] }
    }

    /// Adds a watch.
    ///
    /// A gap counts in each bin that it is in; gaps shortly after the planned end count in the last. A run that
    /// continues doubles the length of the bins.
    pub fn add(&mut self, watch: &Watch) {
        let last = BINS as u64 - 1;
        let end = watch.start.saturating_sub(self.origin) + watch.span;
        self.end = self.end.max(end);
        while end > (self.length * BINS as u64).saturating_mul(11) / 10 {
            self.double();
        }
        for gap in &watch.gaps {
            let (mut from, end) = (gap.start.saturating_sub(self.origin), gap.end().saturating_sub(self.origin));
            while from < end {
                let bin = (from / self.length).min(last);
                let until = if bin == last { end } else { end.min((bin + 1) * self.length) };
                self.lost[bin as usize] += until - from;
                from = until;
            }
        }
    }

    fn double(&mut self) {
        for bin in 0..BINS / 2 {
            self.lost[bin] = self.lost[2 * bin] + self.lost[2 * bin + 1];
        }
        self.lost[BINS / 2..].fill(0);
        self.length *= 2;
    }

    /// Returns the shares of each bin's time, as far as the run has come.
    pub fn shares(&self, clock: Clock, elapsed: Duration) -> Vec<f64> {
        let bins = (clock.ticks_in(elapsed) / self.length + 1).min(BINS as u64) as usize;
        let shares = self.lost[..bins].iter().enumerate().map(|(bin, &lost)| {
            // The last one also has the gaps after it, and may not be full.
            let covered = if bin + 1 == bins { self.end.saturating_sub(bin as u64 * self.length) } else { self.length };
            lost as f64 / covered.max(lost).max(1) as f64
        });
        shares.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::gaps::Gap;
    use std::time::Duration;

    #[test]
    fn longest_gaps_are_kept_in_constant_memory() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let mut moments = Moments::since(0, clock);
        // A night of two million gaps, every tenth of them long.
        for second in 0..200_u64 {
            let gap = |n: u64| {
                let length_ns = if n.is_multiple_of(10) { 90e3 } else { 5e3 };
                Gap { start: clock.to_ticks((second * 10_000 + n) as f64 * 1e5), length: clock.to_ticks(length_ns) }
            };
            let gaps = (0..10_000).map(gap).collect();
            moments.add(&Watch { gaps, span: 1, start: 0, passes: 1, threshold: 1, full: false, looks: Vec::new() });
        }
        assert!(moments.gaps.len() <= MOST && moments.gaps.capacity() == MOST);
        assert!(moments.gaps.iter().all(|gap| gap.1 > clock.to_ticks(6e3)));
        assert!(moments.starts_ns().is_sorted());
    }

    #[test]
    fn gap_is_divided_between_the_bins_that_it_spans() {
        let mut bins = TimeBins::over(1_000, 60 * 100);
        let gap = |start, length| Gap { start, length };
        let gaps = vec![gap(1_050, 200), gap(1_000 + 5_950, 500)];
        bins.add(&Watch { gaps, span: 6_500, start: 1_000, passes: 1, threshold: 1, full: false, looks: Vec::new() });
        assert_eq!(bins.lost[..4], [50, 100, 50, 0]);
        assert_eq!((bins.lost[59], bins.lost.iter().sum::<u64>()), (500, 700));
        // The last piece continues until the end.
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let shares = bins.shares(clock, Duration::from_secs(1));
        assert_eq!((shares[1], shares[59]), (1.0, 500.0 / 600.0));
    }

    #[test]
    fn endless_run_doubles_the_length_of_the_bins() {
        let mut bins = TimeBins::over(0, 60);
        for second in 0..28_800 {
            let gaps = vec![Gap { start: second * 1_000, length: 10 }];
            bins.add(&Watch {
                gaps,
                span: 1_000,
                start: second * 1_000,
                passes: 1,
                threshold: 1,
                full: false,
                looks: Vec::new(),
            });
        }
        assert_eq!((bins.lost.len(), bins.lost.iter().sum::<u64>()), (BINS, 288_000));
        assert!(bins.length * BINS as u64 >= 28_800_000 * 10 / 11);
        let used = bins.lost.iter().filter(|&&lost| lost > 0).count();
        assert!(used > BINS / 2 - 2, "{used}");
    }
}
