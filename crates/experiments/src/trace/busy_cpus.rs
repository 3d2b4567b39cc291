//! The use of the machine's CPUs during a part of the trace, by the kernel's account.

use instruments::cpus::{self, CpuSet};
use instruments::environment::Activity;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The account at the begin of a part.
pub struct BusyCpus {
    online: CpuSet,
    began: Option<Activity>,
    own: Duration,
}

impl BusyCpus {
    pub fn begin() -> Self {
        Self { online: cpus::online().unwrap_or_default(), began: Activity::now().ok(), own: own() }
    }

    /// Returns the CPU time of all programs but contend since then; `None` without an account.
    pub fn since_s(&self) -> Option<f64> {
        let share = Activity::now().ok()?.since(self.began.as_ref()?, &self.online)?;
        let all_s = share.wall_s * self.online.len() as f64;
        let busy_s = (1.0 - share.idle_share - share.steal_share) * all_s;
        Some((busy_s - (own().saturating_sub(self.own)).as_secs_f64()).max(0.0))
    }
}

/// Returns the CPU time of this process, without that of its children.
fn own() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(own.tv_sec as u64, own.tv_nsec as u32)
}
