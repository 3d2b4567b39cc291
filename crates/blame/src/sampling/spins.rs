//! Spinning for locks that the program implements itself: threads on a CPU whose instruction is in a loop that waits
//! for a word.
//!
//! The kernel's clock of a thread samples its instruction (`perf_event_open`), which needs no privilege for threads
//! of the same user up to `kernel.perf_event_paranoid` 2. An open event makes each switch of the machine more expensive, up
//! to a second after it is closed: a Java service was slower by a sixth while there always was one. Therefore few threads
//! are sampled at a time, in short windows, and after the first seconds these are rare.

use crate::memory::read;
use crate::stacks::Stack;
use perf_event::events::Software;
use perf_event::{Builder, ReadFormat, SampleFlag, Sampler};
use std::collections::HashMap;

/// The samples.
#[derive(Default)]
pub struct Spins {
    events: Vec<(u32, Sampler)>,
    /// End of the open window, and begin of the next one, in seconds since the start.
    until: f64,
    next: f64,
    /// Whether the kernel refused an event.
    is_refused: bool,
    /// Whether an instruction of a process is in such a loop.
    known: HashMap<(u32, u64), bool>,
    /// All samples of threads on a CPU.
    pub count: u64,
}

/// Threads that are sampled at a time.
const MOST_THREADS: usize = 8;
const WINDOW_S: f64 = 0.05;
const PAUSE_S: f64 = 0.15;
/// Time from which on the pauses are longer.
const SETTLED_S: f64 = 3.0;
const SETTLED_PAUSE_S: f64 = 8.0;
/// Time on a CPU between two samples of a thread.
const PERIOD_NS: u64 = 2_000_000;
const STACK: u32 = 1_024;
const RING: usize = 32 << 10;
const SAMPLE: u32 = 9;
const MOST_AT_ONCE: usize = 1_024;
const MOST_KNOWN: usize = 65_536;

impl Spins {
    /// Opens a window for some of the runnable threads, with their processes, if one is due.
    pub fn begin(&mut self, runnable: &[(u32, u32)], now_s: f64) {
        if self.is_refused || !self.events.is_empty() || now_s < self.next || runnable.is_empty() {
            return;
        }
        let first = fastrand_below(runnable.len(), now_s);
        let chosen = runnable.iter().cycle().skip(first).take(runnable.len().min(MOST_THREADS));
        for &(process, thread) in chosen {
            match open(thread) {
                Ok(event) => self.events.push((process, event)),
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) => {
                    self.is_refused = self.events.is_empty();
                    break;
                }
            }
        }
        let pause_s = if now_s > SETTLED_S { SETTLED_PAUSE_S } else { PAUSE_S };
        (self.until, self.next) = (now_s + WINDOW_S, now_s + WINDOW_S + pause_s);
    }

    /// Closes the window if it is over; returns the stacks of the samples with their processes, and whether they spun.
    pub fn end(&mut self, now_s: f64) -> Vec<(u32, Stack, bool)> {
        if self.events.is_empty() || now_s < self.until {
            return Vec::new();
        }
        let mut samples = Vec::new();
        for (process, mut ring) in std::mem::take(&mut self.events) {
            for _ in 0..MOST_AT_ONCE {
                let Some(record) = ring.next_record() else { break };
                let body = record.to_contiguous();
                let Some(stack) = (record.ty() == SAMPLE).then(|| body.get(8..).and_then(Stack::of_sample)).flatten()
                else {
                    continue;
                };
                self.count += 1;
                let is_spinning = self.is_spinning(process, stack.instruction);
                samples.push((process, stack, is_spinning));
            }
        }
        samples
    }

    fn is_spinning(&mut self, process: u32, instruction: u64) -> bool {
        if let Some(known) = self.known.get(&(process, instruction)) {
            return *known;
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let mut code = [0; 2 * AROUND];
        let from = instruction.saturating_sub(AROUND as u64);
        let length = read(process, from, &mut code);
        let is_spinning = length == code.len() && is_spin_loop(&code);
        self.known.insert((process, instruction), is_spinning);
        is_spinning
    }
}

/// Returns a number below `count` that differs from window to window, so that the threads alternate.
fn fastrand_below(count: usize, now_s: f64) -> usize {
    (now_s * 1e6) as usize % count
}

fn open(thread: u32) -> std::io::Result<Sampler> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder.observe_pid(thread as i32).any_cpu().exclude_kernel(true).read_format(ReadFormat::empty());
    builder.sample(SampleFlag::TID | SampleFlag::REGS_USER | SampleFlag::STACK_USER);
    builder.sample_regs_user(Stack::REGISTERS).sample_stack_user(STACK).sample_period(PERIOD_NS);
    builder.wakeup_watermark(u32::MAX as usize).enabled(true);
    builder.build()?.sampled(RING)
}

/// Bytes before the instruction and from it on that are looked at.
const AROUND: usize = 32;

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

/// An instruction of a loop.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
struct Instruction {
    /// The opcode; `0x0fxx` if it has two bytes.
    opcode: u16,
    is_locked: bool,
    /// The two operands of the byte behind the opcode, if it has one: a register or the opcode's extension, and a register
    /// unless that is in memory.
    operands: Option<(u8, Option<u8>)>,
}

/// Returns the instructions of code that begins and ends with whole ones; `None` if it has any that is rare in such loops.
#[cfg(target_arch = "x86_64")]
fn instructions(code: &[u8]) -> Option<Vec<Instruction>> {
    let (mut at, mut found) = (0, Vec::new());
    while at < code.len() {
        let (instruction, length) = instruction(&code[at..])?;
        found.push(instruction);
        at += length;
    }
    (at == code.len()).then_some(found)
}

/// Returns the first instruction and its length.
#[cfg(target_arch = "x86_64")]
fn instruction(code: &[u8]) -> Option<(Instruction, usize)> {
    let (mut at, mut rex, mut is_locked, mut is_short) = (0, 0, false, false);
    loop {
        match *code.get(at)? {
            0xf0 => is_locked = true,
            0x66 => is_short = true,
            0xf2 | 0xf3 => {}
            _ => break,
        }
        at += 1;
    }
    if code.get(at)? & 0xf0 == 0x40 {
        rex = code[at];
        at += 1;
    }
    let mut opcode = u16::from(*code.get(at)?);
    at += 1;
    if opcode == 0x0f {
        opcode = 0x0f00 | u16::from(*code.get(at)?);
        at += 1;
    }
    let wide = if is_short { 2 } else { 4 };
    // Whether operands are in a further byte, and the bytes of a number behind them.
    let (has_operands, number) = match opcode {
        0x00..=0x3f if opcode & 7 < 4 => (true, 0),
        0x00..=0x3f if opcode & 7 == 4 => (false, 1),
        0x00..=0x3f if opcode & 7 == 5 => (false, wide),
        0x50..=0x5f | 0x90..=0x99 => (false, 0),
        0x63 | 0x84..=0x8b | 0x8d | 0xd0..=0xd3 | 0xfe | 0xff => (true, 0),
        0x69 | 0x81 | 0xc7 => (true, wide),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => (true, 1),
        0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xeb => (false, 1),
        0xa9 => (false, wide),
        0xb8..=0xbf => (false, if rex & 8 != 0 { 8 } else { wide }),
        0xe8 | 0xe9 | 0x0f80..=0x0f8f => (false, 4),
        0xf6 => (true, if code.get(at)? & 0x30 == 0 { 1 } else { 0 }),
        0xf7 => (true, if code.get(at)? & 0x30 == 0 { wide } else { 0 }),
        0x0f10..=0x0f17 | 0x0f1e..=0x0f1f | 0x0f28..=0x0f2f | 0x0f40..=0x0f6f | 0x0f7e..=0x0f7f => (true, 0),
        0x0f90..=0x0f9f | 0x0fa3 | 0x0fab | 0x0faf..=0x0fb1 | 0x0fb3 | 0x0fb6..=0x0fb7 | 0x0fbb..=0x0fc1 => (true, 0),
        0x0fba => (true, 1),
        0x0fd4..=0x0fff => (true, 0),
        _ => return None,
    };
    let mut operands = None;
    if has_operands {
        let byte = *code.get(at)?;
        at += 1;
        let (form, register, other) = (byte >> 6, byte >> 3 & 7 | (rex & 4) << 1, byte & 7);
        let mut base = other;
        if form != 3 && other == 4 {
            base = code.get(at)? & 7;
            at += 1;
        }
        at += match form {
            0 if base == 5 => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
        operands = Some((register, (form == 3).then_some(other | (rex & 1) << 3)));
    }
    let length = at + number;
    (length <= code.len()).then_some((Instruction { opcode, is_locked, operands }, length))
}

/// Returns whether a loop tries to set a word and looks whether that was free. It exchanges a register with memory and
/// compares what it got. Or it compares memory with a number that it sets again each time. A loop that computes the new
/// value from the old one changes data without a lock.
#[cfg(target_arch = "x86_64")]
fn tries_to_lock(body: &[Instruction]) -> bool {
    const ACCUMULATOR: u8 = 0;
    let is_compared = |instruction: &Instruction, register: u8| match (instruction.opcode, instruction.operands) {
        (0x38..=0x3b | 0x84 | 0x85, Some((one, Some(other)))) => one == register || other == register,
        // An extension of 7 compares, and one of 0 tests.
        (0x80 | 0x81 | 0x83, Some((7, Some(other)))) | (0xf6 | 0xf7, Some((0, Some(other)))) => other == register,
        (0x3c | 0x3d | 0xa8 | 0xa9, None) => register == ACCUMULATOR,
        _ => false,
    };
    let is_set = |instruction: &Instruction| match (instruction.opcode, instruction.operands) {
        (0x30..=0x33, Some((one, other))) => (one, other) == (ACCUMULATOR, Some(ACCUMULATOR)),
        (0x88 | 0x89, Some((one, Some(other)))) => other == ACCUMULATOR && one != ACCUMULATOR,
        (0x8a | 0x8b, Some((one, Some(other)))) => one == ACCUMULATOR && other != ACCUMULATOR,
        (0xb0 | 0xb8, None) => true,
        _ => false,
    };
    body.iter().enumerate().any(|(place, instruction)| match (instruction.opcode, instruction.operands) {
        (0x86 | 0x87, Some((register, None))) => body[place..].iter().any(|later| is_compared(later, register)),
        (0x0fb0 | 0x0fb1, Some((_, None))) if instruction.is_locked => body[..place].iter().any(is_set),
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
    fn a_loop_behind_the_instruction_is_another_ones() {
        let exchange = [0x90, 0x90, 0x90, 0x90, 0x89, 0xd8, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf8];
        assert!(!is_spin_loop(&around(&exchange, 0)));
    }
}
