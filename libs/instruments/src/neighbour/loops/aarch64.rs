//! The loops for AArch64. A multiplication takes two to four cycles there, but an addition of two registers takes one
//! on every core, so a chain of twelve additions measures cycles.

use super::lines::Lines;
use core::arch::asm;

/// Runs sixteen additions, none of which waits long for another of the same iteration.
#[inline(never)]
pub fn width(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, accesses neither memory nor the stack, and ends
    // after `rounds` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add x9, x9, #1", "add x10, x10, #1", "add x11, x11, #1", "add x12, x12, #1",
            "add x13, x13, #1", "add x14, x14, #1", "add x15, x15, #1", "add x16, x16, #1",
            "add x9, x9, #1", "add x10, x10, #1", "add x11, x11, #1", "add x12, x12, #1",
            "add x13, x13, #1", "add x14, x14, #1", "add x15, x15, #1", "add x16, x16, #1",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            rounds = inout(reg) rounds => _,
            out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            out("x16") _, options(nomem, nostack),
        );
    }
}

/// Runs twelve additions, each of the previous result.
#[inline(never)]
pub fn latency(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, accesses neither memory nor the stack, and ends
    // after `rounds` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}",
            "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}",
            "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}",
            "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}", "add {chain}, {chain}, {other}",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            chain = inout(reg) 3_u64 => _,
            other = in(reg) 5_u64,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

/// Runs sixteen instructions that only need to be issued.
#[inline(never)]
pub fn no_ops(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, accesses neither memory nor the stack, and ends
    // after `rounds` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "nop", "nop", "nop", "nop", "nop", "nop", "nop", "nop",
            "nop", "nop", "nop", "nop", "nop", "nop", "nop", "nop",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
}

/// Runs four multiplications that do not depend on each other: limited by the multiplier.
#[inline(never)]
pub fn multiplications(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, accesses neither memory nor the stack, and ends
    // after `rounds` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "mul x9, x9, x9", "mul x10, x10, x10", "mul x11, x11, x11", "mul x12, x12, x12",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            rounds = inout(reg) rounds => _,
            out("x9") _, out("x10") _, out("x11") _, out("x12") _, options(nomem, nostack),
        );
    }
}

/// Runs eight loads from eight lines of the first-level cache.
#[inline(never)]
pub fn loads(rounds: u32, lines: &Lines) {
    // SAFETY: all loads are from within `lines`, which has eight lines of 64 bytes.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "ldr x9, [{lines}]", "ldr x10, [{lines}, #64]", "ldr x11, [{lines}, #128]", "ldr x12, [{lines}, #192]",
            "ldr x13, [{lines}, #256]", "ldr x14, [{lines}, #320]", "ldr x15, [{lines}, #384]",
            "ldr x16, [{lines}, #448]",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            lines = in(reg) lines.0.as_ptr(),
            rounds = inout(reg) rounds => _,
            out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            out("x16") _, options(nostack, readonly),
        );
    }
}

/// Runs four stores to one line.
#[inline(never)]
pub fn stores(rounds: u32, lines: &mut Lines) {
    // SAFETY: all stores are to the first line of `lines`.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "str {lines}, [{lines}]", "str {lines}, [{lines}, #8]", "str {lines}, [{lines}, #16]",
            "str {lines}, [{lines}, #24]",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            lines = in(reg) lines.0.as_mut_ptr(),
            rounds = inout(reg) rounds => _,
            options(nostack),
        );
    }
}

/// Passes a value through memory: it is stored, loaded, changed, and stored again.
#[inline(never)]
pub fn store_to_load(rounds: u32, lines: &mut Lines) {
    // SAFETY: the assembly accesses only the first word of `lines`.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "str {value}, [{lines}]", "ldr {value}, [{lines}]", "add {value}, {value}, #1",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            lines = in(reg) lines.0.as_mut_ptr(),
            value = inout(reg) 0_u64 => _,
            rounds = inout(reg) rounds => _,
            options(nostack),
        );
    }
}

/// Runs four branches, each taken in at most half of the iterations, in a pattern that a predictor learns.
#[inline(never)]
pub fn branches(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, and accesses neither memory nor the stack.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "tbz {rounds:w}, #0, 3f", "add x9, x9, #1", "3:",
            "tbz {rounds:w}, #1, 4f", "add x10, x10, #1", "4:",
            "tbz {rounds:w}, #2, 5f", "add x11, x11, #1", "5:",
            "subs {rounds:w}, {rounds:w}, #1",
            "b.ne 2b",
            rounds = inout(reg) rounds => _,
            out("x9") _, out("x10") _, out("x11") _, options(nomem, nostack),
        );
    }
}
