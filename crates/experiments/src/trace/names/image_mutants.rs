//! Files of programs that were changed to do harm: they are read, or refused, and never end what reads them.

use super::*;
use crate::trace::names::patiently;
use fastrand::Rng;
use std::process::Command;
use std::time::Duration;

const MUTANTS: usize = 1_000;
/// A hang is one at any speed of the machine.
const HANGS: Duration = Duration::from_secs(300);

const SOURCE: &str = "#include <pthread.h>\n\
    pthread_mutex_t one_lock = PTHREAD_MUTEX_INITIALIZER, locks[3];\n\
    static inline __attribute__((always_inline)) int inner(int x) { pthread_mutex_lock(&one_lock); return x * 3; }\n\
    int outer(int x) { int y = inner(x + 1); pthread_mutex_unlock(&one_lock); return y; }\n\
    int main(int count, char **words) { return outer(count) + (words[0] == 0); }\n";

/// A small program with debugging information; `None`, and it is said, where there is no compiler.
pub fn compiled(folder: &Path, flags: &[&str]) -> Option<Vec<u8>> {
    let (source, program) = (folder.join("small.c"), folder.join("small"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-pthread"]).args(flags).arg("-o").arg(&program).arg(&source);
    match compiler.output() {
        Ok(output) if output.status.success() => Some(std::fs::read(program).unwrap()),
        _ => {
            println!("skipped: needs cc with {flags:?}");
            None
        }
    }
}

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
    let within = segments.iter().map(|segment| segment.address.wrapping_add(random.u64(0..=segment.size.min(1 << 20))));
    for address in own.into_iter().chain(ends).chain(within) {
        let (function, source) = image.code(address);
        found.extend([function, source, image.variable(address)].into_iter().flatten());
        let _ = (image.has(address), image.bias(address, address / PAGE * PAGE));
    }
    found
}

/// Changes some bytes: anywhere, in the headers, or a word to one that is at an edge.
pub fn mutated(bytes: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let sections = usize::from_ne_bytes(*bytes[40..].first_chunk().unwrap());
    for _ in 0..random.usize(1..40) {
        let at = match random.u32(0..4) {
            0 => random.usize(16..64),
            1 => random.usize(sections..bytes.len() - 8),
            _ => random.usize(64..bytes.len() - 8),
        };
        match random.u32(0..3) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u32(0..8),
            _ => {
                let edges = [0, 1, u64::MAX, i64::MAX as u64, 1 << 31, 1 << 40, bytes.len() as u64];
                let (edge, width) =
                    (edges[random.usize(0..edges.len())].to_ne_bytes(), [1, 2, 4, 8][random.usize(0..4)]);
                bytes[at..at + width].copy_from_slice(&edge[..width]);
            }
        }
    }
    if random.u32(0..8) == 0 {
        bytes.truncate(random.usize(0..bytes.len()));
    }
    bytes
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
fn an_image_without_room_for_its_information_has_symbols_and_says_so() {
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

/// Debugging information in a separate file is used if its build ID is the program's.
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
