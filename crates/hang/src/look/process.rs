//! A process, as the kernel's files describe it.

use crate::snapshot::{Language, Presence};
use std::fs::{File, read, read_to_string};
use std::io::{ErrorKind, Read};

/// The facts of `/proc/PID/status` and of the files next to it.
pub struct Facts {
    pub presence: Presence,
    pub parent: u32,
    pub command: String,
    pub tracer: Option<(u32, String)>,
    pub is_frozen: bool,
}

/// Bytes of a command line that are read.
const LONGEST_COMMAND: u64 = 200;

pub fn facts(pid: u32) -> Facts {
    let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let number = |name: &str| field(name).and_then(|value| value.parse::<u32>().ok()).unwrap_or(0);
    let presence = match field("State:").and_then(|state| state.chars().next()) {
        None => Presence::Missing,
        Some('Z' | 'X') if blame::sampling::threads(pid).count() < 2 => Presence::Zombie,
        Some(_) if is_refused(pid) => Presence::Refused,
        Some(_) => Presence::Present,
    };
    let tracer = Some(number("TracerPid:")).filter(|tracer| *tracer != 0);
    Facts {
        presence,
        parent: number("PPid:"),
        command: command(pid),
        tracer: tracer.map(|tracer| (tracer, command(tracer))),
        is_frozen: is_frozen(pid),
    }
}

/// Returns the process of a thread; the number itself if it has none.
pub fn process_of(thread: u32) -> u32 {
    let status = read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|process| process.trim().parse().ok()).unwrap_or(thread)
}

/// Returns the command of a process, shortened.
pub fn command(pid: u32) -> String {
    let mut words = Vec::new();
    let file = File::open(format!("/proc/{pid}/cmdline"));
    let _ = file.and_then(|file| file.take(LONGEST_COMMAND).read_to_end(&mut words));
    // It ends: each turn takes a byte away.
    while words.pop_if(|byte| *byte == 0).is_some() {}
    words.iter_mut().filter(|byte| **byte < b' ').for_each(|byte| *byte = b' ');
    if words.is_empty() {
        words = read(format!("/proc/{pid}/comm")).unwrap_or_default();
    }
    // The directory of the program says little, and takes the room of its arguments.
    let first = words.iter().position(|byte| *byte == b' ').unwrap_or(words.len());
    let name = words[..first].iter().rposition(|byte| *byte == b'/').map_or(0, |place| place + 1);
    words.drain(..name);
    terminal::shortened(terminal::escaped(String::from_utf8_lossy(&words).trim()).as_ref(), 48)
}

/// Returns the children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let lists = blame::sampling::threads(pid).map(|thread| format!("/proc/{pid}/task/{thread}/children"));
    let lists = lists.filter_map(|path| read_to_string(path).ok()).collect::<Vec<String>>().join(" ");
    lists.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn is_refused(pid: u32) -> bool {
    let opened = File::open(format!("/proc/{pid}/syscall"));
    let read = opened.and_then(|mut file| file.read(&mut [0; 64]));
    read.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

fn is_frozen(pid: u32) -> bool {
    let groups = read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    groups.lines().any(|line| {
        let Some((controllers, path)) = line.split_once(':').and_then(|(_, rest)| rest.split_once(':')) else {
            return false;
        };
        let of = |file: String| read_to_string(file).unwrap_or_default();
        match controllers {
            "" => of(format!("/sys/fs/cgroup{path}/cgroup.events")).lines().any(|line| line == "frozen 1"),
            "freezer" => of(format!("/sys/fs/cgroup/freezer{path}/freezer.state")).trim() == "FROZEN",
            _ => false,
        }
    })
}

/// Returns the language of a process, by its memory map.
pub fn language(pid: u32, map: &[u8], has_python: bool) -> Language {
    let map = String::from_utf8_lossy(map);
    let has = |name: &str| map.lines().any(|line| line.ends_with(name));
    match () {
        () if has_python => Language::Python,
        () if has("/libjvm.so") => Language::Java,
        () if has("/node") => Language::Node,
        () if blame::golang::is_go(pid) => Language::Go,
        () => Language::Native,
    }
}
