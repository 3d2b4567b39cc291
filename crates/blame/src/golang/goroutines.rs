//! The goroutines of a process that runs on, from the runtime's own list in its memory.
//!
//! The list has no symbol in a stripped program. The function that adds to it does, in the table that the runtime itself
//! needs; and its code names four variables: the list, a slice; and its first element and its length once more. The offsets of
//! members differ between versions of Go, so they are found by what the members of all goroutines have in common, and
//! nothing is read where that is not so.

use crate::code::decoded;
use crate::memory::{read, u32_at, u64_at};
use iced_x86::{FlowControl, Instruction};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The function of the runtime that adds a goroutine to the list.
pub const ADDS: &str = "runtime.allgadd";

/// The list of goroutines, and the offsets of their members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    process: u32,
    /// The address of the slice.
    list: u64,
    status: usize,
    frame: usize,
}

/// A goroutine.
#[derive(Debug)]
pub struct Goroutine {
    pub number: u64,
    pub status: Status,
    /// The kernel's number of the thread that serves it.
    pub thread: Option<u32>,
    /// Where it is, and the return addresses of its callers.
    pub frames: Vec<u64>,
    /// Its stack from its pointer on.
    pub stack: Vec<u8>,
    pub pointer: u64,
    /// The end of the frame of each of `frames`, as bytes of `stack`.
    pub ends: Vec<usize>,
    /// A number that is another one if it ran.
    pub mark: u64,
}

/// The activity of a goroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs, or is ready to.
    Runs,
    /// It is in a call of the kernel or of C.
    InCall,
    Waits,
}

/// Bytes of the runtime's structure that are read, and of a stack.
const STRUCTURE: usize = 448;
const MOST_STACK: u64 = 64 << 10;
const MOST_FRAMES: usize = 64;
/// Members whose offsets have been the same in all versions: the bounds of the stack, the thread, the pointer, the place
/// and the goroutine itself.
const LOW: usize = 0;
const HIGH: usize = 8;
const THREAD: usize = 48;
const POINTER: usize = 56;
const PLACE: usize = 64;
const SELF: usize = 72;
/// Offsets at which the frame pointer can be: from Go 1.25 on, and before.
const FRAMES: [usize; 2] = [96, 104];
/// The flag that the collector sets in a status, and the highest status.
const SCANNED: u32 = 0x1000;
const HIGHEST: u32 = 11;
const RUNNABLE: u32 = 1;
const RUNNING: u32 = 2;
const IN_CALL: u32 = 3;
const WAITING: u32 = 4;
const PREEMPTED: u32 = 9;

impl Runtime {
    /// Finds the list by the code of [`ADDS`]; `None` where it has another form.
    pub fn find(process: u32, begin: u64, size: u64) -> Option<Self> {
        const LONGEST: u64 = 4_096;
        let mut code = vec![0; size.min(LONGEST) as usize];
        let length = read(process, begin, &mut code);
        let variables = variables(&code[..length], begin);
        let word = |address: u64| u64_at(&bytes(process, address, 8)?, 0);
        let is_list = |list: &u64| {
            let (Some(first), Some(count), Some(room)) = (word(*list), word(list + 8), word(list + 16)) else {
                return false;
            };
            let others =
                || variables.iter().filter(|one| !(*list..list + 24).contains(one)).filter_map(|one| word(*one));
            (1..=room).contains(&count)
                && first != 0
                && others().any(|one| one == first)
                && others().any(|one| one == count)
        };
        const SOME: usize = 64;
        variables.iter().filter(|list| is_list(list)).find_map(|list| {
            let (status, frame) = layout(&structures(process, *list, SOME)?.0)?;
            Some(Self { process, list: *list, status, frame })
        })
    }

    /// Reads the goroutines, and how many there are beyond the most that are read; `None` if the list cannot be read.
    pub fn goroutines(&self, most: usize) -> Option<(Vec<Goroutine>, usize)> {
        let (all, left_out) = structures(self.process, self.list, most)?;
        Some((all.iter().filter_map(|one| self.goroutine(one)).collect(), left_out))
    }

    fn goroutine(&self, one: &[u8]) -> Option<Goroutine> {
        let status = match u32_at(one, self.status)? & !SCANNED {
            RUNNABLE | RUNNING => Status::Runs,
            IN_CALL => Status::InCall,
            WAITING | PREEMPTED => Status::Waits,
            _ => return None,
        };
        let word = |at: usize| u64_at(one, at);
        let (pointer, high) = (word(POINTER)?, word(HIGH)?);
        let mut stack = vec![0; high.saturating_sub(pointer).min(MOST_STACK) as usize];
        let length = if status == Status::Runs { 0 } else { read(self.process, pointer, &mut stack) };
        stack.truncate(length);
        let (frames, ends) = frames(&stack, pointer, word(PLACE)?, word(self.frame)?);
        // The thread's own structure: after its first goroutine, a state like the goroutine's, and two numbers.
        let number = self.frame + 8 - POINTER + 16;
        let thread = word(THREAD).filter(|thread| *thread != 0);
        let thread = thread.and_then(|thread| u32_at(&bytes(self.process, thread + number as u64, 8)?, 0));
        let mut mark = DefaultHasher::new();
        (one, &stack).hash(&mut mark);
        Some(Goroutine {
            number: word(self.status + 8)?,
            status,
            thread,
            frames,
            stack,
            pointer,
            ends,
            mark: mark.finish(),
        })
    }
}

/// Returns the places that code refers to by their distance from it, in the order of their addresses.
fn variables(code: &[u8], begin: u64) -> Vec<u64> {
    let instructions = instructions(code, begin);
    let mut found: Vec<u64> = instructions.iter().filter_map(variable).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn variable(instruction: &Instruction) -> Option<u64> {
    instruction.is_ip_rel_memory_operand().then(|| instruction.ip_rel_memory_address())
}

/// The code of a function.
#[derive(Clone, Debug)]
pub struct Code(Vec<Instruction>);

/// A call of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The address that it returns to.
    pub next: u64,
    pub called: u64,
    /// The variable that the code names last before it.
    pub variable: Option<u64>,
}

impl Code {
    /// Decodes the code of a function, as far as it is one that the reader has.
    pub fn of(code: &[u8], begin: u64, is_in_it: impl FnMut(u64) -> bool) -> Self {
        let mut is_in_it = is_in_it;
        let mut all = instructions(code, begin);
        let end = all.iter().position(|one| one.is_call_near() && !is_in_it(one.next_ip()));
        all.truncate(end.unwrap_or(all.len()));
        Self(all)
    }

    /// Returns the calls in it.
    pub fn calls(&self) -> Vec<Call> {
        /// Bytes of instructions between the one with the variable and the call.
        const BETWEEN: u64 = 24;
        let (mut found, mut last) = (Vec::new(), None);
        for one in &self.0 {
            if one.is_call_near() {
                let variable = last.filter(|(at, _)| one.next_ip() - at <= BETWEEN).map(|(_, variable)| variable);
                found.push(Call { next: one.next_ip(), called: one.near_branch_target(), variable });
                last = None;
            }
            last = variable(one).map(|variable| (one.next_ip(), variable)).or(last);
        }
        found
    }

    /// Returns whether a path leads from one place to another past none of the calls that return to `except`. The function
    /// of such a call is often inlined up to an atomic instruction, behind which the call itself is rare: a path with that
    /// instruction passes the call as well.
    pub fn leads(&self, from: u64, to: u64, except: &[u64]) -> bool {
        /// Instructions between the atomic one and the call.
        const BETWEEN: usize = 10;
        let barrier = |next: &u64| {
            let call = self.0.iter().position(|one| one.next_ip() == *next)?;
            let is_behind =
                |from: usize| (from.saturating_sub(BETWEEN)..from).rev().find(|at| self.0[*at].has_lock_prefix());
            let branch = |target: u64| {
                let is_it = |one: &Instruction| {
                    one.flow_control() == FlowControl::ConditionalBranch && one.near_branch_target() == target
                };
                self.0.iter().position(is_it)
            };
            // The block of a rare path is behind the others, and begins at the target of a branch.
            let block = (call.saturating_sub(BETWEEN)..=call).rev().find_map(|at| branch(self.0[at].ip()));
            Some(is_behind(call).or_else(|| is_behind(block?)).unwrap_or(call))
        };
        let barriers: Vec<usize> = except.iter().filter_map(barrier).collect();
        let places: HashMap<u64, usize> = self.0.iter().enumerate().map(|(place, one)| (one.ip(), place)).collect();
        let (mut open, mut seen) = (vec![from], HashSet::new());
        // It ends: each place is followed once, and adds two at most.
        while let Some(at) = open.pop() {
            let Some(place) = places.get(&at).filter(|place| seen.insert(**place)) else { continue };
            let one = &self.0[*place];
            if one.next_ip() == to {
                return true;
            }
            if barriers.contains(place) {
                continue;
            }
            match one.flow_control() {
                FlowControl::UnconditionalBranch => open.push(one.near_branch_target()),
                FlowControl::ConditionalBranch => open.extend([one.near_branch_target(), one.next_ip()]),
                FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => open.push(one.next_ip()),
                _ => {}
            }
        }
        false
    }
}

fn instructions(code: &[u8], begin: u64) -> Vec<Instruction> {
    let (mut at, mut found) = (0, Vec::new());
    // It ends: each instruction has a byte or more.
    while let Some(instruction) = code.get(at..).and_then(|rest| decoded(rest, begin + at as u64)) {
        at += instruction.len();
        found.push(instruction);
    }
    found
}

fn bytes(process: u32, address: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    (read(process, address, &mut bytes) == length).then_some(bytes)
}

/// Reads the structures of the first goroutines, and how many there are beyond.
fn structures(process: u32, list: u64, most: usize) -> Option<(Vec<Vec<u8>>, usize)> {
    let slice = bytes(process, list, 16)?;
    let (first, count) = (u64_at(&slice, 0)?, usize::try_from(u64_at(&slice, 8)?).ok()?);
    let pointers = bytes(process, first, 8 * count.min(most))?;
    let one = |at: usize| bytes(process, u64_at(&pointers, at)?, STRUCTURE);
    Some(((0..pointers.len()).step_by(8).filter_map(one).collect(), count.saturating_sub(most)))
}

/// Returns the offsets of the status and of the frame pointer.
///
/// The number of a goroutine follows its status. The first one has the number 1, and no two have the same.
fn layout(some: &[Vec<u8>]) -> Option<(usize, usize)> {
    let is_status = |at: &usize| {
        let numbers: Vec<u64> = some.iter().filter_map(|one| u64_at(one, at + 8)).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let is_status = |one: &Vec<u8>| u32_at(one, *at).is_some_and(|status| status & !SCANNED <= HIGHEST);
        numbers.first() == Some(&1)
            && sorted.len() == some.len()
            && numbers.iter().all(|number| (1..1 << 40).contains(number))
            && some.iter().all(is_status)
    };
    let status = (SELF..STRUCTURE - 16).step_by(8).find(is_status).filter(|_| some.len() > 1)?;
    let is_waiting = |one: &&Vec<u8>| u32_at(one, status).map(|status| status & !SCANNED) == Some(WAITING);
    let hits = |at: &usize| {
        let is_in = |one: &Vec<u8>| {
            let [pointer, high, frame] = [POINTER, HIGH, *at].map(|at| u64_at(one, at).unwrap_or(0));
            pointer < frame && frame < high && u64_at(one, LOW).is_some_and(|low| low < pointer)
        };
        some.iter().filter(is_waiting).filter(|one| is_in(one)).count()
    };
    let frame = FRAMES.into_iter().max_by_key(hits).filter(|frame| hits(frame) > 0)?;
    Some((status, frame))
}

/// Follows the frame pointers on a stack. Returns the place, the callers, and where the frame of each ends.
fn frames(stack: &[u8], pointer: u64, place: u64, frame: u64) -> (Vec<u64>, Vec<usize>) {
    let (mut frames, mut ends, mut frame) = (vec![place], Vec::new(), frame);
    while frames.len() < MOST_FRAMES {
        let Some(at) = frame.checked_sub(pointer).and_then(|at| usize::try_from(at).ok()) else { break };
        let (Some(next), Some(back)) = (u64_at(stack, at), u64_at(stack, at + 8)) else { break };
        ends.push(at);
        if back == 0 {
            break;
        }
        frames.push(back);
        if next <= frame {
            break;
        }
        frame = next;
    }
    (frames, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A goroutine with this number and status, whose stack is at 0x1000, and its frame pointer at this offset.
    fn structure(number: u64, status: u32, frame: usize) -> Vec<u8> {
        let mut one = vec![0; STRUCTURE];
        let mut put = |at: usize, value: u64| one[at..at + 8].copy_from_slice(&value.to_le_bytes());
        [(LOW, 0x1000), (HIGH, 0x2000), (POINTER, 0x1800), (frame, 0x1810)]
            .iter()
            .for_each(|(at, value)| put(*at, *value));
        put(160, u64::from(status));
        put(168, number);
        one
    }

    #[test]
    fn offsets_are_those_that_all_goroutines_agree_on() {
        for frame in FRAMES {
            let all = [structure(1, WAITING | SCANNED, frame), structure(2, RUNNABLE, frame), structure(18, 6, frame)];
            assert_eq!(layout(&all), Some((160, frame)));
        }
        let same = [structure(1, WAITING, 96), structure(1, WAITING, 96)];
        let unknown = [structure(1, WAITING, 96), structure(2, 77, 96)];
        for some in [&same[..], &unknown, &same[..1], &[]] {
            assert_eq!(layout(some), None);
        }
    }

    #[test]
    fn callers_are_followed_up_to_the_first() {
        let words = [0, 0x1818_u64, 0x40, 0, 0x50].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // The first frame is at 0x1808: its caller's is at 0x1818, which is the last.
        assert_eq!(frames(&words, 0x1800, 0x30, 0x1808), (vec![0x30, 0x40, 0x50], vec![8, 24]));
        assert_eq!(frames(&words, 0x1800, 0x30, 0x9999).0, [0x30]);
        assert_eq!(frames(&[], 0x1800, 0x30, 0).0, [0x30]);
    }

    #[test]
    fn calls_have_the_variable_before_them() {
        // lea 0(%rip),%rax; call +2
        let code = [0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xe8, 2, 0, 0, 0];
        let whole = Code::of(&code, 0x1000, |_| true);
        assert_eq!(whole.calls(), [Call { next: 0x100c, called: 0x100e, variable: Some(0x1007) }]);
        assert_eq!(variables(&code, 0x1000), [0x1007]);
        assert!(Code::of(&code, 0x1000, |_| false).calls().is_empty());
    }

    #[test]
    fn atomic_instruction_stands_for_the_rare_call_behind_it() {
        // call; lock xadd %ebx,(%rdx); je +5; call; call; ret
        let call = [0xe8, 0, 0, 0, 0];
        let code = [&call[..], &[0xf0, 0x0f, 0xc1, 0x1a, 0x74, 5], &call, &call, &[0xc3]].concat();
        let code = Code::of(&code, 0, |_| true);
        assert!(code.leads(5, 21, &[]), "to the last call");
        assert!(!code.leads(5, 21, &[16]), "the second one releases");
        assert!(!code.leads(21, 16, &[]), "not back");
    }
}
