//! The frame of a function at one of its calls, from the tables that compilers make for exceptions (`.eh_frame`), by
//! their bytes alone.
//!
//! Only what most functions have is understood: the frame's end is at a fixed distance of the stack pointer or of the
//! frame pointer, and the caller's frame pointer is the same, or is kept in the frame. Any other frame is not known.
//!
//! A program may never look into its tables, so they may be damaged. They are read as the bytes of the segment that
//! contains them, and no further.

use core::ops::Range;

/// The frame of the function that called, by the address to which the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether the distance counts from the frame pointer, and not from the stack pointer after the call.
    pub is_by_frame_pointer: bool,
    /// The distance of the frame's end, below which the return address is.
    pub end: u32,
    /// The distance below the end of the caller's frame pointer, or 0 where that is unchanged.
    pub frame_pointer_below: u32,
}

/// The bytes of an object's file that were mapped in one piece, and the address of the first.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    begins: usize,
    bytes: &'a [u8],
}

/// The size of a page, in which an object has its header, and of the headers of its segments.
const PAGE: usize = 4096;
const HEADER_OF_SEGMENT: usize = 56;
const LOADED: u32 = 1;
const READABLE: u32 = 4;

impl Segment<'static> {
    /// Returns the readable segment of a loaded object that contains an address. The object's first page has its
    /// header and those of its segments: others are not looked at.
    pub fn of(object: Range<usize>, address: usize) -> Option<Self> {
        if object.len() < PAGE {
            return None;
        }
        // SAFETY: the loader mapped the object's file from its first page on; it is never unloaded while it is called.
        let first = Segment { begins: object.start, bytes: unsafe { bytes(object.start, PAGE) } };
        let found = first.segment(object, address)?;
        // SAFETY: the loader mapped this part of the object by the header that says so, and it can be read.
        Some(Segment { begins: found.start, bytes: unsafe { bytes(found.start, found.len()) } })
    }
}

/// # Safety
/// The memory is mapped, can be read, and stays so.
unsafe fn bytes(from: usize, length: usize) -> &'static [u8] {
    // SAFETY: by this function's contract.
    unsafe { core::slice::from_raw_parts(from as *const u8, length) }
}

impl<'a> Segment<'a> {
    /// Returns where the readable segment is that contains an address; this is an object's first page.
    fn segment(self, object: Range<usize>, address: usize) -> Option<Range<usize>> {
        let at = |offset: usize| Cursor { segment: self, place: offset };
        if !self.bytes.starts_with(b"\x7fELF\x02") {
            return None;
        }
        let (headers, size, count) =
            (at(32).next::<u64>()? as usize, usize::from(at(54).next::<u16>()?), at(56).next::<u16>()?);
        if size != HEADER_OF_SEGMENT {
            return None;
        }
        let mut moved_by = None;
        for number in 0..usize::from(count) {
            let header = |field: usize| at(headers.wrapping_add(number * size).wrapping_add(field));
            let (kind, flags) = (header(0).next::<u32>()?, header(4).next::<u32>()?);
            let (begins, in_file) = (header(16).next::<u64>()? as usize, header(32).next::<u64>()? as usize);
            if kind != LOADED {
                continue;
            }
            // The first segment is the one with the header, and the object begins with its page.
            let moved_by = *moved_by.get_or_insert(object.start.wrapping_sub(begins & !(PAGE - 1)));
            let begins = begins.wrapping_add(moved_by);
            let ends = begins.checked_add(in_file)?;
            if flags & READABLE != 0 && (begins..ends).contains(&address) {
                return (begins >= object.start && ends <= object.end).then_some(begins..ends);
            }
        }
        None
    }

    /// Returns a cursor at an address.
    fn at(self, address: usize) -> Cursor<'a> {
        Cursor { segment: self, place: address.wrapping_sub(self.begins) }
    }
}

/// A place in a segment.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    segment: Segment<'a>,
    place: usize,
}

/// A number of the tables, which has no alignment there.
trait Number: Sized {
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            #[inline]
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_ne_bytes)
            }
        }
    )*};
}
numbers!(u8, u16, u32, i32, u64);

impl Cursor<'_> {
    /// Reads a value and moves behind it; `None` outside of the segment.
    fn next<T: Number>(&mut self) -> Option<T> {
        let end = self.place.checked_add(size_of::<T>())?;
        let value = T::from_bytes(self.segment.bytes.get(self.place..end)?)?;
        self.place = end;
        Some(value)
    }

    fn skip(&mut self, length: usize) {
        self.place = self.place.saturating_add(length);
    }

    /// Returns the address that it is at.
    fn address(&self) -> usize {
        self.segment.begins.wrapping_add(self.place)
    }

    /// Reads a number of variable length, and the number of its bits.
    fn variable(&mut self) -> Option<(u64, u32)> {
        let (mut value, mut bits) = (0, 0);
        loop {
            let byte: u8 = self.next()?;
            value |= u64::from(byte & 0x7f).checked_shl(bits)?;
            bits += 7;
            if byte & 0x80 == 0 {
                return Some((value, bits));
            }
        }
    }

    /// Reads an unsigned number of variable length.
    fn unsigned(&mut self) -> Option<u64> {
        Some(self.variable()?.0)
    }

    /// Reads a signed number of variable length.
    fn signed(&mut self) -> Option<i64> {
        let (value, bits) = self.variable()?;
        let unused = u64::BITS.saturating_sub(bits);
        Some((value << unused).cast_signed() >> unused)
    }
}

/// The encoding of signed 32-bit numbers that are relative to their own place, and to the beginning of the index.
const RELATIVE: u8 = 0x1b;
const RELATIVE_TO_INDEX: u8 = 0x3b;
/// That of unsigned 32-bit numbers.
const NUMBER: u8 = 0x03;
/// The largest description of a function: a longer one is not followed.
const LONGEST: usize = 1 << 16;

impl Segment<'_> {
    /// Searches the index of the tables (`.eh_frame_hdr`) for the function that contains an address.
    pub fn frame_in(self, index: usize, at: usize) -> Option<Frame> {
        let mut cursor = self.at(index);
        let encodings: u32 = cursor.next()?;
        cursor.next::<i32>()?;
        let count: u32 = cursor.next()?;
        if encodings != u32::from_ne_bytes([1, RELATIVE, NUMBER, RELATIVE_TO_INDEX]) {
            return None;
        }
        // The entry of this number: the beginning of a function, and its description.
        let entry = |number: usize| {
            let mut entry = cursor;
            entry.skip(number.checked_mul(8)?);
            let mut address = || Some(index.wrapping_add_signed(entry.next::<i32>()? as isize));
            Some((address()?, address()?))
        };
        // The last function that begins at the address or before.
        let (mut first, mut end) = (0, count as usize);
        while first < end {
            let middle = first + (end - first) / 2;
            if entry(middle)?.0 <= at { first = middle + 1 } else { end = middle }
        }
        self.frame_of(entry(first.checked_sub(1)?)?.1, at)
    }

    /// Reads the description of a function (FDE).
    fn frame_of(self, description: usize, at: usize) -> Option<Frame> {
        let mut cursor = self.at(description);
        // It begins with its length and the distance of what it has in common with others (CIE).
        let length = cursor.next::<u32>()? as usize;
        let (place, back) = (cursor.address(), cursor.next::<u32>()?);
        if !(4..LONGEST).contains(&length) || back == 0 {
            return None;
        }
        let end = place - self.begins + length;
        let common = Common::read(self.at(place.wrapping_sub(back as usize)))?;
        // The function's first address and its length follow; `Common` says how they are written.
        let (place, first, size) = (cursor.address(), cursor.next::<i32>()?, cursor.next::<i32>()?);
        let first = place.wrapping_add_signed(first as isize);
        if !(first..first.wrapping_add(size as usize)).contains(&at) {
            return None;
        }
        if common.has_augmentation {
            // The length of further data follows, and then the data.
            let further = cursor.unsigned()?;
            cursor.skip(usize::try_from(further).ok()?);
        }
        let mut rules = Rules::default();
        rules.run(common.instructions, common.end, &common, first, usize::MAX)?;
        rules.run(cursor, end, &common, first, at)?;
        rules.frame()
    }
}

/// The registers' numbers in the tables.
const FRAME_POINTER: u64 = 6;
const STACK_POINTER: u64 = 7;
const RETURN_ADDRESS: u64 = 16;

/// The common part of several descriptions (CIE).
struct Common<'a> {
    code_unit: u64,
    data_unit: i64,
    has_augmentation: bool,
    instructions: Cursor<'a>,
    /// The place behind the instructions.
    end: usize,
}

impl<'a> Common<'a> {
    fn read(mut cursor: Cursor<'a>) -> Option<Self> {
        let length = cursor.next::<u32>()? as usize;
        let end = cursor.place.checked_add(length)?;
        let (number, version): (u32, u8) = (cursor.next()?, cursor.next()?);
        if length >= LONGEST || number != 0 || version != 1 {
            return None;
        }
        let (mut letters, mut has_letters) = ([0_u8; 8], 0);
        loop {
            let letter: u8 = cursor.next()?;
            if letter == 0 {
                break;
            }
            *letters.get_mut(has_letters)? = letter;
            has_letters += 1;
        }
        let (code_unit, data_unit) = (cursor.unsigned()?, cursor.signed()?);
        if u64::from(cursor.next::<u8>()?) != RETURN_ADDRESS {
            return None;
        }
        let mut pointers = 0;
        let has_augmentation = letters[0] == b'z';
        if has_augmentation {
            let further = usize::try_from(cursor.unsigned()?).ok()?;
            let mut behind = cursor;
            behind.skip(further);
            for letter in letters.get(1..has_letters)? {
                match letter {
                    b'R' => pointers = cursor.next()?,
                    b'L' => _ = cursor.next::<u8>()?,
                    // A pointer to a function, of four bytes or eight.
                    b'P' => {
                        let is_short = cursor.next::<u8>()? & 7 == 3;
                        cursor.skip(if is_short { 4 } else { 8 });
                    }
                    // A signal's frame, or something unknown.
                    _ => return None,
                }
            }
            cursor = behind;
        }
        (pointers == RELATIVE).then_some(Self { code_unit, data_unit, has_augmentation, instructions: cursor, end })
    }
}

/// Where the frame ends, and where the caller's frame pointer is.
#[derive(Clone, Copy, Default)]
struct Rule {
    register: u64,
    end: i64,
    /// The place of the caller's frame pointer, from the end; 0 where it is unchanged.
    frame_pointer: i64,
}

#[derive(Default)]
struct Rules {
    now: Rule,
    initial: Rule,
    kept: [Rule; 4],
    depth: usize,
}

impl Rules {
    /// Follows instructions up to this place, or to those that hold from a later address on; `None` for one that is not
    /// understood.
    fn run(&mut self, from: Cursor<'_>, end: usize, common: &Common<'_>, first: usize, at: usize) -> Option<()> {
        let (mut cursor, mut location) = (from, first);
        let is_common = at == usize::MAX;
        while cursor.place < end {
            let code: u8 = cursor.next()?;
            let operand = u64::from(code & 0x3f);
            let mut advance = None;
            match (code >> 6, code & 0x3f) {
                (1, _) => advance = Some(operand),
                (2, _) => {
                    let offset = cursor.unsigned()? as i64;
                    self.keep(operand, offset.wrapping_mul(common.data_unit))?;
                }
                (3, _) => self.restore(operand),
                // No operation.
                (_, 0x00) => {}
                (_, 0x02) => advance = Some(cursor.next::<u8>()?.into()),
                (_, 0x03) => advance = Some(cursor.next::<u16>()?.into()),
                (_, 0x04) => advance = Some(cursor.next::<u32>()?.into()),
                // A register that is kept, is restored, or is not kept.
                (_, 0x05) => {
                    let (register, offset) = (cursor.unsigned()?, cursor.unsigned()? as i64);
                    self.keep(register, offset.wrapping_mul(common.data_unit))?;
                }
                (_, 0x06) => {
                    let register = cursor.unsigned()?;
                    self.restore(register);
                }
                (_, 0x08) => {
                    if cursor.unsigned()? == FRAME_POINTER {
                        self.now.frame_pointer = 0;
                    }
                }
                (_, 0x0a) => {
                    *self.kept.get_mut(self.depth)? = self.now;
                    self.depth += 1;
                }
                (_, 0x0b) => {
                    self.depth = self.depth.checked_sub(1)?;
                    self.now = *self.kept.get(self.depth)?;
                }
                (_, 0x0c) => (self.now.register, self.now.end) = (cursor.unsigned()?, cursor.unsigned()? as i64),
                (_, 0x0d) => self.now.register = cursor.unsigned()?,
                (_, 0x0e) => self.now.end = cursor.unsigned()? as i64,
                // The size of arguments, which changes no frame.
                (_, 0x2e) => _ = cursor.unsigned()?,
                _ => return None,
            }
            if let Some(units) = advance {
                location = location.wrapping_add(units.wrapping_mul(common.code_unit) as usize);
                if location > at {
                    break;
                }
            }
        }
        if is_common {
            self.initial = self.now;
        }
        Some(())
    }

    /// Notes where a register is kept; `None` for a return address that is not below the frame's end.
    fn keep(&mut self, register: u64, offset: i64) -> Option<()> {
        match register {
            RETURN_ADDRESS if offset != -8 => return None,
            FRAME_POINTER => self.now.frame_pointer = offset,
            _ => {}
        }
        Some(())
    }

    fn restore(&mut self, register: u64) {
        if register == FRAME_POINTER {
            self.now.frame_pointer = self.initial.frame_pointer;
        }
    }

    fn frame(&self) -> Option<Frame> {
        let is_by_frame_pointer = match self.now.register {
            STACK_POINTER => false,
            FRAME_POINTER => true,
            _ => return None,
        };
        let below = u32::try_from(self.now.frame_pointer.wrapping_neg()).ok()?;
        Some(Frame { is_by_frame_pointer, end: u32::try_from(self.now.end).ok()?, frame_pointer_below: below })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of three functions, from a compiler, that were linked to this address.
    const ADDRESS: usize = 0x2000;
    const TABLES: &str = "011b033b240000000300000000f0ffff400000000ef0ffff540000003df0ffff74000000000000001400000000000000\
         017a5200017810011b0c070890010000100000001c000000b8efffff0e000000000000001c00000030000000b2efffff\
         2f00000000410e108602430d066a0c07080000001000000050000000c1efffff0400000000000000";
    /// An address within each function, and its frame.
    const FRAMES: [(usize, bool, u32, u32); 4] =
        [(0x1005, false, 8, 0), (0x100e, false, 8, 0), (0x1020, true, 16, 16), (0x103f, false, 8, 0)];

    fn tables() -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(&TABLES[at..at + 2], 16).unwrap();
        (0..TABLES.len()).step_by(2).map(digit).collect()
    }

    fn frame(tables: &[u8], index: usize, at: usize) -> Option<Frame> {
        Segment { begins: ADDRESS, bytes: tables }.frame_in(index, at)
    }

    #[test]
    fn frames_are_those_of_the_tables() {
        for (at, is_by_frame_pointer, end, frame_pointer_below) in FRAMES {
            let expected = Frame { is_by_frame_pointer, end, frame_pointer_below };
            assert_eq!(frame(&tables(), ADDRESS, at), Some(expected), "{at:#x}");
        }
        assert_eq!(frame(&tables(), ADDRESS, 0x1041), None);
    }

    #[test]
    fn damaged_tables_have_a_frame_or_none() {
        let whole = tables();
        let look = |tables: &[u8]| FRAMES.map(|(at, ..)| frame(tables, ADDRESS, at));
        for place in 0..whole.len() {
            for value in (0..=u8::MAX).filter(|value| *value != whole[place]) {
                let mut damaged = whole.clone();
                damaged[place] = value;
                look(&damaged);
                // And the numbers of four bytes, the largest of which end beyond all addresses.
                damaged[place..].iter_mut().take(4).for_each(|byte| *byte = value);
                look(&damaged);
            }
            look(&whole[..place]);
        }
        for index in [0, ADDRESS - 1, ADDRESS + 1, ADDRESS + whole.len(), usize::MAX] {
            assert_eq!(frame(&whole, index, 0x1005), None);
        }
    }

    /// Returns the first page of an object with these segments: flags, address, and bytes in the file.
    fn first_page(segments: &[(u32, u64, u64)]) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        page[..5].copy_from_slice(b"\x7fELF\x02");
        page[32..40].copy_from_slice(&64_u64.to_ne_bytes());
        page[54..56].copy_from_slice(&56_u16.to_ne_bytes());
        page[56..58].copy_from_slice(&(segments.len() as u16).to_ne_bytes());
        for (number, (flags, address, in_file)) in segments.iter().enumerate() {
            let header = &mut page[64 + 56 * number..];
            header[..4].copy_from_slice(&LOADED.to_ne_bytes());
            header[4..8].copy_from_slice(&flags.to_ne_bytes());
            header[16..24].copy_from_slice(&address.to_ne_bytes());
            header[32..40].copy_from_slice(&in_file.to_ne_bytes());
        }
        page
    }

    #[test]
    fn tables_are_read_in_readable_segments_only() {
        const OBJECT: Range<usize> = 0x7000_0000..0x7000_5000;
        let found = |segments: &[(u32, u64, u64)], address: usize| {
            Segment { begins: OBJECT.start, bytes: &first_page(segments) }.segment(OBJECT, address)
        };
        let ordinary = [(READABLE, 0, 0x300), (READABLE | 1, 0x1000, 0x41), (READABLE, 0x2000, 0x88)];
        assert_eq!(found(&ordinary, 0x7000_2010), Some(0x7000_2000..0x7000_2088));
        // Behind what is in the file, in a hole, and without permission.
        assert_eq!(found(&ordinary, 0x7000_2088), None);
        assert_eq!(found(&ordinary, 0x7000_1800), None);
        assert_eq!(found(&[(READABLE, 0, 0x300), (1, 0x2000, 0x88)], 0x7000_2010), None);
        // An object at a fixed address, and segments beyond the object and beyond all addresses.
        assert_eq!(found(&[(READABLE, 0x7000_0000, 0x300)], 0x7000_0010), Some(0x7000_0000..0x7000_0300));
        assert_eq!(found(&[(READABLE, 0, 0x300), (READABLE, 0x2000, 0x9000)], 0x7000_2010), None);
        assert_eq!(found(&[(READABLE, 0, 0x300), (READABLE, 0x2000, u64::MAX)], 0x7000_2010), None);
        let mut damaged = first_page(&ordinary);
        for place in 0..256 {
            for value in 0..=u8::MAX {
                let before = std::mem::replace(&mut damaged[place], value);
                let found = Segment { begins: OBJECT.start, bytes: &damaged }.segment(OBJECT, 0x7000_2010);
                assert!(found.is_none_or(|found| OBJECT.start <= found.start && found.end <= OBJECT.end));
                damaged[place] = before;
            }
        }
    }
}
