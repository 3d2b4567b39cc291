//! The CPU time of processes that a traced process has started, and that are not traced themselves.

use super::plan::Parameters;
use super::warnings::Process;
use instruments::warning::WarningKind;
use rustix::param::clock_ticks_per_second;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};

/// Children that use less than this part of one CPU are not worth a warning, unless the traced process uses less still.
const LEAST_SHARE: f64 = 0.05;
/// Processes that the warning names.
const MOST_NAMED: usize = 4;

/// The times of all processes when a trace begins.
pub struct Children(Processes);

impl Children {
    pub fn begin() -> Self {
        Self(Processes::now())
    }

    /// Returns a warning, if children of the traced processes used the CPUs since then.
    pub fn finish(&self, parameters: &Parameters) -> Option<UntracedChildren> {
        let traced: Vec<u32> = match &parameters.attached_pids[..] {
            [] => parameters.attached_pid.into_iter().collect(),
            pids => pids.to_vec(),
        };
        found(&self.0, &Processes::now(), &traced, parameters.elapsed_s)
    }
}

/// The processes of the system by their numbers.
struct Processes(HashMap<u32, Times>);

/// The parent, the name and the CPU times of a process.
#[derive(Clone, Debug, PartialEq)]
struct Times {
    parent: u32,
    name: String,
    /// Its start time, which distinguishes it from a later process with the same number.
    started: u64,
    own_s: f64,
    /// The times of its children that have ended.
    ended_s: f64,
}

impl Processes {
    fn now() -> Self {
        let entries = read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let times = |pid: u32| Some((pid, Times::of(&read_to_string(format!("/proc/{pid}/stat")).ok()?)?));
        Self(pids.filter_map(times).collect())
    }

    /// Returns the descendants of a process that are not traced.
    fn descendants(&self, pid: u32, traced: &[u32]) -> Vec<u32> {
        let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
        for (child, times) in self.0.iter().filter(|(child, _)| **child != pid && !traced.contains(child)) {
            children.entry(times.parent).or_default().push(*child);
        }
        let (mut found, mut next) = (vec![pid], 0);
        // It ends: the children of each process are taken once.
        while let Some(parent) = found.get(next) {
            let mut more = children.remove(parent).unwrap_or_default();
            more.sort_unstable();
            found.extend(more);
            next += 1;
        }
        found.split_off(1)
    }

    /// Returns the CPU time of the children of a process, those that have ended included.
    fn of_children(&self, pid: u32, traced: &[u32]) -> Option<f64> {
        let ended_s = self.0.get(&pid)?.ended_s;
        let times = self.descendants(pid, traced).into_iter().filter_map(|child| self.0.get(&child));
        Some(times.fold(ended_s, |sum, times| sum + times.own_s + times.ended_s))
    }
}

impl Times {
    /// Parses `/proc/PID/stat`.
    fn of(stat: &str) -> Option<Self> {
        // The name can contain anything.
        let (name, fields) = stat.split_once(" (")?.1.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let seconds =
            |place: usize| Some((number(place)? + number(place + 1)?) as f64 / clock_ticks_per_second() as f64);
        let (own_s, ended_s) = (seconds(11)?, seconds(13)?);
        Some(Self { parent: fields.get(1)?.parse().ok()?, name: name.to_owned(), started: number(19)?, own_s, ended_s })
    }
}

/// Compares the processes at the begin and at the end of a trace.
fn found(before: &Processes, after: &Processes, traced: &[u32], elapsed_s: f64) -> Option<UntracedChildren> {
    // The time of a traced process that has ended is in that of its parent.
    let has_ended = |pid: &u32| !after.0.contains_key(pid);
    let is_same =
        |pid: &u32| before.0.get(pid).map(|times| times.started) == after.0.get(pid).map(|times| times.started);
    if traced.iter().any(has_ended) {
        return None;
    }
    let own_s = |pid: &u32| Some(after.0.get(pid)?.own_s - before.0.get(pid)?.own_s);
    let used = |pid: &u32| {
        let used_s = after.of_children(*pid, traced)? - before.of_children(*pid, traced)?;
        let least_s = own_s(pid)?.min(LEAST_SHARE * elapsed_s);
        Some((*pid, used_s)).filter(|_| is_same(pid) && used_s > least_s)
    };
    let (process, used_s) = traced.iter().filter_map(used).max_by(|one, other| one.1.total_cmp(&other.1))?;
    let children = after.descendants(process, traced).into_iter();
    let children = children.filter_map(|pid| Some(Process { pid, name: after.0.get(&pid)?.name.clone() })).collect();
    Some(UntracedChildren { process, used_s, children })
}

/// Processes that a traced one has started used the CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UntracedChildren {
    pub process: u32,
    pub used_s: f64,
    /// Those that run still.
    pub children: Vec<Process>,
}

impl WarningKind for UntracedChildren {
    const CODE: &'static str = "untraced_children";

    fn message(&self) -> String {
        let named =
            self.children.iter().take(MOST_NAMED).map(|child| format!("{} (process {})", child.name, child.pid));
        let named = named.collect::<Vec<String>>().join(", ");
        let more = self.children.len().saturating_sub(MOST_NAMED);
        let named = match (named.is_empty(), more) {
            (true, _) => ", and have ended".to_owned(),
            (false, 0) => format!(": {named}"),
            (false, more) => format!(": {named}, and {more} more"),
        };
        format!(
            "child processes of process {} used {} of CPU time and are not traced{named}",
            self.process,
            terminal::nanoseconds(self.used_s * 1e9)
        )
    }

    fn remedy(&self) -> &'static str {
        "name them with --pid PID,PID, trace all processes of a control group with --cgroup, or start the program with \
         `contend trace -- PROGRAM`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(all: &[(u32, u32, &str, f64, f64)]) -> Processes {
        let times = |&(pid, parent, name, own_s, ended_s): &(u32, u32, &str, f64, f64)| {
            (pid, Times { parent, name: name.into(), started: u64::from(pid), own_s, ended_s })
        };
        Processes(all.iter().map(times).collect())
    }

    #[test]
    fn children_that_use_the_cpus_are_named_unless_traced() {
        let before = processes(&[(10, 1, "sh", 0.1, 0.5), (11, 10, "awk", 1.0, 0.0), (20, 1, "other", 0.0, 0.0)]);
        // One child went on, a grandchild came, and another child came and ended.
        let after = processes(&[
            (10, 1, "sh", 0.1, 0.9),
            (11, 10, "awk", 2.0, 0.0),
            (12, 11, "sort", 0.25, 0.0),
            (20, 1, "other", 9.0, 0.0),
        ]);
        let warning = found(&before, &after, &[10], 2.0).unwrap();
        assert!((warning.used_s - 1.65).abs() < 1e-9, "{warning:?}");
        assert!(
            warning.message().ends_with("not traced: awk (process 11), sort (process 12)"),
            "{}",
            warning.message()
        );
        let of_sort = found(&before, &after, &[10, 11], 2.0).unwrap();
        assert_eq!((of_sort.process, of_sort.children.len()), (10, 0));
        // The others do nothing but wait for them.
        assert_eq!(found(&before, &after, &[10, 11, 12], 2.0).unwrap().process, 10);
        let busy = processes(&[(10, 1, "sh", 5.0, 0.51)]);
        assert_eq!(found(&processes(&[(10, 1, "sh", 0.0, 0.5)]), &busy, &[10], 2.0), None);
        assert_eq!(found(&before, &after, &[20], 2.0), None);
        assert_eq!(found(&before, &after, &[10, 13], 2.0), None);
    }

    #[test]
    fn times_are_read_after_a_name_with_parentheses() {
        let stat = "7 (a) (b) S 3 7 7 0 -1 4194304 100 0 0 0 150 50 20 30 20 0 1 0 9876 1000 50";
        let times = Times::of(stat).unwrap();
        let per_s = clock_ticks_per_second() as f64;
        assert_eq!((times.parent, times.name.as_str(), times.started), (3, "a) (b", 9876));
        assert_eq!((times.own_s, times.ended_s), (200.0 / per_s, 50.0 / per_s));
        assert_eq!(Times::of("7 (a"), None);
    }
}
