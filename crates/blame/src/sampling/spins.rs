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

    /// Closes the window if it is over; returns the stacks of the samples that spun, with their processes.
    pub fn end(&mut self, now_s: f64) -> Vec<(u32, Stack)> {
        if self.events.is_empty() || now_s < self.until {
            return Vec::new();
        }
        let mut spinning = Vec::new();
        for (process, mut ring) in std::mem::take(&mut self.events) {
            for _ in 0..MOST_AT_ONCE {
                let Some(record) = ring.next_record() else { break };
                let body = record.to_contiguous();
                let Some(stack) = (record.ty() == SAMPLE).then(|| body.get(8..).and_then(Stack::of_sample)).flatten()
                else {
                    continue;
                };
                self.count += 1;
                if self.is_spinning(process, stack.instruction) {
                    spinning.push((process, stack));
                }
            }
        }
        spinning
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

/// Returns whether the code around an instruction, which is in the middle, is that of a loop that spins: it has the
/// hint for such loops, or jumps back over an atomic exchange.
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
        let Some(target) = jumps_back(at).filter(|target| (*target..at + 2).contains(&AROUND)) else { return false };
        code[target..at].windows(3).any(is_atomic)
    })
}

/// Returns whether an instruction is `lock cmpxchg`, or `xchg` with memory, which is atomic without a prefix.
#[cfg(target_arch = "x86_64")]
fn is_atomic(bytes: &[u8]) -> bool {
    let exchanges = |opcode: u8, operand: u8| matches!(opcode, 0x86 | 0x87) && operand < 0xc0;
    bytes[0] == 0xf0 && bytes[1] == 0x0f && matches!(bytes[2], 0xb0 | 0xb1) || exchanges(bytes[0], bytes[1])
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
        for (code, last) in [(&sum[..], 10), (&registers, 4), (&counter, 6)] {
            assert!((0..=last).all(|at| !is_spin_loop(&around(code, at))), "{code:x?}");
        }
    }

    #[test]
    fn a_loop_behind_the_instruction_is_another_ones() {
        let exchange = [0x90, 0x90, 0x90, 0x90, 0x89, 0xd8, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf8];
        assert!(!is_spin_loop(&around(&exchange, 0)));
    }
}
