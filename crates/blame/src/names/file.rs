//! The one place that opens files which a watched process names.
//!
//! A path in `/proc/PID/maps` is only what the file was called when it was mapped, in the process's own mount namespace.
//! By now there may be another file, a FIFO, a device, or nothing. So a file is opened through the mapping itself where
//! the kernel allows that, else by its path, and is used only if it is the mapped one: by its build ID, which is compared
//! with that in the process's memory, or where there is none, by its device and inode. Nothing is opened for reading
//! before it is known to be a regular file: opening a FIFO waits, and opening a device can have effects.

use super::elf::{hex, loaded_build_id};
use crate::allowance::Exhausted;
use crate::memory::read;
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, major, minor, open};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

/// The C library's files.
const C_LIBRARY: [&str; 5] = ["libc.so", "libc-", "libpthread", "ld-linux", "ld-musl"];

/// Returns whether a file is the C library, by its name.
pub fn is_c_library(file: &str) -> bool {
    C_LIBRARY.iter().any(|own| file.starts_with(own))
}

/// A reason why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another file is at the path.
    Replaced,
    /// The file has another build ID than the process's memory.
    OtherBuild { found: String, loaded: String },
    /// A FIFO, a device, a directory.
    NotRegular,
    /// The operating system's words.
    Unreadable(String),
    /// It takes too long, or too much work.
    Exhausted(Exhausted),
    /// More than contend keeps in memory.
    TooLarge,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced => formatter.write_str("replaced by another file"),
            Self::OtherBuild { found, loaded } => {
                write!(formatter, "another build: its build ID is {found}, that of the process is {loaded}")
            }
            Self::NotRegular => formatter.write_str("not a regular file"),
            Self::Unreadable(why) => formatter.write_str(why),
            Self::Exhausted(exhausted) => exhausted.fmt(formatter),
            Self::TooLarge => formatter.write_str("too large to read"),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(message(&error))
    }
}

/// Returns the text of a system error, without its number.
pub fn message(error: &io::Error) -> String {
    terminal::without_error_numbers(&error.to_string()).into_owned()
}

/// Opens the file that these mappings, all of the same file, are pieces of. `pid` is the process that has them, if it
/// is known to live.
///
/// # Errors
/// No way leads to that file: the most telling reason of those that were found.
pub fn open_mapped(pid: Option<u32>, mappings: &[Mapping]) -> Result<File, Refusal> {
    let Some(Mapping { file, path, .. }) = mappings.first() else { return Err(Refusal::Replaced) };
    let loaded = pid.and_then(|pid| loaded_build_id(|offset, length| in_memory(pid, mappings, offset, length)));
    let is_of_another_file = |refusal: &Refusal| matches!(refusal, Refusal::Replaced | Refusal::OtherBuild { .. });
    let mut reason = None;
    for way in ways(pid, mappings, path) {
        let found = match open_regular(&way) {
            Ok(found) => found,
            Err(refusal) => {
                reason = reason.filter(is_of_another_file).or(Some(refusal));
                continue;
            }
        };
        let is_mapped = is_file(&found, *file);
        let own = loaded.as_ref().and_then(|_| loaded_build_id(|offset, length| in_file(&found, offset, length)));
        match (own, &loaded) {
            (Some(own), Some(loaded)) if own == *loaded => return Ok(found),
            // The process's own program is another file than its libraries.
            _ if !is_mapped && way.ends_with("exe") => {}
            (Some(own), Some(loaded)) => reason = Some(Refusal::OtherBuild { found: hex(&own), loaded: hex(loaded) }),
            _ if is_mapped => return Ok(found),
            _ => reason = reason.filter(is_of_another_file).or(Some(Refusal::Replaced)),
        }
    }
    Err(reason.unwrap_or(Refusal::Replaced))
}

/// Returns bytes of a mapped file from the process's memory, by their offset in the file.
fn in_memory(pid: u32, mappings: &[Mapping], offset: u64, length: usize) -> Option<Vec<u8>> {
    let place = |piece: &Mapping| {
        let at = offset.checked_sub(piece.offset)?;
        piece.start.checked_add(at).filter(|address| *address < piece.end)
    };
    let address = mappings.iter().find_map(place)?;
    let mut bytes = vec![0; length];
    (read(pid, address, &mut bytes) == length).then_some(bytes)
}

fn in_file(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
}

/// Paths that may lead to the file, the surest first. The first ones need CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; a
/// process's executable can be had without them, even if it was deleted.
fn ways(pid: Option<u32>, mappings: &[Mapping], path: &Path) -> Vec<PathBuf> {
    const PIECES: usize = 4;
    let mut ways = Vec::new();
    if let Some(pid) = pid {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let piece = |piece: &Mapping| process.join(format!("map_files/{:x}-{:x}", piece.start, piece.end));
        ways.extend(mappings.iter().take(PIECES).map(piece));
        ways.push(process.join("exe"));
        ways.push(below(&process.join("root"), path));
    }
    ways.push(path.to_owned());
    ways.extend(own_descriptors(path));
    ways
}

/// Returns contend's own descriptors of a file in memory: its library, which the process has loaded.
fn own_descriptors(path: &Path) -> Vec<PathBuf> {
    if !path.as_os_str().as_encoded_bytes().starts_with(b"/memfd:contend") {
        return Vec::new();
    }
    let descriptors = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_it = |way: &PathBuf| {
        let target = std::fs::read_link(way).unwrap_or_default();
        target.as_os_str().as_encoded_bytes().strip_suffix(b" (deleted)") == Some(path.as_os_str().as_encoded_bytes())
    };
    descriptors.filter(is_it).collect()
}

/// Returns a path in another root directory.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Opens a regular file for reading, and nothing else.
///
/// # Errors
/// There is none, or it may not be read.
pub fn open_regular(path: &Path) -> Result<File, Refusal> {
    // A descriptor of this kind refers to the file without opening it, so this neither waits nor has an effect.
    let place = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(io::Error::from)?;
    let stat = fstat(&place).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Refusal::NotRegular);
    }
    // Through the descriptor, since another file may lie at the path by now. O_NONBLOCK is for a lease on the file,
    // which opening would wait for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file: OwnedFd =
        open(format!("/proc/self/fd/{}", place.as_raw_fd()), flags, Mode::empty()).map_err(io::Error::from)?;
    Ok(file.into())
}

/// Returns whether a file is the one that a memory map has.
fn is_file(file: &File, mapped: FileId) -> bool {
    by_stat(file) == Some(mapped) || as_mapped(file) == Some(mapped)
}

/// Returns the pieces of a file's code.
pub fn code_of(file: &File, mappings: Vec<Mapping>) -> Vec<Mapping> {
    let own = [by_stat(file), as_mapped(file)];
    mappings.into_iter().filter(|piece| piece.is_code && own.contains(&Some(piece.file))).collect()
}

fn by_stat(file: &File) -> Option<FileId> {
    fstat(file).ok().map(|stat| FileId::of(&stat))
}

impl FileId {
    fn of(stat: &Stat) -> Self {
        Self { major: major(stat.st_dev), minor: minor(stat.st_dev), inode: stat.st_ino }
    }
}

/// Returns device and inode of a file as memory maps have them. Some file systems (btrfs, overlayfs) have others in
/// `stat`; so contend maps a page of the file too, and looks into its own map.
fn as_mapped(file: &File) -> Option<FileId> {
    const LENGTH: usize = 1;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing, and its bytes are never read.
    let page = unsafe { mmap(std::ptr::null_mut(), LENGTH, ProtFlags::READ, MapFlags::PRIVATE, file, 0) }.ok()?;
    let map = std::fs::read("/proc/self/maps").unwrap_or_default();
    // SAFETY: it was mapped above with this length, and no reference to it was made.
    let _ = unsafe { munmap(page, LENGTH) };
    let at = page.addr() as u64;
    parse(&map).into_iter().find(|piece| (piece.start..piece.end).contains(&at)).map(|piece| piece.file)
}

// A process's memory map, as the kernel writes it.

/// Bytes of a map that are read: a process can have as many mappings as it likes.
const MOST_BYTES: u64 = 1 << 20;

/// The device and the inode of a file, which tell it from another one at the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    pub major: u32,
    pub minor: u32,
    pub inode: u64,
}

/// A piece of a file in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Offset in the file at which the piece begins.
    pub offset: u64,
    pub is_code: bool,
    pub file: FileId,
    /// Path that the file had in the process's mount namespace, without the kernel's mark of a deleted file.
    pub path: Arc<Path>,
}

/// Returns the memory map of a process, if it has one that can be read.
pub fn map_of(pid: u32) -> Option<Vec<u8>> {
    let read = |path: String| {
        let mut map = Vec::new();
        File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut map).ok()?;
        Some(map)
    };
    let map = read(format!("/proc/{pid}/maps"))?;
    if !map.is_empty() {
        return Some(map);
    }
    // A first thread that has ended before the others has no memory any more.
    let others = crate::sampling::threads(pid).filter(|thread| *thread != pid);
    others
        .filter_map(|thread| read(format!("/proc/{pid}/task/{thread}/maps")))
        .find(|map| !map.is_empty())
        .or(Some(map))
}

/// Returns the pieces of files. Skips lines that are not as the kernel writes them, or cut short.
pub fn parse(map: &[u8]) -> Vec<Mapping> {
    let whole = map.iter().rposition(|byte| *byte == b'\n').map_or(&map[..0], |end| &map[..end]);
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in whole.split(|byte| *byte == b'\n') {
        let before = mappings.last().map(|mapping| &mapping.path);
        mappings.extend(parse_line(line, before));
    }
    mappings
}

/// Parses a line of the map. `before` is the path of the line above, which most lines share.
fn parse_line(line: &[u8], before: Option<&Arc<Path>>) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (range, rights, offset) = (field()?, field()?, field()?);
    let (device, inode) = (field()?, field()?);
    let path = fields.next()?.trim_ascii_start();
    let path = unescaped(path.strip_suffix(b" (deleted)").unwrap_or(path));
    path.starts_with(b"/").then_some(())?;
    let (start, end) = range.split_once('-')?;
    let (major, minor) = device.split_once(':')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let half = |text: &str| u32::from_str_radix(text, 16).ok();
    let path = PathBuf::from(OsString::from_vec(path));
    let path = before.filter(|before| ***before == *path).cloned().unwrap_or_else(|| path.into());
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        is_code: rights.as_bytes().get(2) == Some(&b'x'),
        file: FileId { major: half(major)?, minor: half(minor)?, inode: inode.parse().ok()? },
        path,
    })
}

/// Returns a path without the kernel's escapes, which replace its line feeds and nothing else.
fn unescaped(mut path: &[u8]) -> Vec<u8> {
    const ESCAPE: &[u8] = b"\\012";
    let mut plain = Vec::with_capacity(path.len());
    while let Some((first, rest)) = path.split_first() {
        if let Some(rest) = path.strip_prefix(ESCAPE) {
            plain.push(b'\n');
            path = rest;
        } else {
            plain.push(*first);
            path = rest;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    pub fn mapping(path: &Path, file: FileId) -> Mapping {
        Mapping { start: 0x1000, end: 0x2000, offset: 0, is_code: true, file, path: Arc::from(path) }
    }

    #[test]
    fn another_file_at_the_mapped_path_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, "one").unwrap();
        let id = FileId::of(&fstat(File::open(&path).unwrap()).unwrap());
        assert!(open_mapped(None, &[mapping(&path, id)]).is_ok());
        // The old file stays open, so that the new one cannot have its inode.
        let _old = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(open_mapped(None, &[mapping(&path, id)]), Err(Refusal::Unreadable(_))));
        std::fs::write(&path, "two").unwrap();
        assert_eq!(open_mapped(None, &[mapping(&path, id)]).unwrap_err(), Refusal::Replaced);
    }

    #[test]
    fn a_mapped_file_is_known_by_the_kernels_own_words() {
        let file = File::open("/proc/self/exe").unwrap();
        let map = std::fs::read("/proc/self/maps").unwrap();
        let path = std::fs::read_link("/proc/self/exe").unwrap();
        let own = parse(&map).into_iter().find(|piece| *piece.path == *path).unwrap();
        assert_eq!(as_mapped(&file), Some(own.file));
        assert!(open_mapped(Some(std::process::id()), &[own]).is_ok());
    }

    #[test]
    fn fifos_devices_and_directories_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for path in [&*fifo, folder.path(), Path::new("/dev/zero")] {
            assert_eq!(open_regular(path).unwrap_err(), Refusal::NotRegular, "{}", path.display());
        }
    }

    #[test]
    fn pieces_of_files_are_read_and_all_else_is_left_out() {
        let map = b"55d0c0a00000-55d0c0a01000 r--p 00002000 fe:00 1234                       /usr/bin/a b\n\
            7f00-7f01 rw-p 00000000 00:00 0 \n7f02-7f03 rw-p 00000000 00:00 0                          [heap]\n\
            7ffd-7ffe r-xp 00001000 fe:0a 9 /lib/x\\012.so (deleted)\n7ffff000-7fffff00 r-xp 00001000 fe:0a 9 /li";
        let read = parse(map);
        assert_eq!(read.len(), 2, "{read:?}");
        assert_eq!((read[0].start, read[0].offset, read[0].is_code), (0x55d0_c0a0_0000, 0x2000, false));
        assert_eq!(read[0].file, FileId { major: 0xfe, minor: 0, inode: 1234 });
        assert_eq!(&*read[0].path, Path::new("/usr/bin/a b"));
        assert_eq!((&*read[1].path, read[1].is_code), (Path::new("/lib/x\n.so"), true));
        assert_eq!(read[1].file.minor, 10);
    }

    #[test]
    fn a_map_cut_anywhere_has_no_piece_that_the_whole_one_lacks() {
        let map = b"1000-2000 r-xp 00000000 fe:00 12 /bin/one\n2000-3000 r--p 00001000 fe:00 12 /bin/one\n";
        let all = parse(map);
        assert_eq!(all.len(), 2);
        for length in 0..map.len() {
            assert!(parse(&map[..length]).iter().all(|piece| all.contains(piece)), "{length}");
        }
    }
}

#[cfg(test)]
mod measured {
    use super::tests::mapping;
    use super::*;
    use crate::names::mutants::compiled;

    /// Maps a program as its loader does, with the pages of its headers copied. The range of its mapping is too long, so
    /// that the kernel's link to the mapped file is not found.
    #[test]
    #[ignore = "measured: needs cc"]
    fn build_ids_of_the_file_and_the_memory_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        let build = |flags: &[&str]| compiled(folder.path(), &[flags, &["-Wl,--build-id=sha1"]].concat());
        let (Some(own), Some(other)) = (build(&[]), build(&["-O2"])) else { return };
        let path = folder.path().join("program");
        let write = |bytes: &[u8]| {
            let file = File::options().write(true).create(true).truncate(false).open(&path).unwrap();
            file.write_all_at(bytes, 0).unwrap();
            FileId::of(&fstat(file).unwrap())
        };
        let file = write(&own);
        let opened = File::open(&path).unwrap();
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let page = unsafe { mmap(std::ptr::null_mut(), own.len(), rights, MapFlags::PRIVATE, &opened, 0) }.unwrap();
        for at in (0..own.len()).step_by(4_096) {
            // SAFETY: the byte is within the mapping, which nothing else uses.
            unsafe { page.cast::<u8>().add(at).write_volatile(own[at]) };
        }
        let (start, length) = (page.addr() as u64, own.len().next_multiple_of(4_096) as u64 + 4_096);
        let mapped = [Mapping { start, end: start + length, ..mapping(&path, file) }];
        let open = || open_mapped(Some(std::process::id()), &mapped);
        assert!(open().is_ok());
        // The same file has another content.
        write(&other);
        assert!(matches!(open(), Err(Refusal::OtherBuild { .. })), "{:?}", open());
        // Another file has the same content.
        std::fs::remove_file(&path).unwrap();
        assert_ne!(write(&own), file);
        assert!(open().is_ok());
        std::fs::remove_file(&path).unwrap();
        write(&other);
        let refusal = open().unwrap_err();
        assert!(refusal.to_string().starts_with("another build: its build ID is "), "{refusal}");
        // SAFETY: it was mapped above with this length, and no reference to it is left.
        unsafe { munmap(page, own.len()) }.unwrap();
    }
}
