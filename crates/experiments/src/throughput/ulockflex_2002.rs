//! The table of 2002, as data.
//!
//! Hubertus Franke, "Lightweight userspace semaphores", linux-kernel, 26 February 2002: a 2-way Pentium III at 550 MHz,
//! Linux 2.4.17, runs of 10 s. Its letters for locks are the names used here: e none, k sysv, f usema, F usema-spin,
//! c calock, C calock-spin, s rwlock.

use super::plan::CellPlan;
use serde::{Deserialize, Serialize};

const TABLE: &str = include_str!("ulockflex_2002.csv");

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Line {
    children: usize,
    locks: usize,
    lock: String,
    share: u32,
    patience_us: f64,
    nonhold_us: f64,
    hold_us: f64,
    #[serde(flatten)]
    figures: Figures,
}

/// The values of 2002 in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    pub write_contended_percent: f64,
    pub read_contended_percent: f64,
    pub retry: f64,
    pub cov: f64,
    pub throughput_per_s: f64,
}

/// Returns 2002's values for a cell, if the table has it. A spinning lock was tried with a patience of 0 and of 3 µs;
/// the nearest is taken.
pub fn figures(cell: &CellPlan, patience_us: f64) -> Option<Figures> {
    let same = |line: &Line| {
        line.lock == cell.lock
            && line.children == cell.children
            && line.locks == cell.locks
            && line.share == cell.share
            && line.nonhold_us * 1e3 == cell.nonhold_ns
            && line.hold_us * 1e3 == cell.hold_ns
            && cell.variations.is_none()
    };
    let distance = |line: &Line| (line.patience_us - patience_us).abs();
    lines().into_iter().filter(same).min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|line| line.figures)
}

fn lines() -> Vec<Line> {
    let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().expect("the table is part of the program")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throughput::record::sample::cell;

    fn throughput(lock: &str, children: usize, nonhold_us: f64, hold_us: f64, patience_us: f64) -> Option<f64> {
        let cell = cell(lock, children, nonhold_us, hold_us);
        figures(&cell, patience_us).map(|figures| figures.throughput_per_s)
    }

    #[test]
    fn the_table_is_whole() {
        assert_eq!(lines().len(), 167);
        assert_eq!(throughput("sysv", 1, 0.0, 0.0, 3.0), Some(309_423.0));
        assert_eq!(throughput("calock", 1000, 9.0, 1.0, 3.0), Some(104_738.0));
        assert_eq!(throughput("std", 2, 0.0, 10.0, 3.0), None);
    }

    #[test]
    fn the_nearest_patience_is_taken() {
        assert_eq!(throughput("usema-spin", 2, 7.0, 3.0, 3.0), Some(161_271.0));
        assert_eq!(throughput("usema-spin", 2, 7.0, 3.0, 0.0), Some(121_134.0));
    }
}
