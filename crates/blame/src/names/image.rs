//! A program's or library's file: its symbols, and its debugging information, which may be in a separate file.

use super::counted::Counted;
use super::demangled::demangled;
use super::elf;
use super::elf::{Elf, Segment, Symbol, hex};
use super::file::{Refusal, below, is_c_library, open_regular};
use super::go_lines::GoLines;
use super::members::Members;
use crate::allowance::{Allowance, Exhausted};
use crate::memory::u32_at;
use addr2line::gimli::{Dwarf, SectionId};
use addr2line::{Context, LookupContinuation, LookupResult};
use instruments::helper;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// A file that was read.
pub struct Image {
    segments: Vec<Segment>,
    /// Symbols, by address.
    symbols: Vec<Named>,
    /// The symbols' names, a table for each of theirs.
    names: Vec<Vec<u8>>,
    lines: Option<Lines>,
    /// Those of a Go program that has no debugging information.
    go_lines: Option<GoLines>,
    /// The mangled symbols by their demangled names, made when a name is looked for.
    by_name: OnceCell<ByName>,
    /// Steps of its debugging information and its names.
    allowance: Allowance,
    /// The number of its build, in hexadecimal.
    pub build_id: Option<String>,
    /// Whether its own functions have no names: only those that other files may call have some.
    pub is_stripped: bool,
    /// Bytes that it holds in memory.
    pub size: u64,
    /// Whether a part was skipped because of its size.
    is_incomplete: bool,
}

/// Hashes with random keys of the demangled names, and the places of the symbols that have them.
struct ByName(RandomState, HashMap<u64, Vec<usize>>);

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
/// Members of members that a name can have.
const MOST_MEMBERS: usize = 16;
const TABLES: [&str; 2] = [".symtab", ".dynsym"];
/// Steps for a file, for each byte of it that was read, and for each address or name that is looked up. An ordinary file
/// needs two for each byte, and some hundred for an address.
const STEPS_OF_FILE: u64 = 1 << 20;
const STEPS_OF_BYTE: u64 = 32;
const STEPS_OF_LOOKUP: u64 = 1 << 14;

impl Image {
    /// Reads a file, of which at most `room` bytes are kept; `None` if it is not a program or library. It was mapped
    /// from `path`, in a process whose root directory is `root`, if that is known: both are only for finding the file
    /// with the debugging information.
    pub fn read(file: File, path: &Path, root: Option<&Path>, room: u64, run: &Allowance) -> Option<Self> {
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
        // The functions of a stripped Go program are in a table of its runtime.
        let is_named = [Some(&elf), debug.as_ref()].into_iter().flatten().any(|elf| elf.section(TABLES[0]).is_some());
        let of_go = if is_named { None } else { functions(&elf) };
        let has_table = of_go.is_some();
        if let Some((found, text)) = of_go {
            let table = names.len() as u8;
            symbols.extend(found.into_iter().map(|symbol| Named { symbol, table }));
            names.push(text);
        }
        symbols.sort_by_key(|named| (named.symbol.address, named.symbol.size));
        // The functions of the C library that are called have symbols, and its lines take longer to read than all else.
        let is_c_library = path.file_name().is_some_and(|name| is_c_library(&name.to_string_lossy()));
        let allowance = run.part(STEPS_OF_FILE);
        let lines = if is_c_library { None } else { Lines::read(debug.as_ref().unwrap_or(&elf), &allowance) };
        let go_lines = lines.is_none().then(|| GoLines::read(&elf)).flatten();
        let files = [Some(&elf), debug.as_ref()];
        let size = files.iter().flatten().map(|elf| elf.size_read()).sum();
        let is_incomplete = files.iter().flatten().any(|elf| elf.is_short_of_room());
        let build_id = elf.build_id().map(|id| hex(&id));
        let is_stripped =
            lines.is_none() && !has_table && files.iter().flatten().all(|elf| elf.section(".symtab").is_none());
        let segments = elf.segments;
        let by_name = OnceCell::new();
        Some(Self {
            segments,
            symbols,
            names,
            lines,
            go_lines,
            by_name,
            allowance,
            build_id,
            is_stripped,
            size,
            is_incomplete,
        })
    }

    /// Returns why names can be missing, if they can.
    pub fn lack(&self) -> Option<Refusal> {
        let refused = self.allowance.refused().map(Refusal::Exhausted);
        refused.or_else(|| self.is_incomplete.then_some(Refusal::TooLarge))
    }

    /// Returns the difference between addresses in memory and the file's own, if the piece that begins at `offset` is
    /// at `start`.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = |at: u64| at / PAGE * PAGE;
        let segment = self.segments.iter().find(|segment| page(segment.offset) == offset)?;
        Some(start.wrapping_sub(page(segment.address)))
    }

    /// Returns whether an address is one of the file's.
    pub fn has(&self, own: u64) -> bool {
        let range = |segment: &Segment| segment.address / PAGE * PAGE..segment.address.saturating_add(segment.size);
        self.segments.iter().any(|segment| range(segment).contains(&own))
    }

    /// Returns the function and the line of an address.
    pub fn code(&self, own: u64) -> (Option<String>, Option<String>) {
        let (symbol, source) = self.lines_at(own).and_then(|lines| lines.frame(own)).unwrap_or_default();
        (symbol.or_else(|| self.function(own)), source.or_else(|| self.go_source(own)))
    }

    /// Returns all functions at an address with their lines, the innermost inlined one first.
    pub fn inlined(&self, own: u64) -> Vec<(Option<String>, Option<String>)> {
        let functions = self.lines_at(own).map(|lines| lines.inlined(own)).unwrap_or_default();
        let is_known = functions.iter().any(|(symbol, _)| symbol.is_some());
        if is_known { functions } else { vec![(self.function(own), self.go_source(own))] }
    }

    fn go_source(&self, own: u64) -> Option<String> {
        self.go_lines.as_ref()?.source(own)
    }

    /// Returns the debugging information if an address can be looked up in it: those that are not the file's are not,
    /// since it may be made to have any.
    fn lines_at(&self, own: u64) -> Option<&Lines> {
        self.allowance.grant(STEPS_OF_LOOKUP);
        self.lines.as_ref().filter(|_| self.has(own) && own < u64::MAX)
    }

    fn function(&self, own: u64) -> Option<String> {
        let (name, offset) = self.around(own, true)?;
        Some(format!("{name}+{offset:#x}"))
    }

    /// Returns whether a variable contains an address.
    pub fn is_in_variable(&self, own: u64) -> bool {
        self.symbol(own, false).is_some()
    }

    /// Returns the variable that contains an address, with its member there as far as the file has types.
    pub fn variable(&self, own: u64) -> Option<String> {
        let (name, offset) = self.around(own, false)?;
        Some(match self.lines.as_ref().and_then(|lines| lines.member(own - offset, offset)) {
            Some(member) => name + &member,
            None if offset == 0 => name,
            None => format!("{name}+{offset:#x}"),
        })
    }

    /// Returns the addresses and sizes of the symbols of this name, as it is or demangled, or of a variable's member.
    pub fn named(&self, name: &str) -> Vec<(u64, u64)> {
        let found = self.symbols_named(name);
        if found.is_empty() { self.members_named(name) } else { found }
    }

    /// Returns the addresses and sizes of the members of variables that are called so, as [`Self::variable`] does.
    pub fn members_named(&self, name: &str) -> Vec<(u64, u64)> {
        let Some(lines) = &self.lines else { return Vec::new() };
        let begins = name.rmatch_indices(['.', '[']).map(|(begin, _)| begin).take(MOST_MEMBERS);
        // The variable's name itself may have such letters, so the longest one counts.
        let variables = begins.map(|begin| (self.symbols_named(&name[..begin]), &name[begin..]));
        let Some((variables, path)) = variables.into_iter().find(|(variables, _)| !variables.is_empty()) else {
            return Vec::new();
        };
        let member = |(own, size): (u64, u64)| {
            let (offset, of_member) = lines.member_offset(own, path).filter(|(offset, _)| *offset < size)?;
            let rest = size - offset;
            Some((own.checked_add(offset)?, of_member.filter(|of_member| *of_member <= rest).unwrap_or(rest)))
        };
        variables.into_iter().filter_map(member).collect()
    }

    fn symbols_named(&self, name: &str) -> Vec<(u64, u64)> {
        self.allowance.grant(STEPS_OF_LOOKUP);
        let is_it = |named: &&Named| {
            let table = self.names.get(usize::from(named.table));
            table.is_some_and(|table| elf::is_text(table, named.symbol.name, name.as_bytes()))
        };
        let ByName(keys, places) = self.by_name.get_or_init(|| self.index());
        let demangled = places.get(&keys.hash_one(name)).into_iter().flatten().map(|place| &self.symbols[*place]);
        let mut found: Vec<(u64, u64)> = self.symbols.iter().filter(is_it).chain(demangled).map(Named::range).collect();
        found.sort_unstable();
        found
    }

    /// Demangles each name once, as far as the allowance goes.
    fn index(&self) -> ByName {
        let (keys, mut places, mut known) = (RandomState::new(), HashMap::<u64, Vec<usize>>::new(), HashMap::new());
        for (place, named) in self.symbols.iter().enumerate() {
            let text = || elf::text(self.names.get(usize::from(named.table))?, named.symbol.name);
            let hash = || {
                let Some(text) = text().filter(|text| text.starts_with(b"_")) else { return Ok(None) };
                let text = String::from_utf8_lossy(text);
                let name = demangled(&text, &self.allowance)?;
                Ok((*name != *text).then(|| keys.hash_one(&*name)))
            };
            let hash: Result<Option<u64>, Exhausted> = match known.get(&(named.table, named.symbol.name)) {
                Some(hash) => Ok(*hash),
                None => hash(),
            };
            let Ok(hash) = hash else { break };
            known.insert((named.table, named.symbol.name), hash);
            if let Some(hash) = hash {
                places.entry(hash).or_default().push(place);
            }
        }
        ByName(keys, places)
    }

    /// Returns the offset of an address in its function.
    pub fn offset(&self, own: u64) -> Option<u64> {
        Some(own - self.symbol(own, true)?.symbol.address)
    }

    fn symbol(&self, own: u64, is_code: bool) -> Option<&Named> {
        let after = self.symbols.partition_point(|named| named.symbol.address <= own);
        let mut before = self.symbols[..after].iter().rev().take(64).filter(|named| named.symbol.is_code == is_code);
        before.find(|named| own - named.symbol.address < named.symbol.size)
    }

    fn around(&self, own: u64, is_code: bool) -> Option<(String, u64)> {
        let Named { symbol, table } = self.symbol(own, is_code)?;
        let name = elf::text(self.names.get(usize::from(*table))?, symbol.name)?;
        self.allowance.grant(STEPS_OF_LOOKUP);
        Some((shown(&String::from_utf8_lossy(name), &self.allowance), own - symbol.address))
    }
}

impl Named {
    fn range(&self) -> (u64, u64) {
        (self.symbol.address, self.symbol.size)
    }
}

/// Returns a name as its language writes it, or as it is if that takes too long.
fn shown(name: &str, allowance: &Allowance) -> String {
    demangled(name, allowance).map_or_else(|_| name.to_owned(), Cow::into_owned)
}

/// Returns the file with the debugging information of another: the one that has its build ID, or its checksum.
fn debug_file(elf: &Elf, path: &Path, root: Option<&Path>) -> Option<Elf> {
    if elf.section(".debug_info").is_some() {
        return None;
    }
    let (build_id, link) = (elf.build_id(), elf.debug_link());
    let by_number = build_id
        .as_ref()
        .map(|id| Path::new(DEBUG_FOLDER).join(format!(".build-id/{}/{}.debug", hex(&id[..1]), hex(&id[1..]))));
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
    let fetched = || build_id.as_ref().and_then(|id| fetched(&hex(id)));
    let local = elsewhere.chain(ways.iter().cloned()).filter_map(open).find(is_its_own);
    local.or_else(|| fetched().and_then(open).filter(is_its_own))
}

/// Returns the file that a server of debugging information has for a build, where the user names one
/// (`DEBUGINFOD_URLS`). `debuginfod-find` keeps what it has fetched.
fn fetched(build_id: &str) -> Option<PathBuf> {
    /// Seconds for a file.
    const PATIENCE: &str = "20";
    std::env::var_os("DEBUGINFOD_URLS").filter(|servers| !servers.is_empty())?;
    let mut find = helper::command("debuginfod-find").ok()?;
    find.args(["debuginfo", build_id]).env("DEBUGINFOD_TIMEOUT", PATIENCE).env("DEBUGINFOD_MAXTIME", PATIENCE);
    let output =
        find.stdin(Stdio::null()).stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end())))
}

/// The debugging information of a file: functions and lines of addresses.
pub struct Lines {
    /// Reads from `_sections` as `dwarf` does, and both are dropped before them, since they are declared before them.
    context: Context<Counted>,
    dwarf: Arc<Dwarf<Counted>>,
    /// Made when a variable is looked up.
    members: OnceCell<Members>,
    /// `context` and `dwarf` count with it, and it is dropped after them, too.
    allowance: Arc<Allowance>,
    _sections: Vec<Vec<u8>>,
}

impl Lines {
    /// Reads it; `None` if the file has none, or too much of it.
    pub fn read(elf: &Elf, allowance: &Allowance) -> Option<Self> {
        elf.section(".debug_info")?;
        let (mut sections, allowance) = (Vec::new(), Arc::new(allowance.clone()));
        // SAFETY: the allowance stays on the heap as long as the `Arc`, which becomes a field of this type that no code
        // changes, and that is dropped after everything with this reference.
        let counter: &'static Allowance = unsafe { &*std::ptr::from_ref(&*allowance) };
        let dwarf = Dwarf::load(|id| {
            // The others say where variables lie, and what macros are.
            let is_needed = !matches!(
                id,
                SectionId::DebugLoc | SectionId::DebugLocLists | SectionId::DebugMacinfo | SectionId::DebugMacro
            );
            let Some(section) = elf.section(id.name()).filter(|_| is_needed) else {
                return Ok(Counted::new(&[], counter));
            };
            let bytes = elf.bytes(section).ok_or(())?;
            // SAFETY: the bytes are on the heap, where they stay when the vector that owns them moves. `sections`
            // becomes a field of this type that no code changes, and that is dropped after everything with this slice.
            let slice: &'static [u8] = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
            allowance.grant(STEPS_OF_BYTE * bytes.len() as u64);
            sections.push(bytes);
            Ok::<Counted, ()>(Counted::new(slice, counter))
        });
        let mut dwarf = dwarf.ok()?;
        dwarf.populate_abbreviations_cache(addr2line::gimli::AbbreviationsCacheStrategy::Duplicates);
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(Arc::clone(&dwarf)).ok()?;
        Some(Self { context, dwarf, members: OnceCell::new(), allowance, _sections: sections })
    }

    /// Returns the members that lead from the variable at `own` to this offset in it: `.lock`. It is empty if the variable
    /// is the lock.
    pub fn member(&self, own: u64, offset: u64) -> Option<String> {
        self.members().path(&self.dwarf, own, offset)
    }

    /// Returns the offset of such a member in the variable at `own`, and its size if that is known.
    pub fn member_offset(&self, own: u64, path: &str) -> Option<(u64, Option<u64>)> {
        self.members().offset(&self.dwarf, own, path)
    }

    fn members(&self) -> &Members {
        self.members.get_or_init(|| Members::index(&self.dwarf))
    }

    /// Returns the functions at an address with their lines, from the innermost inlined one outwards; `visit` says
    /// whether to go on.
    fn visit(&self, own: u64, mut visit: impl FnMut(Option<String>, Option<String>, &str) -> bool) -> Option<()> {
        let mut lookup = self.context.find_frames(own);
        // It ends: the reader counts what it reads against the steps of the file.
        let mut frames = loop {
            match lookup {
                LookupResult::Output(frames) => break frames.ok()?,
                // contend does not look for information that the compiler left in separate `.dwo` files.
                LookupResult::Load { continuation, .. } => lookup = continuation.resume(None),
            }
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| Some(shown(&name.raw_name().ok()?, &self.allowance)));
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file).unwrap_or_default();
            let source = location.and_then(|location| Some(format!("{}:{}", location.file?, location.line?)));
            if !visit(name, source, file) {
                break;
            }
        }
        Some(())
    }

    /// Returns the function and the line of the first frame at an address, from the innermost, that is not a wrapper;
    /// the outermost if all are.
    pub fn frame(&self, own: u64) -> Option<(Option<String>, Option<String>)> {
        let mut last = None;
        self.visit(own, |name, source, file| {
            let is_wrapper = is_wrapper(name.as_deref().unwrap_or_default(), file);
            last = Some((name, source));
            is_wrapper
        })?;
        last
    }

    /// Returns all functions at an address with their lines, the innermost inlined one first.
    pub fn inlined(&self, own: u64) -> Vec<(Option<String>, Option<String>)> {
        let mut functions = Vec::new();
        self.visit(own, |name, source, _| {
            functions.push((name, source));
            true
        });
        functions
    }
}

// The functions of a Go program, from the table that its runtime needs itself: a stripped program has it as well.
//
// The layout is that of Go 1.18 and later (`runtime.pcHeader`, `runtime.functab`).

const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// The numbers that begin a table of Go 1.18, and of Go 1.20 and later.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];
const ENTRY: usize = 8;

/// Returns the functions and the table of their names; `None` if the file is not a Go program of a known layout.
pub fn functions(elf: &Elf) -> Option<(Vec<Symbol>, Vec<u8>)> {
    let section = SECTIONS.iter().find_map(|name| elf.section(name))?;
    let table = elf.bytes(section)?;
    let text = elf.section(".text").map(|text| text.address)?;
    parse(&table, text)
}

/// Parses a table; `text` is the address of the code if the table does not have it.
fn parse(table: &[u8], text: u64) -> Option<(Vec<Symbol>, Vec<u8>)> {
    let header = |place: usize| Some(u64::from_le_bytes(*table.get(8 + 8 * place..)?.first_chunk()?));
    let is_known = MAGIC.contains(&u32_at(table, 0)?) && table.get(7) == Some(&8);
    let count = usize::try_from(header(0)?).ok().filter(|_| is_known)?;
    let text = header(2).filter(|start| *start > 0).unwrap_or(text);
    let part = |place: usize| table.get(usize::try_from(header(place)?).ok()?..);
    let (names, functions) = (part(3)?, part(7)?);
    let length = usize::try_from(header(4)?.checked_sub(header(3)?)?).ok()?;
    let names = names.get(..length)?.to_vec();
    let entry = |place: usize| u32_at(functions, place.checked_mul(ENTRY)?);
    let symbol = |place: usize| {
        let (begin, end) = (entry(place)?, entry(place + 1)?);
        let details = usize::try_from(u32_at(functions, place * ENTRY + 4)?).ok()?;
        let name = u32_at(functions, details.checked_add(4)?)?;
        let size = u64::from(end.checked_sub(begin)?);
        let address = text.checked_add(u64::from(begin))?;
        (size > 0 && name > 0).then_some(Symbol { address, size, name, is_code: true })
    };
    let symbols = (0..count.min(functions.len() / ENTRY)).filter_map(symbol).collect();
    Some((symbols, names))
}

/// Functions that a language's own library puts around the C library's locks.
pub fn is_wrapper(name: &str, file: &str) -> bool {
    const OWN: [&str; 10] = [
        "std::",
        "core::",
        "__gthread",
        "__gthrw",
        "<std::",
        "<core::",
        "parking_lot",
        "<parking_lot",
        "lock_api::",
        "<lock_api::",
    ];
    OWN.iter().any(|own| name.starts_with(own)) || file.contains("/include/c++/") || file.starts_with("/rustc/")
}

#[cfg(test)]
mod measured {
    use super::*;
    use crate::names::mutants::{compiled, mutated};
    use fastrand::Rng;
    use std::process::Command;
    use std::time::Duration;

    const MUTANTS: usize = 1_000;
    /// A hang is one at any speed of the machine.
    const HANGS: Duration = Duration::from_secs(300);

    fn read(path: &Path, bytes: &[u8], room: u64) -> Option<Image> {
        std::fs::write(path, bytes).unwrap();
        Image::read(open_regular(path).unwrap(), path, None, room, &Allowance::default())
    }

    /// Looks up all that a program's addresses can be, and some that they cannot.
    fn look_up(image: &Image, random: &mut Rng) -> Vec<String> {
        let mut found = Vec::new();
        let ends = [0, 1, u64::MAX, i64::MAX as u64];
        let own: Vec<u64> = image.symbols.iter().map(|named| named.symbol.address).collect();
        let segments: Vec<Segment> = image.segments.clone();
        let within =
            segments.iter().map(|segment| segment.address.wrapping_add(random.u64(0..=segment.size.min(1 << 20))));
        for address in own.into_iter().chain(ends).chain(within) {
            let (function, source) = image.code(address);
            found.extend([function, source, image.variable(address)].into_iter().flatten());
            let _ = (image.has(address), image.bias(address, address / PAGE * PAGE));
        }
        found
    }

    #[test]
    #[ignore = "measured: needs cc"]
    fn a_thousand_mutants_of_a_program_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let kinds: [&[&str]; 3] = [&[], &["-gz=zlib"], &["-gdwarf-4", "-fdebug-types-section"]];
        let kinds: Vec<Vec<u8>> = kinds.iter().filter_map(|flags| compiled(folder.path(), flags)).collect();
        if kinds.is_empty() {
            return;
        }
        let path = folder.path().join("mutant");
        let done = Allowance::default().patiently(HANGS, move |_| {
            let mut random = Rng::with_seed(29);
            let room = 64 << 20;
            for bytes in &kinds {
                let image = read(&path, bytes, room).unwrap();
                let names = look_up(&image, &mut random);
                assert_eq!(image.lack(), None);
                for name in ["one_lock", "main", "outer"] {
                    assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
                }
            }
            let mut still_read = 0;
            for turn in 0..MUTANTS {
                if let Some(image) = read(&path, &mutated(&kinds[turn % kinds.len()], &mut random), room) {
                    assert!(image.size <= 2 * room);
                    look_up(&image, &mut random);
                    still_read += 1;
                }
            }
            still_read
        });
        // Most are read in part: what cannot be read at all tests little.
        assert!(done.expect("no mutant ends or holds the reading thread") > MUTANTS / 4);
    }

    #[test]
    #[ignore = "measured: needs cc"]
    fn image_without_room_for_lines_still_has_symbols() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bytes) = compiled(folder.path(), &[]) else { return };
        let path = folder.path().join("small");
        let whole = read(&path, &bytes, 1 << 20).unwrap();
        let needed = whole.size;
        for room in (0..needed).step_by(97) {
            if let Some(image) = read(&path, &bytes, room) {
                assert!(image.size <= room && image.is_incomplete, "{room} of {needed}");
            }
        }
    }

    /// Checks that debugging information in a separate file is used only if its build ID is the program's.
    #[test]
    #[ignore = "measured: needs cc"]
    fn a_debug_file_of_another_build_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bytes) = compiled(folder.path(), &["-Wl,--build-id=sha1"]) else { return };
        let [program, debug] = ["split", "split.debug"].map(|name| folder.path().join(name));
        std::fs::write(&program, bytes).unwrap();
        let objcopy = |words: &[&OsStr]| {
            let output = Command::new("objcopy").args(words).output();
            output.is_ok_and(|output| output.status.success())
        };
        let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
        link.push(&debug);
        let is_split = objcopy(&["--only-keep-debug".as_ref(), program.as_ref(), debug.as_ref()])
            && objcopy(&["--strip-all".as_ref(), &link, program.as_ref()]);
        if !is_split {
            return println!("skipped: needs objcopy");
        }
        let source = |program: &Path| {
            let image =
                Image::read(open_regular(program).unwrap(), program, None, 1 << 20, &Allowance::default()).unwrap();
            look_up(&image, &mut Rng::with_seed(1)).into_iter().any(|found| found.contains("small.c:"))
        };
        assert!(source(&program), "its own");
        let Some(_) = compiled(folder.path(), &["-Wl,--build-id=sha1", "-DOTHER=1", "-O2"]) else { return };
        let other = folder.path().join("small");
        assert!(objcopy(&["--only-keep-debug".as_ref(), other.as_ref(), debug.as_ref()]));
        assert!(!source(&program), "another build's");
    }

    /// Variables with locks as members, and the program that prints where each is: the variable, the member, its offset.
    const MEMBERS_IN_C: &str = "#include <pthread.h>\n#include <stdio.h>\n\
        typedef struct shard { long count; pthread_mutex_t lock; } shard_type;\n\
        struct Mutex { pthread_mutex_t first; pthread_cond_t second; } twice;\n\
        struct { int size; pthread_mutex_t cache_mutex; \
            struct { pthread_cond_t filled; shard_type shards[3]; } queue; \
            union { char word; pthread_mutex_t m; } either; struct { pthread_rwlock_t unnamed; }; } cache;\n\
        shard_type shards[8]; pthread_mutex_t grid[2][3], alone; volatile shard_type changing;\n\
        #define AT(base, member) printf(\"%s %s %zu\\n\", #base, #member, (size_t)((char *)&(member) - (char *)&(base)))\n\
        int main(void) { AT(cache, cache.cache_mutex); AT(cache, cache.queue.filled); AT(cache, cache.queue.shards[2].lock);\n\
            AT(cache, cache.either.m); AT(cache, cache.unnamed); AT(shards, shards[3].lock); AT(shards, shards[0].lock);\n\
            AT(grid, grid[1][2]); AT(grid, grid[0][0]); AT(alone, alone); AT(changing, changing.lock); return 0; }\n";

    /// The same in Rust.
    const MEMBERS_IN_RUST: &str = "use std::sync::{Condvar, Mutex, RwLock};\n\
        struct Shard { count: u64, lock: Mutex<u64> }\n\
        struct Store { index: RwLock<u32>, filled: Condvar, shards: [Shard; 3] }\n\
        const fn shard() -> Shard { Shard { count: 0, lock: Mutex::new(0) } }\n\
        static STORE: Store = Store { index: RwLock::new(0), filled: Condvar::new(), shards: [shard(), shard(), shard()] };\n\
        static ALONE: Mutex<u64> = Mutex::new(0);\n\
        static NESTED: Mutex<Shard> = Mutex::new(shard());\n\
        macro_rules! at { ($base:ident, $member:expr) => { println!(\"small::{} small::{} {}\", stringify!($base), \
            stringify!($member).replace(' ', \"\"), &raw const $member as usize - &raw const $base as usize) } }\n\
        fn main() { at!(STORE, STORE.index); at!(STORE, STORE.filled); at!(STORE, STORE.shards[2].lock);\n\
            at!(STORE, STORE.shards[0].lock); at!(ALONE, ALONE); std::hint::black_box((&ALONE, &NESTED, STORE.shards[1].count)); }\n";

    /// Compiles a program of this name; `None`, and it is said, where there is no such compiler.
    fn members_of(folder: &Path, compiler: &str, flags: &[&str], source: &str) -> Option<PathBuf> {
        let (text, program) =
            (folder.join(if compiler == "cc" { "small.c" } else { "small.rs" }), folder.join("small"));
        std::fs::write(&text, source).unwrap();
        let output = Command::new(compiler).args(flags).arg("-o").arg(&program).arg(&text).output();
        let is_compiled = output.is_ok_and(|output| output.status.success());
        if !is_compiled {
            println!("skipped: needs {compiler}");
        }
        is_compiled.then_some(program)
    }

    /// Returns the lines that such a program prints, with the address of each variable.
    fn printed(program: &Path, image: &Image) -> Vec<(u64, String, u64)> {
        let output = Command::new(program).output().unwrap();
        let line = |line: &str| {
            let [base, member, offset] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let [(address, _)] = image.symbols_named(base)[..] else { panic!("no {base}") };
            (address, member.to_owned(), offset.parse().unwrap())
        };
        String::from_utf8(output.stdout).unwrap().lines().map(line).collect()
    }

    #[test]
    #[ignore = "measured: needs cc"]
    fn members_of_variables_are_named_as_in_the_language() {
        let folder = tempfile::tempdir().unwrap();
        let c: [&[&str]; 3] = [&["-g"], &["-g", "-O2", "-gdwarf-4"], &["-g", "-gz=zlib"]];
        let c = c.into_iter().map(|flags| ("cc", flags, MEMBERS_IN_C));
        let rust: &[&str] = &["-g", "--edition", "2024"];
        for (compiler, flags, source) in c.chain([("rustc", rust, MEMBERS_IN_RUST)]) {
            let Some(program) = members_of(folder.path(), compiler, flags, source) else { continue };
            let image =
                Image::read(open_regular(&program).unwrap(), &program, None, 64 << 20, &Allowance::default()).unwrap();
            let lines = printed(&program, &image);
            assert!(lines.len() >= 5, "{lines:?}");
            for (name, at) in [("twice", 0), ("twice+0x28", 0x28)] {
                if let [(address, _)] = image.symbols_named("twice")[..] {
                    assert_eq!(image.variable(address + at).as_deref(), Some(name), "two locks of one type");
                }
            }
            assert_eq!(image.lack(), None);
            // A lock in the data of another one.
            if let [(address, size)] = image.symbols_named("small::NESTED")[..] {
                let names: Vec<_> = (0..size).step_by(4).filter_map(|at| image.variable(address + at)).collect();
                assert_eq!(names.iter().filter(|name| *name == "small::NESTED").count(), 2, "{names:?}");
            }
            for (address, member, offset) in lines {
                let own = address + offset;
                assert_eq!(image.variable(own).as_deref(), Some(&*member), "{compiler} {flags:?}");
                assert_eq!(image.named(&member).first().map(|found| found.0), Some(own), "{member}");
            }
        }
    }

    #[test]
    #[ignore = "measured: needs cc"]
    fn members_without_types_are_offsets() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = members_of(folder.path(), "cc", &[], MEMBERS_IN_C) else { return };
        let image =
            Image::read(open_regular(&program).unwrap(), &program, None, 1 << 20, &Allowance::default()).unwrap();
        for (address, member, offset) in printed(&program, &image) {
            let base = member.split(['.', '[']).next().unwrap();
            let expected = if offset == 0 { base.to_owned() } else { format!("{base}+{offset:#x}") };
            assert_eq!(image.variable(address + offset), Some(expected), "{member}");
        }
        for wrong in ["cache.nonesuch", "shards[8].lock", "shards[x]", "grid[1]", "cache.", ".lock", "[0]", "alone.x"] {
            assert_eq!(image.named(wrong), [], "{wrong}");
        }
    }

    /// Each read of gimli and addr2line is a step.
    #[test]
    #[ignore = "measured: needs cc"]
    fn lines_that_need_too_many_steps_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bytes) = compiled(folder.path(), &[]) else { return };
        let path = folder.path().join("small");
        let whole = read(&path, &bytes, 1 << 20).unwrap();
        look_up(&whole, &mut Rng::with_seed(1));
        let steps = whole.allowance.spent();
        assert!(steps > 100 && steps < STEPS_OF_BYTE * whole.size, "{steps} for {}", whole.size);
        for spent in [u64::MAX, u64::MAX - steps / 2] {
            let image = read(&path, &bytes, 1 << 20).unwrap();
            let _ = image.allowance.spend(spent);
            look_up(&image, &mut Rng::with_seed(1));
            assert_eq!(image.lack(), Some(Refusal::Exhausted(Exhausted::Steps)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::elf::text;

    /// A table of two functions, as Go 1.26 writes it: without the address of the code.
    fn table() -> Vec<u8> {
        let names = b"\0main.one\0main.two\0";
        let mut bytes = 0xffff_fff1_u32.to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        let begin = 72_u64;
        let functions = begin + names.len() as u64;
        for value in [2, 0, 0, begin, functions, functions, functions, functions] {
            bytes.extend(u64::to_le_bytes(value));
        }
        bytes.extend(names);
        for value in [0x10_u32, 20, 0x40, 28, 0x90] {
            bytes.extend(value.to_le_bytes());
        }
        for value in [0x10_u32, 1, 0x40, 10] {
            bytes.extend(value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn functions_have_names_addresses_and_sizes() {
        let (symbols, names) = parse(&table(), 0x1000).unwrap();
        let found: Vec<(&[u8], u64, u64)> =
            symbols.iter().map(|one| (text(&names, one.name).unwrap(), one.address, one.size)).collect();
        assert_eq!(found, [(&b"main.one"[..], 0x1010, 0x30), (b"main.two", 0x1040, 0x50)]);
    }

    #[test]
    fn changed_tables_are_parsed_or_refused() {
        let (whole, mut random) = (table(), fastrand::Rng::with_seed(3));
        for length in 0..whole.len() {
            let _ = parse(&whole[..length], 0);
        }
        for _ in 0..2_000 {
            let mut bytes = whole.clone();
            bytes[random.usize(..whole.len())] = random.u8(..);
            let _ = parse(&bytes, random.u64(..));
        }
    }

    /// A name of some hundred bytes that unfolds to a megabyte: each of its types has the one before it twice.
    fn bomb(function: &str) -> String {
        const DEPTH: usize = 24;
        let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let first = 6 + function.len();
        let back = |depth: usize| {
            let place = first + depth - 1;
            let (high, low) = (place / 62, place % 62);
            let digit = |value: usize| if value < 36 { digits[value] } else { b'A' + (value - 36) as u8 } as char;
            if high > 0 { format!("B{}{}_E", digit(high), digit(low)) } else { format!("B{}_E", digit(low)) }
        };
        let backs: String = (1..DEPTH).rev().map(back).collect();
        format!("_RINvC1a{}{function}{}uuE{backs}E", function.len(), "T".repeat(DEPTH))
    }

    /// An image with symbols of these names, each used this often.
    fn with_names(names: &[String], times: usize) -> Image {
        let mut image = Image {
            segments: Vec::new(),
            symbols: Vec::new(),
            names: vec![vec![0]],
            lines: None,
            go_lines: None,
            by_name: OnceCell::new(),
            allowance: Allowance::of_steps(STEPS_OF_FILE),
            build_id: None,
            is_stripped: false,
            size: 0,
            is_incomplete: false,
        };
        for name in names {
            let place = image.names[0].len() as u32;
            image.names[0].extend_from_slice(name.as_bytes());
            image.names[0].push(0);
            let symbol = |number: usize| Symbol { address: 16 * number as u64, size: 16, name: place, is_code: true };
            image.symbols.extend((0..times).map(|number| Named { symbol: symbol(number), table: 0 }));
        }
        image
    }

    #[test]
    fn name_of_many_symbols_is_demangled_once() {
        let whole = rustc_demangle::try_demangle(&bomb("f")).map(|name| name.to_string().len());
        assert!(whole.is_ok_and(|length| length > 100_000), "it is a bomb");
        let image = with_names(&[bomb("f"), "_RNvC1a4lock".to_owned()], 100_000);
        for _ in 0..3 {
            assert_eq!(image.symbols_named("no such name"), []);
            assert_eq!(image.symbols_named("a::lock").len(), 100_000);
        }
        assert!(image.allowance.spent() < 100_000, "{}", image.allowance.spent());
        assert_eq!(image.lack(), None);
    }

    #[test]
    fn names_that_need_too_many_steps_are_left_out_and_it_is_said() {
        let names: Vec<String> = (0..1_000).map(|number| bomb(&format!("f{number:03}"))).collect();
        let image = with_names(&names, 1);
        assert_eq!(image.symbols_named("no such name"), []);
        assert!(image.allowance.spent() < 2 * STEPS_OF_FILE, "{}", image.allowance.spent());
        assert_eq!(image.lack(), Some(Refusal::Exhausted(Exhausted::Steps)));
    }

    #[test]
    fn name_without_an_end_is_cut_off_for_each_symbol() {
        let image = with_names(&["_".repeat(1 << 20)], 1);
        assert!(image.around(8, true).is_some_and(|(name, _)| name.len() < 32 << 10));
    }
}
