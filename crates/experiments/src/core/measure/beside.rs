//! The tasks on the other hardware threads of a core while it was shared, if these are this machine's own.
//!
//! Then they belong to this system, and the kernel events have their names.

use crate::core::record::BesideRow;
use harness::label;
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::environment::Cpu;
use instruments::evidence::{Recorder, Source, Timeline, ran};
use instruments::neighbour::Sharing;
use instruments::warning::{LeftOut, Warning};
use std::collections::BTreeMap;

/// The time in which a core was shared, by the tasks on its other threads.
#[derive(Default)]
pub struct SiblingActivity {
    /// The time by sibling and name, in nanoseconds.
    ran_ns: BTreeMap<(usize, String), f64>,
    shared_ns: f64,
}

/// The maximum number of rows of a CPU: the others are short.
const MOST: usize = 10;
/// The maximum number of names: in a night thousands of processes come and go, and each may have a different name.
const MOST_NAMES: usize = 1_000;
const OTHERS: &str = "others";
/// The maximum length of a step: it lasts until the next, and with rests between them no longer than that.
const LONGEST_STEP_S: f64 = 0.001;

/// Returns the recorder of the siblings of probed CPUs; `None` where they have none, or their events may not be read.
pub fn recorder(cpus: &[usize], clock: Clock, machine: &Cpu, warnings: &mut Vec<Warning>) -> Option<Recorder> {
    let siblings = siblings(cpus, machine);
    if siblings.is_empty() {
        return None;
    }
    let opened = Recorder::open_with(clock, &siblings, Source::CpuRecord);
    let what = || format!("the tasks on CPUs {siblings}, the SMT siblings");
    opened.map_err(|error| warnings.push(LeftOut { what: what(), reason: error.to_string() }.into())).ok()
}

/// Returns the CPUs that are on the cores of these and are none of them.
fn siblings(cpus: &[usize], machine: &Cpu) -> CpuSet {
    let others = machine.online.iter().flat_map(CpuSet::iter).filter(|other| !cpus.contains(other));
    others.filter(|&other| cpus.iter().any(|&cpu| machine.share_a_core(cpu, other))).collect()
}

/// Returns the recorded CPUs on the core of this one.
pub fn siblings_of(cpu: usize, timeline: &Timeline, machine: &Cpu) -> Vec<usize> {
    let recorded = timeline.tracks.iter().filter_map(|track| track.cpu);
    recorded.filter(|&other| machine.share_a_core(cpu, other)).collect()
}

impl SiblingActivity {
    /// Adds the steps of a repetition, with the kernel events of the siblings: seconds after `began`, and the sharing
    /// of the core.
    pub fn add(&mut self, steps: &[(f64, Sharing)], siblings: &[usize], timeline: &Timeline, began: u64) {
        for pair in steps.windows(2).filter(|pair| pair[0].1 == Sharing::Shared) {
            let at_s = pair[0].0;
            let length_s = (pair[1].0 - at_s).min(LONGEST_STEP_S);
            let from = began + timeline.clock.to_ticks(at_s * 1e9);
            let to = from + timeline.clock.to_ticks(length_s * 1e9);
            self.shared_ns += length_s * 1e9;
            for &sibling in siblings {
                for part in ran(timeline, sibling, from, to) {
                    self.note(sibling, label(&part.who), timeline.clock.to_ns(part.end - part.start));
                }
            }
        }
    }

    fn note(&mut self, sibling: usize, who: String, ns: f64) {
        let is_full = self.ran_ns.len() >= MOST_NAMES && !self.ran_ns.contains_key(&(sibling, who.clone()));
        *self.ran_ns.entry((sibling, if is_full { OTHERS.to_owned() } else { who })).or_default() += ns;
    }

    /// Returns the rows, the largest first.
    pub fn rows(&self) -> Vec<BesideRow> {
        let row = |((cpu, who), ns): (&(usize, String), &f64)| BesideRow {
            cpu: *cpu,
            who: who.clone(),
            shared_share: ns / self.shared_ns,
        };
        let mut rows: Vec<BesideRow> = self.ran_ns.iter().map(row).collect();
        rows.sort_by(|a, b| b.shared_share.total_cmp(&a.shared_share));
        rows.truncate(MOST);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::environment::Environment;
    use instruments::evidence::{Event, EventKind, HandlerKind, Names};
    use std::path::Path;
    use std::time::Duration;

    const BEGAN: u64 = 1_000;

    /// Returns the kernel events of CPU 4: the encoder has it from 20 to 50 ms, and at 40 ms an interrupt takes a
    /// millisecond of that.
    fn timeline() -> Timeline {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let ticks = |ms: f64| BEGAN + clock.to_ticks(ms * 1e6);
        let mut names = Names::default();
        names.name_task(77, 77, "encoder");
        let handler = names.handler(HandlerKind::Interrupt, "local_timer");
        let event = |ms: f64, kind| Event { at: ticks(ms), kind };
        let events = vec![
            event(20.0, EventKind::Took { task: 77, previous: Some(0) }),
            event(40.0, EventKind::Entered { task: 77, handler }),
            event(41.0, EventKind::Exited { task: 77, handler }),
            event(50.0, EventKind::Left { task: 77, next: Some(0), preempted: false }),
        ];
        Timeline::of_events(clock, Source::CpuRecord, BEGAN..ticks(100.0), 1, names, &[(Some(4), events)])
    }

    #[test]
    fn tasks_on_the_sibling_of_a_shared_core_are_named() {
        let mut machine = Environment::probe_under(Path::new("/nowhere")).cpu;
        machine.online = Some("0-7".parse().unwrap());
        machine.cores = ["0,4", "1,5", "2,6", "3,7"].map(|core| core.parse().unwrap()).to_vec();
        assert_eq!(siblings(&[0, 1], &machine), "4-5".parse().unwrap());
        let timeline = timeline();
        assert_eq!((siblings_of(0, &timeline, &machine), siblings_of(1, &timeline, &machine)), (vec![4], vec![]));
        // Shared from 20 to 60 ms: in the last ten of them by no task of this kernel.
        let step = |number: usize| {
            let sharing = if (20..60).contains(&number) { Sharing::Shared } else { Sharing::Alone };
            (number as f64 / 1e3, sharing)
        };
        let steps: Vec<_> = (0..90).map(step).collect();
        let mut beside = SiblingActivity::default();
        beside.add(&steps, &[4], &timeline, BEGAN);
        let rows = beside.rows();
        let activity: Vec<(usize, &str)> = rows.iter().map(|row| (row.cpu, row.who.as_str())).collect();
        assert_eq!(activity, [(4, "task encoder"), (4, "idle"), (4, "interrupt local_timer")]);
        let shares: Vec<f64> = rows.iter().map(|row| row.shared_share).collect();
        assert!(shares.iter().zip([0.725, 0.25, 0.025]).all(|(share, truth)| (share - truth).abs() < 1e-3), "{rows:?}");
    }
}
