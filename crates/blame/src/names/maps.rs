//! A process's memory map, as the kernel writes it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    let mut map = Vec::new();
    File::open(format!("/proc/{pid}/maps")).ok()?.take(MOST_BYTES).read_to_end(&mut map).ok()?;
    Some(map)
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
