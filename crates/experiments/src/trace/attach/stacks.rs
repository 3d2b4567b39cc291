//! From registers and the top of a stack to the calls that led there.

use super::sample::Stack;
use crate::trace::names::Mapping;
use framehop::{CacheNative, ExplicitModuleSectionInfo, Module, UnwindRegsNative, Unwinder, UnwinderNative};
use object::{Object, ObjectSection, ObjectSegment};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Unwinds stacks of one process.
pub struct Stacks {
    unwinder: UnwinderNative<Vec<u8>, framehop::MayAllocateDuringUnwind>,
    cache: CacheNative<framehop::MayAllocateDuringUnwind>,
    /// Files, and where they lie.
    known: HashMap<PathBuf, Range<u64>>,
}

/// Calls that are followed at most.
const DEPTH: usize = 16;

impl Default for Stacks {
    fn default() -> Self {
        Self { unwinder: UnwinderNative::new(), cache: CacheNative::new(), known: HashMap::new() }
    }
}

impl Stacks {
    /// Learns what lies where now: a program may have become another.
    pub fn learn(&mut self, mappings: &[Mapping]) {
        let mut files: HashMap<&Path, Range<u64>> = HashMap::new();
        for mapping in mappings {
            let range = files.entry(&mapping.path).or_insert(mapping.start..mapping.end);
            *range = range.start.min(mapping.start)..range.end.max(mapping.end);
        }
        let unwinder = &mut self.unwinder;
        self.known.retain(|path, range| {
            let is_there = files.get(path.as_path()) == Some(range);
            if !is_there {
                unwinder.remove_module(range.start);
            }
            is_there
        });
        for (path, range) in files {
            if !self.known.contains_key(path) {
                if let Some(module) = module(path, &range) {
                    self.unwinder.add_module(module);
                }
                self.known.insert(path.to_owned(), range);
            }
        }
    }

    /// Whether it is known what lies at this address.
    pub fn knows(&self, address: u64) -> bool {
        self.known.values().any(|range| range.contains(&address))
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

/// The file's tables of how to unwind it.
fn module(path: &Path, place: &Range<u64>) -> Option<Module<Vec<u8>>> {
    let bytes = std::fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let base = file.segments().map(|segment| segment.address()).min()?;
    let section = |name: &str| file.section_by_name(name);
    let range = |name: &str| section(name).map(|found| found.address()..found.address() + found.size());
    let data = |name: &str| section(name).and_then(|found| Some(found.uncompressed_data().ok()?.into_owned()));
    let info = ExplicitModuleSectionInfo {
        base_svma: base / PAGE * PAGE,
        text_svma: range(".text"),
        text: data(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        debug_frame: data(".debug_frame"),
        ..Default::default()
    };
    Some(Module::new(path.display().to_string(), place.clone(), place.start, info))
}

const PAGE: u64 = 4096;
