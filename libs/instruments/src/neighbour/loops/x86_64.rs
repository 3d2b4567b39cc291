//! The loops for x86-64. A multiplication takes three cycles on every core of the last fifteen years, and no core
//! eliminates it. Some cores eliminate an addition of a constant, so it does not measure a cycle.

use super::lines::Lines;
use core::arch::asm;

/// Runs sixteen additions, none of which waits long for another of the same iteration: limited by the number of
/// instructions that the core issues for this thread.
#[inline(never)]
pub fn width(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, accesses neither memory nor the stack, and ends
    // after `rounds` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "add r8, 1", "add r9, 1", "add r10, 1", "add r11, 1", "add r12, 1", "add r13, 1", "add r14, 1", "add r15, 1",
            "add r8, 1", "add r9, 1", "add r10, 1", "add r11, 1", "add r12, 1", "add r13, 1", "add r14, 1", "add r15, 1",
            "dec {rounds:e}",
            "jnz 2b",
            rounds = inout(reg) rounds => _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _,
            out("r15") _, options(nomem, nostack),
        );
    }
}

/// Runs four multiplications, each of the previous result.
#[inline(never)]
pub fn latency(rounds: u32) {
    // SAFETY: the assembly writes no register except its operands, accesses neither memory nor the stack, and ends
    // after `rounds` iterations.
    unsafe {
        asm!(
            ".p2align 6",
            "2:",
            "imul {chain}, {chain}", "imul {chain}, {chain}", "imul {chain}, {chain}", "imul {chain}, {chain}",
            "dec {rounds:e}",
            "jnz 2b",
            chain = inout(reg) 3_u64 => _,
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
            "dec {rounds:e}",
            "jnz 2b",
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
            "imul r8, r8", "imul r9, r9", "imul r10, r10", "imul r11, r11",
            "dec {rounds:e}",
            "jnz 2b",
            rounds = inout(reg) rounds => _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, options(nomem, nostack),
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
            "mov r8, [{lines}]", "mov r9, [{lines} + 64]", "mov r10, [{lines} + 128]", "mov r11, [{lines} + 192]",
            "mov r12, [{lines} + 256]", "mov r13, [{lines} + 320]", "mov r14, [{lines} + 384]",
            "mov r15, [{lines} + 448]",
            "dec {rounds:e}",
            "jnz 2b",
            lines = in(reg) lines.0.as_ptr(),
            rounds = inout(reg) rounds => _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _,
            out("r15") _, options(nostack, readonly),
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
            "mov [{lines}], {lines}", "mov [{lines} + 8], {lines}", "mov [{lines} + 16], {lines}",
            "mov [{lines} + 24], {lines}",
            "dec {rounds:e}",
            "jnz 2b",
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
            "mov [{lines}], {value}", "mov {value}, [{lines}]", "add {value}, 1",
            "dec {rounds:e}",
            "jnz 2b",
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
            "test {rounds:e}, 1", "jz 3f", "add r8, 1", "3:",
            "test {rounds:e}, 2", "jz 4f", "add r9, 1", "4:",
            "test {rounds:e}, 4", "jz 5f", "add r10, 1", "5:",
            "dec {rounds:e}",
            "jnz 2b",
            rounds = inout(reg) rounds => _,
            out("r8") _, out("r9") _, out("r10") _, options(nomem, nostack),
        );
    }
}
