//! The code of processes of this machine: which of its bytes are not those of the file that it was loaded from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, read_dir, read_to_string};
use std::os::unix::fs::FileExt;

/// A process: its number, and when it was started, since numbers are used again.
pub type Process = (u32, u64);
/// The bytes of a piece of code that are not those of its file: the address, and the byte in memory.
type Changed = Vec<(u64, u8)>;

/// Differences of one piece up to which they are compared one by one.
const MOST_CHANGED: usize = 4_096;

/// The code of some processes at one moment.
#[derive(Default)]
pub struct Code {
    /// The pieces by process and first address.
    pieces: BTreeMap<(Process, u64), Changed>,
    /// The bytes that were compared.
    pub bytes: u64,
}

/// Returns a process with its parent.
fn with_parent(pid: u32) -> Option<(Process, u32)> {
    let text = read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before them may have spaces and parentheses.
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    Some(((pid, fields.get(19)?.parse().ok()?), fields.get(1)?.parse().ok()?))
}

/// Returns a running process by its number.
pub fn process(pid: u32) -> Process {
    with_parent(pid).expect("it runs").0
}

/// Returns the processes that run now and were neither started by this one, nor by one that it started.
pub fn others() -> BTreeSet<Process> {
    let numbers = read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let all: BTreeMap<u32, (Process, u32)> = numbers.filter_map(|pid| Some((pid, with_parent(pid)?))).collect();
    let is_other = |first: &u32| {
        let mut pid = *first;
        while let Some((_, parent)) = all.get(&pid).filter(|_| pid != std::process::id()) {
            pid = *parent;
        }
        pid != std::process::id()
    };
    all.iter().filter(|(pid, _)| is_other(pid)).map(|(_, (process, _))| *process).collect()
}

impl Code {
    /// Compares the code of these processes with their files. One that cannot be read, or has ended, has no pieces.
    pub fn of(processes: &BTreeSet<Process>) -> Self {
        let mut code = Self::default();
        for process in processes {
            code.add(*process);
        }
        code
    }

    fn add(&mut self, process: Process) -> Option<()> {
        let pid = process.0;
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let maps = read_to_string(format!("/proc/{pid}/maps")).ok()?;
        let mut found = BTreeMap::new();
        for line in maps.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [range, rights, offset, ..] = fields[..] else { continue };
            let is_code = rights.ends_with("xp") && fields.get(5).is_some_and(|name| name.starts_with('/'));
            // The file itself, also where its path has another one now.
            let Some(file) = File::open(format!("/proc/{pid}/map_files/{range}")).ok().filter(|_| is_code) else {
                continue;
            };
            let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (from, to) = range.split_once('-').map(|(from, to)| (number(from), number(to))).unwrap();
            found.insert((process, from), self.changed(&memory, from..to, &file, number(offset)));
        }
        // Another process may have the number by now.
        if with_parent(pid)?.0 == process {
            self.pieces.extend(found);
        }
        Some(())
    }

    fn changed(&mut self, memory: &File, range: std::ops::Range<u64>, file: &File, offset: u64) -> Changed {
        const STEP: usize = 1 << 20;
        let (mut loaded, mut stored, mut changed) = (vec![0; STEP], vec![0; STEP], Vec::new());
        for at in range.clone().step_by(STEP) {
            let length = STEP.min((range.end - at) as usize);
            let filled = file.read_at(&mut stored[..length], offset + at - range.start).unwrap_or(0);
            let read = memory.read_at(&mut loaded[..filled], at).unwrap_or(0);
            self.bytes += read as u64;
            let (loaded, stored) = (&loaded[..read], &stored[..read]);
            if loaded != stored && changed.len() < MOST_CHANGED {
                let differing = loaded.iter().zip(stored).zip(at..).filter(|((one, other), _)| one != other);
                changed.extend(differing.map(|((byte, _), at)| (at, *byte)));
            }
        }
        changed
    }

    /// Returns how many processes have pieces.
    pub fn processes(&self) -> usize {
        self.pieces.keys().map(|(process, _)| process).collect::<BTreeSet<_>>().len()
    }

    /// Returns the pieces that were others before: a line for each.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        let of_before = |piece: &(Process, u64)| before.pieces.get(piece).map_or(&[][..], Vec::as_slice);
        let others = self.pieces.iter().filter(|(piece, changed)| of_before(piece) != changed.as_slice());
        others.map(|(piece, changed)| format!("{piece:?}: {:x?} before, {changed:x?}", of_before(piece))).collect()
    }
}

#[test]
fn a_changed_byte_of_code_is_found() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let one = BTreeSet::from([process(child.id())]);
    let is_loaded = |code: &Code| code.pieces.len() > 1;
    let mut before = Code::of(&one);
    while !is_loaded(&before) {
        std::thread::sleep(std::time::Duration::from_millis(10));
        before = Code::of(&one);
    }
    let (_, from) = before.pieces.first_key_value().unwrap().0;
    let memory = File::options().write(true).open(format!("/proc/{}/mem", child.id())).unwrap();
    memory.write_all_at(&[0xcc], *from).unwrap();
    let after = Code::of(&one);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(before.changes_since(&before), [""; 0]);
    let changes = after.changes_since(&before);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert!(changes[0].contains(&format!("[({from:x}, cc)]")), "{changes:?}");
}
