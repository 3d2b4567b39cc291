//! What the clock cannot tell.

use serde::Serialize;

use super::kind::WarningKind;
use super::severity::Severity;

/// The CPU's own counter is not trusted; the system's clock is read instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockFallback {
    /// Why it is not trusted.
    pub reason: String,
}

impl WarningKind for ClockFallback {
    const CODE: &'static str = "clock_fallback";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the CPU's time-stamp counter is not used: {}", self.reason)
    }

    fn remedy(&self) -> &'static str {
        "use a machine whose counter is constant and agrees between CPUs (clock source tsc in \
         /sys/devices/system/clocksource/clocksource0/current_clocksource); values below 100 ns are coarser here"
    }
}
