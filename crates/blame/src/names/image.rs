//! A program's or library's file: its symbols, and its debugging information, which may be in a separate file.

use super::demangle::demangled;
use super::elf::{self, Elf, Segment, Symbol, hex};
use super::file::{below, is_c_library, open_regular};
use super::lines::Lines;
use super::pclntab;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file that was read.
pub struct Image {
    segments: Vec<Segment>,
    /// Symbols, by address.
    symbols: Vec<Named>,
    /// The symbols' names, a table for each of theirs.
    names: Vec<Vec<u8>>,
    lines: Option<Lines>,
    /// The number of its build, in hexadecimal.
    pub build_id: Option<String>,
    /// Whether its own functions have no names: only those that other files may call have some.
    pub is_stripped: bool,
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
/// Members of members that a name can have.
const MOST_MEMBERS: usize = 16;
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
        // The functions of a stripped Go program are in a table of its runtime.
        let is_named = [Some(&elf), debug.as_ref()].into_iter().flatten().any(|elf| elf.section(TABLES[0]).is_some());
        let of_go = if is_named { None } else { pclntab::functions(&elf) };
        let has_table = of_go.is_some();
        if let Some((found, text)) = of_go {
            let table = names.len() as u8;
            symbols.extend(found.into_iter().map(|symbol| Named { symbol, table }));
            names.push(text);
        }
        symbols.sort_by_key(|named| (named.symbol.address, named.symbol.size));
        // The functions of the C library that are called have symbols, and its lines take longer to read than all else.
        let is_c_library = path.file_name().is_some_and(|name| is_c_library(&name.to_string_lossy()));
        let lines = if is_c_library { None } else { Lines::read(debug.as_ref().unwrap_or(&elf)) };
        let files = [Some(&elf), debug.as_ref()];
        let size = files.iter().flatten().map(|elf| elf.size_read()).sum();
        let is_incomplete = files.iter().flatten().any(|elf| elf.is_short_of_room());
        let build_id = elf.build_id().map(|id| hex(&id));
        let is_stripped =
            lines.is_none() && !has_table && files.iter().flatten().all(|elf| elf.section(".symtab").is_none());
        Some(Self { segments: elf.segments, symbols, names, lines, build_id, is_stripped, size, is_incomplete })
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
        // Addresses that are not the file's are not looked up in its information, which may be made to have any.
        let lines = self.lines.as_ref().filter(|_| self.has(own) && own < u64::MAX);
        let (symbol, source) = lines.and_then(|lines| lines.frame(own)).unwrap_or_default();
        (symbol.or_else(|| self.function(own)), source)
    }

    /// Returns all functions at an address with their lines, the innermost inlined one first.
    pub fn inlined(&self, own: u64) -> Vec<(Option<String>, Option<String>)> {
        let lines = self.lines.as_ref().filter(|_| self.has(own) && own < u64::MAX);
        let functions = lines.map(|lines| lines.inlined(own)).unwrap_or_default();
        let is_known = functions.iter().any(|(symbol, _)| symbol.is_some());
        if is_known { functions } else { vec![(self.function(own), None)] }
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
            let offset = lines.member_offset(own, path).filter(|offset| *offset < size)?;
            Some((own.checked_add(offset)?, size - offset))
        };
        variables.into_iter().filter_map(member).collect()
    }

    fn symbols_named(&self, name: &str) -> Vec<(u64, u64)> {
        let is_it = |named: &&Named| {
            let text = self.names.get(usize::from(named.table)).and_then(|table| elf::text(table, named.symbol.name));
            text.is_some_and(|text| {
                text == name.as_bytes() || text.starts_with(b"_") && demangled(&String::from_utf8_lossy(text)) == name
            })
        };
        self.symbols.iter().filter(is_it).map(|named| (named.symbol.address, named.symbol.size)).collect()
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
        Some((demangled(&String::from_utf8_lossy(name)), own - symbol.address))
    }
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
    let mut find = Command::new("debuginfod-find");
    find.args(["debuginfo", build_id]).env("DEBUGINFOD_TIMEOUT", PATIENCE).env("DEBUGINFOD_MAXTIME", PATIENCE);
    let output =
        find.stdin(Stdio::null()).stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::mutants::{compiled, mutated};
    use crate::names::patiently;
    use fastrand::Rng;
    use std::process::Command;
    use std::time::Duration;

    const MUTANTS: usize = 1_000;
    /// A hang is one at any speed of the machine.
    const HANGS: Duration = Duration::from_secs(300);

    fn read(path: &Path, bytes: &[u8], room: u64) -> Option<Image> {
        std::fs::write(path, bytes).unwrap();
        Image::read(open_regular(path).unwrap(), path, None, room)
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
    fn a_thousand_mutants_of_a_program_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let kinds: [&[&str]; 3] = [&[], &["-gz=zlib"], &["-gdwarf-4", "-fdebug-types-section"]];
        let kinds: Vec<Vec<u8>> = kinds.iter().filter_map(|flags| compiled(folder.path(), flags)).collect();
        if kinds.is_empty() {
            return;
        }
        let path = folder.path().join("mutant");
        let done = patiently(HANGS, move || {
            let mut random = Rng::with_seed(29);
            let room = 64 << 20;
            for bytes in &kinds {
                let image = read(&path, bytes, room).unwrap();
                let names = look_up(&image, &mut random);
                assert!(!image.is_incomplete);
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
            let image = Image::read(open_regular(program).unwrap(), program, None, 1 << 20).unwrap();
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
        macro_rules! at { ($base:ident, $member:expr) => { println!(\"small::{} small::{} {}\", stringify!($base), \
            stringify!($member).replace(' ', \"\"), &raw const $member as usize - &raw const $base as usize) } }\n\
        fn main() { at!(STORE, STORE.index); at!(STORE, STORE.filled); at!(STORE, STORE.shards[2].lock);\n\
            at!(STORE, STORE.shards[0].lock); at!(ALONE, ALONE); std::hint::black_box((&ALONE, STORE.shards[1].count)); }\n";

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
    fn members_of_variables_are_named_as_in_the_language() {
        let folder = tempfile::tempdir().unwrap();
        let c: [&[&str]; 3] = [&["-g"], &["-g", "-O2", "-gdwarf-4"], &["-g", "-gz=zlib"]];
        let c = c.into_iter().map(|flags| ("cc", flags, MEMBERS_IN_C));
        let rust: &[&str] = &["-g", "--edition", "2024"];
        for (compiler, flags, source) in c.chain([("rustc", rust, MEMBERS_IN_RUST)]) {
            let Some(program) = members_of(folder.path(), compiler, flags, source) else { continue };
            let image = Image::read(open_regular(&program).unwrap(), &program, None, 64 << 20).unwrap();
            let lines = printed(&program, &image);
            assert!(lines.len() >= 5, "{lines:?}");
            for (address, member, offset) in lines {
                let own = address + offset;
                assert_eq!(image.variable(own).as_deref(), Some(&*member), "{compiler} {flags:?}");
                assert_eq!(image.named(&member).first().map(|found| found.0), Some(own), "{member}");
            }
        }
    }

    #[test]
    fn members_without_types_are_offsets() {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = members_of(folder.path(), "cc", &[], MEMBERS_IN_C) else { return };
        let image = Image::read(open_regular(&program).unwrap(), &program, None, 1 << 20).unwrap();
        for (address, member, offset) in printed(&program, &image) {
            let base = member.split(['.', '[']).next().unwrap();
            let expected = if offset == 0 { base.to_owned() } else { format!("{base}+{offset:#x}") };
            assert_eq!(image.variable(address + offset), Some(expected), "{member}");
        }
        for wrong in ["cache.nonesuch", "shards[8].lock", "shards[x]", "grid[1]", "cache.", ".lock", "[0]", "alone.x"] {
            assert_eq!(image.named(wrong), [], "{wrong}");
        }
    }
}
