//! A program's or library's file: its symbols, and its debugging information, which may be in a separate file.

use super::demangle::demangled;
use super::elf::{self, Elf, Segment, Symbol};
use super::file::{below, open_regular};
use super::lines::Lines;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file that was read.
pub struct Image {
    segments: Vec<Segment>,
    /// By address.
    symbols: Vec<Named>,
    /// The symbols' names, a table for each of theirs.
    names: Vec<Vec<u8>>,
    lines: Option<Lines>,
    /// Bytes that it holds in memory.
    pub size: u64,
    /// Whether a part was skipped because of its size.
    pub is_incomplete: bool,
}

/// A symbol, and the number of the table that has its name.
#[derive(Clone, Copy)]
struct Named {
    symbol: Symbol,
    table: u8,
}

/// Directory in which distributions keep what they remove from programs.
const DEBUG_FOLDER: &str = "/usr/lib/debug";
/// Files with a checksum instead of a build ID are read as a whole for it.
const MOST_CHECKED: u64 = 256 << 20;
const PAGE: u64 = 4096;
const TABLES: [&str; 2] = [".symtab", ".dynsym"];

impl Image {
    /// Reads a file, of which at most `room` bytes are kept; `None` if it is not a program or library. It was mapped
    /// from `path`, in a process whose root directory is `root`, if that is known: both are only for finding the file
    /// with the debugging information.
    pub fn read(file: File, path: &Path, root: Option<&Path>, room: u64) -> Option<Self> {
        let elf = Elf::open(file, room)?;
        let debug = debug_file(&elf, path, root);
        let (mut symbols, mut names) = (Vec::new(), Vec::new());
        for elf in [Some(&elf), debug.as_ref()].into_iter().flatten() {
            for (found, text) in TABLES.iter().filter_map(|table| elf.symbols(table)) {
                let table = names.len() as u8;
                symbols.extend(found.into_iter().map(|symbol| Named { symbol, table }));
                names.push(text);
            }
        }
        symbols.sort_by_key(|named| (named.symbol.address, named.symbol.size));
        let lines = Lines::read(debug.as_ref().unwrap_or(&elf));
        let files = [Some(&elf), debug.as_ref()];
        let size = files.iter().flatten().map(|elf| elf.size_read()).sum();
        let is_incomplete = files.iter().flatten().any(|elf| elf.is_short_of_room());
        Some(Self { segments: elf.segments, symbols, names, lines, size, is_incomplete })
    }

    /// Returns the difference between addresses in memory and the file's own, if the piece that begins at `offset` is
    /// at `start`.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = |at: u64| at / PAGE * PAGE;
        let segment = self.segments.iter().find(|segment| page(segment.offset) == offset)?;
        Some(start.wrapping_sub(page(segment.address)))
    }

    /// Whether an address is one of the file's.
    pub fn has(&self, own: u64) -> bool {
        let range = |segment: &Segment| segment.address / PAGE * PAGE..segment.address.saturating_add(segment.size);
        self.segments.iter().any(|segment| range(segment).contains(&own))
    }

    /// The function and the line of an address.
    pub fn code(&self, own: u64) -> (Option<String>, Option<String>) {
        // Addresses that are not the file's are not looked up in its information, which may be made to have any.
        let lines = self.lines.as_ref().filter(|_| self.has(own) && own < u64::MAX);
        let (symbol, source) = lines.and_then(|lines| lines.frame(own)).unwrap_or_default();
        (symbol.or_else(|| self.function(own)), source)
    }

    fn function(&self, own: u64) -> Option<String> {
        let (name, offset) = self.around(own, true)?;
        Some(format!("{name}+{offset:#x}"))
    }

    /// The variable that an address lies in.
    pub fn variable(&self, own: u64) -> Option<String> {
        let (name, offset) = self.around(own, false)?;
        Some(if offset == 0 { name } else { format!("{name}+{offset:#x}") })
    }

    fn around(&self, own: u64, is_code: bool) -> Option<(String, u64)> {
        let after = self.symbols.partition_point(|named| named.symbol.address <= own);
        let mut before = self.symbols[..after].iter().rev().take(64).filter(|named| named.symbol.is_code == is_code);
        let Named { symbol, table } = before.find(|named| own - named.symbol.address < named.symbol.size)?;
        let name = elf::text(self.names.get(usize::from(*table))?, symbol.name)?;
        Some((demangled(&String::from_utf8_lossy(name)), own - symbol.address))
    }
}

/// The file with the debugging information of another: the one that has its build ID, or its checksum.
fn debug_file(elf: &Elf, path: &Path, root: Option<&Path>) -> Option<Elf> {
    if elf.section(".debug_info").is_some() {
        return None;
    }
    let (build_id, link) = (elf.build_id(), elf.debug_link());
    let by_number = build_id.as_ref().map(|id| {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Path::new(DEBUG_FOLDER).join(format!(".build-id/{}/{}.debug", hex(&id[..1]), hex(&id[1..])))
    });
    // A name that leads elsewhere is not one that a linker wrote.
    let name = link.as_ref().map(|(name, _)| Path::new(OsStr::from_bytes(name)));
    let name = name.filter(|name| name.file_name() == Some(name.as_os_str()));
    let by_name = name.zip(path.parent()).map(|(name, folder)| {
        [folder.join(name), folder.join(".debug").join(name), below(Path::new(DEBUG_FOLDER), &folder.join(name))]
    });
    let ways: Vec<PathBuf> = by_number.into_iter().chain(by_name.into_iter().flatten()).collect();
    let elsewhere = root.into_iter().flat_map(|root| ways.iter().map(move |way| below(root, way)));
    let is_its_own = |debug: &Elf| match (&build_id, &link) {
        (Some(id), _) => debug.build_id().as_ref() == Some(id),
        (None, Some((_, sum))) => debug.length() <= MOST_CHECKED && debug.checksum().is_ok_and(|found| found == *sum),
        (None, None) => false,
    };
    let open = |way: PathBuf| Elf::open(open_regular(&way).ok()?, elf.room());
    elsewhere.chain(ways.iter().cloned()).filter_map(open).find(is_its_own)
}

#[cfg(test)]
#[path = "image_mutants.rs"]
pub mod mutants;
