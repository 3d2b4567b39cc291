//! The row of a cell.

use super::cell::Cell;
use super::intruder::Used;
use super::sum::Sum;
use crate::noise::plan::Plan;
use crate::noise::record::{Row, Turn};
use crate::noise::then;
use harness::Lookout;
use instruments::evidence::Source;
use instruments::gaps::Cost;
use instruments::statistics::Interval;
use instruments::statistics::blocks::share_interval;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;

/// The row of a cell; `None` when nothing was read.
pub fn row(cell: &Cell, plan: &Plan, lookout: &Lookout) -> Option<Row> {
    let taken = lookout.taken(cell.plan.reader_cpu, &cell.widths);
    let (clock, all) = (cell.clock, cell.all_turns()?);
    // Only a trace of the whole CPU names who ran.
    let names_competitor = cell.plan.competitor.is_some() && cell.source == Source::CpuRecord;
    let named = |us: Option<f64>| us.filter(|_| names_competitor);
    let figures_of = |turn: &Sum| {
        let figures = turn.figures(clock);
        Turn { competitor_longest_us: named(figures.competitor_longest_us), ..figures }
    };
    let (figures, turns) = (figures_of(&all), cell.turns.iter().map(figures_of).collect::<Vec<_>>());
    let whole = whole(&turns);
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
        longest_us: figures.longest_us,
        longest_p50_us: median(&of_each(&whole, |turn| turn.longest_us))?,
        longest_ci_us: median_interval(&whole, |turn| turn.longest_us),
        median_gap_us: length_us(cell, 0.5),
        p99_gap_us: length_us(cell, 0.99),
        lost_share: figures.lost_share,
        lost_ci_share: lost_interval(&whole),
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
        competitor_longest_p50_us: named(median(&of_each(&whole, competitor_longest_us))),
        competitor_longest_ci_us: median_interval(&whole, competitor_longest_us).filter(|_| names_competitor),
        competitors_cpu_share: competitors_cpu_share(cell, plan),
        rescheduler_cpu_share: cell.plan.rescheduler.map(|_| cpu_share(&cell.rescheduler)),
        rescheduler_wakes_per_s: cell.plan.rescheduler.map(|_| rounds_per_s(&cell.rescheduler)),
        then: cell.plan.scenario.filter(|_| plan.is_like_1999(&cell.plan)).and_then(then::figures),
    })
}

/// Those that a signal did not cut short: what happens in less time cannot stand beside what happens in more.
fn whole(turns: &[Turn]) -> Vec<Turn> {
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

/// The interval of the share that all turns lost together: a few turns with a long gap move it, but not their median.
fn lost_interval(turns: &[Turn]) -> Option<Interval> {
    let blocks: Vec<(f64, f64)> = turns.iter().map(|turn| (turn.lost_share * turn.span_s, turn.span_s)).collect();
    share_interval(&blocks, CONFIDENCE)
}

/// The median of what the reader's calibrations found.
fn cost_ns(cell: &Cell, of: fn(&Cost) -> f64) -> f64 {
    let costs: Vec<f64> = cell.costs.iter().map(of).collect();
    median(&costs).unwrap_or(0.0) * cell.clock.ns_per_tick()
}

fn over(cell: &Cell, ns: f64) -> u64 {
    cell.lengths.count_between(cell.clock.to_ticks(ns) + 1..=u64::MAX)
}

fn length_us(cell: &Cell, quantile: f64) -> Option<f64> {
    cell.lengths.quantile(quantile).map(|ticks| cell.clock.to_ns(ticks) / 1e3)
}

/// Without evidence nothing is known of causes.
fn where_known(cell: &Cell, share: Option<f64>) -> Option<f64> {
    share.filter(|_| cell.source != Source::None)
}

fn cpu_share(used: &Used) -> f64 {
    used.cpu_ns / used.wall_ns.max(1.0)
}

/// Of all competitors together. Their walls overlap: each saw the whole turn.
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
    fn the_interval_of_the_lost_share_contains_it_whatever_one_turn_lost() {
        let turn = |lost_share| Turn { lost_share, span_s: 1.0, ..Turn::default() };
        let turns: Vec<Turn> = [0.008, 0.009, 0.010, 0.008, 0.009, 0.030].map(turn).to_vec();
        let share = turns.iter().map(|turn| turn.lost_share).sum::<f64>() / turns.len() as f64;
        let ends = lost_interval(&turns).unwrap();
        assert!(ends.contains(share), "{share} is outside {ends:?}");
    }
}
