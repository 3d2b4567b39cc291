//! What the clock cannot tell.

use serde::Serialize;

use super::kind::{WarningKind, percent};

/// Reading the clock is a considerable part of what is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockCost {
    /// The cost of a reading, as a share of what is measured.
    pub share: f64,
    /// What is measured.
    pub what: String,
}

impl WarningKind for ClockCost {
    const CODE: &'static str = "clock_cost";

    fn message(&self) -> String {
        format!("reading the clock costs {} of {}", percent(self.share), self.what)
    }

    fn remedy(&self) -> &'static str {
        "read the figure with the clock's cost beside it, or measure longer operations"
    }
}

/// The CPU's own counter is not trusted; the system's clock is read instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockFallback {
    /// Why it is not trusted.
    pub reason: String,
}

impl WarningKind for ClockFallback {
    const CODE: &'static str = "clock_fallback";

    fn message(&self) -> String {
        format!("the CPU's counter is not used: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "use a machine whose counter is constant and agrees between CPUs (clock source tsc in \
         /sys/devices/system/clocksource/clocksource0/current_clocksource); figures below 100 ns are coarser here"
    }
}

/// A figure is too small for the clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BelowResolution {
    /// The figure.
    pub what: String,
    /// What can be told apart, in ns: the smallest step of the clock, or the scatter of what is subtracted.
    pub resolution_ns: f64,
}

impl WarningKind for BelowResolution {
    const CODE: &'static str = "below_resolution";

    fn message(&self) -> String {
        let Self { what, resolution_ns } = self;
        format!("{what} is below its resolution of {resolution_ns:.2} ns")
    }

    fn remedy(&self) -> &'static str {
        "read it as an upper bound, and compare only figures that are several steps apart"
    }
}
