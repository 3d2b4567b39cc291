//! A cell, and what its turns add up to.

use super::causes::{Causes, SoFar};
use super::gap_trace::{GapTrace, KeptGap};
use super::intruder::Used;
use super::longest::{Evidence, Longest};
use super::sum::Sum;
use super::turn::{self, COMPETITOR, Outcome, Piece, TurnSetup};
use super::turn_sums::TurnSums;
use crate::noise::cells::CellPlan;
use crate::noise::record::{Line, LongGap};
use harness::{Interruption, label, turns};
use instruments::bounded_tally::BoundedTally;
use instruments::clock::Clock;
use instruments::evidence::{Attribution, Cause, EvidenceQuality, Kind, Recorder, Source};
use instruments::gaps::{Cost, Watch};
use instruments::neighbour::WidthsOverTime;
use instruments::team::StartGate;
use instruments::warning::{LeftOut, Warning};
use std::io;
use std::ops::ControlFlow;
use terminal::{nanoseconds, percent};

/// Different lengths that are kept exactly.
const EXACT: usize = 1 << 16;
/// Calibrations that are kept: of more the median is no other.
const MOST_COSTS: usize = 1_000;

/// A cell and what has been measured of it.
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
    /// The lowest and the highest.
    pub thresholds: (u64, u64),
    pub preempted: Option<u64>,
    pub competitors: Used,
    pub rescheduler: Used,
    /// How wide the core was, seen by the reader.
    pub widths: WidthsOverTime,
    /// The gap that ended it all.
    pub stopped: Option<LongGap>,
    warnings: Vec<Warning>,
    /// The interval of a live run that its last turn did not end.
    line: Option<LineSum>,
    /// `None` unless gaps are kept.
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

    /// One turn; `on_line` gets each interval of it, its time left open, and may end it.
    pub fn run(
        &mut self,
        setup: &TurnSetup<'_>,
        record: &mut Option<Recorder>,
        mut on_line: impl FnMut(Line) -> ControlFlow<()> + Send,
    ) -> anyhow::Result<()> {
        let plan = self.plan.clone();
        let mut turn = Sum::default();
        // An interval may be longer than a turn.
        let begun = self.line.take();
        let mut line = begun.unwrap_or_else(|| LineSum { causes: self.causes.so_far(), sum: Sum::default() });
        let outcome = turn::run(setup, &plan, record, |piece| {
            setup.show(&plan, &piece.watch);
            let competitor_longest = self.add(&piece, setup.interruption);
            turn.add(&piece.watch, self.clock);
            turn.competitor_longest = turn.competitor_longest.max(competitor_longest);
            line.sum.add(&piece.watch, self.clock);
            match setup.plan.interval {
                // Nearly: the last piece of an interval may end a pass early.
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

    /// One turn with nothing beside, on the thread that calls; `see` gets each piece's watch.
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

    /// A signal may have come before the turn saw anything.
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

    /// However often it is so, it is said once.
    fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What a reader of the record must know.
    pub fn warnings(&mut self) -> Vec<Warning> {
        let lost = self.ledger.iter().flat_map(EvidenceQuality::warnings);
        std::mem::take(&mut self.warnings).into_iter().chain(lost).collect()
    }

    /// For a line of a long run.
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

    /// All turns together; `None` when nothing was read.
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

    /// Where its pieces are told.
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

/// The longest part of a gap that a competitor of this process took, in ticks.
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
