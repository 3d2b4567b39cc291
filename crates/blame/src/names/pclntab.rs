//! The functions of a Go program, from the table that its runtime needs itself: a stripped program has it as well.
//!
//! The layout is that of Go 1.18 and later (`runtime.pcHeader`, `runtime.functab`).

use super::elf::{Elf, Symbol};

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

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
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
}
