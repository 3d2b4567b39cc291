//! What a reader of a load must know.

use instruments::warning::{Severity, WarningKind, percent};
use serde::Serialize;

/// `/proc/stat`, which asks at every tick who is running, is far from what the CPU did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TickAccountingLies {
    /// The CPU.
    pub cpu: usize,
    /// Its load by `/proc/stat`.
    pub proc_stat_share: f64,
    /// Its load as measured.
    pub load_share: f64,
}

impl WarningKind for TickAccountingLies {
    const CODE: &'static str = "tick_accounting_lies";

    fn message(&self) -> String {
        let (reported, measured) = (percent(self.proc_stat_share), percent(self.load_share));
        format!("/proc/stat reports a load of {reported} on CPU {}; the measured load is {measured}", self.cpu)
    }

    fn remedy(&self) -> &'static str {
        "use the measured value: the load is synchronised with the timer tick, at which /proc/stat samples. \
         Elsewhere, use cgroup or per-task CPU times, which are exact, or a kernel with CONFIG_VIRT_CPU_ACCOUNTING_GEN, which does not sample at ticks"
    }
}

/// The meter takes a considerable part of what it watches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeterDisturbs {
    /// The time that it takes, as a share of the CPUs' time.
    pub share: f64,
}

impl WarningKind for MeterDisturbs {
    const CODE: &'static str = "meter_disturbs";
    const SEVERITY: Severity = Severity::ChangesFigure;

    fn message(&self) -> String {
        format!("the meter takes {} of the CPUs' time from the load that it measures", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "run it in a cgroup of idle weight: `systemd-run --scope -p CPUWeight=idle contend load`"
    }
}
