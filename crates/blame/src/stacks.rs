//! From registers and the top of a stack to the calls that led there.

use crate::names::{Elf, Key, Mapping, PATIENCE, open_mapped, patiently};
use framehop::{CacheNative, ExplicitModuleSectionInfo, Module, UnwindRegsNative, Unwinder, UnwinderNative};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// Registers and the top of the stack of a thread that is in a system call.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub instruction: u64,
    pub pointer: u64,
    /// The frame pointer; 0 where it is not known.
    pub frame: u64,
    /// The link register of machines that have one.
    pub link: u64,
    pub bytes: Vec<u8>,
}

impl Stack {
    /// The registers to ask `perf_event_open` for: the frame pointer, the stack pointer and the instruction pointer; where
    /// there is one, the link register comes second.
    #[cfg(target_arch = "x86_64")]
    pub const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
    /// The same.
    #[cfg(not(target_arch = "x86_64"))]
    pub const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

    /// Parses `REGS_USER | STACK_USER` of a sample.
    pub fn of_sample(body: &[u8]) -> Option<Self> {
        // Without registers of user space there is no stack either.
        if u64_at(body, 0)? == 0 {
            return Some(Self::default());
        }
        let count = Self::REGISTERS.count_ones() as usize;
        let register = |place: usize| u64_at(body, 8 + 8 * place);
        let (frame, link) = (register(0)?, if count == 4 { register(1)? } else { 0 });
        let (pointer, instruction) = (register(count - 2)?, register(count - 1)?);
        let body = body.get(8 + 8 * count..)?;
        let room = u64_at(body, 0)? as usize;
        let filled = u64_at(body, 8 + room).unwrap_or(0) as usize;
        let bytes = body.get(8..)?.get(..filled.min(room))?.to_vec();
        Some(Self { instruction, pointer, frame, link, bytes })
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Unwinds stacks of one process.
pub struct Stacks {
    unwinder: UnwinderNative<Vec<u8>, framehop::MayAllocateDuringUnwind>,
    cache: CacheNative<framehop::MayAllocateDuringUnwind>,
    /// Files, and where they lie.
    known: HashMap<Key, Known>,
    /// Bytes that tables may have still.
    room: u64,
    /// A file system did not answer, so no further file is opened.
    is_stalled: bool,
}

/// A file that was looked at.
struct Known {
    range: Range<u64>,
    size: u64,
}

/// Bytes of the tables of all files, and of one file; and how many files.
const MOST_OF_ALL: u64 = 96 << 20;
const MOST_OF_FILE: u64 = 48 << 20;
const MOST_FILES: usize = 1_024;

/// Calls that are followed at most.
const DEPTH: usize = 16;

impl Default for Stacks {
    fn default() -> Self {
        Self {
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            known: HashMap::new(),
            room: MOST_OF_ALL,
            is_stalled: false,
        }
    }
}

impl Stacks {
    /// Learns the current memory map: the process may have executed another program.
    pub fn learn(&mut self, pid: u32, mappings: &[Mapping]) {
        let mut files: HashMap<Key, Vec<Mapping>> = HashMap::new();
        for mapping in mappings {
            files.entry(Key::of(mapping)).or_default().push(mapping.clone());
        }
        // Tables of how to unwind are in programs and libraries, and those have code.
        files.retain(|_, pieces| pieces.iter().any(|piece| piece.is_code));
        let range = |pieces: &[Mapping]| {
            let (from, to) = (pieces.iter().map(|piece| piece.start).min(), pieces.iter().map(|piece| piece.end).max());
            from.unwrap_or_default()..to.unwrap_or_default()
        };
        let (unwinder, room) = (&mut self.unwinder, &mut self.room);
        self.known.retain(|key, known| {
            let is_there = files.get(key).is_some_and(|pieces| range(pieces) == known.range);
            if !is_there {
                unwinder.remove_module(known.range.start);
                *room += known.size;
            }
            is_there
        });
        for (key, pieces) in files {
            if !self.known.contains_key(&key) && self.known.len() < MOST_FILES {
                let range = range(&pieces);
                let room = self.room.min(MOST_OF_FILE);
                let found = if self.is_stalled { None } else { self.read(pid, pieces, range.clone(), room) };
                let size = found.as_ref().map_or(0, |(_, size)| *size);
                self.room = self.room.saturating_sub(size);
                found.into_iter().for_each(|(module, _)| self.unwinder.add_module(module));
                self.known.insert(key, Known { range, size });
            }
        }
    }

    fn read(&mut self, pid: u32, pieces: Vec<Mapping>, range: Range<u64>, room: u64) -> Option<(Module<Vec<u8>>, u64)> {
        let read = move || module(open_mapped(Some(pid), &pieces).ok()?, &pieces[0].path, &range, room);
        let found = patiently(PATIENCE, read);
        self.is_stalled = found.is_none();
        found?
    }

    /// Whether the file at this address is known.
    pub fn knows(&self, address: u64) -> bool {
        self.known.values().any(|known| known.range.contains(&address))
    }

    /// The addresses: first where the call to the kernel was, then those that calls return to.
    pub fn frames(&mut self, stack: &Stack) -> Vec<u64> {
        let word = |address: u64| {
            let at = usize::try_from(address.checked_sub(stack.pointer).ok_or(())?).map_err(|_| ())?;
            let bytes = stack.bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(())?;
            Ok(u64::from_ne_bytes(*bytes))
        };
        let mut word = word;
        let mut frames = Vec::new();
        let registers = registers(stack);
        let mut found = self.unwinder.iter_frames(stack.instruction, registers, &mut self.cache, &mut word);
        while let Ok(Some(frame)) = found.next() {
            frames.push(frame.address());
            if frames.len() == DEPTH {
                break;
            }
        }
        frames
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(stack: &Stack) -> UnwindRegsNative {
    UnwindRegsNative::new(stack.instruction, stack.pointer, stack.frame)
}

#[cfg(not(target_arch = "x86_64"))]
fn registers(stack: &Stack) -> UnwindRegsNative {
    UnwindRegsNative::new(stack.link, stack.pointer, stack.frame)
}

/// The file's tables of how to unwind it, and how many bytes they are.
fn module(file: File, path: &Path, place: &Range<u64>, room: u64) -> Option<(Module<Vec<u8>>, u64)> {
    let elf = Elf::open(file, room)?;
    let base = elf.segments.iter().map(|segment| segment.address).min()?;
    let range = |name: &str| {
        let section = elf.section(name)?;
        Some(section.address..section.address.checked_add(section.size)?)
    };
    let data = |name: &str| elf.section(name).and_then(|section| elf.bytes(section));
    let info = ExplicitModuleSectionInfo {
        base_svma: base / PAGE * PAGE,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        debug_frame: data(".debug_frame"),
        // The least useful last, should there be no room for all.
        text: data(".text"),
        ..Default::default()
    };
    let size = elf.size_read();
    Some((Module::new(path.display().to_string(), place.clone(), place.start, info), size))
}

const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{mutants, open_regular};
    use std::time::Duration;

    /// Tables that were changed to do harm lead nowhere, and never end or hold what reads them.
    #[test]
    fn stacks_of_mutants_are_unwound_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bytes) = mutants::compiled(folder.path(), &[]) else { return };
        let path = folder.path().join("mutant");
        let unwound = patiently(Duration::from_secs(300), move || {
            let (mut random, place) = (fastrand::Rng::with_seed(31), 0x1_0000..0x3_0000);
            let mut unwound = 0;
            for _ in 0..500 {
                std::fs::write(&path, mutants::mutated(&bytes, &mut random)).unwrap();
                let Some((module, _)) = module(open_regular(&path).unwrap(), &path, &place, 1 << 20) else { continue };
                let mut stacks = Stacks::default();
                stacks.unwinder.add_module(module);
                let pointer = 0x7fff_0000;
                for _ in 0..20 {
                    let word = || [random.u64(place.clone()), random.u64(pointer..pointer + 512), random.u64(..)];
                    let words: Vec<u64> = std::iter::repeat_with(word).take(24).flatten().collect();
                    let [instruction, frame] = [words[0], words[1]];
                    let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                    let frames = stacks.frames(&Stack { instruction, pointer, frame, link: words[3], bytes });
                    assert!(frames.len() <= DEPTH);
                    unwound += usize::from(frames.len() > 1);
                }
            }
            unwound
        });
        assert!(unwound.expect("no mutant ends or holds the reading thread") > 0);
    }
}
