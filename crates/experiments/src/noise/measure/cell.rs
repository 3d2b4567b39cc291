//! A cell: the sums of its repetitions, and the row made from them.

use super::causes::{Causes, SoFar};
use super::longest::{Evidence, Longest};
use super::sum::{Sum, TurnSums};
use super::turn::{self, COMPETITOR, Outcome, Piece, TurnSetup, Used};
use crate::noise::by_us;
use crate::noise::cells::CellPlan;
use crate::noise::every_cpu::irqs_of;
use crate::noise::plan::Plan;
use crate::noise::record;
use crate::noise::record::{Line, LongGap, Row, Turn};
use crate::noise::trace::{GapTrace, KeptGap};
use harness::{Interruption, SmtMonitor, label, turns};
use instruments::bounded_tally::BoundedTally;
use instruments::clock::Clock;
use instruments::evidence::{Attribution, Cause, EvidenceQuality, Kind, Recorder, Source};
use instruments::gaps::{Cost, Watch};
use instruments::neighbour::WidthsOverTime;
use instruments::statistics::Interval;
use instruments::statistics::blocks::share_interval;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::team::StartGate;
use instruments::warning::{LeftOut, Warning};
use std::io;
use std::ops::ControlFlow;
use terminal::{nanoseconds, percent};

/// The number of different lengths that are kept exactly.
const EXACT: usize = 1 << 16;
/// The number of calibrations that are kept: more do not change the median.
const MOST_COSTS: usize = 1_000;

/// A cell and its measured values.
pub struct Cell {
    pub plan: CellPlan,
    pub clock: Clock,
    pub turns: TurnSums,
    pub lengths: BoundedTally,
    pub causes: Causes,
    pub longest: Longest,
    pub ledger: Option<EvidenceQuality>,
    pub source: Source,
    pub costs: Vec<Cost>,
    /// The lowest and the highest threshold.
    pub thresholds: (u64, u64),
    pub preempted: Option<u64>,
    pub competitors: Used,
    pub rescheduler: Used,
    /// The widths of the core, as measured by the sampling thread.
    pub widths: WidthsOverTime,
    /// The gap that ended the measurement.
    pub stopped: Option<LongGap>,
    warnings: Vec<Warning>,
    /// The interval of a live run that its last repetition did not end.
    line: Option<LineSum>,
    /// The gaps, if they are kept.
    kept: Option<GapTrace>,
}

impl Cell {
    pub fn new(plan: CellPlan, clock: Clock, origin: u64, keeps_gaps: bool) -> Self {
        Self {
            plan,
            clock,
            turns: TurnSums::default(),
            lengths: BoundedTally::with_room(EXACT),
            causes: Causes::default(),
            longest: Longest::since(origin),
            ledger: None,
            source: Source::None,
            costs: Vec::new(),
            thresholds: (u64::MAX, 0),
            preempted: None,
            competitors: Used::default(),
            rescheduler: Used::default(),
            widths: WidthsOverTime::default(),
            stopped: None,
            warnings: Vec::new(),
            line: None,
            kept: keeps_gaps.then(GapTrace::default),
        }
    }

    /// Runs one repetition; `on_line` receives each interval of it, its time left open, and may end it.
    pub fn run(
        &mut self,
        setup: &TurnSetup<'_>,
        record: &mut Option<Recorder>,
        mut on_line: impl FnMut(Line) -> ControlFlow<()> + Send,
    ) -> anyhow::Result<()> {
        let plan = self.plan.clone();
        let mut turn = Sum::default();
        // An interval may be longer than a repetition.
        let begun = self.line.take();
        let mut line = begun.unwrap_or_else(|| LineSum { causes: self.causes.so_far(), sum: Sum::default() });
        let outcome = turn::run(setup, &plan, record, |piece| {
            setup.show(&plan, &piece.watch);
            let competitor_longest = self.add(&piece, setup.interruption);
            turn.add(&piece.watch, self.clock);
            turn.competitor_longest = turn.competitor_longest.max(competitor_longest);
            line.sum.add(&piece.watch, self.clock);
            match setup.plan.interval {
                // Nearly: the last piece of an interval may end an iteration early.
                Some(interval) if self.clock.to_ns(line.sum.span) > 0.99 * interval.as_nanos() as f64 => {
                    let fresh = LineSum { causes: self.causes.so_far(), sum: Sum::default() };
                    on_line(self.line_of(&std::mem::replace(&mut line, fresh)))
                }
                _ => ControlFlow::Continue(()),
            }
        })?;
        self.line = Some(line);
        self.causes.end_turn(self.clock, setup.interruption);
        self.end_turn(turn);
        self.add_outcome(outcome);
        Ok(())
    }

    /// Runs one repetition without load, on the calling thread; `see` receives each piece's watch.
    pub fn read_alone(
        &mut self,
        setup: &TurnSetup<'_>,
        record: &mut Option<Recorder>,
        gate: &StartGate,
        mut see: impl FnMut(&Watch),
    ) -> io::Result<()> {
        let plan = self.plan.clone();
        let mut turn = Sum::default();
        let reader = turn::read(setup, &plan, record, gate, &mut |piece: Piece| {
            setup.show(&plan, &piece.watch);
            self.add(&piece, setup.interruption);
            turn.add(&piece.watch, self.clock);
            see(&piece.watch);
            ControlFlow::Continue(())
        })?;
        self.causes.end_turn(self.clock, setup.interruption);
        self.end_turn(turn);
        self.add_outcome(Outcome { reader, competitors: Vec::new(), rescheduler: None });
        Ok(())
    }

    /// Ends a repetition; a signal may have come before it sampled anything.
    fn end_turn(&mut self, turn: Sum) {
        if turn.passes > 0 {
            self.turns.push(turn);
        }
    }

    /// Adds a piece of a turn, and returns the longest part of a gap that a competitor took in it.
    pub fn add(&mut self, piece: &Piece, interruption: &Interruption) -> u64 {
        let watch = &piece.watch;
        self.widths.push(&piece.widths);
        self.lengths.add(&watch.gaps.iter().map(|gap| gap.length).collect());
        self.thresholds = (self.thresholds.0.min(watch.threshold), self.thresholds.1.max(watch.threshold));
        if watch.full {
            let what = format!("a second of `{}`", self.plan.name);
            let reason = "it has too many gaps".into();
            self.warn(LeftOut { what: format!("the rest of {what}"), reason }.into());
        }
        if !piece.preempted.is_empty() {
            let seen = piece.preempted.iter().filter(|&&preempted| preempted).count() as u64;
            self.preempted = Some(self.preempted.unwrap_or(0) + seen);
        }
        let attribution =
            piece.timeline.as_ref().map(|timeline| self.causes.add(timeline, watch, &piece.preempted, interruption));
        let cpu = self.plan.reader_cpu;
        let evidence = piece.timeline.as_ref().zip(attribution.as_ref());
        let evidence = evidence.map(|(timeline, attribution)| Evidence { cpu, attribution, timeline });
        self.longest.add(watch, evidence);
        if piece.is_stopped {
            self.stopped = self.longest.last(watch, evidence, self.clock);
        }
        if let Some(timeline) = &piece.timeline {
            match &mut self.ledger {
                Some(ledger) => ledger.absorb(&timeline.quality),
                none => *none = Some(timeline.quality.clone()),
            }
        }
        self.keep(watch);
        self.plan.competitor.and(attribution).map_or(0, |found| competitor_longest(&found, watch.gaps.len()))
    }

    fn line_of(&self, line: &LineSum) -> Line {
        let figures = line.sum.figures(self.clock);
        Line {
            time_s: 0.0,
            scenario: self.plan.name.clone(),
            span_s: figures.span_s,
            samples: figures.samples,
            gaps: figures.gaps,
            over_256us: figures.over_256us,
            longest_us: figures.longest_us,
            lost_share: figures.lost_share,
            causes: self.causes.since(&line.causes).rows(self.clock, line.sum.lost),
        }
    }

    fn keep(&mut self, watch: &Watch) {
        let Some(kept) = &mut self.kept else { return };
        let first = *kept.first_reading.get_or_insert(watch.start);
        let clock = self.clock;
        let start_ns = clock.to_ns(watch.start - first);
        if start_ns > kept.span_ns {
            kept.unwatched.push(KeptGap { start_ns: kept.span_ns, duration_ns: start_ns - kept.span_ns });
        }
        kept.span_ns = clock.to_ns(watch.start + watch.span - first);
        kept.gaps.extend(
            watch
                .gaps
                .iter()
                .map(|gap| KeptGap { start_ns: clock.to_ns(gap.start - first), duration_ns: clock.to_ns(gap.length) }),
        );
    }

    fn add_outcome(&mut self, outcome: Outcome) {
        self.source = outcome.reader.source;
        if self.costs.len() < MOST_COSTS {
            self.costs.push(outcome.reader.cost);
        }
        outcome.reader.warnings.into_iter().for_each(|warning| self.warn(warning));
        outcome.competitors.into_iter().for_each(|used| self.competitors.add(used));
        outcome.rescheduler.into_iter().for_each(|used| self.rescheduler.add(used));
    }

    /// Adds a warning once, however often it applies.
    fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Returns the warnings of the record.
    pub fn warnings(&mut self) -> Vec<Warning> {
        let lost = self.ledger.iter().flat_map(EvidenceQuality::warnings);
        std::mem::take(&mut self.warnings).into_iter().chain(lost).collect()
    }

    /// Returns the present state for a line of a long run.
    pub fn words_so_far(&self) -> String {
        let Some(all) = self.all_turns() else { return "nothing yet".into() };
        let figures = all.figures(self.clock);
        let longest = self.longest.first(self.clock).map_or_else(String::new, |gap| {
            format!(", longest {} ({})", nanoseconds(gap.length_us * 1e3), label(&gap.cause))
        });
        format!("{} gaps, lost {}{longest}", terminal::count(figures.gaps), percent(figures.lost_share))
    }

    pub fn take_kept(&mut self) -> GapTrace {
        self.kept.take().unwrap_or_default()
    }

    /// Returns the sum of all repetitions; `None` when nothing was sampled.
    pub fn all_turns(&self) -> Option<Sum> {
        let mut all = Sum::default();
        self.turns.iter().for_each(|turn| all.absorb(turn));
        (all.passes > 0).then_some(all)
    }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.name.clone()
    }

    /// Returns the table cell in which its pieces are reported.
    fn place(&self) -> (String, String) {
        (self.plan.name.clone(), format!("CPU {}", self.plan.reader_cpu))
    }

    fn so_far(&self) -> String {
        self.words_so_far()
    }

    fn turns(&self) -> u64 {
        self.turns.turns()
    }
}

/// Returns the longest part of a gap that a competitor of this process took, in ticks.
fn competitor_longest(attribution: &Attribution, gaps: usize) -> u64 {
    let is_competitor = |cause: &Cause| {
        cause.kind == Kind::Task
            && cause.name.as_deref().map(str::as_bytes) == Some(COMPETITOR.to_bytes())
            && cause.pid == Some(std::process::id())
    };
    let parts = (0..gaps).flat_map(|gap| attribution.of_gap(gap));
    parts.filter(|(cause, _)| is_competitor(cause)).map(|(_, ticks)| ticks).max().unwrap_or(0)
}

/// An interval of a live run that has not ended, and the causes before it.
struct LineSum {
    causes: SoFar,
    sum: Sum,
}

/// Returns the row of a cell; `None` when nothing was sampled.
pub fn row(cell: &Cell, plan: &Plan, monitor: &SmtMonitor) -> Option<Row> {
    let taken = monitor.taken(cell.plan.reader_cpu, &cell.widths);
    let (clock, all) = (cell.clock, cell.all_turns()?);
    // Only a trace of the whole CPU names who ran.
    let names_competitor = cell.plan.competitor.is_some() && cell.source == Source::CpuRecord;
    let named = |us: Option<f64>| us.filter(|_| names_competitor);
    let figures_of = |turn: &Sum| {
        let figures = turn.figures(clock);
        Turn { competitor_longest_us: named(figures.competitor_longest_us), ..figures }
    };
    let (figures, turns) = (figures_of(&all), cell.turns.iter().map(figures_of).collect::<Vec<_>>());
    let complete = complete(&turns);
    Some(Row {
        scenario: cell.plan.name.clone(),
        cpu: cell.plan.reader_cpu,
        samples: figures.samples,
        span_s: figures.span_s,
        loop_ns: (figures.span_s * 1e9 - clock.to_ns(all.lost)) / (all.passes - all.gaps).max(1) as f64,
        loop_check_ns: cost_ns(cell, |cost| cost.pass),
        bare_loop_ns: cost_ns(cell, |cost| cost.bare_pass),
        threshold_ns: clock.to_ns(cell.thresholds.1),
        least_threshold_ns: clock.to_ns(cell.thresholds.0),
        gaps: figures.gaps,
        gaps_per_s: figures.gaps as f64 / figures.span_s,
        over_256us: figures.over_256us,
        over_1us: Some(over(cell, 1e3)),
        over_10us: Some(over(cell, 1e4)),
        over_100us: Some(over(cell, 1e5)),
        over_1ms: Some(over(cell, 1e6)),
        together: None,
        lost_by_time: Vec::new(),
        stopped: cell.stopped.clone(),
        role: None,
        irqs: irqs_of(cell.plan.reader_cpu),
        longest_us: figures.longest_us,
        longest_p50_us: median(&of_each(&complete, |turn| turn.longest_us))?,
        longest_ci_us: median_interval(&complete, |turn| turn.longest_us),
        median_gap_us: length_us(cell, 0.5),
        p99_gap_us: length_us(cell, 0.99),
        p999_gap_us: tail_us(cell, by_us::ABOVE_P999),
        p9999_gap_us: tail_us(cell, by_us::ABOVE_P9999),
        gaps_by_us: if plan.counts_by_us { by_us::counts(&cell.lengths, |ticks| us(cell, ticks)) } else { Vec::new() },
        lost_share: figures.lost_share,
        lost_ci_share: lost_interval(&complete),
        core_shared_share: taken.and_then(|taken| taken.shared_share),
        core_shared_share_ci: taken.and_then(|taken| taken.shared_share_ci),
        width_lost_share: taken.map(|taken| taken.width_lost_share),
        unwatched_s: turns.iter().map(|turn| turn.unwatched_s).sum(),
        turns,
        explained_share: where_known(cell, cell.causes.explained_share()),
        explained_or_periodic_share: where_known(cell, cell.causes.explained_or_periodic_share(clock)),
        causes: cell.causes.rows(clock, all.lost),
        longest_gaps: cell.longest.rows(clock),
        evidence: cell.source,
        ledger: cell.ledger.clone(),
        events_in_gaps: cell.causes.recall.reported - cell.causes.recall.missed,
        events_outside_gaps: cell.causes.recall.missed,
        preempted_gaps: cell.preempted,
        competitor_slice_every_s: cell.plan.competitor_slice_every_s(plan.contest.competitors),
        competitor_longest_us: figures.competitor_longest_us,
        competitor_longest_p50_us: named(median(&of_each(&complete, competitor_longest_us))),
        competitor_longest_ci_us: median_interval(&complete, competitor_longest_us).filter(|_| names_competitor),
        competitors_cpu_share: competitors_cpu_share(cell, plan),
        rescheduler_cpu_share: cell.plan.rescheduler.map(|_| cpu_share(&cell.rescheduler)),
        rescheduler_wakes_per_s: cell.plan.rescheduler.map(|_| rounds_per_s(&cell.rescheduler)),
        then: cell.plan.scenario.filter(|_| plan.is_like_1999(&cell.plan)).and_then(record::figures),
    })
}

/// Returns the repetitions that a signal did not cut short: shorter ones are not comparable.
fn complete(turns: &[Turn]) -> Vec<Turn> {
    let longest_s = turns.iter().map(|turn| turn.span_s).fold(0.0, f64::max);
    turns.iter().filter(|turn| 2.0 * turn.span_s >= longest_s).copied().collect()
}

fn competitor_longest_us(turn: &Turn) -> f64 {
    turn.competitor_longest_us.unwrap_or(0.0)
}

fn of_each(turns: &[Turn], figure: fn(&Turn) -> f64) -> Vec<f64> {
    turns.iter().map(figure).collect()
}

fn median_interval(turns: &[Turn], figure: fn(&Turn) -> f64) -> Option<Interval> {
    sample_quantile_interval(&of_each(turns, figure), 0.5, CONFIDENCE)
}

/// Returns the interval of the share that all repetitions lost together: a few repetitions with a long gap change it,
/// but not their median.
fn lost_interval(turns: &[Turn]) -> Option<Interval> {
    let blocks: Vec<(f64, f64)> = turns.iter().map(|turn| (turn.lost_share * turn.span_s, turn.span_s)).collect();
    share_interval(&blocks, CONFIDENCE)
}

/// Returns the median over the calibrations of the sampling thread.
fn cost_ns(cell: &Cell, of: fn(&Cost) -> f64) -> f64 {
    let costs: Vec<f64> = cell.costs.iter().map(of).collect();
    median(&costs).unwrap_or(0.0) * cell.clock.ns_per_tick()
}

fn over(cell: &Cell, ns: f64) -> u64 {
    cell.lengths.count_between(cell.clock.to_ticks(ns) + 1..=u64::MAX)
}

fn length_us(cell: &Cell, quantile: f64) -> Option<f64> {
    cell.lengths.quantile(quantile).map(|ticks| us(cell, ticks))
}

fn tail_us(cell: &Cell, above: f64) -> Option<f64> {
    by_us::tail(&cell.lengths, above).map(|ticks| us(cell, ticks))
}

fn us(cell: &Cell, ticks: u64) -> f64 {
    cell.clock.to_ns(ticks) / 1e3
}

/// Returns the share if there is evidence of causes.
fn where_known(cell: &Cell, share: Option<f64>) -> Option<f64> {
    share.filter(|_| cell.source != Source::None)
}

fn cpu_share(used: &Used) -> f64 {
    used.cpu_ns / used.wall_ns.max(1.0)
}

/// Returns the share of all competitors together.
///
/// Their times overlap: each ran during the whole repetition.
fn competitors_cpu_share(cell: &Cell, plan: &Plan) -> Option<f64> {
    cell.plan.competitor.map(|_| cpu_share(&cell.competitors) * plan.contest.competitors as f64)
}

fn rounds_per_s(used: &Used) -> f64 {
    used.rounds as f64 / used.wall_ns.max(1.0) * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_the_lost_share_contains_the_share() {
        let turn = |lost_share| Turn { lost_share, span_s: 1.0, ..Turn::default() };
        let turns: Vec<Turn> = [0.008, 0.009, 0.010, 0.008, 0.009, 0.030].map(turn).to_vec();
        let share = turns.iter().map(|turn| turn.lost_share).sum::<f64>() / turns.len() as f64;
        let ends = lost_interval(&turns).unwrap();
        assert!(ends.contains(share), "{share} is outside {ends:?}");
    }
}
