//! Spinning for locks that the program implements itself: threads on a CPU whose instruction is in a loop that waits
//! for a word.

#[cfg(target_arch = "x86_64")]
use crate::code::{decoded, memory_operand};
use crate::memory::read;
#[cfg(target_arch = "x86_64")]
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use std::collections::HashMap;

/// The way in which a thread on a CPU waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// In a loop that tries a word again and again.
    Spins,
    /// It gives up its CPU, and goes on as soon as it has one: for a lock or for work.
    Yields,
}

/// The loops that are known.
#[derive(Default)]
pub struct Spins {
    /// Whether an instruction of a process is in such a loop.
    known: HashMap<(u32, u64), Option<Waits>>,
    /// All samples of threads on a CPU.
    pub count: u64,
}

const MOST_KNOWN: usize = 65_536;

impl Spins {
    /// Counts a sample, and returns how the thread waits, if its instruction is in a loop that does.
    pub fn waits(&mut self, process: u32, instruction: u64) -> Option<Waits> {
        self.count += 1;
        if let Some(known) = self.known.get(&(process, instruction)) {
            return *known;
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let mut code = [0; 2 * AROUND];
        let from = instruction.saturating_sub(AROUND as u64);
        let length = read(process, from, &mut code);
        let waits = match () {
            () if length < code.len() => None,
            () if gives_up_cpu(&code) => Some(Waits::Yields),
            () => is_spin_loop(&code).then_some(Waits::Spins),
        };
        self.known.insert((process, instruction), waits);
        waits
    }
}

/// Bytes before the instruction and from it on that are looked at.
const AROUND: usize = 32;

/// Returns whether the instruction in the middle of code is the call of the kernel that gives up the CPU, or next to it.
fn gives_up_cpu(code: &[u8; 2 * AROUND]) -> bool {
    // mov eax,24; syscall
    #[cfg(target_arch = "x86_64")]
    const CALL: [u8; 7] = [0xb8, 0x18, 0, 0, 0, 0x0f, 0x05];
    // mov x8,#124; svc #0
    #[cfg(not(target_arch = "x86_64"))]
    const CALL: [u8; 8] = [0x88, 0x0f, 0x80, 0xd2, 0x01, 0, 0, 0xd4];
    // A sample in the call has the instruction behind it.
    (0..=CALL.len()).any(|at| code[AROUND - at..].starts_with(&CALL))
}

/// Returns whether the code around an instruction, which is in the middle, is that of a loop that spins. It has the hint
/// for such loops, or tries to set a word from the target of a jump back to that jump.
#[cfg(target_arch = "x86_64")]
fn is_spin_loop(code: &[u8; 2 * AROUND]) -> bool {
    const PAUSE: [u8; 2] = [0xf3, 0x90];
    // A loop has a few instructions: further away the hint belongs to another one.
    if code[AROUND - 20..AROUND + 20].windows(2).any(|two| two == PAUSE) {
        return true;
    }
    let jumps_back = |at: usize| {
        let is_jump = (0x70..0x80).contains(&code[at]) || code[at] == 0xeb;
        let target = at as i64 + 2 + i64::from(code[at + 1] as i8);
        (is_jump && target < at as i64 && target >= 0).then_some(target as usize)
    };
    (AROUND - 4..2 * AROUND - 1).any(|at| {
        let target = jumps_back(at).filter(|target| (*target..at + 2).contains(&AROUND));
        target.and_then(|target| instructions(&code[target..at])).is_some_and(|body| tries_to_lock(&body))
    })
}

/// Returns the instructions of code that begins and ends with whole ones.
#[cfg(target_arch = "x86_64")]
fn instructions(code: &[u8]) -> Option<Vec<Instruction>> {
    let (mut at, mut found) = (0, Vec::new());
    // It ends: each instruction has a byte or more.
    while at < code.len() {
        let instruction = decoded(&code[at..], 0)?;
        at += instruction.len();
        found.push(instruction);
    }
    Some(found)
}

/// Returns whether a loop tries to set a word and looks whether that was free. It exchanges a register with memory and
/// compares what it got. Or it compares memory with a number that it sets again each time. A loop that computes the new
/// value from the old one changes data without a lock.
#[cfg(target_arch = "x86_64")]
fn tries_to_lock(body: &[Instruction]) -> bool {
    let whole = |instruction: &Instruction, operand: u32| match instruction.op_kind(operand) {
        OpKind::Register => Some(instruction.op_register(operand).full_register()),
        _ => None,
    };
    let has_memory = |instruction: &Instruction| memory_operand(instruction).is_some();
    let is_compared = |instruction: &Instruction, register: Register| {
        matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test)
            && !has_memory(instruction)
            && (0..2).any(|operand| whole(instruction, operand) == Some(register))
    };
    let is_set = |instruction: &Instruction| {
        let [target, source] = [0, 1].map(|operand| whole(instruction, operand));
        let is_accumulator = target == Some(Register::RAX) && !has_memory(instruction);
        match instruction.mnemonic() {
            Mnemonic::Xor => is_accumulator && source == target,
            Mnemonic::Mov => is_accumulator && source != target,
            _ => false,
        }
    };
    body.iter().enumerate().any(|(place, instruction)| match instruction.mnemonic() {
        Mnemonic::Xchg if has_memory(instruction) => {
            let register = [0, 1].into_iter().find_map(|operand| whole(instruction, operand));
            register.is_some_and(|register| body[place..].iter().any(|later| is_compared(later, register)))
        }
        Mnemonic::Cmpxchg if instruction.has_lock_prefix() => body[..place].iter().any(is_set),
        _ => false,
    })
}

/// Returns whether the code is a spin loop's: the hint is `yield`, or `isb`, which Rust uses instead.
#[cfg(not(target_arch = "x86_64"))]
fn is_spin_loop(code: &[u8; 2 * AROUND]) -> bool {
    const HINTS: [[u8; 4]; 2] = [[0x3f, 0x20, 0x03, 0xd5], [0xdf, 0x3f, 0x03, 0xd5]];
    let (words, _) = code[AROUND - 20..AROUND + 20].as_chunks::<4>();
    words.iter().any(|word| HINTS.contains(word))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Returns code with these bytes, of which the one at `at` is the sampled instruction's first.
    fn around(bytes: &[u8], at: usize) -> [u8; 2 * AROUND] {
        let mut code = [0xcc; 2 * AROUND];
        code[AROUND - at..AROUND - at + bytes.len()].copy_from_slice(bytes);
        code
    }

    #[test]
    fn loops_that_wait_for_a_word_spin_and_others_do_not() {
        // mov eax,1; xchg [rdi],eax; test eax,eax; je out; pause; jmp back
        let hinted = [0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x74, 0x04, 0xf3, 0x90, 0xeb, 0xf2];
        // mov eax,ebx; xchg [rdi],eax; test eax,eax; jne back
        let exchange = [0x89, 0xd8, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf8];
        // xor eax,eax; lock cmpxchg [rdi],ecx; jne back
        let compare = [0x31, 0xc0, 0xf0, 0x0f, 0xb1, 0x0f, 0x75, 0xf8];
        for at in 0..hinted.len() {
            assert!(is_spin_loop(&around(&hinted, at)), "{at}");
        }
        for at in [0, 2, 6] {
            assert!(is_spin_loop(&around(&exchange, at)) && is_spin_loop(&around(&compare, at)), "{at}");
        }
        // add rax,[rdi+rcx*8]; inc rcx; cmp rcx,rdx; jne back: a sum.
        let sum = [0x48, 0x03, 0x04, 0xcf, 0x48, 0xff, 0xc1, 0x48, 0x39, 0xd1, 0x75, 0xf4];
        // xchg of two registers is not atomic.
        let registers = [0x87, 0xc8, 0x85, 0xc0, 0x75, 0xfa];
        // An atomic counter in a loop that does other things: lock xadd [rdi],eax; dec ecx; jne back.
        let counter = [0xf0, 0x0f, 0xc1, 0x07, 0xff, 0xc9, 0x75, 0xf8];
        // add edx,[rdi+rax*4]; inc rax; cmp esi,eax; jg back: the operand of the sum looks like an exchange.
        let indexed = [0x03, 0x14, 0x87, 0x48, 0x83, 0xc0, 0x01, 0x39, 0xc6, 0x7f, 0xf5];
        // lea edx,[rax+1]; lock cmpxchg [rdi],edx; jne back: it counts without a lock.
        let increment = [0x8d, 0x50, 0x01, 0xf0, 0x0f, 0xb1, 0x17, 0x75, 0xf7];
        // mov eax,ecx; xchg [rdi],eax; inc ecx; cmp ecx,esi; jne back: it publishes numbers.
        let publish = [0x89, 0xc8, 0x87, 0x07, 0xff, 0xc1, 0x39, 0xf1, 0x75, 0xf6];
        let others = [(&sum[..], 10), (&registers, 4), (&counter, 6), (&indexed, 9), (&increment, 7), (&publish, 8)];
        for (code, last) in others {
            assert!((0..=last).all(|at| !is_spin_loop(&around(code, at))), "{code:x?}");
        }
        // mov rax,rsi; lock cmpxchg [rdi+8],r8; jne back, with 64 bits.
        let wide = [0x48, 0x89, 0xf0, 0xf0, 0x4c, 0x0f, 0xb1, 0x47, 0x08, 0x75, 0xf5];
        assert!([0, 3, 9].iter().all(|at| is_spin_loop(&around(&wide, *at))));
    }

    #[test]
    fn call_that_gives_up_the_cpu_is_known_from_its_number() {
        // endbr64; mov eax,24; syscall; ret
        let code = [0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x18, 0, 0, 0, 0x0f, 0x05, 0xc3];
        for at in [4, 9, 11] {
            assert!(gives_up_cpu(&around(&code, at)), "{at}");
        }
        // mov eax,25; syscall; ret
        let other = [0xb8, 0x19, 0, 0, 0, 0x0f, 0x05, 0xc3];
        assert!((0..other.len()).all(|at| !gives_up_cpu(&around(&other, at))));
    }

    #[test]
    fn a_loop_behind_the_instruction_is_another_ones() {
        let exchange = [0x90, 0x90, 0x90, 0x90, 0x89, 0xd8, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf8];
        assert!(!is_spin_loop(&around(&exchange, 0)));
    }
}
