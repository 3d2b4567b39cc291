//! The functions of Python that the threads of a CPython process are in, read from the interpreter's memory.
//!
//! A blocked thread of CPython is in functions of the interpreter, which say little about the program. The interpreter
//! keeps a list of its threads, and for each of them the frames of the Python functions. The positions of the fields are
//! those of the public headers of CPython 3.11, 3.12 and 3.13 on 64-bit machines; they do not change within one of these
//! versions. The process runs on while it is read, so each value may be out of date: lengths are bounded, a pointer that
//! leads nowhere ends the list, and a name that is not text is not shown.
//!
//! Functions have no addresses in the code of the process, so a path has the numbers that [`Python::frames`] gives them.

use crate::memory::read;
use crate::names::{Elf, Mapping, Site, open_mapped, short};
use crate::namespace::OwnNumbers;
use std::collections::HashMap;

/// The interpreter of one process.
pub struct Python {
    process: u32,
    runtime: u64,
    layout: &'static Layout,
    /// The interpreter's record of each thread, by the number that the interpreter knows.
    threads: HashMap<u32, u64>,
    own_numbers: OwnNumbers,
    numbers: HashMap<(u64, u64), u64>,
    functions: Vec<Site>,
}

/// Positions of fields, in bytes.
struct Layout {
    minor: u32,
    first_interpreter: u64,
    first_thread: u64,
    next_thread: u64,
    /// In the record of a thread: the frame, or a pointer to a record that has it at this position.
    frame: u64,
    frame_in_record: Option<u64>,
    native_number: u64,
    code: u64,
    previous: u64,
    instruction: u64,
    owner: u64,
    first_line: u64,
    file: u64,
    name: u64,
    lines: u64,
    instructions: u64,
    ascii_text: u64,
    text: u64,
}

const LAYOUTS: [Layout; 3] = [
    Layout {
        minor: 11,
        first_interpreter: 40,
        first_thread: 16,
        next_thread: 8,
        frame: 56,
        frame_in_record: Some(8),
        native_number: 160,
        code: 32,
        previous: 48,
        instruction: 56,
        owner: 69,
        first_line: 72,
        file: 112,
        name: 128,
        lines: 136,
        instructions: 184,
        ascii_text: 48,
        text: 72,
    },
    Layout {
        minor: 12,
        first_interpreter: 40,
        first_thread: 72,
        next_thread: 8,
        frame: 56,
        frame_in_record: Some(0),
        native_number: 144,
        code: 0,
        previous: 8,
        instruction: 56,
        owner: 70,
        first_line: 68,
        file: 112,
        name: 128,
        lines: 136,
        instructions: 192,
        ascii_text: 40,
        text: 56,
    },
    Layout {
        minor: 13,
        first_interpreter: 632,
        first_thread: 7344,
        next_thread: 8,
        frame: 72,
        frame_in_record: None,
        native_number: 160,
        code: 0,
        previous: 8,
        instruction: 56,
        owner: 70,
        first_line: 68,
        file: 112,
        name: 128,
        lines: 136,
        instructions: 200,
        ascii_text: 40,
        text: 56,
    },
];

/// The bit that tells the number of a Python function from an address of user space.
const NUMBER: u64 = 1 << 63;
/// A frame that the interpreter put there for itself.
const OWNED_BY_INTERPRETER: u8 = 3;
const MOST_THREADS: usize = 4_096;
const MOST_FRAMES: usize = 12;
const MOST_SKIPPED: usize = 12;
const MOST_FUNCTIONS: usize = 65_536;
const LONGEST_NAME: u64 = 512;
const LONGEST_TABLE: u64 = 64 << 10;
const LARGEST_FILE: u64 = 64 << 20;

/// Returns whether a place in a path is a Python function.
pub fn is_function(place: u64) -> bool {
    place & NUMBER != 0
}

/// Returns whether a file is the interpreter: `python3.12`, `libpython3.12.so.1.0`.
pub fn is_interpreter(file: &str) -> bool {
    minor_version(file).is_some()
}

/// Functions of Python's library that wait for work or for another thread, with their files: the lock that they acquire
/// is a means to wait, and no thread holds it.
const WAITING: [(&str, &str); 7] = [
    ("Condition.wait", "/threading.py:"),
    ("Thread._wait_for_tstate_lock", "/threading.py:"),
    ("Thread.join", "/threading.py:"),
    ("_shutdown", "/threading.py:"),
    ("_worker", "/concurrent/futures/thread.py:"),
    ("Condition.wait", "/multiprocessing/synchronize.py:"),
    ("Barrier.wait", "/multiprocessing/synchronize.py:"),
];

/// Returns whether a thread that is blocked in a lock of Python waits for work, by its functions, the innermost first.
/// A condition that gets its lock back waits for that lock.
/// A semaphore that is acquired through a condition is one.
pub fn waits_for_work<'a>(mut functions: impl Iterator<Item = &'a Site>) -> bool {
    while let Some(site) = functions.next() {
        let (name, source) = (site.symbol.as_deref().unwrap_or_default(), site.source.as_deref().unwrap_or_default());
        if name.contains("acquire_restore") {
            return false;
        }
        if name.contains("SimpleQueue_get") || name.contains("simplequeue_get") || site.label.contains("_queue.cpython")
        {
            return true;
        }
        if source.contains(".py:") || source.starts_with('<') {
            let waits = WAITING.iter().any(|(function, file)| name == *function && source.contains(file));
            let caller = functions.next().and_then(|caller| caller.symbol.as_deref()).unwrap_or_default();
            return waits && !caller.ends_with("Semaphore.acquire");
        }
    }
    false
}

fn minor_version(file: &str) -> Option<u32> {
    let version = file.strip_prefix("lib").unwrap_or(file).strip_prefix("python3.")?;
    version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

impl Python {
    /// Finds the interpreter of a process by its memory map.
    pub fn of(process: u32, mappings: &[Mapping]) -> Option<Self> {
        let file = |mapping: &Mapping| mapping.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let version = |mapping: &Mapping| file(mapping).and_then(|file| minor_version(&file));
        let mut tried: Vec<&Mapping> = Vec::new();
        for mapping in mappings {
            let Some(minor) = version(mapping).filter(|_| !tried.iter().any(|other| other.file == mapping.file)) else {
                continue;
            };
            tried.push(mapping);
            let layout = LAYOUTS.iter().find(|layout| layout.minor == minor)?;
            let pieces: Vec<Mapping> = mappings.iter().filter(|piece| piece.file == mapping.file).cloned().collect();
            if let Some(runtime) = runtime_in(process, &pieces) {
                let (threads, numbers, functions) = Default::default();
                let own_numbers = OwnNumbers::of(process);
                return Some(Self { process, runtime, layout, threads, own_numbers, numbers, functions });
            }
        }
        None
    }

    /// Returns the Python functions that a thread is in, the innermost first: numbers for [`Python::site`].
    pub fn frames(&mut self, thread: u32) -> Vec<u64> {
        self.frames_of(thread).unwrap_or_default()
    }

    /// Returns the function and its line.
    pub fn site(&self, number: u64) -> Option<&Site> {
        self.functions.get((number & !NUMBER) as usize)
    }

    fn frames_of(&mut self, thread: u32) -> Option<Vec<u64>> {
        let own_number = self.own_numbers.own(thread)?;
        let record = self.record_of(own_number)?;
        let layout = self.layout;
        let mut frame = self.pointer(record + layout.frame)?;
        if let Some(position) = layout.frame_in_record {
            frame = self.pointer(frame + position)?;
        }
        let (mut found, mut skipped) = (Vec::new(), 0);
        while frame != 0 && found.len() < MOST_FRAMES && skipped < MOST_SKIPPED {
            let mut owner = [0];
            self.read(frame + layout.owner, &mut owner)?;
            let code = self.pointer(frame + layout.code)?;
            if owner[0] == OWNED_BY_INTERPRETER || code == 0 {
                skipped += 1;
            } else {
                let instruction = self.pointer(frame + layout.instruction)?;
                found.extend(self.number_of(code, instruction.wrapping_sub(code + layout.instructions)));
            }
            frame = self.pointer(frame + layout.previous)?;
        }
        Some(found)
    }

    /// Returns the interpreter's record of the thread that it knows by this number.
    fn record_of(&mut self, thread: u32) -> Option<u64> {
        let is_its =
            |python: &Self, record: u64| python.pointer(record + python.layout.native_number) == Some(thread.into());
        if let Some(record) = self.threads.get(&thread).copied().filter(|record| is_its(self, *record)) {
            return Some(record);
        }
        self.threads.clear();
        let interpreter = self.pointer(self.runtime + self.layout.first_interpreter)?;
        let mut record = self.pointer(interpreter + self.layout.first_thread)?;
        while record != 0 && self.threads.len() < MOST_THREADS {
            let number = self.pointer(record + self.layout.native_number)?;
            // The list may have changed while it was read, and lead back.
            if self.threads.insert(number as u32, record).is_some() {
                break;
            }
            record = self.pointer(record + self.layout.next_thread)?;
        }
        self.threads.get(&thread).copied()
    }

    fn number_of(&mut self, code: u64, offset: u64) -> Option<u64> {
        if let Some(number) = self.numbers.get(&(code, offset)) {
            return Some(*number);
        }
        if self.functions.len() >= MOST_FUNCTIONS {
            return None;
        }
        let site = self.named(code, offset)?;
        let number = NUMBER | self.functions.len() as u64;
        self.functions.push(site);
        self.numbers.insert((code, offset), number);
        Some(number)
    }

    fn named(&self, code: u64, offset: u64) -> Option<Site> {
        let layout = self.layout;
        let function = self.text(self.pointer(code + layout.name)?)?;
        let file = self.text(self.pointer(code + layout.file)?)?;
        let mut first = [0; 4];
        self.read(code + layout.first_line, &mut first)?;
        let line = self.line(code, offset, i64::from(i32::from_le_bytes(first)));
        let source = format!("{file}:{}", line.unwrap_or(i64::from(i32::from_le_bytes(first))));
        let label = format!("{function} ({})", short(&source));
        Some(Site { symbol: Some(function), source: Some(source), label })
    }

    /// Returns the line of an instruction, by the table of the code: for each run of instructions the difference to the
    /// line before.
    fn line(&self, code: u64, offset: u64, first: i64) -> Option<i64> {
        let table = self.pointer(code + self.layout.lines)?;
        // The length of a `bytes` object, and where its bytes begin.
        let length = self.pointer(table + 16)?.min(LONGEST_TABLE);
        let mut bytes = vec![0; length as usize];
        self.read(table + 32, &mut bytes)?;
        line_in(&bytes, offset, first)
    }

    /// Returns a string: its length, its kind, and its text behind a header whose size depends on that.
    fn text(&self, object: u64) -> Option<String> {
        const LENGTH: u64 = 16;
        const STATE: u64 = 32;
        let length = self.pointer(object + LENGTH)?;
        let mut state = [0; 4];
        self.read(object + STATE, &mut state)?;
        let state = u32::from_le_bytes(state);
        let (size, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        if !is_compact || length > LONGEST_NAME {
            return None;
        }
        let start = if is_ascii { self.layout.ascii_text } else { self.layout.text };
        let mut bytes = vec![0; length as usize * size as usize];
        self.read(object + start, &mut bytes)?;
        let text: String = match size {
            1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            2 => String::from_utf16(
                &bytes.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two)).collect::<Vec<_>>(),
            )
            .ok()?,
            4 => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| char::from_u32(u32::from_le_bytes(*four)))
                .collect::<Option<_>>()?,
            _ => return None,
        };
        (!text.chars().any(char::is_control)).then_some(text)
    }

    fn pointer(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Some(u64::from_le_bytes(word))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        (address < NUMBER && read(self.process, address, bytes) == bytes.len()).then_some(())
    }
}

/// Returns the address of the interpreter's state in the pieces of a file.
fn runtime_in(process: u32, pieces: &[Mapping]) -> Option<u64> {
    const PAGE: u64 = 4_096;
    let elf = Elf::open(open_mapped(Some(process), pieces).ok()?, LARGEST_FILE)?;
    let own = [".dynsym", ".symtab"].iter().find_map(|table| {
        let (symbols, names) = elf.symbols(table)?;
        let is_it = |name: u32| names.get(name as usize..).is_some_and(|rest| rest.starts_with(b"_PyRuntime\0"));
        symbols.iter().find(|symbol| is_it(symbol.name)).map(|symbol| symbol.address)
    })?;
    let page = |at: u64| at / PAGE * PAGE;
    let first = pieces.first()?;
    let segment = elf.segments.iter().find(|segment| page(segment.offset) == first.offset)?;
    Some(first.start.wrapping_sub(page(segment.address)).wrapping_add(own))
}

/// Finds the line of the instruction at `offset` (bytes) in a table of locations.
fn line_in(table: &[u8], offset: u64, first: i64) -> Option<i64> {
    const UNIT: u64 = 2;
    let (mut at, mut end, mut line) = (0, 0, first);
    while at < table.len() {
        let head = table[at];
        let (kind, units) = (head >> 3 & 15, u64::from(head & 7) + 1);
        at += 1;
        let delta = match kind {
            15 => 0,
            13 | 14 => signed(varint(table, at)?.0),
            10..=12 => i64::from(kind) - 10,
            _ => 0,
        };
        // The first byte of an entry has its highest bit set.
        at += table[at..].iter().take_while(|byte| **byte & 0x80 == 0).count();
        line += delta;
        end += units * UNIT;
        if offset < end {
            return (kind != 15).then_some(line);
        }
    }
    None
}

/// Returns a number in groups of six bits, the lowest first, and its length; the seventh bit says that more follow.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (mut value, mut length) = (0, 0);
    loop {
        let byte = *bytes.get(at + length)?;
        value |= u64::from(byte & 63).checked_shl(6 * length as u32)?;
        length += 1;
        if byte & 64 == 0 || length > 10 {
            return Some((value, length));
        }
    }
}

/// Returns a signed number, whose sign is in the lowest bit.
fn signed(value: u64) -> i64 {
    let half = (value >> 1) as i64;
    if value & 1 == 1 { -half } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_differences() {
        // Two units of the first line (short form), three without a line, one 2 lines on, one 70 lines back.
        let table = [0x80 | 1, 0x12, 0x80 | 15 << 3 | 2, 0x80 | 12 << 3, 1, 2, 0x80 | 13 << 3, 64 | 13, 2];
        let line = |offset| line_in(&table, offset, 100);
        assert_eq!([line(0), line(2), line(4), line(8)], [Some(100), Some(100), None, None]);
        assert_eq!([line(10), line(12), line(14)], [Some(102), Some(32), None]);
        for length in 0..table.len() {
            let _ = line_in(&table[..length], 12, 1);
        }
    }

    #[test]
    fn waits_for_work_are_known_by_their_functions() {
        let is_work = |functions: &[(&str, &str)]| {
            let site = |(function, source): &(&str, &str)| Site {
                symbol: Some((*function).into()),
                source: Some((*source).into()),
                label: (*function).into(),
            };
            waits_for_work(functions.iter().map(site).collect::<Vec<_>>().iter())
        };
        let acquire = ("PyThread_acquire_lock_timed", "thread_pthread.h:483");
        let (library, run) =
            ("/usr/lib/python3.11/threading.py:327", ("Thread.run", "/usr/lib/python3.11/threading.py:9"));
        let wait = ("Condition.wait", library);
        for function in ["Condition.wait", "Thread._wait_for_tstate_lock", "Thread.join", "_shutdown"] {
            assert!(is_work(&[acquire, (function, library), run]), "{function}");
        }
        let worker = ("_worker", "/usr/lib/python3.11/concurrent/futures/thread.py:81");
        assert!(is_work(&[acquire, worker, run]));
        assert!(is_work(&[
            acquire,
            ("_queue_SimpleQueue_get_impl", "_queuemodule.c:242"),
            ("take", "/srv/server.py:3")
        ]));
        // Those that a thread holds: a lock that the program acquires, and the lock of a condition after the wait.
        assert!(!is_work(&[acquire, ("update", "/srv/server.py:6"), run]));
        assert!(!is_work(&[acquire, ("Condition.wait", "/srv/own.py:6"), run]));
        assert!(!is_work(&[acquire, ("rlock_acquire_restore", "_threadmodule.c:1"), wait]));
        assert!(!is_work(&[acquire, ("Condition._acquire_restore", library), wait]));
        assert!(!is_work(&[acquire]));
    }

    #[test]
    fn interpreters_are_known_by_their_files() {
        for (file, minor) in [
            ("python3.11", Some(11)),
            ("libpython3.12.so.1.0", Some(12)),
            ("libpython3.13d.so", Some(13)),
            ("python3", None),
        ] {
            assert_eq!(minor_version(file), minor, "{file}");
        }
    }
}
