//! The columns of the tables, for the terminal and the page. The page has no table of the longest steps.

use crate::estimates::slowdown_with;
use ::lockstep::record::{LongStep, NodesRow, RankRow, StepsRow};
use harness::label;
use instruments::statistics::Interval;
use record::Column;
use terminal::{count, microseconds, percent, slowdown};

/// The step by number of ranks, measured and predicted.
pub const STEPS: [Column<StepsRow>; 10] = [
    Column::new("ranks", |row| Some(count(row.ranks) + if row.oversubscribed { "+" } else { "" })),
    Column::new("mean", |row| Some(microseconds(row.mean_us))),
    Column::terminal("slowdown", |row: &StepsRow| Some(slowdown(row.slowdown)))
        .with_page("slowdown (95 % CI)", |row| Some(slowdown_with(row.slowdown, row.slowdown_ci))),
    Column::terminal("95 % CI", |row| Some(ends(row.slowdown_ci))),
    Column::terminal("predicted", |row: &StepsRow| Some(slowdown(row.predicted_slowdown)))
        .with_page("predicted (95 % CI)", |row| Some(slowdown_with(row.predicted_slowdown, row.predicted_ci))),
    Column::terminal("95 % CI", |row| Some(ends(row.predicted_ci))),
    Column::new("separate", |row| Some(slowdown(row.apart_slowdown))),
    Column::terminal("", agreement).with_page("verdict", agreement),
    Column::page("p50", |row| Some(microseconds(row.p50_us))),
    Column::page("p99", |row| Some(microseconds(row.p99_us))),
];

/// The prediction for more nodes.
pub const NODES: [Column<NodesRow>; 4] = [
    Column::new("nodes", |row| Some(count(row.nodes) + if row.supported { "" } else { "*" })),
    Column::terminal("slowdown", |row: &NodesRow| Some(slowdown(row.slowdown)))
        .with_page("slowdown (95 % CI)", |row| Some(slowdown_with(row.slowdown, row.slowdown_ci))),
    Column::terminal("95 % CI", |row| Some(ends(row.slowdown_ci))),
    Column::new("together", |row| Some(slowdown(row.together_slowdown))),
];

/// The CPU time that each rank lost.
pub const RANKS: [Column<RankRow>; 9] = [
    Column::new("rank", |row| Some(row.rank.to_string())),
    Column::page("machine", |row| Some(row.host.clone())),
    Column::new("CPU", |row| Some(row.cpu.to_string())),
    Column::new("lost", |row| Some(percent(row.lost_share))),
    Column::new("in steps", |row| Some(percent(row.lost_in_steps_share))),
    Column::new("longest", |row| Some(microseconds(row.longest_us))),
    Column::new("last", |row| Some(count(row.last_steps))),
    Column::new("clock", |row| {
        Some(format!("{}±{}", microseconds(row.clock_offset_us), microseconds(row.clock_error_us)))
    }),
    Column::new("main cause", |row| {
        let first = row.causes_in_steps.first().or(row.causes.first());
        Some(first.map_or_else(unknown, |cause| format!("{} {}", label(&cause.cause), percent(cause.share))))
    }),
];

/// The longest steps.
pub const LONG_STEPS: [Column<LongStep>; 5] = [
    Column::new("ranks", |row| Some(count(row.ranks))),
    Column::new("step", |row| Some(microseconds(row.length_us))),
    Column::new("last", |row| Some(row.last.map_or_else(unknown, |rank| rank.to_string()))),
    Column::new("longest loss", |row| Some(microseconds(row.lost_us.iter().copied().fold(0.0, f64::max)))),
    Column::new("cause", |row| Some(row.cause.as_ref().map_or_else(unknown, label))),
];

fn unknown() -> String {
    "-".to_owned()
}

fn ends(interval: Option<Interval>) -> String {
    interval.map_or_else(unknown, |ends| format!("{}-{}", slowdown(ends.low), slowdown(ends.high)))
}

fn agreement(row: &StepsRow) -> Option<String> {
    let words = match row.agree {
        Some(true) => "agree",
        Some(false) => "differ",
        None => "-",
    };
    Some(words.to_owned())
}
