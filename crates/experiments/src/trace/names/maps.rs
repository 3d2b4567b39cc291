//! A process's memory map, as the kernel writes it.

use std::path::PathBuf;

/// A piece of a file in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    pub path: PathBuf,
}

/// The pieces of files. Lines that are not as the kernel writes them, or cut short, are left out.
pub fn parse(map: &str) -> Vec<Mapping> {
    map.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (range, _, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let (_, _, path) = (fields.next()?, fields.next()?, fields.next()?.trim_start());
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let (start, end) = range.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    path.starts_with('/').then_some(())?;
    Some(Mapping { start: number(start)?, end: number(end)?, offset: number(offset)?, path: PathBuf::from(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_files_are_read_and_all_else_is_left_out() {
        let map = "55d0c0a00000-55d0c0a01000 r--p 00002000 fe:00 1234                       /usr/bin/a b\n\
            7f00-7f01 rw-p 00000000 00:00 0 \n7f02-7f03 rw-p 00000000 00:00 0                          [heap]\n\
            7ffd-7ffe r-xp 00001000 fe:00 9 /lib/x.so (deleted)\n7ffff000-7ff";
        let read = parse(map);
        assert_eq!(read.len(), 2, "{read:?}");
        assert_eq!((read[0].start, read[0].offset), (0x55d0_c0a0_0000, 0x2000));
        assert_eq!(read[0].path, PathBuf::from("/usr/bin/a b"));
        assert_eq!(read[1].path, PathBuf::from("/lib/x.so"));
    }
}
