//! The table of 1999, as data.
//!
//! Jean-Baptiste Queru, "The Scheduler Is Your Friend", Be Newsletter 4-45, 10 November 1999: a test program at
//! priority 20, an annoying one at 10, a rescheduler that slept 125 µs at a time; 256 million samples on one CPU, on a
//! bare system and on one with all its services and a dozen applications.

use super::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// How often the test program was interrupted for more than 256 µs, and the longest time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    pub bare_over_256us: u64,
    pub bare_longest_us: f64,
    pub normal_over_256us: u64,
    pub normal_longest_us: f64,
}

/// 1999's figures for a scenario; it had no rescheduler alone.
pub fn figures(scenario: Scenario) -> Option<Figures> {
    let figures = |bare: (u64, f64), normal: (u64, f64)| Figures {
        bare_over_256us: bare.0,
        bare_longest_us: bare.1,
        normal_over_256us: normal.0,
        normal_longest_us: normal.1,
    };
    match scenario {
        Scenario::Quiet => Some(figures((35, 3060.0), (702, 4776.0))),
        Scenario::Competitor => Some(figures((136, 3219.0), (1139, 6127.0))),
        Scenario::Both => Some(figures((365, 459.0), (2970, 838.0))),
        Scenario::Rescheduler => None,
    }
}
