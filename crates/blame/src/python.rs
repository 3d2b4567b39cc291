//! The functions of Python that the threads of a CPython process are in, read from the interpreter's memory.
//!
//! A blocked thread of CPython is in functions of the interpreter, which say little about the program. The interpreter
//! keeps a list of its threads, and for each of them the frames of the Python functions. The positions of the fields are
//! those of the public headers of CPython 3.11, 3.12 and 3.13 on 64-bit machines; they do not change within one of these
//! versions. The process runs on while it is read, so each value may be out of date: lengths are bounded, a pointer that
//! leads nowhere ends the list, and a name that is not text is not shown.
//!
//! Functions have no addresses in the code of the process, so a path has the numbers that [`Python::frames`] gives them.

use crate::allowance::Allowance;
use crate::exported::addresses;
use crate::memory::{read, u64_at};
use crate::names::{Mapping, PATIENCE, Site, short};
use crate::namespace::OwnNumbers;
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

/// The interpreter of one process.
pub struct Python {
    /// The first pieces of the files that may be the interpreter.
    candidates: Vec<Mapping>,
    /// The interpreter's state, if one of them has it.
    runtime: Option<(u64, &'static Layout)>,
    /// The thread through which the memory is read.
    reader: u32,
    /// Reads that the present sample has left: the process can have as many threads, records and frames as it likes.
    room: Cell<usize>,
    /// The interpreter's record of each thread, by the number that the interpreter knows.
    threads: HashMap<u32, u64>,
    /// Whether the list of records was read in the present sample.
    is_listed: bool,
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
/// Files that may be the interpreter.
const MOST_CANDIDATES: usize = 4;
/// Reads in a sample, and bytes that count as another one.
const MOST_READS: usize = 32_768;
const BYTES_OF_READ: usize = 1_024;

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
    /// Finds the interpreter of a process by its memory map; `None` if no file has its name.
    pub fn of(process: u32, mappings: &[Mapping]) -> Option<Self> {
        let candidates = candidates(mappings);
        let find = |first: &Mapping| {
            let layout = LAYOUTS.iter().find(|layout| Some(layout.minor) == version(first))?;
            let pieces: Vec<Mapping> = mappings.iter().filter(|piece| piece.file == first.file).cloned().collect();
            let read = move |_: &Allowance| addresses(process, &pieces, ["_PyRuntime"]);
            let [runtime] = Allowance::default().patiently(PATIENCE, read).ok()?;
            Some((runtime?, layout))
        };
        (!candidates.is_empty()).then(|| Self {
            runtime: candidates.iter().find_map(find),
            candidates,
            reader: process,
            room: Cell::new(MOST_READS),
            threads: HashMap::new(),
            is_listed: false,
            own_numbers: OwnNumbers::of(process),
            numbers: HashMap::new(),
            functions: Vec::new(),
        })
    }

    /// Returns whether a memory map has the files in which the interpreter was looked for: not after another program was
    /// started.
    pub fn is_of(&self, mappings: &[Mapping]) -> bool {
        candidates(mappings) == self.candidates
    }

    /// Keeps the functions of the interpreter that the process had before, so that their numbers stay.
    pub fn after(self, before: Option<Self>) -> Self {
        Self { functions: before.map(|before| before.functions).unwrap_or_default(), ..self }
    }

    /// Begins a sample, with the full number of reads.
    pub fn begin_sample(&mut self) {
        self.room.set(MOST_READS);
        self.is_listed = false;
    }

    /// Returns the Python functions that a thread is in, the innermost first: numbers for [`Python::site`].
    pub fn frames(&mut self, thread: u32) -> Vec<u64> {
        self.reader = thread;
        self.frames_of(thread).unwrap_or_default()
    }

    /// Returns the function and its line.
    pub fn site(&self, number: u64) -> Option<&Site> {
        self.functions.get((number & !NUMBER) as usize)
    }

    fn frames_of(&mut self, thread: u32) -> Option<Vec<u64>> {
        let (runtime, layout) = self.runtime?;
        let own_number = self.own_numbers.own(thread)?;
        let mut frame = self.record_of(own_number, runtime, layout)?.frame;
        if let Some(position) = layout.frame_in_record {
            frame = self.pointer(frame.wrapping_add(position))?;
        }
        let (mut found, mut skipped) = (Vec::new(), 0);
        while frame != 0 && found.len() < MOST_FRAMES && skipped < MOST_SKIPPED {
            let mut bytes = [0; FRAME];
            self.read(frame, &mut bytes)?;
            let pointer = |position: u64| u64_at(&bytes, position as usize);
            let code = pointer(layout.code)?;
            if bytes[layout.owner as usize] == OWNED_BY_INTERPRETER || code == 0 {
                skipped += 1;
            } else {
                let first = code.wrapping_add(layout.instructions);
                found.extend(self.number_of(layout, code, pointer(layout.instruction)?.wrapping_sub(first)));
            }
            frame = pointer(layout.previous)?;
        }
        Some(found)
    }

    /// Returns the interpreter's record of the thread that it knows by this number. The list of all records is read once
    /// in a sample.
    fn record_of(&mut self, thread: u32, runtime: u64, layout: &Layout) -> Option<Record> {
        if let Some(address) = self.threads.get(&thread)
            && let Some(record) = self.record(*address, layout).filter(|record| record.number == u64::from(thread))
        {
            return Some(record);
        }
        if self.is_listed {
            return None;
        }
        self.is_listed = true;
        self.threads.clear();
        let interpreter = self.pointer(runtime.wrapping_add(layout.first_interpreter))?;
        let mut address = self.pointer(interpreter.wrapping_add(layout.first_thread))?;
        // The list may have changed while it was read, and lead back.
        let mut visited = HashSet::new();
        let mut found = None;
        while address != 0 && visited.len() < MOST_THREADS && visited.insert(address) {
            let Some(record) = self.record(address, layout) else { break };
            self.threads.insert(record.number as u32, address);
            address = record.next;
            if record.number == u64::from(thread) {
                found = Some(record);
            }
        }
        found
    }

    fn record(&self, address: u64, layout: &Layout) -> Option<Record> {
        let mut bytes = [0; RECORD];
        self.read(address, &mut bytes)?;
        let pointer = |position: u64| u64_at(&bytes, position as usize);
        let (number, next) = (pointer(layout.native_number)?, pointer(layout.next_thread)?);
        Some(Record { number, next, frame: pointer(layout.frame)? })
    }

    fn number_of(&mut self, layout: &Layout, code: u64, offset: u64) -> Option<u64> {
        if let Some(number) = self.numbers.get(&(code, offset)) {
            return Some(*number);
        }
        if self.functions.len() >= MOST_FUNCTIONS {
            return None;
        }
        let site = self.named(layout, code, offset)?;
        let number = NUMBER | self.functions.len() as u64;
        self.functions.push(site);
        self.numbers.insert((code, offset), number);
        Some(number)
    }

    fn named(&self, layout: &Layout, code: u64, offset: u64) -> Option<Site> {
        let at = |position: u64| code.wrapping_add(position);
        let function = self.text(layout, self.pointer(at(layout.name))?)?;
        let file = self.text(layout, self.pointer(at(layout.file))?)?;
        let mut first = [0; 4];
        self.read(at(layout.first_line), &mut first)?;
        let line = self.line(at(layout.lines), offset, i64::from(i32::from_le_bytes(first)));
        let source = format!("{file}:{}", line.unwrap_or(i64::from(i32::from_le_bytes(first))));
        let label = format!("{function} ({})", short(&source));
        Some(Site { symbol: Some(function), source: Some(source), label })
    }

    /// Returns the line of an instruction, by the table of the code: for each run of instructions the difference to the
    /// line before.
    fn line(&self, lines: u64, offset: u64, first: i64) -> Option<i64> {
        let table = self.pointer(lines)?;
        // The length of a `bytes` object, and where its bytes begin.
        let length = self.pointer(table.wrapping_add(16))?.min(LONGEST_TABLE);
        let mut bytes = vec![0; length as usize];
        self.read(table.wrapping_add(32), &mut bytes)?;
        line_in(&bytes, offset, first)
    }

    /// Returns a string: its length, its kind, and its text behind a header whose size depends on that.
    fn text(&self, layout: &Layout, object: u64) -> Option<String> {
        const LENGTH: u64 = 16;
        const STATE: u64 = 32;
        let length = self.pointer(object.wrapping_add(LENGTH))?;
        let mut state = [0; 4];
        self.read(object.wrapping_add(STATE), &mut state)?;
        let state = u32::from_le_bytes(state);
        let (size, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        if !is_compact || length > LONGEST_NAME {
            return None;
        }
        let start = if is_ascii { layout.ascii_text } else { layout.text };
        let mut bytes = vec![0; length as usize * size as usize];
        self.read(object.wrapping_add(start), &mut bytes)?;
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
        let room = self.room.get().checked_sub(1 + bytes.len() / BYTES_OF_READ)?;
        self.room.set(room);
        (address < NUMBER && read(self.reader, address, bytes) == bytes.len()).then_some(())
    }
}

/// The interpreter's record of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Record {
    /// The number by which the process knows the thread.
    number: u64,
    next: u64,
    frame: u64,
}

/// Bytes of a record and of a frame that have all fields that are read.
const RECORD: usize = 168;
const FRAME: usize = 72;

/// Returns the first pieces of the files in a memory map that may be the interpreter.
fn candidates(mappings: &[Mapping]) -> Vec<Mapping> {
    let mut found: Vec<Mapping> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| version(mapping).is_some()) {
        if found.len() < MOST_CANDIDATES && !found.iter().any(|other| other.file == mapping.file) {
            found.push(mapping.clone());
        }
    }
    found
}

fn version(mapping: &Mapping) -> Option<u32> {
    minor_version(&mapping.path.file_name()?.to_string_lossy())
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
    // It ends: after ten bytes at the latest.
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

    /// The memory of an interpreter of version 3.11 with the records of these threads.
    struct Interpreter {
        runtime: Vec<u64>,
        _memory: Vec<Box<[u64]>>,
    }

    fn address<T>(of: &[T]) -> u64 {
        of.as_ptr().addr() as u64
    }

    impl Interpreter {
        fn new(numbers: &[u64]) -> Self {
            let layout = &LAYOUTS[0];
            let place = |position: u64| (position / 8) as usize;
            let record = |number: &u64| {
                let mut record = vec![0; RECORD / 8].into_boxed_slice();
                record[place(layout.native_number)] = *number;
                record
            };
            let mut memory: Vec<Box<[u64]>> = numbers.iter().map(record).collect();
            for place_of in 1..memory.len() {
                let next = address(&memory[place_of]);
                memory[place_of - 1][place(layout.next_thread)] = next;
            }
            let (mut runtime, mut interpreter) = (vec![0; 8], vec![0; 8].into_boxed_slice());
            interpreter[place(layout.first_thread)] = address(&memory[0]);
            runtime[place(layout.first_interpreter)] = address(&interpreter);
            memory.push(interpreter);
            Self { runtime, _memory: memory }
        }

        fn python(&self) -> Python {
            Python {
                candidates: Vec::new(),
                runtime: Some((address(&self.runtime), &LAYOUTS[0])),
                reader: std::process::id(),
                room: Cell::new(MOST_READS),
                threads: HashMap::new(),
                is_listed: false,
                own_numbers: OwnNumbers::of(std::process::id()),
                numbers: HashMap::new(),
                functions: Vec::new(),
            }
        }
    }

    #[test]
    fn list_of_records_is_read_once_in_a_sample() {
        let numbers: Vec<u64> = (1..=3_000).collect();
        let interpreter = Interpreter::new(&numbers);
        let mut python = interpreter.python();
        let (runtime, layout) = python.runtime.unwrap();
        for _ in 0..2 {
            python.begin_sample();
            // None of these is in the list, but the last one.
            let known = (5_000..8_001)
                .rev()
                .chain([3_000])
                .filter(|thread| python.record_of(*thread, runtime, layout).is_some());
            assert_eq!(known.collect::<Vec<u32>>(), [3_000]);
        }
        assert!(MOST_READS - python.room.get() <= numbers.len() + 10, "{} left", python.room.get());
    }

    #[test]
    fn list_that_leads_back_ends() {
        let mut interpreter = Interpreter::new(&[1, 2, 3]);
        let first = address(&interpreter._memory[0]);
        interpreter._memory[2][1] = first;
        let mut python = interpreter.python();
        let (runtime, layout) = python.runtime.unwrap();
        assert_eq!(python.record_of(9, runtime, layout), None);
        assert_eq!((python.threads.len(), MOST_READS - python.room.get()), (3, 5));
    }

    #[test]
    fn reads_of_a_sample_are_limited() {
        let interpreter = Interpreter::new(&[1]);
        let mut python = interpreter.python();
        let mut bytes = vec![0; 7 * BYTES_OF_READ];
        let large = vec![0_u8; bytes.len()];
        let count =
            std::iter::repeat_with(|| python.read(address(&large), &mut bytes)).take_while(Option::is_some).count();
        assert_eq!(count, MOST_READS / 8);
        let (runtime, layout) = python.runtime.unwrap();
        assert_eq!(python.record_of(1, runtime, layout), None);
        python.begin_sample();
        assert!(python.record_of(1, runtime, layout).is_some());
    }

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
