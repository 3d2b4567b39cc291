//! The addresses that variables of a file have in a process.

use crate::names::{Elf, Mapping, open_mapped};

const LARGEST_FILE: u64 = 64 << 20;

/// Returns the addresses of these variables of the file that `pieces` are of; `None` for one that the file does not have,
/// and if the file cannot be read.
pub fn addresses<const N: usize>(process: u32, pieces: &[Mapping], names: [&str; N]) -> [Option<u64>; N] {
    in_file(process, pieces, names).unwrap_or([None; N])
}

fn in_file<const N: usize>(process: u32, pieces: &[Mapping], names: [&str; N]) -> Option<[Option<u64>; N]> {
    const PAGE: u64 = 4_096;
    let elf = Elf::open(open_mapped(Some(process), pieces).ok()?, LARGEST_FILE)?;
    let page = |at: u64| at / PAGE * PAGE;
    let first = pieces.first()?;
    let segment = elf.segments.iter().find(|segment| page(segment.offset) == first.offset)?;
    let base = first.start.wrapping_sub(page(segment.address));
    let mut found = [None; N];
    for table in [".dynsym", ".symtab"] {
        let Some((symbols, text)) = elf.symbols(table) else { continue };
        for symbol in symbols {
            let Some(rest) = text.get(symbol.name as usize..) else { continue };
            for (name, found) in names.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
                let is_it = rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(&[0]));
                *found = is_it.then(|| base.wrapping_add(symbol.address));
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    Some(found)
}
