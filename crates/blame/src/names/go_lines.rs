//! The lines of a Go program without debugging information, from the tables by which its runtime prints stacks.
//!
//! The layout is that of Go 1.20 and later. A place in code that was inlined has the line of the inlined function there, so
//! the tables of inlined calls are followed out to the function that the symbol names.

use super::elf::{Elf, text};
use crate::memory::{u32_at, u64_at};

/// The tables.
pub struct GoLines {
    table: Vec<u8>,
    text: u64,
    /// Inlined calls and other data of functions, and the address of the first byte.
    data: Vec<u8>,
    /// The offset in `data` that the functions' offsets count from.
    base: usize,
    offsets: [usize; 5],
}

const TABLE: &str = ".gopclntab";
/// The beginnings of the header's offsets: of files of units, files, values and functions.
const UNITS: usize = 0;
const FILES: usize = 1;
const VALUES: usize = 2;
const FUNCTIONS: usize = 3;
const NAMES: usize = 4;
/// The number of a function's table of inlined calls, as values by place and as data.
const INLINED_VALUES: u32 = 2;
const INLINED_DATA: usize = 3;
const FUNCTION: usize = 44;
const INLINED_CALL: usize = 16;
const MOST_INLINED: usize = 32;

impl GoLines {
    /// Reads the tables of a file; `None` if it is not a Go program of a known layout.
    pub fn read(elf: &Elf) -> Option<Self> {
        let section = elf.section(TABLE)?;
        let table = elf.bytes(section)?;
        // The numbers of Go 1.20 and later; instructions have any size, and pointers eight bytes.
        const MAGIC: u32 = 0xffff_fff1;
        (u32_at(&table, 0)? == MAGIC && table.get(7) == Some(&8)).then_some(())?;
        let word = |place: usize| usize::try_from(u64_at(&table, 8 + 8 * place)?).ok();
        let offsets = [word(4)?, word(5)?, word(6)?, word(7)?, word(3)?];
        let text = elf.section(".text")?.address;
        let base = [".go.module", ".noptrdata", ".data"].iter().find_map(|name| {
            let module = elf.bytes(elf.section(name)?)?;
            base(&module, section.address, section.address + offsets[NAMES] as u64, text)
        })?;
        // From Go 1.26 on, the data are behind the table; before, among the constants.
        let within = |name: &str| {
            let of = elf.section(name)?;
            let at = usize::try_from(base.checked_sub(of.address)?).ok()?;
            (base < of.address + of.size).then_some((elf.bytes(of)?, at))
        };
        let (data, base) = within(TABLE).or_else(|| within(".rodata"))?;
        Some(Self { table, text, data, base, offsets })
    }

    /// Returns `file:line` of an address, in the function that has it.
    pub fn source(&self, own: u64) -> Option<String> {
        let mut place = u32::try_from(own.checked_sub(self.text)?).ok()?;
        let function = self.function(place)?;
        let begin = u32_at(function, 0)?;
        let tables = u32_at(function, 28)?;
        let inlined = (tables > INLINED_VALUES).then(|| u32_at(function, FUNCTION + 4 * INLINED_VALUES as usize));
        let inlined = inlined.flatten();
        let data = FUNCTION + 4 * (tables as usize + INLINED_DATA);
        let calls =
            function.get(43).filter(|count| usize::from(**count) > INLINED_DATA).and_then(|_| u32_at(function, data));
        for _ in 0..MOST_INLINED {
            let call = inlined.and_then(|table| usize::try_from(self.value(table, begin, place)?).ok());
            let Some((call, calls)) = call.zip(calls.filter(|calls| *calls != u32::MAX)) else { break };
            let call = self.base.checked_add(calls as usize)?.checked_add(call.checked_mul(INLINED_CALL)?)?;
            place = begin.checked_add(u32_at(&self.data, call.checked_add(8)?)?)?;
        }
        let file = self.value(u32_at(function, 20)?, begin, place)?;
        let line = self.value(u32_at(function, 24)?, begin, place)?;
        let unit = u32_at(function, 32)?.checked_add_signed(file)? as usize;
        let file = u32_at(&self.table, self.offsets[UNITS].checked_add(unit.checked_mul(4)?)?)?;
        let file = text(self.table.get(self.offsets[FILES]..)?, file)?;
        Some(format!("{}:{line}", String::from_utf8_lossy(file)))
    }

    /// Returns the function that has a place, as it is in the table.
    fn function(&self, place: u32) -> Option<&[u8]> {
        const ENTRY: usize = 8;
        let functions = self.table.get(self.offsets[FUNCTIONS]..)?;
        let count = usize::try_from(u64_at(&self.table, 8)?).ok()?.min(functions.len() / ENTRY);
        let begin = |number: usize| u32_at(functions, number * ENTRY);
        let (mut low, mut high) = (0, count);
        // It ends: the range is halved.
        while low < high {
            let middle = usize::midpoint(low, high);
            if begin(middle)? <= place { low = middle + 1 } else { high = middle }
        }
        let details = u32_at(functions, low.checked_sub(1)? * ENTRY + 4)?;
        functions.get(details as usize..)
    }

    /// Returns the value of a table at a place: differences of values and of places, each with seven bits a byte.
    fn value(&self, table: u32, begin: u32, place: u32) -> Option<i32> {
        (table != 0).then_some(())?;
        let mut rest = self.table.get(self.offsets[VALUES].checked_add(table as usize)?..)?.iter();
        let mut number = || {
            let mut number = 0_u32;
            for shift in (0..32).step_by(7) {
                let byte = *rest.next()?;
                number |= u32::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            Some(number)
        };
        let (mut value, mut end, mut is_first) = (-1_i32, begin, true);
        // It ends: each number takes a byte of the table or more.
        loop {
            let change = number()?;
            if change == 0 && !is_first {
                return None;
            }
            is_first = false;
            // The lowest bit is the sign.
            value = value.wrapping_add((change >> 1) as i32 ^ -((change & 1) as i32));
            end = end.checked_add(number()?)?;
            if place < end {
                return Some(value);
            }
        }
    }
}

/// Finds the runtime's description of the program in some data, and in it the address that the data of functions count from.
fn base(module: &[u8], table: u64, names: u64, text: u64) -> Option<u64> {
    const TEXT: usize = 8 * 22;
    const BASE: usize = 8 * 40;
    let is_begin = |at: &usize| {
        let word = |place: usize| u64_at(module, at + place);
        [word(0), word(8), word(TEXT)] == [Some(table), Some(names), Some(text)]
    };
    let begin = (0..module.len()).step_by(8).find(is_begin)?;
    u64_at(module, begin + BASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One function at 0x10, with a call at 8 that was inlined at 4.
    fn lines() -> GoLines {
        let mut table = vec![0; 8];
        table.extend(1_u64.to_le_bytes());
        let offsets = [16, 20, 40, 80, 0];
        // The files of the unit; the name of the file.
        table.extend(0_u32.to_le_bytes());
        table.extend(b"/src/store.go\0");
        table.resize(40, 0);
        // Value 0 up to 32; lines 7 up to 8, 99 up to 32; inlined: none up to 8, call 0 up to 32.
        table.extend([0xff, 2, 32, 0, 16, 8, 0xb8, 1, 24, 0, 0, 8, 2, 24, 0]);
        table.resize(80, 0);
        table.extend([0x10_u32, 16, 0x30, 0].iter().flat_map(|word| word.to_le_bytes()));
        // The begin, four words, the tables of files and of lines, three of values, the unit, a line, and the counts.
        let words = [0x10_u32, 0, 0, 0, 0, 1, 4, 3, 0, 1, 0x0400_0000, 0, 0, 10, 0, 0, 0, 0];
        table.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let data = [0_u32, 0, 4, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        GoLines { table, text: 0x1000, data, base: 0, offsets }
    }

    #[test]
    fn inlined_place_has_the_line_of_its_call() {
        let lines = lines();
        assert_eq!(lines.source(0x1012).as_deref(), Some("/src/store.go:7"));
        assert_eq!(lines.source(0x101a).as_deref(), Some("/src/store.go:7"), "of the call, and not 99");
        assert_eq!((lines.source(0x1000), lines.source(0xfff)), (None, None));
    }

    #[test]
    fn broken_tables_have_no_lines() {
        let whole = lines();
        for length in 0..whole.table.len() {
            let broken = GoLines { table: whole.table[..length].to_vec(), data: Vec::new(), ..lines() };
            let _ = broken.source(0x101a);
        }
    }

    #[test]
    fn description_is_found_by_its_addresses() {
        let mut words = vec![0_u64; 60];
        (words[3], words[4], words[25], words[43]) = (0x500, 0x540, 0x100, 0x700);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(base(&bytes, 0x500, 0x540, 0x100), Some(0x700));
        assert_eq!(base(&bytes, 0x500, 0x540, 0x101), None);
    }
}
