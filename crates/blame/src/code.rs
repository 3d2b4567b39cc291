//! Machine code of x86-64: the instruction at the end of some bytes, and its memory operand by a thread's registers.

use crate::memory::u64_at;
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

/// The longest instruction.
pub const LONGEST: usize = 15;

/// Registers of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Registers {
    /// `rax`, `rcx`, `rdx`, `rbx`, `rsp`, `rbp`, `rsi`, `rdi`, `r8` to `r15`: the order of the instructions' encoding.
    pub general: [u64; 16],
    pub instruction: u64,
    pub flags: u64,
}

impl Registers {
    /// The registers to ask `perf_event_open` for.
    pub const MASK: u64 = 0x3ff | 0xff << 16;
    /// Bytes of them in a sample, after their ABI.
    pub const BYTES: usize = 8 * Self::MASK.count_ones() as usize;
    const INSTRUCTION: usize = 8;
    const FLAGS: usize = 9;
    /// The places of a sample's registers in the order of the encoding: the instruction pointer and the flags are between
    /// `rsp` and `r8`.
    const ENCODING: [usize; 16] = [0, 2, 3, 1, 7, 6, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17];

    /// Parses `REGS_USER` of a sample, and returns what follows it; `None` without registers of user space.
    pub fn of_sample(body: &[u8]) -> Option<(Self, &[u8])> {
        if u64_at(body, 0)? == 0 {
            return None;
        }
        let register = |place: usize| u64_at(body, 8 + 8 * place);
        let mut registers =
            Self { general: [0; 16], instruction: register(Self::INSTRUCTION)?, flags: register(Self::FLAGS)? };
        for (general, place) in registers.general.iter_mut().zip(Self::ENCODING) {
            *general = register(place)?;
        }
        Some((registers, body.get(8 + Self::BYTES..)?))
    }

    /// Returns the value of a general register, or of a part of one.
    pub fn value(&self, register: Register) -> Option<u64> {
        let value = *self.general.get(number(register)?)?;
        let is_second_byte = matches!(register, Register::AH | Register::CH | Register::DH | Register::BH);
        Some(masked(if is_second_byte { value >> 8 } else { value }, register.size()))
    }
}

/// Returns a value of this many bytes.
pub fn masked(value: u64, bytes: usize) -> u64 {
    if bytes >= 8 { value } else { value & !(u64::MAX << (8 * bytes)) }
}

/// Returns the number of a general register in the order of the encoding.
fn number(register: Register) -> Option<usize> {
    let whole = register.full_register();
    whole.is_gpr64().then(|| whole.number())
}

/// Decodes the instruction at the begin of these bytes, which are at this address.
pub fn decoded(code: &[u8], address: u64) -> Option<Instruction> {
    let instruction = Decoder::with_ip(64, code, address, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// Returns the place of an instruction's memory operand that it names itself: not the stack of a call, nor those of a
/// string instruction.
pub fn memory_operand(instruction: &Instruction) -> Option<u32> {
    (0..instruction.op_count()).find(|place| instruction.op_kind(*place) == OpKind::Memory)
}

/// Returns whether the operand's address depends on a segment, whose base is not known.
pub fn has_segment(instruction: &Instruction) -> bool {
    matches!(instruction.memory_segment(), Register::FS | Register::GS)
}

/// Returns how an instruction accesses an operand.
pub fn access(instruction: &Instruction, operand: u32) -> OpAccess {
    InstructionInfoFactory::new().info(instruction).op_access(operand)
}

/// Returns whether the instruction overwrites one of these registers.
pub fn overwrites(instruction: &Instruction, register: Register) -> bool {
    let Some(number_of_it) = number(register) else { return false };
    let mut factory = InstructionInfoFactory::new();
    let written = |access| {
        matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
    };
    let used = factory.info(instruction).used_registers();
    used.iter().any(|used| written(used.access()) && number(used.register()) == Some(number_of_it))
}

/// Bytes before a sampled instruction from which it is found where the function's begin is not known: decoding from any
/// byte soon meets the instructions that the compiler wrote.
const STRETCH: usize = 192;
/// The decodings that must meet there, and how many of those that reach the instruction must agree.
const FEWEST_CHAINS: usize = 4;
const AGREEING: f64 = 0.75;

/// Decodes the instructions that end at `address`, the last one at the end. `code` begins at `begin` and contains the
/// address; `is_function` says that its first byte begins an instruction.
pub fn instructions_before(code: &[u8], begin: u64, is_function: bool, address: u64) -> Option<Vec<Instruction>> {
    let at = usize::try_from(address.checked_sub(begin)?).ok().filter(|at| *at <= code.len())?;
    let chain = |from: usize| {
        let (mut from, mut chain) = (from, Vec::new());
        // It ends: each instruction has a byte or more.
        while from < at {
            let instruction = decoded(&code[from..], begin + from as u64)?;
            from += instruction.len();
            chain.push(instruction);
        }
        (from == at).then_some(chain)
    };
    if is_function && let Some(chain) = chain(0) {
        return Some(chain);
    }
    let first = at.saturating_sub(STRETCH);
    let chains: Vec<Vec<Instruction>> = (first..(first + LONGEST + 1).min(at)).filter_map(chain).collect();
    let agree = |chain: &Vec<Instruction>| chains.iter().filter(|other| other.last() == chain.last()).count();
    let best = chains.iter().max_by_key(|chain| agree(chain))?;
    (chains.len() >= FEWEST_CHAINS && agree(best) as f64 >= AGREEING * chains.len() as f64).then(|| best.clone())
}

/// The way in which an instruction uses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    Load,
    Store,
    /// A load and a store that are one: with a `lock` prefix, or `xchg`.
    Atomic,
}

impl Use {
    /// Returns whether other CPUs must give the line up for it.
    pub fn writes(self) -> bool {
        self != Self::Load
    }
}

/// The origin of an address.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Base {
    None,
    Register(Register),
    /// The register was loaded from there, and then overwritten by the access itself.
    Slot {
        register: Register,
        displacement: u64,
    },
}

/// The memory operand of an instruction that has been executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    base: Base,
    index: Option<(Register, u64)>,
    displacement: u64,
    pub bytes: u8,
    pub usage: Use,
}

impl Operand {
    /// Returns the address; `word` reads a word of the thread's memory.
    pub fn address(&self, registers: &Registers, word: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let base = match self.base {
            Base::None => 0,
            Base::Register(register) => registers.value(register)?,
            Base::Slot { register, displacement } => word(registers.value(register)?.wrapping_add(displacement))?,
        };
        let index = match self.index {
            Some((register, scale)) => registers.value(register)?.wrapping_mul(scale),
            None => 0,
        };
        Some(base.wrapping_add(index).wrapping_add(self.displacement))
    }

    /// Returns whether the address comes from memory that may have changed since.
    pub fn is_from_memory(&self) -> bool {
        matches!(self.base, Base::Slot { .. })
    }
}

/// The access before a sampled instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Before {
    Access(Operand),
    /// The instruction before uses no memory, only the stack of a call, or a variable of the thread.
    NoAccess,
    /// Where the thread came from is not known, since the sampled instruction is the target of a loop or of a return.
    Jump,
    /// The access has overwritten the register that its address was in.
    Overwritten,
    /// The code is not readable, or cannot be decoded.
    NotDecoded,
}

/// Instructions that are followed back for a register that the access has overwritten.
const MOST_BACK: usize = 4;

/// Returns the access by the instruction that ends at `address`, where a sample found the thread. `code` goes on behind
/// it, as far as loops are looked for.
pub fn access_before(code: &[u8], begin: u64, is_function: bool, address: u64) -> Before {
    let Some(before) = instructions_before(code, begin, is_function, address) else { return Before::NotDecoded };
    let Some((mut last, mut earlier)) = before.split_last() else { return Before::Jump };
    // A comparison and the jump behind it that was not taken are one for the processor.
    if last.flow_control() == FlowControl::ConditionalBranch {
        let compared = earlier.split_last().filter(|(one, _)| matches!(one.mnemonic(), Mnemonic::Cmp | Mnemonic::Test));
        let Some(compared) = compared else { return Before::NoAccess };
        (last, earlier) = compared;
    }
    // A call's own access is on its stack, and a return came from elsewhere.
    if last.flow_control() != FlowControl::Next {
        return Before::Jump;
    }
    if loops_to(&code[(address - begin) as usize..], address) {
        return Before::Jump;
    }
    let Some(place) = memory_operand(last).filter(|_| !has_segment(last)) else { return Before::NoAccess };
    let is_locked = last.has_lock_prefix() || last.mnemonic() == Mnemonic::Xchg;
    let usage = match access(last, place) {
        OpAccess::None | OpAccess::NoMemAccess => return Before::NoAccess,
        _ if is_locked => Use::Atomic,
        OpAccess::Read | OpAccess::CondRead => Use::Load,
        _ => Use::Store,
    };
    if last.is_vsib() {
        return Before::NotDecoded;
    }
    let bytes = last.memory_size().size().clamp(1, 64) as u8;
    let base = last.memory_base();
    let is_relative = last.is_ip_rel_memory_operand();
    let displacement = last.memory_displacement64();
    let index = Some(last.memory_index()).filter(|index| *index != Register::None);
    let index = index.map(|index| (index, u64::from(last.memory_index_scale())));
    let operand = |base, displacement| Operand { base, index, displacement, bytes, usage };
    if index.is_some_and(|(index, _)| overwrites(last, index)) {
        return Before::Overwritten;
    }
    if base == Register::None || is_relative {
        return Before::Access(operand(Base::None, displacement));
    }
    if !overwrites(last, base) {
        return Before::Access(operand(Base::Register(base), displacement));
    }
    let found = origin(earlier, last, base, displacement);
    found.map_or(Before::Overwritten, |(base, displacement)| Before::Access(operand(base, displacement)))
}

/// Follows a register back that `last` has overwritten, through the instructions that made its value.
fn origin(earlier: &[Instruction], last: &Instruction, base: Register, displacement: u64) -> Option<(Base, u64)> {
    let (mut wanted, mut displacement) = (base, displacement);
    let mut passed = vec![*last];
    for instruction in earlier.iter().rev().take(MOST_BACK) {
        if instruction.flow_control() != FlowControl::Next {
            return None;
        }
        if !overwrites(instruction, wanted) {
            passed.push(*instruction);
            continue;
        }
        if instruction.op0_kind() != OpKind::Register || instruction.op0_register() != wanted {
            return None;
        }
        let is_kept = |register: Register| !passed.iter().any(|later| overwrites(later, register));
        let simple = instruction.memory_index() == Register::None && !has_segment(instruction);
        let of_memory = instruction.memory_base();
        match (instruction.mnemonic(), instruction.op1_kind()) {
            (Mnemonic::Lea, _) if instruction.is_ip_rel_memory_operand() => {
                return Some((Base::None, displacement.wrapping_add(instruction.memory_displacement64())));
            }
            (Mnemonic::Lea, _) if simple && of_memory != Register::None => {
                displacement = displacement.wrapping_add(instruction.memory_displacement64());
                wanted = of_memory;
            }
            (Mnemonic::Mov, OpKind::Register) => wanted = instruction.op1_register(),
            (Mnemonic::Add, kind) if is_number(kind) => {
                displacement = displacement.wrapping_add(instruction.immediate(1));
            }
            (Mnemonic::Mov, OpKind::Memory)
                if simple && matches!(of_memory, Register::RBP | Register::RSP) && is_kept(of_memory) =>
            {
                let slot = Base::Slot { register: of_memory, displacement: instruction.memory_displacement64() };
                return Some((slot, displacement));
            }
            _ => return None,
        }
        if wanted != instruction.op0_register() && is_kept(wanted) {
            return Some((Base::Register(wanted), displacement));
        }
        passed.push(*instruction);
    }
    None
}

fn is_number(kind: OpKind) -> bool {
    matches!(kind, OpKind::Immediate8to64 | OpKind::Immediate32to64)
}

/// Returns whether the code from `address` on jumps back to it: then most of the time the thread came from there.
fn loops_to(code: &[u8], address: u64) -> bool {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let targets = |instruction: &Instruction| {
        matches!(instruction.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch)
            && instruction.near_branch_target() == address
    };
    decoder.iter().take_while(|instruction| instruction.code() != Code::INVALID).any(|found| targets(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u64 = 0x40_1000;

    fn registers() -> Registers {
        let mut general = std::array::from_fn(|place| 0x1_0000 * (place as u64 + 1));
        (general[0], general[1]) = (0x7000, 2);
        Registers { general, instruction: 0, flags: 0 }
    }

    /// Returns the access by the last instruction before the begin of `after`, with the slots of a stack.
    fn access_of(before: &[u8], after: &[u8]) -> Result<(u64, u8, Use), Before> {
        let code = [before, after].concat();
        let address = BEGIN + before.len() as u64;
        let slot = |address: u64| Some(address ^ 0xff00_0000);
        match access_before(&code, BEGIN, true, address) {
            Before::Access(operand) => Ok((operand.address(&registers(), slot).unwrap(), operand.bytes, operand.usage)),
            other => Err(other),
        }
    }

    const RETURN: [u8; 1] = [0xc3];

    #[test]
    fn operand_is_computed_from_the_registers_after_the_access() {
        type Case = (&'static [u8], (u64, u8, Use));
        let cases: [Case; 8] = [
            // lock addq $1,(%rax); mov %rcx,0x10(%rax,%rcx,8); xchg %ecx,(%rax)
            (&[0xf0, 0x48, 0x83, 0x00, 0x01], (0x7000, 8, Use::Atomic)),
            (&[0x48, 0x89, 0x4c, 0xc8, 0x10], (0x7020, 8, Use::Store)),
            (&[0x87, 0x08], (0x7000, 4, Use::Atomic)),
            // cmpl $0,4(%rax); addl $1,(%rax): a load and a store, which are two
            (&[0x83, 0x78, 0x04, 0x00], (0x7004, 4, Use::Load)),
            (&[0x83, 0x00, 0x01], (0x7000, 4, Use::Store)),
            // mov 0x100(%rip),%eax; lock cmpxchg16b (%rdi); lock xadd %rcx,-8(%rax)
            (&[0x8b, 0x05, 0x00, 0x01, 0, 0], (BEGIN + 6 + 0x100, 4, Use::Load)),
            (&[0xf0, 0x48, 0x0f, 0xc7, 0x0f], (0x8_0000, 16, Use::Atomic)),
            (&[0xf0, 0x48, 0x0f, 0xc1, 0x48, 0xf8], (0x6ff8, 8, Use::Atomic)),
        ];
        for (code, expected) in cases {
            assert_eq!(access_of(code, &RETURN), Ok(expected), "{code:x?}");
        }
    }

    #[test]
    fn overwritten_base_is_followed_back_or_unknown() {
        // mov %rdx,%rax; mov 8(%rax),%rax
        assert_eq!(access_of(&[0x48, 0x89, 0xd0, 0x48, 0x8b, 0x40, 0x08], &RETURN), Ok((0x3_0008, 8, Use::Load)));
        // lea 0x100(%rip),%rax; mov (%rax),%eax
        assert_eq!(
            access_of(&[0x48, 0x8d, 0x05, 0, 1, 0, 0, 0x8b, 0x00], &RETURN),
            Ok((BEGIN + 7 + 0x100, 4, Use::Load))
        );
        // mov -8(%rbp),%rax; add $16,%rax; mov (%rax),%rax: rbp is the sixth register
        let slot = (0x6_0000 - 8) ^ 0xff00_0000;
        assert_eq!(
            access_of(&[0x48, 0x8b, 0x45, 0xf8, 0x48, 0x83, 0xc0, 0x10, 0x48, 0x8b, 0x00], &RETURN),
            Ok((slot + 16, 8, Use::Load))
        );
        // mov (%rdx),%rax; mov (%rax),%rax: a list
        assert_eq!(access_of(&[0x48, 0x8b, 0x02, 0x48, 0x8b, 0x00], &RETURN), Err(Before::Overwritten));
        // mov %rdx,%rax; mov (%rax),%rax, and rdx is loaded in between: mov (%rsi),%rdx
        let code = [0x48, 0x89, 0xd0, 0x48, 0x8b, 0x16, 0x48, 0x8b, 0x00];
        assert_eq!(access_of(&code, &RETURN), Err(Before::Overwritten));
    }

    #[test]
    fn code_that_was_not_just_executed_gives_no_address() {
        let store = [0x89, 0x08];
        // je back to the sampled instruction; after a call, a jump, a return; a register; lea; nop with an operand; %fs:0.
        assert_eq!(access_of(&store, &[0x90, 0x74, 0xfd]), Err(Before::Jump));
        // cmp %ecx,(%rax); jne
        assert_eq!(access_of(&[0x39, 0x08, 0x75, 0x10], &RETURN), Ok((0x7000, 4, Use::Load)));
        let others: [(&[u8], Before); 8] = [
            (&[0x01, 0xc8, 0x75, 0x10], Before::NoAccess),
            (&[0xe8, 0, 0, 0, 0], Before::Jump),
            (&[0xeb, 0], Before::Jump),
            (&[0xc3], Before::Jump),
            (&[0x01, 0xc8], Before::NoAccess),
            (&[0x48, 0x8d, 0x00], Before::NoAccess),
            (&[0x0f, 0x1f, 0x40, 0x00], Before::NoAccess),
            (&[0x64, 0x8b, 0x04, 0x25, 0, 0, 0, 0], Before::NoAccess),
        ];
        for (code, expected) in others {
            assert_eq!(access_of(code, &RETURN), Err(expected), "{code:x?}");
        }
        assert_eq!(access_before(&[0x06; 32], BEGIN, true, BEGIN + 16), Before::NotDecoded);
        assert_eq!(access_before(&store, BEGIN, true, BEGIN), Before::Jump, "the begin of a function");
    }

    #[test]
    fn code_without_a_known_begin_is_decoded_where_decodings_meet() {
        // movabs $0x1122334455667788,%rdx; add %rdx,%rcx; and a store at the end.
        let block = [0x48, 0xba, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x48, 0x01, 0xd1];
        let code: Vec<u8> = block.repeat(20).into_iter().chain([0x48, 0x89, 0x48, 0x08]).collect();
        let found = instructions_before(&code, BEGIN, false, BEGIN + code.len() as u64).unwrap();
        assert_eq!(found.last().map(|last| (last.mnemonic(), last.len())), Some((Mnemonic::Mov, 4)));
        for length in 0..code.len() {
            let _ = access_before(&code[..length], BEGIN, length % 2 == 0, BEGIN + length as u64);
        }
    }
}
