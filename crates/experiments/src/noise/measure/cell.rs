//! A cell, and what its turns add up to.

use super::causes::{Causes, SoFar};
use super::longest::Longest;
use super::turn::{self, Outcome, Piece, TurnSetup, Used};
use crate::noise::cells::CellPlan;
use crate::noise::plan::Plan;
use crate::noise::record::{Line, Row, Turn};
use crate::noise::then;
use harness::turns;
use instruments::clock::Clock;
use instruments::evidence::{EvidenceQuality, Recorder, Source};
use instruments::gaps::{Cost, Watch};
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;
use instruments::tally::Tally;
use instruments::warning::{LeftOut, Warning};
use std::ops::ControlFlow;

/// A gap that is longer than this counts, as in 1999.
const LONG_NS: f64 = 256_000.0;

/// A gap in nanoseconds since the cell's first reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptGap {
    pub start_ns: f64,
    pub duration_ns: f64,
}

/// A cell and what has been measured of it.
pub struct Cell {
    pub plan: CellPlan,
    clock: Clock,
    turns: Vec<Sum>,
    lengths: Tally,
    causes: Causes,
    longest: Longest,
    ledger: Option<EvidenceQuality>,
    source: Source,
    costs: Vec<Cost>,
    /// The lowest and the highest.
    thresholds: (u64, u64),
    preempted: Option<u64>,
    competitors: Used,
    rescheduler: Used,
    warnings: Vec<Warning>,
    /// `None` unless gaps are kept.
    kept: Option<GapTrace>,
}

/// Every gap of a cell.
#[derive(Default)]
pub struct GapTrace {
    pub first_reading: Option<u64>,
    pub gaps: Vec<KeptGap>,
    /// When nobody watched: the kernel's record was read.
    pub unwatched: Vec<KeptGap>,
    /// From the first reading to the last.
    pub span_ns: f64,
}

impl GapTrace {
    /// The watched time alone: pieces and turns joined end to end.
    pub fn joined(self) -> Self {
        let mut unwatched = self.unwatched.iter().peekable();
        let mut cut_ns = 0.0;
        let gaps = self.gaps.into_iter().map(|gap| {
            while let Some(pause) = unwatched.next_if(|pause| pause.start_ns <= gap.start_ns) {
                cut_ns += pause.duration_ns;
            }
            KeptGap { start_ns: gap.start_ns - cut_ns, ..gap }
        });
        let gaps = gaps.collect();
        let span_ns = self.span_ns - self.unwatched.iter().map(|pause| pause.duration_ns).sum::<f64>();
        Self { gaps, span_ns, unwatched: Vec::new(), ..self }
    }
}

impl Cell {
    pub fn new(plan: CellPlan, clock: Clock, origin: u64, keeps_gaps: bool) -> Self {
        Self {
            plan,
            clock,
            turns: Vec::new(),
            lengths: Tally::new(),
            causes: Causes::default(),
            longest: Longest::since(origin),
            ledger: None,
            source: Source::None,
            costs: Vec::new(),
            thresholds: (u64::MAX, 0),
            preempted: None,
            competitors: Used::default(),
            rescheduler: Used::default(),
            warnings: Vec::new(),
            kept: keeps_gaps.then(GapTrace::default),
        }
    }

    /// One turn; `on_line` gets each interval of it, its time left open, and may end it.
    ///
    /// # Errors
    /// A thread that the system refuses, or a way to schedule it.
    pub fn run(
        &mut self,
        setup: &TurnSetup<'_>,
        record: &mut Option<Recorder>,
        mut on_line: impl FnMut(Line) -> ControlFlow<()> + Send,
    ) -> anyhow::Result<()> {
        let plan = self.plan.clone();
        let mut turn = Sum::default();
        let mut line = LineSum { causes: self.causes.so_far(), sum: Sum::default() };
        let outcome = turn::run(setup, &plan, record, |piece| {
            self.add(&piece);
            turn.add(&piece.watch, self.clock);
            line.sum.add(&piece.watch, self.clock);
            match setup.plan.interval {
                // Nearly: the last piece of an interval may end a pass early.
                Some(interval) if self.clock.to_ns(line.sum.span) > 0.99 * interval.as_nanos() as f64 => {
                    let fresh = LineSum { causes: self.causes.so_far(), sum: Sum::default() };
                    on_line(self.line(&std::mem::replace(&mut line, fresh)))
                }
                _ => ControlFlow::Continue(()),
            }
        })?;
        self.causes.end_turn(self.clock);
        self.turns.push(turn);
        self.add_outcome(outcome);
        Ok(())
    }

    fn add(&mut self, piece: &Piece) {
        let watch = &piece.watch;
        self.lengths.merge(&watch.gaps.iter().map(|gap| gap.length).collect());
        self.thresholds = (self.thresholds.0.min(watch.threshold), self.thresholds.1.max(watch.threshold));
        if watch.full {
            let what = format!("a second of `{}`", self.plan.name);
            self.warnings.push(Warning::from(LeftOut {
                what: format!("the rest of {what}"),
                reason: "it had too many gaps".into(),
            }));
        }
        if !piece.preempted.is_empty() {
            let seen = piece.preempted.iter().filter(|&&preempted| preempted).count() as u64;
            self.preempted = Some(self.preempted.unwrap_or(0) + seen);
        }
        let attribution = piece.timeline.as_ref().map(|timeline| self.causes.add(timeline, watch, &piece.preempted));
        self.longest.add(watch, attribution.as_ref());
        if let Some(timeline) = &piece.timeline {
            match &mut self.ledger {
                Some(ledger) => ledger.absorb(&timeline.quality),
                none => *none = Some(timeline.quality.clone()),
            }
        }
        self.keep(watch);
    }

    fn line(&self, line: &LineSum) -> Line {
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
        self.costs.push(outcome.reader.cost);
        self.warnings.extend(outcome.reader.warnings);
        outcome.competitors.into_iter().for_each(|used| self.competitors.add(used));
        outcome.rescheduler.into_iter().for_each(|used| self.rescheduler.add(used));
    }

    /// What a reader of the record must know.
    pub fn warnings(&mut self) -> Vec<Warning> {
        let lost = self.ledger.iter().flat_map(EvidenceQuality::warnings);
        std::mem::take(&mut self.warnings).into_iter().chain(lost).collect()
    }

    pub fn take_kept(&mut self) -> GapTrace {
        self.kept.take().unwrap_or_default()
    }

    /// The row of the cell; `None` when nothing was read.
    pub fn row(&self, plan: &Plan) -> Option<Row> {
        let clock = self.clock;
        let mut all = Sum::default();
        self.turns.iter().for_each(|turn| all.absorb(turn));
        let figures = (all.passes > 0).then(|| all.figures(clock))?;
        let turns: Vec<Turn> = self.turns.iter().map(|turn| turn.figures(clock)).collect();
        let longest: Vec<f64> = turns.iter().map(|turn| turn.longest_us).collect();
        let lost: Vec<f64> = turns.iter().map(|turn| turn.lost_share).collect();
        let cost = |of: fn(&Cost) -> f64| median(&self.costs.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0);
        let length_us = |q| self.lengths.quantile(q).map(|ticks| clock.to_ns(ticks) / 1e3);
        let causes = self.causes.rows(clock, all.lost);
        let share = |used: &Used| used.cpu_ns / used.wall_ns.max(1.0);
        let competitors = if self.plan.competitor.is_some() { plan.contest.competitors } else { 0 };
        let known = self.source != Source::None;
        Some(Row {
            scenario: self.plan.name.clone(),
            cpu: self.plan.reader_cpu,
            samples: figures.samples,
            span_s: figures.span_s,
            loop_ns: (figures.span_s * 1e9 - clock.to_ns(all.lost)) / (all.passes - all.gaps).max(1) as f64,
            loop_check_ns: cost(|cost| cost.pass) * clock.ns_per_tick(),
            bare_loop_ns: cost(|cost| cost.bare_pass) * clock.ns_per_tick(),
            threshold_ns: clock.to_ns(self.thresholds.1),
            least_threshold_ns: clock.to_ns(self.thresholds.0),
            gaps: figures.gaps,
            gaps_per_s: figures.gaps as f64 / figures.span_s,
            over_256us: figures.over_256us,
            longest_us: figures.longest_us,
            longest_p50_us: median(&longest)?,
            longest_ci_us: sample_quantile_interval(&longest, 0.5, CONFIDENCE),
            median_gap_us: length_us(0.5),
            p99_gap_us: length_us(0.99),
            lost_share: figures.lost_share,
            lost_ci_share: sample_quantile_interval(&lost, 0.5, CONFIDENCE),
            unwatched_s: turns.iter().map(|turn| turn.unwatched_s).sum(),
            turns,
            explained_share: known.then(|| self.causes.explained_share()).flatten(),
            explained_or_periodic_share: known.then(|| self.causes.explained_or_periodic_share(clock)).flatten(),
            causes,
            longest_gaps: self.longest.rows(clock),
            evidence: self.source,
            ledger: self.ledger.clone(),
            events_in_gaps: self.causes.recall.reported - self.causes.recall.missed,
            events_outside_gaps: self.causes.recall.missed,
            preempted_gaps: self.preempted,
            // Their walls overlap: each saw the whole turn.
            competitors_cpu_share: (competitors > 0).then(|| share(&self.competitors) * competitors as f64),
            rescheduler_cpu_share: self.plan.rescheduler.map(|_| share(&self.rescheduler)),
            rescheduler_wakes_per_s: self
                .plan
                .rescheduler
                .map(|_| self.rescheduler.rounds as f64 / self.rescheduler.wall_ns.max(1.0) * 1e9),
            then: self.plan.scenario.and_then(then::figures),
        })
    }
}

impl turns::Cell for Cell {
    fn title(&self) -> String {
        self.plan.name.clone()
    }

    fn turns(&self) -> u64 {
        self.turns.len() as u64
    }
}

/// An interval of a live run that has not ended, and the causes before it.
struct LineSum {
    causes: SoFar,
    sum: Sum,
}

/// What some pieces add up to, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// The first reading.
    start: Option<u64>,
    /// From the first reading to the last, pauses between pieces included.
    reach: u64,
    span: u64,
    passes: u64,
    gaps: u64,
    over_256us: u64,
    longest: u64,
    lost: u64,
}

impl Sum {
    fn add(&mut self, watch: &Watch, clock: Clock) {
        let start = *self.start.get_or_insert(watch.start);
        self.reach = watch.start + watch.span - start;
        let long = clock.to_ticks(LONG_NS);
        let lengths = watch.gaps.iter().map(|gap| gap.length);
        self.absorb(&Self {
            span: watch.span,
            passes: watch.passes,
            gaps: watch.gaps.len() as u64,
            over_256us: lengths.clone().filter(|&length| length > long).count() as u64,
            longest: lengths.clone().max().unwrap_or(0),
            lost: lengths.sum(),
            ..Self::default()
        });
    }

    fn absorb(&mut self, other: &Self) {
        self.span += other.span;
        self.passes += other.passes;
        self.gaps += other.gaps;
        self.over_256us += other.over_256us;
        self.longest = self.longest.max(other.longest);
        self.lost += other.lost;
    }

    fn figures(&self, clock: Clock) -> Turn {
        Turn {
            span_s: clock.to_ns(self.span) / 1e9,
            samples: self.passes,
            gaps: self.gaps,
            over_256us: self.over_256us,
            longest_us: clock.to_ns(self.longest) / 1e3,
            lost_share: self.lost as f64 / self.span.max(1) as f64,
            unwatched_s: clock.to_ns(self.reach.saturating_sub(self.span)) / 1e9,
        }
    }
}
