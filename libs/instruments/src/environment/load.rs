//! The load of the machine when the measurement began.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cpus::files;

/// The machine's load, from `/proc/loadavg`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Number of tasks that ran, wanted to run or waited for a disk, averaged over about the last minute.
    pub average_1min: Option<f64>,
    /// The same average over five minutes.
    pub average_5min: Option<f64>,
    /// The same average over fifteen minutes.
    pub average_15min: Option<f64>,
    /// Number of tasks that ran or wanted to run at that moment, including the reading one.
    pub running_tasks: Option<u64>,
    /// Number of all tasks.
    pub tasks: Option<u64>,
}

impl Load {
    pub(super) fn read(root: &Path) -> Self {
        Self::parse(&files::text(root, "proc/loadavg").unwrap_or_default())
    }

    /// Parses `0.20 0.18 0.12 1/80 11206`.
    fn parse(text: &str) -> Self {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let average = |index: usize| fields.get(index)?.parse().ok();
        let (running, all) = fields.get(3).and_then(|tasks| tasks.split_once('/')).unwrap_or_default();
        Self {
            average_1min: average(0),
            average_5min: average(1),
            average_15min: average(2),
            running_tasks: running.parse().ok(),
            tasks: all.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_five_values_are_parsed() {
        let load = Load::parse("0.20 1.18 12.12 3/1080 11206");
        assert_eq!((load.average_1min, load.average_5min, load.average_15min), (Some(0.2), Some(1.18), Some(12.12)));
        assert_eq!((load.running_tasks, load.tasks), (Some(3), Some(1080)));
    }

    #[test]
    fn empty_text_has_no_load() {
        let load = Load::parse("");
        assert_eq!((load.average_1min, load.running_tasks), (None, None));
    }
}
