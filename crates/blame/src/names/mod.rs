//! Names of addresses in the watched processes: functions, files and lines, and global variables.

mod counted;
mod demangled;
mod elf;
mod file;
mod files;
mod go_lines;
mod image;
mod members;
#[cfg(test)]
pub(crate) mod mutants;

pub use demangled::demangled;
pub(crate) use elf::Symbol;
pub use elf::{Elf, hex};
pub use file::{Mapping, Refusal, code_of, is_c_library, map_of, message, open_mapped, open_regular, parse};
pub use files::{Key, PATIENCE};
pub(crate) use image::functions;
pub use image::is_wrapper;

use crate::allowance::Allowance;
use files::Files;
use image::Image;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A place in the program's code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The function, through inlining: the first that does not belong to the language's own library. Where no symbol is
    /// known, the file and the address in it.
    pub symbol: Option<String>,
    /// `file:line`.
    pub source: Option<String>,
    /// Both, for people, or what there is.
    pub label: String,
}

impl Site {
    fn of(symbol: Option<String>, source: Option<String>, path: &Path, own: u64) -> Self {
        let file = file_name(path);
        let label = match (&symbol, &source) {
            (Some(symbol), Some(source)) => format!("{symbol} ({})", short(source)),
            (Some(symbol), None) => format!("{symbol} ({file})"),
            (None, _) => format!("{file}+{own:#x}"),
        };
        Self { symbol: symbol.or_else(|| Some(label.clone())), source, label }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns a name without the number that distinguishes locks of the same name: it belongs to another lock in each run.
pub fn own_name(name: &str) -> &str {
    match name.rsplit_once(" #") {
        Some((own, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => own,
        _ => name,
    }
}

/// Memory maps of the processes, and the files that are mapped.
#[derive(Default)]
pub struct Names {
    processes: HashMap<u32, Process>,
    files: Files,
    sites: HashMap<(u32, u64), Site>,
    locks: HashMap<u64, String>,
    /// Number of locks that have this name.
    namesakes: HashMap<String, u32>,
}

/// A process's mappings, by address.
#[derive(Default)]
struct Process {
    pid: Option<u32>,
    mappings: Vec<Mapping>,
}

/// Mappings of one process that are remembered. Maps are cut off ([`map_of`]), but pieces that were unmapped since
/// are kept as well.
const MOST_MAPPINGS: usize = 16_384;
/// Bytes that all mappings have together, at most.
const MOST_MEMORY: usize = 48 << 20;

impl Names {
    /// Creates names whose lookups end with a run.
    pub fn within(allowance: &Allowance) -> Self {
        Self { files: Files::within(allowance), ..Self::default() }
    }

    /// Returns the allowance for all work on the processes' data.
    pub fn allowance(&self) -> &Allowance {
        &self.files.allowance
    }

    /// Learns a process's map, as `/proc/PID/maps` has it. A piece that was there before and is not found elsewhere is kept:
    /// it may have been unloaded since. `pid` is the process's number if it has this map now: then its files are opened,
    /// since it may end, or they may be replaced, before they are needed.
    pub fn learn(&mut self, process: u32, pid: Option<u32>, map: &[u8]) {
        let mut now = parse(map);
        now.sort_by_key(|piece| piece.start);
        if self.memory() > MOST_MEMORY {
            return;
        }
        let known = self.processes.entry(process).or_default();
        known.pid = pid;
        let keys: HashSet<Key> = now.iter().map(Key::of).collect();
        // A file that is mapped elsewhere now, or a place that another one has, is known no more.
        let is_moved = |old: &Mapping| {
            let next = now.partition_point(|new| new.end <= old.start);
            keys.contains(&Key::of(old)) || now.get(next).is_some_and(|new| new.start < old.end)
        };
        let mut kept = std::mem::take(&mut known.mappings);
        kept.retain(|old| !is_moved(old));
        kept.truncate(MOST_MAPPINGS.saturating_sub(now.len()));
        now.truncate(MOST_MAPPINGS);
        now.extend(kept);
        now.sort_by_key(|piece| piece.start);
        known.mappings = now;
        if pid.is_some() {
            self.files.open_code(pid, &self.processes[&process].mappings);
        }
    }

    /// Bytes that the mappings have, nearly.
    fn memory(&self) -> usize {
        let mappings = self.processes.values().flat_map(|process| &process.mappings);
        mappings.map(|piece| size_of::<Mapping>() + piece.path.as_os_str().len()).sum()
    }

    /// Forgets processes and keeps files: for the next run of the same program.
    pub fn forget_processes(&mut self) {
        let files = std::mem::take(&mut self.files);
        *self = Self { files, ..Self::default() };
    }

    /// Files with code that could not be named, and why.
    pub fn unnamed(&self) -> Vec<(PathBuf, Refusal)> {
        self.files.unnamed()
    }

    /// Returns the build ID of a file of this name that has no symbols for its functions, as far as it has a build ID.
    pub fn stripped(&self, file: &str) -> Option<Option<String>> {
        self.files.stripped(file)
    }

    /// Returns the call before this return address.
    pub fn site(&mut self, process: u32, address: u64) -> Site {
        if let Some(site) = self.sites.get(&(process, address)) {
            return site.clone();
        }
        let site = self.found_site(process, address.saturating_sub(1));
        self.sites.insert((process, address), site.clone());
        site
    }

    fn found_site(&mut self, process: u32, address: u64) -> Site {
        let unknown = |label: String| Site { symbol: None, source: None, label };
        let Some((path, own, image)) = self.placed(process, address) else { return unknown(format!("{address:#x}")) };
        let Some(image) = image else { return unknown(format!("{}+{own:#x}", file_name(&path))) };
        let (symbol, source) = image.code(own);
        Site::of(symbol, source, &path, own)
    }

    /// Returns all functions that contain the call before this return address, the innermost inlined one first.
    pub fn inlined(&mut self, process: u32, address: u64) -> Vec<Site> {
        let Some((path, own, image)) = self.placed(process, address.saturating_sub(1)) else {
            return vec![self.site(process, address)];
        };
        let functions = image.map(|image| image.inlined(own)).unwrap_or_else(|| vec![(None, None)]);
        functions.into_iter().map(|(symbol, source)| Site::of(symbol, source, &path, own)).collect()
    }

    /// Returns where the function begins that contains the call before this return address.
    pub fn function(&mut self, process: u32, address: u64) -> Option<u64> {
        let address = address.saturating_sub(1);
        let (_, own, image) = self.placed(process, address)?;
        Some(address.wrapping_sub(image?.offset(own)?))
    }

    /// Returns the file's name that an address comes from.
    pub fn file(&mut self, process: u32, address: u64) -> Option<String> {
        let (path, _, _) = self.placed(process, address)?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// Returns the file that an address comes from, and the address as the file has it: the same in every run.
    pub fn in_file(&mut self, process: u32, address: u64) -> Option<(PathBuf, u64)> {
        let (path, own, _) = self.placed(process, address)?;
        Some((path, own))
    }

    /// Returns the name of the lock of this number (a place in the memory, or an address): once it has one it keeps it,
    /// and others that would be called the same have a number.
    pub fn lock(&mut self, place: u64, name: impl FnOnce(&mut Self) -> String) -> String {
        if let Some(name) = self.locks.get(&place) {
            return name.clone();
        }
        let name = name(self);
        let namesakes = self.namesakes.entry(name.clone()).or_default();
        *namesakes += 1;
        let name = if *namesakes == 1 { name } else { format!("{name} #{namesakes}") };
        self.locks.insert(place, name.clone());
        name
    }

    /// Returns the global variable at this address, or the member of one: `cache.lock`.
    pub fn variable(&mut self, process: u32, address: u64) -> Option<String> {
        let (_, own, image) = self.placed(process, address)?;
        image?.variable(own)
    }

    /// Returns whether a global variable is at this address, or around it.
    pub fn is_in_variable(&mut self, process: u32, address: u64) -> bool {
        let placed = self.placed(process, address);
        placed.is_some_and(|(_, own, image)| image.is_some_and(|image| image.is_in_variable(own)))
    }

    /// Returns the addresses and sizes of a process's functions and variables of this name, as the symbol has it or
    /// demangled, or the member of a variable.
    pub fn named(&mut self, process: u32, name: &str) -> Vec<(u64, u64)> {
        let Some(Process { pid, mappings }) = self.processes.get(&process) else { return Vec::new() };
        let mut files: HashMap<Key, Vec<Mapping>> = HashMap::new();
        for piece in mappings {
            files.entry(Key::of(piece)).or_default().push(piece.clone());
        }
        files.retain(|_, pieces| pieces.iter().any(|piece| piece.is_code));
        let mut found = Vec::new();
        for pieces in files.values() {
            if let Some(image) = self.files.image(*pid, pieces)
                && let Some(bias) = image.bias(pieces[0].start, pieces[0].offset)
            {
                found.extend(image.named(name).into_iter().map(|(own, size)| (own.wrapping_add(bias), size)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the file that an address comes from, and the address as the file has it.
    fn placed(&mut self, process: u32, address: u64) -> Option<(PathBuf, u64, Option<&Image>)> {
        let Process { pid, mappings } = self.processes.get(&process)?;
        // Variables that a program does not initialise lie behind what its file has, in a piece of no file.
        let after = mappings.partition_point(|piece| piece.start <= address);
        let nearest = &mappings[after.checked_sub(1)?];
        let key = Key::of(nearest);
        let pieces: Vec<Mapping> = mappings.iter().filter(|piece| Key::of(piece) == key).cloned().collect();
        let path = nearest.path.to_path_buf();
        let (first, is_within) = (pieces.first()?, address < nearest.end);
        match self.files.image(*pid, &pieces) {
            Some(image) => {
                let own = address.wrapping_sub(image.bias(first.start, first.offset)?);
                image.has(own).then_some((path, own, Some(image)))
            }
            None => is_within.then(|| (path, (address - nearest.start).wrapping_add(nearest.offset), None)),
        }
    }
}

/// Returns the address and the size of what a program's file has of a variable's member, such as `cache.lock`; none if
/// that is not the name of one.
pub fn members_in(file: &Path, name: &str) -> Vec<(u64, u64)> {
    let read = |opened| Image::read(opened, file, None, files::MOST_OF_FILE, &Allowance::default());
    let image = open_regular(file).ok().and_then(read);
    image.map_or_else(Vec::new, |image| image.members_named(name))
}

/// Returns `file:line` without its directories.
pub fn short(source: &str) -> &str {
    source.rsplit('/').next().unwrap_or(source)
}
