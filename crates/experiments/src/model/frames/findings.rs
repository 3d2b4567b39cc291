//! The values that are compared with other records, and those of 1999, for the plan that was computed then.
//!
//! Jean-Baptiste Queru, "The Scheduler Is Your Friend", Be Newsletter 4-45, 10 November 1999. A game has priority 20,
//! another thread has 10, there are 60 frames a second, and the scheduler is called every 3 ms or, by a real-time
//! thread that only sleeps, every 100 µs.

use super::flags::Policy;
use super::plan::Plan;
use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Metric, ThenAndNow, Unit, VariationSource};
use terminal::{nanoseconds, percent};

pub fn figures(rows: &[(usize, &Row)]) -> Vec<ThenAndNow> {
    rows.iter().filter_map(|(_, row)| of(row)).collect()
}

fn of(row: &Row) -> Option<ThenAndNow> {
    let figure =
        |name: String, unit, then, today: f64| ThenAndNow::new(1999, &name, unit, then, Some(Estimate::from(today)));
    match row {
        Row::Any(any) => {
            let name = "frames from loss to loss, computed".to_owned();
            Some(figure(name, Unit::Number, any.then_every_frames?, any.every_frames?))
        }
        Row::Lost(lost) => {
            let compared = figure(name(lost.lost_quanta), Unit::Share, lost.then_probability?, lost.probability);
            Some(if lost.lost_quanta == 0 { compared } else { compared.detail() })
        }
        Row::MoreThan(_) | Row::Animation(_) => None,
    }
}

fn name(lost_quanta: u64) -> String {
    match lost_quanta {
        0 => "frames without a loss, computed".to_owned(),
        1 => "frames that lose 1 quantum, computed".to_owned(),
        several => format!("frames that lose {several} quanta, computed"),
    }
}

const SLOW_NS: u64 = 3_000_000;
const FAST_NS: u64 = 100_000;

/// The share of the CPU that the other thread takes.
pub const FRACTION: &str = "1/1025";

/// Returns whether the plan is 1999's, except for the quantum.
fn is_planned(plan: &Plan) -> bool {
    let sixty_a_second = (16_600_000..=16_700_000).contains(&plan.frame_ns);
    plan.policy == Policy::Lottery && (plan.contest.lost, plan.contest.total) == (1, 1025) && sixty_a_second
}

/// Returns how often a frame loses this number of quanta, as printed.
pub fn lost(plan: &Plan, quantum_ns: u64, lost_quanta: u64) -> Option<f64> {
    let printed = [0.850, 0.138, 0.011, 0.000_6];
    (is_planned(plan) && quantum_ns == FAST_NS).then(|| printed.get(lost_quanta as usize).copied()).flatten()
}

/// Returns "This will occur (on average) once every 205 frames", so every 3 or 4 seconds.
pub fn every_frames(plan: &Plan, quantum_ns: u64) -> Option<f64> {
    (is_planned(plan) && quantum_ns == SLOW_NS).then_some(205.0)
}

/// Returns the bound that less than 2 % is lost in more than 99.998 % of the frames.
pub fn more_than(plan: &Plan, quantum_ns: u64, threshold: f64) -> Option<f64> {
    (is_planned(plan) && quantum_ns == FAST_NS && threshold == 0.02).then_some(0.000_02)
}

/// Returns the bound that two losses in two frames happen less than once in ten minutes.
pub fn animation_s(plan: &Plan, quantum_ns: u64) -> Option<f64> {
    let same = plan.animation.needs_share == 0.9 && (0.333..=0.334).contains(&plan.animation.ahead_frames);
    (is_planned(plan) && quantum_ns == SLOW_NS && same).then_some(600.0)
}

pub fn metrics(row: &Row) -> Vec<Metric> {
    let Row::MoreThan(more) = row else { return Vec::new() };
    let cell = Cell::of([
        format!("quantum {}", nanoseconds(more.quantum_us * 1e3)),
        format!("more than {}", percent(more.more_than_share)),
    ]);
    vec![Metric {
        unit: Unit::Probability,
        better: Better::Neither,
        variation: VariationSource::Computed,
        alone: None,
        is_alone: false,
        ..Metric::time(&cell, "probability", more.probability, None)
    }]
}
