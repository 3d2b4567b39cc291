//! A running Go program: its file, its memory, and the places of the probes in both.
//!
//! A breakpoint that is not at the begin of an instruction changes what a program does. So the symbols, the offsets and
//! the code are read from one descriptor of the executable, which the probes are opened through as well, and the code is
//! decoded up to the probed instruction.

use crate::names::{Elf, Mapping, Refusal, Symbol, code_of, functions, map_of, open_regular, parse};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// A Go program in a process, and the places of the probes.
#[derive(Debug)]
pub struct Program {
    process: u32,
    file: File,
    /// The memory that the process had when this was opened. It can be read until the process runs another program or
    /// ends, whatever has its number then.
    memory: File,
    places: [Place; 4],
    /// The code of the function in which a goroutine waits for a semaphore: that of a mutex, for example.
    semaphore: Range<u64>,
}

/// An instruction, by its offset in the file and its address in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: u64,
    address: u64,
}

/// The probed functions.
const FUNCTIONS: [&str; 4] = ["runtime.gopark", "runtime.ready", "runtime.semacquire1", "runtime.readyWithTime"];
/// The one in which a goroutine waits for a semaphore.
const ACQUIRES: usize = 2;

/// A reason why the goroutines of a Go program cannot be followed.
#[derive(Debug)]
pub enum Unfit {
    /// A function of the runtime is missing, or begins in another way: Go 1.20 or older, or another processor.
    Layout,
    /// The code in memory is not that of the file: a debugger or another tracer has changed it.
    Altered,
    /// The file or the memory cannot be read.
    Unreadable(io::Error),
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self::Unreadable(io::Error::other(refusal.to_string()))
    }
}

/// `push %rbp; mov %rsp,%rbp`: functions begin so since Go 1.21.
const PROLOGUE: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
/// Bytes of a function that are searched for it.
const SEARCHED: u64 = 64;
/// The instructions of the check of the stack before it, by their first bytes, and their lengths.
const CHECKS: [(&[u8], usize); 11] = [
    // cmp 0x10(%r14),%rsp, and 0x18
    (&[0x49, 0x3b, 0x66, 0x10], 4),
    (&[0x49, 0x3b, 0x66, 0x18], 4),
    // lea -N(%rsp),%r12
    (&[0x4c, 0x8d, 0x64, 0x24], 5),
    (&[0x4c, 0x8d, 0xa4, 0x24], 8),
    // mov %rsp,%r12; sub $N,%r12
    (&[0x49, 0x89, 0xe4], 3),
    (&[0x49, 0x81, 0xec], 7),
    // cmp 0x10(%r14),%r12
    (&[0x4d, 0x3b, 0x66, 0x10], 4),
    // jb and jbe
    (&[0x72], 2),
    (&[0x0f, 0x82], 6),
    (&[0x76], 2),
    (&[0x0f, 0x86], 6),
];

/// The sections that every Go program has, and other programs do not.
const MARKS: [&str; 3] = [".note.go.buildid", ".go.buildinfo", ".gopclntab"];
/// Bytes of a file's headers, and of its symbols, that are read.
const HEADERS: u64 = 1 << 20;
const SYMBOLS: u64 = 144 << 20;

/// Returns whether a process runs a Go program.
pub fn is_go(process: u32) -> bool {
    let elf = executable(process).ok().and_then(|file| Elf::open(file, HEADERS));
    elf.is_some_and(|elf| has_marks(&elf))
}

fn has_marks(elf: &Elf) -> bool {
    MARKS.iter().any(|mark| elf.section(mark).is_some())
}

fn executable(process: u32) -> Result<File, Refusal> {
    open_regular(format!("/proc/{process}/exe").as_ref())
}

impl Program {
    /// Finds Go's runtime in a process; `None` if it is not a Go program.
    ///
    /// # Errors
    /// Its goroutines cannot be followed.
    pub fn find(process: u32) -> Result<Option<Self>, Unfit> {
        // First of all: what is found below belongs to this memory if it can still be read then.
        let memory = File::open(format!("/proc/{process}/mem"))?;
        let file = executable(process)?;
        let map = map_of(process).unwrap_or_default();
        let Some(elf) = Elf::open(file.try_clone()?, SYMBOLS).filter(has_marks) else { return Ok(None) };
        let pieces = code_of(&file, parse(&map));
        let located = located(&elf, &file, &pieces).filter(|_| cfg!(target_arch = "x86_64"));
        let (places, semaphore) = located.ok_or(Unfit::Layout)?;
        let program = Self { process, file, memory, places, semaphore };
        program.check().map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => Unfit::Altered,
            _ => error.into(),
        })?;
        Ok(Some(program))
    }

    /// Checks that the process still runs this program, and that the code at the places is the file's.
    pub(super) fn check(&self) -> io::Result<()> {
        let is_changed = |place: &Place| {
            let mut code = [0; PROLOGUE.len()];
            self.memory.read_at(&mut code, place.address).ok().filter(|read| *read > 0).map(|_| code != PROLOGUE)
        };
        for place in &self.places {
            let is_changed = is_changed(place).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
            if is_changed {
                return Err(io::Error::from_raw_os_error(libc::EBUSY));
            }
        }
        Ok(())
    }

    /// Returns whether the process still runs this program.
    pub fn is_running(&self) -> bool {
        self.memory.read_at(&mut [0], self.places[0].address).is_ok_and(|read| read > 0)
    }

    pub(super) fn process(&self) -> u32 {
        self.process
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn offsets(&self) -> [u64; 4] {
        self.places.map(|place| place.offset)
    }

    pub(super) fn addresses(&self) -> [u64; 4] {
        self.places.map(|place| place.address)
    }

    pub(super) fn semaphore(&self) -> Range<u64> {
        self.semaphore.clone()
    }
}

/// Returns the places of the probes, and the range of the function that acquires a semaphore, by the executable and the
/// pieces of its code in memory.
fn located(elf: &Elf, file: &File, pieces: &[Mapping]) -> Option<([Place; 4], Range<u64>)> {
    let functions = addresses(elf)?;
    let address = |offset: u64| {
        let within = |piece: &Mapping| {
            let at = offset.checked_sub(piece.offset)?;
            piece.start.checked_add(at).filter(|address| *address < piece.end)
        };
        pieces.iter().find_map(within)
    };
    let place = |(own, size): (u64, u64)| {
        let searched = size.min(SEARCHED);
        let begin = elf.code_offset(own, searched)?;
        let mut bytes = vec![0; usize::try_from(searched).ok()?];
        file.read_exact_at(&mut bytes, begin).ok()?;
        let offset = begin.checked_add(prologue(&bytes)? as u64)?;
        Some(Place { offset, address: address(offset)? })
    };
    let [park, ready, acquire, release] = functions.map(place);
    let (own, size) = functions[ACQUIRES];
    let begin = address(elf.code_offset(own, size)?)?;
    Some(([park?, ready?, acquire?, release?], begin..begin.checked_add(size)?))
}

/// Returns the addresses and sizes of the probed functions in the file.
fn addresses(elf: &Elf) -> Option<[(u64, u64); 4]> {
    // A stripped program has its functions in a table of the runtime.
    let of_symbols = elf.symbols(".symtab").and_then(|(symbols, names)| named(&symbols, &names));
    of_symbols.or_else(|| functions(elf).and_then(|(symbols, names)| named(&symbols, &names)))
}

fn named(symbols: &[Symbol], names: &[u8]) -> Option<[(u64, u64); 4]> {
    // Only as much of a name is compared: the names of many symbols can be one long text.
    let is_named = |at: u32, name: &str| {
        let rest = names.get(at as usize..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    };
    let mut found = [None; 4];
    for symbol in symbols.iter().filter(|symbol| symbol.is_code) {
        if let Some(place) = FUNCTIONS.iter().position(|name| is_named(symbol.name, name)) {
            found[place].get_or_insert((symbol.address, symbol.size));
        }
    }
    let [park, ready, acquire, release] = found;
    Some([park?, ready?, acquire?, release?])
}

/// Returns the offset of `push %rbp; mov %rsp,%rbp` in a function's code, if there is nothing but the check of the stack
/// before it.
fn prologue(code: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = code.get(at..)?;
        if rest.starts_with(&PROLOGUE) {
            return Some(at);
        }
        at += CHECKS.iter().find(|(begin, _)| rest.starts_with(begin))?.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;
    use std::sync::Arc;

    /// `cmp 0x10(%r14),%rsp; jbe`, and what follows it.
    const CHECK: [u8; 6] = [0x49, 0x3b, 0x66, 0x10, 0x76, 0x30];
    /// The address and the offset of the code.
    const ADDRESS: u64 = 0x40_0000;
    const OFFSET: u64 = 0x1000;
    const FUNCTION: usize = 64;

    fn function(code: &[&[u8]]) -> Vec<u8> {
        let mut bytes = code.concat();
        bytes.resize(FUNCTION, 0xcc);
        bytes
    }

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn halves(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// Makes an executable with this code, one function for each name, whose segment has these rights.
    fn executable(functions: &[(&str, Vec<u8>)], rights: u32) -> File {
        let mut image = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let [segments, sections] = [64, 0x200];
        image.extend(halves(&[0x3e_0002, 1]));
        image.extend(words(&[ADDRESS, segments, sections]));
        image.extend(halves(&[0, 56 << 16 | 64, 64 << 16 | 1, 3 << 16 | 4]));
        let size = (functions.len() * FUNCTION) as u64;
        image.extend(halves(&[1, rights]));
        image.extend(words(&[OFFSET, ADDRESS, ADDRESS, size, size, 0x1000]));
        let (mut symbols, mut names) = (vec![0; 24], vec![0]);
        for (place, (name, _)) in functions.iter().enumerate() {
            symbols.extend(halves(&[names.len() as u32, 0x1_0012]));
            symbols.extend(words(&[ADDRESS + (place * FUNCTION) as u64, FUNCTION as u64]));
            names.extend(name.bytes().chain([0]));
        }
        let titles = b"\0.symtab\0.strtab\0.go.buildinfo\0";
        let [symbols_at, names_at, titles_at] = [0x400, 0x600, 0x800];
        image.resize(sections as usize, 0);
        let mut section = |name: u32, kind: u32, offset: u64, size: usize, link: u32| {
            image.extend(halves(&[name, kind]));
            image.extend(words(&[0, 0, offset, size as u64]));
            image.extend(halves(&[link, 0]));
            image.extend(words(&[1, 0]));
        };
        section(1, 2, symbols_at, symbols.len(), 1);
        section(9, 3, names_at, names.len(), 0);
        section(17, 1, titles_at, 1, 0);
        section(0, 3, titles_at, titles.len(), 0);
        for (at, part) in [(symbols_at, &symbols[..]), (names_at, &names), (titles_at, titles)] {
            image.resize(at as usize, 0);
            image.extend(part);
        }
        image.resize(OFFSET as usize, 0);
        functions.iter().for_each(|(_, code)| image.extend(code));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&image).unwrap();
        file
    }

    fn runtime() -> Vec<(&'static str, Vec<u8>)> {
        FUNCTIONS.iter().map(|name| (*name, function(&[&CHECK, &PROLOGUE]))).collect()
    }

    /// The mapping of the code at another address.
    fn mapping(inode: u64, device: u64) -> Mapping {
        let map = format!(
            "7f0000000000-7f0000001000 r-xp 00001000 {:02x}:{:02x} {inode} /program\n",
            rustix::fs::major(device),
            rustix::fs::minor(device)
        );
        parse(map.as_bytes()).remove(0)
    }

    fn places(file: &File, pieces: &[Mapping]) -> Option<([Place; 4], Range<u64>)> {
        let elf = Elf::open(file.try_clone().unwrap(), SYMBOLS).filter(has_marks)?;
        located(&elf, file, pieces)
    }

    fn own_mapping(file: &File) -> Mapping {
        let stat = file.metadata().unwrap();
        mapping(stat.ino(), stat.dev())
    }

    #[test]
    fn places_are_the_prologues_of_the_functions() {
        let file = executable(&runtime(), 5);
        let (places, semaphore) = places(&file, &[own_mapping(&file)]).unwrap();
        let expected = [0, 1, 2, 3].map(|place| {
            let at = place * FUNCTION as u64 + CHECK.len() as u64;
            Place { offset: OFFSET + at, address: 0x7f00_0000_0000 + at }
        });
        assert_eq!(places, expected);
        assert_eq!(semaphore, 0x7f00_0000_0080..0x7f00_0000_00c0);
    }

    #[test]
    fn mapping_of_another_file_has_no_places() {
        let file = executable(&runtime(), 5);
        let own = own_mapping(&file);
        let stat = file.metadata().unwrap();
        let others = [mapping(stat.ino() + 1, stat.dev()), mapping(stat.ino(), stat.dev() + 1)];
        assert_eq!(code_of(&file, others.into_iter().chain([own.clone()]).collect()), std::slice::from_ref(&own));
        let data = Mapping { is_code: false, ..own.clone() };
        assert!(code_of(&file, vec![data]).is_empty());
        let elsewhere = Mapping { offset: 0x2000, path: Arc::clone(&own.path), ..own };
        assert!(places(&file, &[elsewhere]).is_none());
    }

    #[test]
    fn function_outside_of_code_has_no_place() {
        let mut missing = runtime();
        missing[1].0 = "runtime.readyy";
        let mut longer = runtime();
        longer[3].1.truncate(FUNCTION / 2);
        for (file, why) in [
            (executable(&runtime(), 6), "no code"),
            (executable(&missing, 5), "another name"),
            (executable(&longer, 5), "beyond the file"),
        ] {
            assert!(places(&file, &[own_mapping(&file)]).is_none(), "{why}");
        }
    }

    #[test]
    fn prologue_is_found_at_the_begin_of_an_instruction_only() {
        // lea -N(%rsp),%r12 with the prologue as N; cmp 0x10(%r14),%r12; jbe
        let large =
            [&[0x4c, 0x8d, 0xa4, 0x24][..], &PROLOGUE, &[0x4d, 0x3b, 0x66, 0x10, 0x0f, 0x86, 1, 0, 0, 0]].concat();
        assert_eq!(prologue(&function(&[&large, &PROLOGUE])), Some(large.len()));
        assert_eq!(prologue(&function(&[&PROLOGUE])), Some(0));
        // mov $N,%eax with the prologue as N; a return; a prologue that is cut off.
        for code in [&[&[0xb8][..], &PROLOGUE][..], &[&[0xc3], &PROLOGUE], &[&large]] {
            assert_eq!(prologue(&function(code)), None);
        }
        assert_eq!(prologue(&[&CHECK[..], &PROLOGUE[..3]].concat()), None);
    }
}
