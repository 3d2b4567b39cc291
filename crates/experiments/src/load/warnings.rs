//! The warnings of a load.

use instruments::warning::{Severity, WarningKind, percent};
use serde::Serialize;

/// The warning that `/proc/stat`, which samples the running task at every tick, is far from the actual load of the CPU.
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

/// The warning that the meter takes a considerable part of the measured CPU time.
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
