//! The computation: the quanta that frames lose, enumerated and simulated from one description.

mod animation;
mod beside;
mod limits;
mod lost;

use super::flags::Policy;
use super::plan::Plan;
use super::record::{AnyRow, LostRow, MoreThanRow, Row};
use super::then;
use anyhow::Context;
use beside::Measured;
use chance::{Distribution, Estimate, Experiment, Simulation};
use instruments::statistics::Interval;
use instruments::warning::{LeftOut, Warning};
use limits::LIMITS;
use lost::{Lost, Turns};

/// What came out, and what a reader must know.
pub struct Computed {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// Outcomes with less than this beyond them are not listed.
const NEGLIGIBLE: f64 = 1e-15;

/// Draws of a simulation, and its frames at the most.
const DRAWS: u64 = 1 << 24;
const MOST_FRAMES: u64 = 1 << 19;

/// Computes every quantum's rows.
///
/// # Errors
/// A table that would not fit into memory.
pub fn compute(plan: &Plan) -> anyhow::Result<Computed> {
    let mut computed = Computed { rows: Vec::new(), warnings: Vec::new() };
    for &quantum_ns in &plan.quanta_ns {
        let quanta = plan.frame_ns / quantum_ns;
        let about = || format!("--quantum {:?} in --frame {:?}", nanos(quantum_ns), nanos(plan.frame_ns));
        let frame = Frame::compute(plan, quantum_ns, quanta)
            .with_context(|| format!("{}; use a longer quantum or a shorter frame", about()))?;
        computed.rows.extend(frame.rows(plan));
        if plan.policy == Policy::Lottery {
            match animation::row(plan, quantum_ns, &frame.model) {
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

fn nanos(ns: u64) -> std::time::Duration {
    std::time::Duration::from_nanos(ns)
}

/// A probability that may have been counted.
fn interval(estimate: Estimate) -> Interval {
    let interval = estimate.interval();
    Interval::new(*interval.start(), *interval.end())
}

/// The frames of one quantum: the model's, the simulation's and the trace's.
struct Frame {
    quantum_ns: u64,
    quanta: u64,
    model: Distribution<u64, f64>,
    /// The same shares drawn by lot, where the policy does not.
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

    /// The outcomes worth a row: all that are likely enough by any account.
    fn listed(&self) -> impl Iterator<Item = u64> {
        let likely = |table: &Distribution<u64, f64>| *table.quantile(1.0 - NEGLIGIBLE);
        let tables = [likely(&self.model), self.drawn.as_ref().map_or(0, likely), self.simulated.most()];
        let most = tables.into_iter().chain(self.measured.as_ref().map(Measured::most)).max().unwrap_or(0);
        let few = most <= 1_000;
        // A frame of a million quanta has thousands of likely outcomes; those in the far tails say nothing.
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
            then_probability: then::lost(plan, self.quantum_ns, lost_quanta),
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
            then_every_frames: then::every_frames(plan, self.quantum_ns),
        }
    }

    fn more_than(&self, threshold: f64, plan: &Plan) -> MoreThanRow {
        // A hair, so that 20 % of 5 quanta is one of them.
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
            then_probability: then::more_than(plan, self.quantum_ns, threshold),
        }
    }

    fn quantum_us(&self) -> f64 {
        self.quantum_ns as f64 / 1e3
    }
}

/// Simulated frames: how many lost how much.
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
