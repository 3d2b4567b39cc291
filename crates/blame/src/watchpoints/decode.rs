//! The effect of the x86-64 instruction that has just accessed a watched word.
//!
//! A data watchpoint stops a thread after the instruction, so its bytes end at the instruction pointer, and its length is
//! not known. Each length is tried. A candidate counts if its bytes are an instruction of exactly that length and its
//! operand, computed from the registers, contains the watched word. The longest one counts, since prefixes come first.

use crate::code::{LONGEST, Registers, access, decoded, has_segment, masked, memory_operand, overwrites};
use iced_x86::{Instruction, Mnemonic, OpAccess, OpKind};

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

const CARRY: u64 = 1;
const ZERO: u64 = 1 << 6;

/// Decodes the instruction whose bytes end `code`; `word` is the watched address. `None` if no known instruction fits.
pub fn decode(code: &[u8], registers: &Registers, word: u64) -> Option<Operation> {
    let lengths = || (2..=LONGEST.min(code.len())).rev().map(|length| &code[code.len() - length..]);
    let whole = |bytes: &[u8]| {
        let instruction = decoded(bytes, registers.instruction.wrapping_sub(bytes.len() as u64))?;
        (instruction.len() == bytes.len()).then_some(instruction)
    };
    let with = |is_strict| lengths().filter_map(whole).find_map(|found| operation(&found, registers, word, is_strict));
    with(true).or_else(|| with(false))
}

/// Returns the effect of an instruction. If `is_strict`, its address must be known and be the word's.
fn operation(instruction: &Instruction, registers: &Registers, word: u64, is_strict: bool) -> Option<Operation> {
    const LARGEST: u64 = 8;
    let place = memory_operand(instruction)?;
    let bytes = instruction.memory_size().size().clamp(1, LARGEST as usize);
    let parts = [instruction.memory_base(), instruction.memory_index()];
    let is_lost = has_segment(instruction) || parts.iter().any(|part| overwrites(instruction, *part));
    let address = instruction.virtual_address(place, 0, |register, _, _| {
        // The base of a flat segment.
        if register.is_segment_register() { Some(0) } else { registers.value(register) }
    });
    let overlaps = |address: u64| address < word.saturating_add(LARGEST) && word < address.saturating_add(bytes as u64);
    let is_here = !has_segment(instruction) && address.is_some_and(overlaps);
    if !is_here && (is_strict || !is_lost) {
        return None;
    }
    let (is_zero, carry) = (registers.flags & ZERO != 0, registers.flags & CARRY != 0);
    let other = 1 - place.min(1);
    let value = || match instruction.op_kind(other) {
        OpKind::Register => registers.value(instruction.op_register(other)),
        _ => instruction.try_immediate(other).ok().map(|value| masked(value, bytes)),
    };
    let accumulator = masked(registers.general[0], bytes);
    Some(match (instruction.mnemonic(), access(instruction, place)) {
        (Mnemonic::Cmpxchg, _) if is_zero => Operation::Swapped { old: accumulator, new: value()? },
        (Mnemonic::Cmpxchg, _) => Operation::Failed { found: accumulator },
        (Mnemonic::Xchg, _) => Operation::Exchange { old: value()? },
        (Mnemonic::Xadd, _) => Operation::FetchAdd { old: value()? },
        (Mnemonic::Bts, _) => Operation::SetBit { was_set: carry },
        (Mnemonic::Btr, _) => Operation::ClearBit,
        (_, OpAccess::Read | OpAccess::CondRead) => Operation::Read,
        (Mnemonic::Sub | Mnemonic::Dec, _) => Operation::Subtract { is_zero },
        (Mnemonic::Mov, _) => Operation::Store { value: value() },
        (_, OpAccess::Write | OpAccess::CondWrite) => Operation::Store { value: None },
        (_, OpAccess::ReadWrite | OpAccess::ReadCondWrite) => Operation::Change,
        (_, OpAccess::None | OpAccess::NoMemAccess) => return None,
    })
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
