//! The processes of this machine, from `/proc`: to choose one that is traced, and to end all that a command started.

use crate::list::Row;
use rustix::param::clock_ticks_per_second;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;
use terminal::escaped;

/// The headings of the rows.
pub const HEADING: &str = "     PID     CPU threads  name             command line";

/// A process, as its `stat` describes it.
struct Process {
    pid: u32,
    parent: u32,
    name: String,
    /// CPU time since its start.
    ticks: u64,
    threads: u64,
}

/// The CPU times of the last look, from which the shares since then follow.
#[derive(Debug, Default)]
pub struct Processes {
    before: HashMap<u32, u64>,
    looked: Option<Instant>,
}

impl Processes {
    /// Returns a row for each process that this user can trace; those that used the most CPU time since the last call
    /// come first.
    pub fn rows(&mut self) -> Vec<Row> {
        let elapsed = self.looked.replace(Instant::now()).map(|looked| looked.elapsed());
        let own = std::process::id();
        let mut found: Vec<(f64, Process, String)> = all()
            .filter(|process| process.pid != own && is_traceable(process.pid))
            .filter_map(|process| Some((command_line(process.pid)?, process)))
            .map(|(command_line, process)| {
                let before = self.before.get(&process.pid).copied();
                let used = before.map(|before| process.ticks.saturating_sub(before) as f64);
                let share = used.zip(elapsed).map_or(-1.0, |(used, elapsed)| {
                    used / clock_ticks_per_second() as f64 / elapsed.as_secs_f64().max(1e-3)
                });
                (share, process, command_line)
            })
            .collect();
        found.sort_by(|one, other| {
            let by_share = other.0.total_cmp(&one.0);
            by_share.then(other.1.ticks.cmp(&one.1.ticks)).then(one.1.pid.cmp(&other.1.pid))
        });
        self.before = found.iter().map(|(_, process, _)| (process.pid, process.ticks)).collect();
        found.into_iter().map(|(share, process, command_line)| row(share, &process, &command_line)).collect()
    }
}

fn row(share: f64, process: &Process, command_line: &str) -> Row {
    let share = if share < 0.0 { "–".to_owned() } else { format!("{:.0} %", share * 100.0) };
    let Process { pid, threads, name, .. } = process;
    let text = format!("{pid:>8} {share:>7} {threads:>7}  {:<16} {}", escaped(name), escaped(command_line));
    Row { value: pid.to_string(), text }
}

/// Returns the descendants of a process.
pub fn descendants(pid: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all().map(|process| (process.pid, process.parent)).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, other)| *other == parent).map(|(child, _)| *child));
        next += 1;
    }
    found.split_off(1)
}

fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| parsed(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?))
}

/// Parses `/proc/PID/stat`; the name is in parentheses, and can have some itself.
fn parsed(pid: u32, stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    // The state, which is the third field of the file, is the first here.
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let ticks = number(11)? + number(12)?;
    Some(Process { pid, parent: number(1)? as u32, name: name.to_owned(), ticks, threads: number(17)? })
}

/// Returns whether the process is this user's, or this user is root.
fn is_traceable(pid: u32) -> bool {
    let user = rustix::process::geteuid();
    user.is_root() || fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == user.as_raw())
}

/// Returns the command line; a thread of the kernel has none.
fn command_line(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = String::from_utf8_lossy(&bytes).replace(['\0', '\n', '\t'], " ");
    let words = words.trim();
    (!words.is_empty()).then(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_parsed_whatever_the_name() {
        let stat = "7 (a) (b c) S 3 7 7 0 -1 4194560 1 0 0 0 25 17 0 0 20 0 12 0 100 0 0";
        let process = parsed(7, stat).unwrap();
        assert_eq!((process.parent, process.name.as_str()), (3, "a) (b c"));
        assert_eq!((process.ticks, process.threads), (42, 12));
        assert!(parsed(7, "7 (a) S").is_none() && parsed(7, "").is_none());
    }

    #[test]
    fn children_are_descendants_and_own_rows_are_omitted() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(descendants(std::process::id()).contains(&child.id()));
        let mut processes = Processes::default();
        let first = processes.rows();
        let row = first.iter().find(|row| row.value == child.id().to_string()).expect("it is listed");
        assert!(row.text.contains("sleep 60") && row.text.contains('–'), "{}", row.text);
        assert!(!first.iter().any(|row| row.value == std::process::id().to_string()));
        let again = processes.rows();
        let row = again.iter().find(|row| row.value == child.id().to_string()).expect("it is listed");
        assert!(row.text.contains(" %"), "{}", row.text);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
