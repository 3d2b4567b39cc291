//! What a reader of a trace must know.

use instruments::warning::WarningKind;
use serde::Serialize;

/// Something found no room, and is not in the figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceLost {
    /// What, and how often.
    pub what: String,
}

impl WarningKind for TraceLost {
    const CODE: &'static str = "trace_lost";

    fn message(&self) -> String {
        format!("not all of what the program did found room: {}", self.what)
    }

    fn remedy(&self) -> &'static str {
        "counts of what is named are too low; watch for less time, or fewer threads and locks"
    }
}

/// Whether holders ran is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NoSwitches {
    /// The system's words.
    pub reason: String,
}

impl WarningKind for NoSwitches {
    const CODE: &'static str = "no_switches";

    fn message(&self) -> String {
        format!("whether holders ran while others waited is not known: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "run `sudo sysctl kernel.perf_event_paranoid=2`, or `sudo setcap cap_perfmon+ep $(command -v contend)`"
    }
}

/// The program is a script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchedScript {
    /// What the kernel starts for it.
    pub interpreter: String,
}

impl WarningKind for WatchedScript {
    const CODE: &'static str = "watched_script";

    fn message(&self) -> String {
        format!("the program is a script: watched are {} and the programs that it starts", self.interpreter)
    }

    fn remedy(&self) -> &'static str {
        "name the program itself to watch it alone"
    }
}
