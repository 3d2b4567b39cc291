//! Decoding of the x86-64 instruction that has just accessed a watched word.
//!
//! A data watchpoint stops a thread after the instruction, so its bytes end at the instruction pointer, and its length is
//! not known. Each length is tried. A candidate counts if its bytes are an instruction of exactly that length and its
//! operand, computed from the registers, contains the watched word. The longest one counts, since prefixes come first.

/// Registers of a thread after the access.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Registers {
    /// `rax`, `rcx`, `rdx`, `rbx`, `rsp`, `rbp`, `rsi`, `rdi`, `r8` to `r15`: the order of the instructions' encoding.
    pub general: [u64; 16],
    pub instruction: u64,
    pub flags: u64,
}

/// The effect of an instruction on the watched word, as far as the instruction and the registers show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A load or a comparison.
    Read,
    /// A store; the value is unknown if it was computed.
    Store { value: Option<u64> },
    /// A compare-and-swap that found another value.
    Failed { found: u64 },
    /// A compare-and-swap that succeeded.
    Swapped { old: u64, new: u64 },
    /// An exchange with a register.
    Exchange { old: u64 },
    /// An exchange-and-add: the value before it.
    FetchAdd { old: u64 },
    /// A bit test that set the bit.
    SetBit { was_set: bool },
    /// A bit test that cleared the bit.
    ClearBit,
    /// A decrement or subtraction, and whether it reached zero.
    Subtract { is_zero: bool },
    /// Another change of the word.
    Change,
}

/// The longest instruction.
pub const LONGEST: usize = 15;
const CARRY: u64 = 1;
const ZERO: u64 = 1 << 6;

/// Decodes the instruction whose bytes end `code`; `word` is the watched address. `None` if no known instruction fits.
pub fn decode(code: &[u8], registers: &Registers, word: u64) -> Option<Operation> {
    let lengths = || (2..=LONGEST.min(code.len())).rev().map(|length| &code[code.len() - length..]);
    let with = |is_strict| lengths().find_map(|code| instruction(code, registers, word, is_strict));
    with(true).or_else(|| with(false))
}

/// An instruction's prefixes.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    is_locked: bool,
    is_short: bool,
    /// The operand is relative to a segment whose base is unknown.
    has_segment: bool,
    rex: u8,
}

/// Decodes exactly these bytes as one instruction. If `is_strict`, its address must be known and be the word's.
fn instruction(code: &[u8], registers: &Registers, word: u64, is_strict: bool) -> Option<Operation> {
    let (mut at, mut prefixes) = (0, Prefixes::default());
    loop {
        match *code.get(at)? {
            0xf0 => prefixes.is_locked = true,
            0x66 => prefixes.is_short = true,
            0x64 | 0x65 => prefixes.has_segment = true,
            0x2e | 0x36 | 0x3e | 0x26 | 0xf2 | 0xf3 => {}
            _ => break,
        }
        at += 1;
    }
    if let rex @ 0x40..=0x4f = *code.get(at)? {
        (prefixes.rex, at) = (rex, at + 1);
    }
    let is_two_bytes = *code.get(at)? == 0x0f;
    at += usize::from(is_two_bytes);
    let opcode = *code.get(at)?;
    let operand = Operand::parse(code.get(at + 1..)?, registers, prefixes)?;
    let rest = code.get(at + 1 + operand.length..)?;
    let form = Form { opcode, is_two_bytes, operand, prefixes, rest };
    form.operation(registers, word, is_strict)
}

/// The memory operand of an instruction, and the register operand.
struct Operand {
    /// Bytes of the encoding.
    length: usize,
    /// The address; `None` where the segment's base is unknown.
    address: Option<u64>,
    /// The three bits of the register operand, which select the operation in some opcodes.
    digit: u8,
    /// Its number, with the bit of the prefix.
    register: usize,
    /// The numbers of the registers that the address is made of.
    parts: [Option<usize>; 2],
}

impl Operand {
    fn parse(code: &[u8], registers: &Registers, prefixes: Prefixes) -> Option<Self> {
        let modrm = *code.first()?;
        let (mode, digit, low) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
        if mode == 3 {
            return None;
        }
        let extended = |bits: u8, flag: u8| usize::from(bits | if prefixes.rex & flag != 0 { 8 } else { 0 });
        let (mut length, mut parts, mut address) = (1, [None, None], 0_u64);
        let mut has_displacement_only = false;
        if low == 4 {
            let sib = *code.get(1)?;
            length = 2;
            let (scale, index, base) = (sib >> 6, extended(sib >> 3 & 7, 2), sib & 7);
            if index != 4 {
                parts[1] = Some(index);
                address = registers.general[index] << scale;
            }
            has_displacement_only = base == 5 && mode == 0;
            if !has_displacement_only {
                let base = extended(base, 1);
                parts[0] = Some(base);
                address = address.wrapping_add(registers.general[base]);
            }
        } else if low == 5 && mode == 0 {
            address = registers.instruction;
            has_displacement_only = true;
        } else {
            let base = extended(low, 1);
            parts[0] = Some(base);
            address = registers.general[base];
        }
        let wide = mode == 2 || has_displacement_only;
        let displacement = if wide {
            i64::from(i32::from_le_bytes(*code.get(length..)?.first_chunk()?))
        } else if mode == 1 {
            i64::from(*code.get(length)? as i8)
        } else {
            0
        };
        length += if wide { 4 } else { usize::from(mode == 1) };
        let address = (!prefixes.has_segment).then(|| address.wrapping_add_signed(displacement));
        Some(Self { length, address, digit, register: extended(digit, 4), parts })
    }

    /// Returns whether the operand contains a part of the watched word; `None` if its address is unknown.
    fn is_at(&self, word: u64, bytes: u64) -> Option<bool> {
        const LARGEST: u64 = 8;
        let overlaps = |address: u64| address < word.saturating_add(LARGEST) && word < address.saturating_add(bytes);
        self.address.map(overlaps)
    }

    /// Returns whether the address is unknown: it depends on a segment, or the instruction has overwritten its register.
    fn is_lost(&self, overwritten: Option<usize>) -> bool {
        self.address.is_none() || overwritten.is_some() && self.parts.contains(&overwritten)
    }
}

/// An instruction with a memory operand.
struct Form<'a> {
    opcode: u8,
    is_two_bytes: bool,
    operand: Operand,
    prefixes: Prefixes,
    /// The immediate operand.
    rest: &'a [u8],
}

impl Form<'_> {
    fn operation(&self, registers: &Registers, word: u64, is_strict: bool) -> Option<Operation> {
        let (operation, immediate, overwritten) =
            if self.is_two_bytes { self.two_bytes(registers) } else { self.one_byte(registers) }?;
        let is_whole = self.rest.len() == immediate;
        let is_here =
            self.operand.is_at(word, self.bytes()).unwrap_or(false) || !is_strict && self.operand.is_lost(overwritten);
        (is_whole && is_here).then_some(operation)
    }

    /// Bytes of the operand. Opcodes of one byte's operands are even.
    fn bytes(&self) -> u64 {
        match () {
            () if self.opcode & 1 == 0 && !(self.is_two_bytes && matches!(self.opcode, 0x40..=0x4f | 0xba)) => 1,
            () if self.prefixes.rex & 8 != 0 => 8,
            () if self.prefixes.is_short => 2,
            () => 4,
        }
    }

    /// Bytes of an immediate operand that is as long as the operand, or four bytes of an operand of eight.
    fn immediate(&self) -> usize {
        self.bytes().min(4) as usize
    }

    fn masked(&self, value: u64) -> u64 {
        value & u64::MAX >> (64 - 8 * self.bytes())
    }

    /// Returns the register operand's value.
    fn register(&self, registers: &Registers) -> u64 {
        let number = self.operand.register;
        // Without the prefix, the numbers 4 to 7 of one byte are the second bytes of the first four.
        if self.bytes() == 1 && self.prefixes.rex == 0 && number >= 4 {
            return registers.general[number - 4] >> 8 & 0xff;
        }
        self.masked(registers.general[number])
    }

    /// Returns the immediate operand's value.
    fn constant(&self) -> Option<u64> {
        let value = match *self.rest {
            [byte] => i64::from(byte as i8),
            [one, two] => i64::from(i16::from_le_bytes([one, two])),
            [..] => i64::from(i32::from_le_bytes(*self.rest.first_chunk()?)),
        };
        Some(self.masked(value as u64))
    }

    /// Returns the operation, the length of the immediate operand, and the register that the instruction overwrites.
    fn one_byte(&self, registers: &Registers) -> Option<(Operation, usize, Option<usize>)> {
        let subtracted = Operation::Subtract { is_zero: registers.flags & ZERO != 0 };
        let loaded = Some(self.operand.register);
        let digit = self.operand.digit;
        let arithmetic = |digit: u8| match digit {
            7 => Operation::Read,
            5 => subtracted,
            _ => Operation::Change,
        };
        let found = match self.opcode {
            opcode @ 0x00..=0x3f => match opcode & 7 {
                0 | 1 => (arithmetic(opcode >> 3), 0, None),
                2 | 3 => (Operation::Read, 0, loaded),
                _ => return None,
            },
            0x63 | 0x8a | 0x8b => (Operation::Read, 0, loaded),
            0x84 | 0x85 => (Operation::Read, 0, None),
            0x80 => (arithmetic(digit), 1, None),
            0x81 => (arithmetic(digit), self.immediate(), None),
            0x83 => (arithmetic(digit), 1, None),
            0x86 | 0x87 => (Operation::Exchange { old: self.register(registers) }, 0, None),
            0x88 | 0x89 => (Operation::Store { value: Some(self.register(registers)) }, 0, None),
            0xc6 | 0xc7 if digit == 0 => (Operation::Store { value: self.constant() }, self.immediate(), None),
            0xf6 | 0xf7 if digit < 2 => (Operation::Read, self.immediate(), None),
            0xf6 | 0xf7 if digit < 4 => (Operation::Change, 0, None),
            0xfe | 0xff if digit == 0 => (Operation::Change, 0, None),
            0xfe | 0xff if digit == 1 => (subtracted, 0, None),
            _ => return None,
        };
        Some(found)
    }

    /// The same for opcodes of two bytes.
    fn two_bytes(&self, registers: &Registers) -> Option<(Operation, usize, Option<usize>)> {
        let was_set = registers.flags & CARRY != 0;
        let bit = |digit: u8| match digit {
            4 => Some(Operation::Read),
            5 => Some(Operation::SetBit { was_set }),
            6 => Some(Operation::ClearBit),
            7 => Some(Operation::Change),
            _ => None,
        };
        let found = match self.opcode {
            0xb0 | 0xb1 => {
                let accumulator = self.masked(registers.general[0]);
                let operation = if registers.flags & ZERO != 0 {
                    Operation::Swapped { old: accumulator, new: self.register(registers) }
                } else {
                    Operation::Failed { found: accumulator }
                };
                (operation, 0, None)
            }
            0xc0 | 0xc1 => (Operation::FetchAdd { old: self.register(registers) }, 0, None),
            0xa3 => (Operation::Read, 0, None),
            0xab => (bit(5)?, 0, None),
            0xb3 => (bit(6)?, 0, None),
            0xbb => (bit(7)?, 0, None),
            0xba => (bit(self.operand.digit)?, 1, None),
            0x40..=0x4f | 0xb6 | 0xb7 | 0xbe | 0xbf => (Operation::Read, 0, Some(self.operand.register)),
            0x90..=0x9f => (Operation::Store { value: None }, 0, None),
            _ => return None,
        };
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: u64 = 0x7000;

    /// Registers whose `rdi`, `rbx` and `r12` point to the word, with a value in `rax`, `rdx` and the flags.
    fn registers(value: u64, flags: u64) -> Registers {
        let mut general = [0xdead; 16];
        (general[7], general[3], general[12], general[0], general[2]) = (WORD, WORD - 8, WORD, value, 1);
        Registers { general, instruction: 0x4000, flags }
    }

    /// Decodes bytes that follow others, which could be prefixes.
    fn decoded(bytes: &[u8], registers: &Registers) -> Option<Operation> {
        let mut code = vec![0x89, 0xc3, 0x00, 0x0f, 0x1f, 0x44, 0x00, 0x00];
        code.extend(bytes);
        decode(&code, registers, WORD)
    }

    #[test]
    fn operations_of_locks_are_decoded() {
        let cases: &[(&[u8], u64, u64, Operation)] = &[
            // lock cmpxchg %edx,(%rdi)
            (&[0xf0, 0x0f, 0xb1, 0x17], 0, ZERO, Operation::Swapped { old: 0, new: 1 }),
            (&[0xf0, 0x0f, 0xb1, 0x17], 1, 0, Operation::Failed { found: 1 }),
            // lock cmpxchg %dl,(%r12), with an index byte and the prefix
            (&[0xf0, 0x41, 0x0f, 0xb0, 0x14, 0x24], 0, ZERO, Operation::Swapped { old: 0, new: 1 }),
            // xchg %eax,0x8(%rbx); xchg %al,(%rdi)
            (&[0x87, 0x43, 0x08], 0, 0, Operation::Exchange { old: 0 }),
            (&[0x86, 0x07], 0xff01, 0, Operation::Exchange { old: 1 }),
            // lock decl (%rdi); lock subl $1,(%rdi)
            (&[0xf0, 0xff, 0x0f], 9, ZERO, Operation::Subtract { is_zero: true }),
            (&[0xf0, 0x83, 0x2f, 0x01], 9, 0, Operation::Subtract { is_zero: false }),
            // movl $0x0,(%rdi); movb $1,0x3000(%rip) at 0x4000
            (&[0xc7, 0x07, 0, 0, 0, 0], 9, 0, Operation::Store { value: Some(0) }),
            (&[0xc6, 0x05, 0x00, 0x30, 0, 0, 0x01], 9, 0, Operation::Store { value: Some(1) }),
            // mov %edx,(%rdi); mov (%rdi),%eax; cmpl $0,(%rdi); test %al,(%rdi); movzbl (%rdi),%eax
            (&[0x89, 0x17], 9, 0, Operation::Store { value: Some(1) }),
            (&[0x8b, 0x07], 9, 0, Operation::Read),
            (&[0x83, 0x3f, 0x00], 9, 0, Operation::Read),
            (&[0x84, 0x07], 9, 0, Operation::Read),
            (&[0x0f, 0xb6, 0x07], 9, 0, Operation::Read),
            // mov (%rdi),%rdi: the address is lost.
            (&[0x48, 0x8b, 0x3f], 9, 0, Operation::Read),
            // lock btsl $0,(%rdi); lock btrl $0,(%rdi)
            (&[0xf0, 0x0f, 0xba, 0x2f, 0x00], 9, CARRY, Operation::SetBit { was_set: true }),
            (&[0xf0, 0x0f, 0xba, 0x37, 0x00], 9, 0, Operation::ClearBit),
            // lock xadd %eax,(%rdi); lock incl (%rdi)
            (&[0xf0, 0x0f, 0xc1, 0x07], 3, 0, Operation::FetchAdd { old: 3 }),
            (&[0xf0, 0xff, 0x07], 9, 0, Operation::Change),
        ];
        for (bytes, value, flags, expected) in cases {
            assert_eq!(decoded(bytes, &registers(*value, *flags)), Some(*expected), "{bytes:x?}");
        }
    }

    #[test]
    fn instructions_that_do_not_access_the_word_are_not_decoded() {
        // mov %edx,(%rdx); a register operand; a jump.
        for bytes in [&[0x89, 0x12][..], &[0x87, 0xd8], &[0xeb, 0xfe]] {
            assert_eq!(decode(bytes, &registers(0, 0), WORD), None, "{bytes:x?}");
        }
        for length in 0..4 {
            assert_eq!(decode(&[0xf0, 0x0f, 0xb1, 0x17][..length], &registers(0, 0), WORD), None);
        }
    }
}
