//! The frame that the kernel puts on a stack for a signal handler.
//!
//! A handler returns to a few instructions of the C library that make the call `rt_sigreturn`. Right above that address of
//! return are the registers of the code that was interrupted.

use blame::memory::{read, u64_at};
use blame::stacks::Stack;

/// `mov $15, %rax; syscall`.
const RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
/// Positions behind the address of return: of the saved registers RBP, RSP and RIP in `struct ucontext`.
const FRAME: usize = 8 + 40 + 10 * 8;
const POINTER: usize = 8 + 40 + 15 * 8;
const INSTRUCTION: usize = 8 + 40 + 16 * 8;

/// The interrupted code: registers and the top of its stack, and how many addresses of the path are the handler's.
pub struct Interrupted {
    pub depth: usize,
    pub stack: Stack,
}

/// Returns the code that a signal handler interrupted, of which `path` are the addresses.
pub fn interrupted(pid: u32, stack: &Stack, path: &[u64], bytes_of: impl Fn(u64) -> Vec<u8>) -> Option<Interrupted> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let depth = path.iter().skip(1).position(|address| returns_from_signal(pid, *address))? + 1;
    let (back, next) = (path[depth], path.get(depth + 1).copied());
    let at = |offset: usize| u64_at(&stack.bytes, offset);
    let saved = |offset: usize| Some([at(offset + FRAME)?, at(offset + POINTER)?, at(offset + INSTRUCTION)?]);
    let offsets = (0..stack.bytes.len()).step_by(8).filter(|offset| at(*offset) == Some(back));
    let found: Vec<[u64; 3]> =
        offsets.filter_map(saved).filter(|[_, pointer, code]| *pointer != 0 && *code != 0).collect();
    // Calls that have ended can have left others; that of this path is where the path continues.
    let is_next = |one: &&[u64; 3]| next.is_some_and(|next| next.abs_diff(one[2]) <= 1);
    let [frame, pointer, instruction] = *found.iter().find(is_next).or(found.first())?;
    let stack = Stack { instruction, pointer, frame, link: 0, bytes: bytes_of(pointer) };
    Some(Interrupted { depth, stack })
}

fn returns_from_signal(pid: u32, address: u64) -> bool {
    let mut code = [0; RETURN.len()];
    read(pid, address, &mut code) == code.len() && code == RETURN
}
