//! The computation: the quanta that frames lose, enumerated and simulated from one description.
//!
//! The description is the function that performs the draw; `chance` enumerates and simulates it. A recorded trace is
//! cut into consecutive frames for comparison.
//!
//! A buffered animation computes ahead: its store carries it over a loss. In a frame it gets the quanta that it does
//! not lose, and shows a picture that costs it a part of the frame. The rest goes into the store, up to its size;
//! missing time is taken from it. If the store is too small, the picture is late. The store is a state, and a frame a
//! step from state to state: equal states merge, so that there are few.

use super::findings;
use super::flags::Policy;
use super::plan::Contest;
use super::plan::Plan;
use super::record::{AnimationRow, AnyRow, LostRow, MoreThanRow, Row};
use anyhow::{Context, bail};
use chance::{Chance, Distribution, Error, Estimate, Experiment, Gaps, Limits, Simulation, Sink, Weight};
use instruments::statistics::Interval;
use instruments::warning::{LeftOut, Warning};
use std::time::Duration;

/// The results and the warnings.
pub struct Computed {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// The probability beyond which outcomes are not listed.
const NEGLIGIBLE: f64 = 1e-15;

/// The number of draws of a simulation, which limits its frames.
const DRAWS: u64 = 1 << 24;
const MOST_FRAMES: u64 = 1 << 19;

/// Computes the rows of every quantum.
pub fn compute(plan: &Plan) -> anyhow::Result<Computed> {
    let mut computed = Computed { rows: Vec::new(), warnings: Vec::new() };
    for &quantum_ns in &plan.quanta_ns {
        let quanta = plan.frame_ns / quantum_ns;
        let [quantum, frame] = [quantum_ns, plan.frame_ns].map(Duration::from_nanos);
        let about = || format!("--quantum {quantum:?} in --frame {frame:?}");
        let frame = Frame::compute(plan, quantum_ns, quanta)
            .with_context(|| format!("{}; use a longer quantum or a shorter frame", about()))?;
        computed.rows.extend(frame.rows(plan));
        if plan.policy == Policy::Lottery {
            match row(plan, quantum_ns, &frame.model) {
                Ok(row) => computed.rows.push(Row::Animation(row)),
                Err(error) => computed.warnings.push(Warning::from(LeftOut {
                    what: format!("the buffered animation with {}", about()),
                    reason: error.to_string(),
                })),
            }
        }
    }
    Ok(computed)
}

/// Returns the interval of a probability that may have been counted.
fn interval(estimate: Estimate) -> Interval {
    let interval = estimate.interval();
    Interval::new(*interval.start(), *interval.end())
}

/// The frames of one quantum: the model's, the simulation's and the trace's.
struct Frame {
    quantum_ns: u64,
    quanta: u64,
    model: Distribution<u64, f64>,
    /// The same shares by lottery, for the other policy.
    drawn: Option<Distribution<u64, f64>>,
    simulated: Simulated,
    measured: Option<Measured>,
}

impl Frame {
    fn compute(plan: &Plan, quantum_ns: u64, quanta: u64) -> Result<Self, chance::Error> {
        let lot = Lost { contest: plan.contest, quanta };
        let by_lot = Distribution::within(&lot, &LIMITS)?;
        let (model, drawn, simulated) = match plan.policy {
            Policy::Lottery => (by_lot, None, Simulated::of(&lot, (DRAWS / quanta).max(1), plan.seed)?),
            Policy::Weights => {
                let turns = Turns { contest: plan.contest, quanta };
                (Distribution::within(&turns, &LIMITS)?, Some(by_lot), Simulated::of(&turns, DRAWS, plan.seed)?)
            }
        };
        let measured = plan.beside.as_ref().map(|trace| Measured::cut(&trace.gaps, plan.frame_ns, quantum_ns));
        Ok(Self { quantum_ns, quanta, model, drawn, simulated, measured })
    }

    fn rows(&self, plan: &Plan) -> Vec<Row> {
        let listed = self.listed().map(|lost_quanta| Row::Lost(self.lost(lost_quanta, plan)));
        let more_than = plan.thresholds.iter().map(|&threshold| Row::MoreThan(self.more_than(threshold, plan)));
        listed.chain([Row::Any(self.any(plan))]).chain(more_than).collect()
    }

    /// Returns the outcomes that have a row: all that are likely enough by any account.
    fn listed(&self) -> impl Iterator<Item = u64> {
        let likely = |table: &Distribution<u64, f64>| *table.quantile(1.0 - NEGLIGIBLE);
        let tables = [likely(&self.model), self.drawn.as_ref().map_or(0, likely), self.simulated.most()];
        let most = tables.into_iter().chain(self.measured.as_ref().map(Measured::most)).max().unwrap_or(0);
        let few = most <= 1_000;
        // A frame of a million quanta has thousands of likely outcomes; those in the far tails are irrelevant.
        let least = if few { 0 } else { *self.model.quantile(NEGLIGIBLE) };
        least..=most
    }

    fn lost(&self, lost_quanta: u64, plan: &Plan) -> LostRow {
        LostRow {
            quantum_us: self.quantum_us(),
            quanta: self.quanta,
            lost_quanta,
            lost_share: lost_quanta as f64 / self.quanta as f64,
            probability: self.model.probability(&lost_quanta),
            more_probability: self.model.more_than(&lost_quanta),
            simulated_probability: self.simulated.share(|lost| lost == lost_quanta).probability(),
            drawn_probability: self.drawn.as_ref().map(|drawn| drawn.probability(&lost_quanta)),
            measured_probability: self.measured.as_ref().map(|measured| measured.rounded(lost_quanta).probability()),
            then_probability: findings::lost(plan, self.quantum_ns, lost_quanta),
        }
    }

    fn any(&self, plan: &Plan) -> AnyRow {
        let probability = self.model.more_than(&0);
        let every_frames = (probability > 0.0).then(|| 1.0 / probability);
        AnyRow {
            quantum_us: self.quantum_us(),
            quanta: self.quanta,
            lost_quanta: 1,
            probability,
            every_frames,
            every_s: every_frames.map(|frames| frames * plan.frame_ns as f64 / 1e9),
            then_every_frames: findings::every_frames(plan, self.quantum_ns),
        }
    }

    fn more_than(&self, threshold: f64, plan: &Plan) -> MoreThanRow {
        // Slightly more, so that 20 % of 5 quanta is one of them.
        let lost_quanta = (threshold * self.quanta as f64 + 1e-9) as u64;
        let probability = self.model.more_than(&lost_quanta);
        let simulated = self.simulated.share(|lost| lost > lost_quanta);
        let measured = self.measured.as_ref().map(|measured| measured.more_than(threshold));
        MoreThanRow {
            quantum_us: self.quantum_us(),
            quanta: self.quanta,
            lost_quanta,
            more_than_share: threshold,
            probability,
            every_s: (probability > 0.0).then(|| plan.frame_ns as f64 / 1e9 / probability),
            simulated_probability: simulated.probability(),
            simulated_ci: interval(simulated),
            simulated_frames: simulated.runs,
            measured_probability: measured.map(|measured| measured.probability()),
            measured_ci: measured.map(interval),
            measured_frames: measured.map(|measured| measured.runs),
            then_probability: findings::more_than(plan, self.quantum_ns, threshold),
        }
    }

    fn quantum_us(&self) -> f64 {
        self.quantum_ns as f64 / 1e3
    }
}

/// The number of simulated frames for each loss.
struct Simulated {
    counts: std::collections::BTreeMap<u64, u64>,
    frames: u64,
}

impl Simulated {
    fn of(frame: &impl Experiment<Outcome = u64>, frames: u64, seed: u64) -> Result<Self, chance::Error> {
        let frames = frames.min(MOST_FRAMES);
        let mut counts = std::collections::BTreeMap::new();
        let mut simulation = Simulation::seeded(seed);
        for _ in 0..frames {
            *counts.entry(simulation.run(frame)?).or_default() += 1;
        }
        Ok(Self { counts, frames })
    }

    fn share(&self, event: impl Fn(u64) -> bool) -> Estimate {
        let hits = self.counts.iter().filter(|(lost, _)| event(**lost)).map(|(_, count)| count).sum();
        Estimate { hits, runs: self.frames }
    }

    fn most(&self) -> u64 {
        self.counts.keys().next_back().copied().unwrap_or(0)
    }
}

/// Losses in which every quantum is drawn independently.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    pub contest: Contest,
    pub quanta: u64,
}

impl Experiment for Lost {
    type Outcome = u64;

    fn perform(&self, chance: &mut Chance) -> u64 {
        chance.how_many(self.quanta, self.contest.lost, self.contest.total)
    }

    /// Visits the outcomes as a sum of independent draws, which has a closed form.
    fn visit<W: Weight>(&self, limits: &Limits, sink: &mut impl Sink<u64, W>) -> Result<(), Error> {
        let Contest { lost, total } = self.contest;
        let one = move |chance: &mut Chance| u64::from(chance.odds(lost, total));
        one.sum_of(self.quanta).visit(limits, sink)
    }
}

/// Losses in which the quanta rotate: those of the others are spaced evenly, and a frame begins anywhere between two.
///
/// The frame then has their mean number, rounded down or up with the probability of its fraction.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    pub contest: Contest,
    pub quanta: u64,
}

impl Experiment for Turns {
    type Outcome = u64;

    fn perform(&self, chance: &mut Chance) -> u64 {
        let total = u128::from(self.contest.total);
        let lost = u128::from(self.quanta) * u128::from(self.contest.lost);
        let (whole, rest) = ((lost / total) as u64, (lost % total) as u64);
        whole + u64::from(chance.odds(rest, self.contest.total))
    }
}

/// The window in which 1999 counts losses.
const WINDOW_FRAMES: u64 = 2;

/// The number of outcomes of states, some seconds' worth, after which an unsettled risk is abandoned.
const MOST_OUTCOMES: usize = 16_000_000;

/// Returns the animation's row, from the quanta that one frame loses.
pub fn row(plan: &Plan, quantum_ns: u64, lost: &Distribution<u64, f64>) -> anyhow::Result<AnimationRow> {
    let frame_ns = plan.frame_ns as f64;
    let needs_ns = plan.animation.needs_share * frame_ns;
    let store = Store {
        size_ns: (plan.animation.ahead_frames * needs_ns).round() as i64,
        spare_ns: (frame_ns - needs_ns).round() as i64,
        quantum_ns: quantum_ns as i64,
    };
    let resisted = store.bears(store.size_ns);
    let window = Lost { contest: plan.contest, quanta: WINDOW_FRAMES * plan.frame_ns / quantum_ns };
    let in_window = Distribution::<_, f64>::within(&window, &LIMITS)?;
    let at_least = resisted.max(1);
    let probability = in_window.more_than(&(at_least - 1));
    let frames = frames_to_first_glitch(&store, lost)?;
    Ok(AnimationRow {
        quantum_us: quantum_ns as f64 / 1e3,
        window_frames: WINDOW_FRAMES,
        resisted_quanta: resisted,
        lost_quanta: at_least,
        probability,
        every_s: (probability > 0.0).then(|| WINDOW_FRAMES as f64 * frame_ns / 1e9 / probability),
        first_glitch_s: frames.map(|frames| frames * frame_ns / 1e9),
        then_every_s: findings::animation_s(plan, quantum_ns),
    })
}

/// The work that is computed ahead, in nanoseconds of the CPU.
struct Store {
    size_ns: i64,
    /// The time that a frame without a loss leaves.
    spare_ns: i64,
    quantum_ns: i64,
}

impl Store {
    /// Returns the quanta that a frame may lose with this much in store.
    fn bears(&self, level_ns: i64) -> u64 {
        ((level_ns + self.spare_ns) / self.quantum_ns) as u64
    }

    /// Returns the level after a frame; negative if the picture was late.
    fn after(&self, level_ns: i64, lost: u64) -> i64 {
        (level_ns + self.spare_ns - lost as i64 * self.quantum_ns).min(self.size_ns)
    }
}

/// Returns the mean number of frames from a full store to the first late picture, `None` if there is none: the
/// probability of getting this far, summed over the frames.
///
/// Once there are no new states and the risk of a frame has settled, the rest is a geometric series.
fn frames_to_first_glitch(store: &Store, lost: &Distribution<u64, f64>) -> anyhow::Result<Option<f64>> {
    let source = lost.source();
    let mut states = Distribution::floating(&chance::constant(store.size_ns))?;
    let (mut survival, mut frames) = (1.0, 0.0);
    let mut last = (0, f64::NAN);
    let mut outcomes = 0;
    while outcomes < MOST_OUTCOMES {
        outcomes += states.len() * source.len();
        let risk = states.mean_of(|level_ns| lost.more_than(&store.bears(*level_ns)));
        // A store that was full once may stay full: states only ever join.
        let settled = states.len() == last.0 && (risk - last.1).abs() <= 1e-9 * risk;
        if settled && risk == 0.0 {
            return Ok(None);
        }
        frames += survival;
        survival *= 1.0 - risk;
        if settled || survival < 1e-15 {
            return Ok(Some(frames + if survival < 1e-15 { 0.0 } else { survival / risk }));
        }
        last = (states.len(), risk);
        let next = states.then(|chance, level_ns| {
            let after = store.after(level_ns, *chance.draw(&source));
            chance.given(after >= 0);
            after
        })?;
        states = next;
    }
    bail!("the probability does not converge: its buffer takes too many frames to fill")
}

/// The loss of each frame of the recording.
pub struct Measured {
    lost_ns: Vec<u64>,
    frame_ns: u64,
    quantum_ns: u64,
}

impl Measured {
    /// Cuts a recording of at least one frame; the rest at its end is not counted.
    pub fn cut(gaps: &Gaps, frame_ns: u64, quantum_ns: u64) -> Self {
        let frames = (gaps.span_ns() / frame_ns) as usize;
        let mut lost_ns = vec![0; frames];
        for gap in gaps.iter() {
            let (mut from, end) = (gap.start_ns, gap.start_ns + gap.duration_ns);
            while from < end {
                let frame = from / frame_ns;
                let to = end.min((frame + 1) * frame_ns);
                if let Some(lost) = lost_ns.get_mut(frame as usize) {
                    *lost += to - from;
                }
                from = to;
            }
        }
        Self { lost_ns, frame_ns, quantum_ns }
    }

    /// Returns the frames that lost this many quanta, to the nearest.
    pub fn rounded(&self, lost_quanta: u64) -> Estimate {
        self.share(|lost_ns| self.quanta(lost_ns) == lost_quanta)
    }

    /// Returns the frames that lost more than this share of their time.
    pub fn more_than(&self, share: f64) -> Estimate {
        self.share(|lost_ns| lost_ns as f64 > share * self.frame_ns as f64)
    }

    /// Returns the largest number of quanta that a frame lost, to the nearest.
    pub fn most(&self) -> u64 {
        self.lost_ns.iter().map(|lost_ns| self.quanta(*lost_ns)).max().unwrap_or(0)
    }

    fn quanta(&self, lost_ns: u64) -> u64 {
        (lost_ns + self.quantum_ns / 2) / self.quantum_ns
    }

    fn share(&self, event: impl Fn(u64) -> bool) -> Estimate {
        let hits = self.lost_ns.iter().filter(|lost_ns| event(**lost_ns)).count() as u64;
        Estimate { hits, runs: self.lost_ns.len() as u64 }
    }
}

/// The limits of enumeration: four million outcomes; some hundred megabytes while they are made.
pub const LIMITS: Limits = Limits { bytes: 64 << 20, paths: 100_000_000, draws: 10_000 };

#[cfg(test)]
mod tests {
    use super::*;
    use chance::{Distribution, Exact};

    const THEN: Contest = Contest { lost: 1, total: 1025 };

    fn exactly(quanta: u64) -> Distribution<u64, Exact> {
        Distribution::exact(&Lost { contest: THEN, quanta }).unwrap()
    }

    #[test]
    fn values_of_1999_follow_in_exact_rationals() {
        assert_eq!(exactly(1).mean().to_string(), "1/1025");
        assert_eq!(exactly(5).mean().to_string(), "1/205");
        let spread = exactly(166);
        let percent = |lost: u64| Exact::to_f64(&spread.probability(&lost)) * 100.0;
        let printed = [format!("{:.1}", percent(0)), format!("{:.1}", percent(1)), format!("{:.1}", percent(2))];
        assert_eq!(printed, ["85.0", "13.8", "1.1"]);
        assert_eq!(format!("{:.2}", percent(3)), "0.06");
        let sum: chance::BigRational = spread.iter().map(|row| row.1).sum();
        assert_eq!(sum.to_string(), "1");
    }

    #[test]
    fn rotation_and_lottery_have_equal_means() {
        for contest in [THEN, Contest { lost: 110, total: 1134 }, Contest { lost: 0, total: 1 }] {
            let turns = Distribution::exact(&Turns { contest, quanta: 166 }).unwrap();
            let lots = Distribution::exact(&Lost { contest, quanta: 166 }).unwrap();
            assert_eq!(turns.mean(), lots.mean());
            assert!(turns.len() <= 2 && turns.variance() <= lots.variance());
        }
    }

    #[test]
    fn a_gap_counts_in_every_frame_that_it_touches() {
        let gaps = Gaps::parse("5 1\n18 14\n", Some(45)).unwrap().gaps;
        let measured = Measured::cut(&gaps, 10, 2);
        assert_eq!(measured.lost_ns, [1, 2, 10, 2]);
        assert_eq!(measured.rounded(1), Estimate { hits: 3, runs: 4 });
        assert_eq!(measured.more_than(0.1), Estimate { hits: 3, runs: 4 });
        assert_eq!(measured.most(), 5);
    }
}
