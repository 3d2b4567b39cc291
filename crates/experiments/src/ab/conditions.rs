//! The conditions of each run: what other guests and other programs took of the machine while it ran.
//!
//! The kernel counts the time of CPUs in ticks. Runs that are shorter than some ticks therefore have the shares of the
//! window that they are in. Probes of the core's width come before and after each run, on the CPU of the thread that
//! starts it.

use super::record::RunRecord;
use harness::{Session, SmtMonitor};
use instruments::cpus::CpuSet;
use instruments::environment::Activity;
use instruments::neighbour::{Probed, Reading, Sharing};
use std::time::{Duration, Instant};

/// A run is disturbed if the hypervisor took more of the CPUs' time,
const STEAL: f64 = 0.02;
/// or other programs used more of it,
const OTHERS: f64 = 0.1;
/// or an SMT sibling shared the core at both probes.
const WINDOW: Duration = Duration::from_millis(250);
/// A tick that is a larger part of a window says nothing about it.
const COARSE: f64 = 0.05;

/// The conditions of the runs so far.
pub struct Conditions {
    monitor: SmtMonitor,
    cpus: CpuSet,
    probes: Vec<Option<Probed>>,
    window: Option<Activity>,
    window_began: Instant,
    /// The first run of the window.
    first: usize,
    /// Steal and other programs, by run.
    shares: Vec<Option<(f64, f64)>>,
}

impl Conditions {
    pub fn new(session: &Session, monitor: SmtMonitor) -> Self {
        Self {
            monitor,
            cpus: session.cpus.clone(),
            probes: Vec::new(),
            window: Activity::now().ok(),
            window_began: Instant::now(),
            first: 0,
            shares: Vec::new(),
        }
    }

    /// Probes the core of the calling thread.
    pub fn probe(&self) -> Option<Reading> {
        self.monitor.probe.map(|probe| probe.take())
    }

    /// Adds a run, by the probes before and after it.
    pub fn add(&mut self, before: Option<Reading>, after: Option<Reading>) {
        let probed = before.zip(after).map(|(before, after)| Probed::between(before, after));
        self.monitor.learn(&probed);
        self.probes.push(probed);
        self.shares.push(None);
    }

    /// Closes the window if it is long enough, or if it is the last.
    pub fn close_window(&mut self, is_last: bool) {
        if self.window_began.elapsed() < WINDOW && !is_last {
            return;
        }
        let now = Activity::now().ok();
        let share = self.window.take().zip(now.as_ref()).and_then(|(before, now)| now.since(&before, &self.cpus));
        let share = share.filter(|share| share.resolution_share <= COARSE);
        let shares = share.map(|share| (share.steal_share, share.other_share));
        self.shares[self.first..].fill(shares);
        (self.window, self.window_began, self.first) = (now, Instant::now(), self.shares.len());
    }

    /// Writes the conditions into the records of the runs. A wider core may have been seen since a run was added, so all
    /// are written again.
    pub fn write(&self, runs: &mut [RunRecord]) {
        for (place, run) in runs.iter_mut().enumerate() {
            run.steal_share = self.shares[place].map(|(steal, _)| steal);
            run.others_share = self.shares[place].map(|(_, others)| others);
            run.core_shared = self.probes[place].and_then(|probed| match self.monitor.sharing(&[probed]) {
                Sharing::Alone => Some(false),
                Sharing::Shared => Some(true),
                Sharing::Neither => None,
            });
            run.is_disturbed = run.steal_share.is_some_and(|share| share > STEAL)
                || run.others_share.is_some_and(|share| share > OTHERS)
                || run.core_shared == Some(true);
        }
    }
}

/// Returns the blocks with a disturbed run, in order.
pub fn disturbed_blocks(runs: &[RunRecord]) -> Vec<u64> {
    let mut blocks: Vec<u64> = runs.iter().filter(|run| run.is_disturbed).map(|run| run.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_with_one_disturbed_run_is_disturbed_once() {
        let run = |block, is_disturbed| RunRecord {
            block,
            side: 0,
            exit_status: 0,
            steal_share: None,
            others_share: None,
            core_shared: None,
            is_disturbed,
        };
        let runs = [run(3, true), run(0, false), run(3, true), run(1, true), run(2, false)];
        assert_eq!(disturbed_blocks(&runs), [1, 3]);
    }
}
