//! The frame of a function at one of its calls, from the tables that compilers make for exceptions (`.eh_frame`).
//!
//! Only what most functions have is understood: the frame's end is at a fixed distance of the stack pointer or of the
//! frame pointer, and the caller's frame pointer is the same, or is kept in the frame. Any other frame is not known. The
//! tables are found by `_dl_find_object`, which takes no lock: the loader may hold its own in this very call.

use crate::preload::next::{FIND_OBJECT, NOT_LOOKED_UP};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

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

/// The result of `_dl_find_object`: `struct dl_find_object` on machines with one kind of table.
#[repr(C)]
#[derive(Default)]
struct Object {
    flags: u64,
    begins: usize,
    ends: usize,
    link_map: usize,
    tables: usize,
    reserved: [u64; 7],
}

/// Returns whether frames can be looked up: not before the C library's functions are.
pub fn is_ready() -> bool {
    FIND_OBJECT.load(Relaxed) != NOT_LOOKED_UP
}

/// Returns the frame of the function to which a call returns at this address; `None` where it is not known.
pub fn frame(returns_to: usize) -> Option<Frame> {
    let function = FIND_OBJECT.load(Relaxed);
    if function.is_null() || !is_ready() {
        return None;
    }
    // SAFETY: the pointer is that of the C library's function, which has this type.
    let find: unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int = unsafe { core::mem::transmute(function) };
    let mut object = Object::default();
    // The call itself is before the address: it may be the last instruction of its function.
    let at = returns_to - 1;
    // SAFETY: `object` is a structure of the shape that the function fills.
    let is_found = unsafe { find(at as *mut c_void, &raw mut object) } == 0;
    if !is_found || object.tables == 0 {
        return None;
    }
    // SAFETY: the loader mapped the tables with the object, which contains a function that is being executed.
    unsafe { frame_in(object.tables, at) }
}

/// A pointer into tables.
struct Cursor(usize);

impl Cursor {
    /// Reads a value and moves behind it.
    ///
    /// # Safety
    /// The cursor is within tables that were made by a compiler.
    unsafe fn next<T: Copy>(&mut self) -> T {
        // SAFETY: by this function's contract; the tables have no alignment.
        let value = unsafe { (self.0 as *const T).read_unaligned() };
        self.0 += size_of::<T>();
        value
    }

    /// Reads an unsigned number of variable length.
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn unsigned(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            // SAFETY: by this function's contract.
            let byte: u8 = unsafe { self.next() };
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }

    /// Reads a signed number of variable length.
    ///
    /// # Safety
    /// As for `next`.
    unsafe fn signed(&mut self) -> i64 {
        let (mut value, mut shift) = (0_i64, 0);
        loop {
            // SAFETY: by this function's contract.
            let byte: u8 = unsafe { self.next() };
            value |= i64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte & 0x80 == 0 {
                let is_negative = byte & 0x40 != 0 && shift < 64;
                return if is_negative { value | -1 << shift } else { value };
            }
        }
    }
}

/// The encoding of signed 32-bit numbers that are relative to their own place, and to the beginning of the index.
const RELATIVE: u8 = 0x1b;
const RELATIVE_TO_INDEX: u8 = 0x3b;
/// That of unsigned 32-bit numbers.
const NUMBER: u8 = 0x03;

/// Searches the index of the tables (`.eh_frame_hdr`) for the function that contains an address.
///
/// # Safety
/// The index is that of a loaded object.
unsafe fn frame_in(index: usize, at: usize) -> Option<Frame> {
    let mut cursor = Cursor(index);
    // SAFETY: by this function's contract, it begins with four bytes and the two numbers that they describe.
    let (header, _, count) = unsafe { (cursor.next::<[u8; 4]>(), cursor.next::<i32>(), cursor.next::<u32>()) };
    if header != [1, RELATIVE, NUMBER, RELATIVE_TO_INDEX] || count == 0 {
        return None;
    }
    let table = cursor.0 as *const [i32; 2];
    let from_index = |offset: i32| index.wrapping_add_signed(offset as isize);
    // SAFETY: the table has `count` entries, and only smaller numbers are passed.
    let entry = |number: usize| unsafe { table.add(number).read_unaligned() };
    // The last function that begins at the address or before.
    let (mut first, mut end) = (0, count as usize);
    while first < end {
        let middle = first + (end - first) / 2;
        if from_index(entry(middle)[0]) <= at { first = middle + 1 } else { end = middle }
    }
    let found = from_index(entry(first.checked_sub(1)?)[1]);
    // SAFETY: the table has the address of the description of each function.
    unsafe { frame_of(found, at) }
}

/// The registers' numbers in the tables.
const FRAME_POINTER: u64 = 6;
const STACK_POINTER: u64 = 7;
const RETURN_ADDRESS: u64 = 16;

/// Reads the description of a function (FDE).
///
/// # Safety
/// There is one at the address.
unsafe fn frame_of(description: usize, at: usize) -> Option<Frame> {
    let mut cursor = Cursor(description);
    // SAFETY: it begins with its length and the distance of what it has in common with others (CIE).
    let (length, back) = unsafe { (cursor.next::<u32>(), cursor.next::<u32>()) };
    if length == u32::MAX || length < 4 || back == 0 {
        return None;
    }
    let end = description + 4 + length as usize;
    // SAFETY: the distance is that of a CIE, from the word that contains it.
    let common = unsafe { Common::read(description + 4 - back as usize)? };
    let place = cursor.0;
    // SAFETY: the function's first address and its length follow; `Common` says how they are written.
    let (first, size) = unsafe { (cursor.next::<i32>(), cursor.next::<i32>()) };
    let first = place.wrapping_add_signed(first as isize);
    if !(first..first.wrapping_add(size as usize)).contains(&at) {
        return None;
    }
    if common.has_augmentation {
        // SAFETY: the length of further data follows, and then the data.
        let further = unsafe { cursor.unsigned() };
        cursor.0 += further as usize;
    }
    let mut rules = Rules::default();
    // SAFETY: the common instructions and those of the function are in these ranges.
    unsafe {
        rules.run(common.instructions.0..common.instructions.1, &common, first, usize::MAX)?;
        rules.run(cursor.0..end, &common, first, at)?;
    }
    rules.frame()
}

/// The common part of several descriptions (CIE).
struct Common {
    code_unit: u64,
    data_unit: i64,
    has_augmentation: bool,
    instructions: (usize, usize),
}

impl Common {
    /// # Safety
    /// There is one at the address.
    unsafe fn read(address: usize) -> Option<Self> {
        let mut cursor = Cursor(address);
        // SAFETY: by this function's contract; a CIE has these parts in this order.
        unsafe {
            let (length, number, version): (u32, u32, u8) = (cursor.next(), cursor.next(), cursor.next());
            if length == u32::MAX || number != 0 || version != 1 {
                return None;
            }
            let (mut letters, mut has_letters) = ([0_u8; 8], 0);
            loop {
                let letter: u8 = cursor.next();
                if letter == 0 {
                    break;
                }
                *letters.get_mut(has_letters)? = letter;
                has_letters += 1;
            }
            let (code_unit, data_unit) = (cursor.unsigned(), cursor.signed());
            if u64::from(cursor.next::<u8>()) != RETURN_ADDRESS {
                return None;
            }
            let mut pointers = 0;
            let has_augmentation = letters[0] == b'z';
            if has_augmentation {
                let further = cursor.unsigned() as usize;
                let behind = cursor.0 + further;
                for letter in &letters[1..has_letters] {
                    match letter {
                        b'R' => pointers = cursor.next(),
                        b'L' => _ = cursor.next::<u8>(),
                        // A pointer to a function, of four bytes or eight.
                        b'P' => cursor.0 += if cursor.next::<u8>() & 7 == 3 { 4 } else { 8 },
                        // A signal's frame, or something unknown.
                        _ => return None,
                    }
                }
                cursor.0 = behind;
            }
            let end = address + 4 + length as usize;
            (pointers == RELATIVE).then_some(Self {
                code_unit,
                data_unit,
                has_augmentation,
                instructions: (cursor.0, end),
            })
        }
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
    /// Follows instructions up to those that hold from a later address on; `None` for one that is not understood.
    ///
    /// # Safety
    /// The range contains the instructions of a description.
    unsafe fn run(&mut self, range: core::ops::Range<usize>, common: &Common, first: usize, at: usize) -> Option<()> {
        let (mut cursor, mut location) = (Cursor(range.start), first);
        let is_common = at == usize::MAX;
        while cursor.0 < range.end {
            // SAFETY: by this function's contract, there is an instruction, and its operands follow.
            unsafe {
                let code: u8 = cursor.next();
                let operand = u64::from(code & 0x3f);
                let mut advance = None;
                match (code >> 6, code & 0x3f) {
                    (1, _) => advance = Some(operand),
                    (2, _) => {
                        let offset = cursor.unsigned() as i64;
                        self.keep(operand, offset * common.data_unit)?;
                    }
                    (3, _) => self.restore(operand),
                    // No operation.
                    (_, 0x00) => {}
                    (_, 0x02) => advance = Some(cursor.next::<u8>().into()),
                    (_, 0x03) => advance = Some(cursor.next::<u16>().into()),
                    (_, 0x04) => advance = Some(cursor.next::<u32>().into()),
                    // A register that is kept, is restored, or is not kept.
                    (_, 0x05) => {
                        let (register, offset) = (cursor.unsigned(), cursor.unsigned() as i64);
                        self.keep(register, offset * common.data_unit)?;
                    }
                    (_, 0x06) => {
                        let register = cursor.unsigned();
                        self.restore(register);
                    }
                    (_, 0x08) if cursor.unsigned() == FRAME_POINTER => self.now.frame_pointer = 0,
                    (_, 0x08) => {}
                    (_, 0x0a) => {
                        *self.kept.get_mut(self.depth)? = self.now;
                        self.depth += 1;
                    }
                    (_, 0x0b) => {
                        self.depth = self.depth.checked_sub(1)?;
                        self.now = self.kept[self.depth];
                    }
                    (_, 0x0c) => (self.now.register, self.now.end) = (cursor.unsigned(), cursor.unsigned() as i64),
                    (_, 0x0d) => self.now.register = cursor.unsigned(),
                    (_, 0x0e) => self.now.end = cursor.unsigned() as i64,
                    // The size of arguments, which changes no frame.
                    (_, 0x2e) => _ = cursor.unsigned(),
                    _ => return None,
                }
                if let Some(units) = advance {
                    location += (units * common.code_unit) as usize;
                    if location > at {
                        break;
                    }
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
        let below = u32::try_from(-self.now.frame_pointer).ok()?;
        Some(Frame { is_by_frame_pointer, end: u32::try_from(self.now.end).ok()?, frame_pointer_below: below })
    }
}
