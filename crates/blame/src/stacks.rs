//! Unwinding: from registers and the top of a stack to the calls that led there.
//!
//! The kernel shows the stack pointer and the instruction pointer of a blocked thread to any process of the same user, but
//! not its frame pointer. Code that was compiled with frame pointers, for example Rust's standard library, cannot be
//! unwound without it. It is searched for in the stack then: an address that is followed by an address of return behind a
//! call of the function that could not be unwound, or behind an indirect call.
//!
//! Calls that ended leave such pairs in the stack as well. On the path of a thread, each address of return is behind a call
//! of the function before it, so a path counts for which that is true up to its end, or else the one for which it is true
//! longest.

use crate::allowance::{Allowance, Exhausted};
use crate::memory::{read, u64_at};
use crate::names::{Elf, Key, Mapping, PATIENCE, open_mapped};
use addr2line::gimli::{BaseAddresses, EhFrameHdr, NativeEndian, Pointer};
use framehop::{CacheNative, ExplicitModuleSectionInfo, Module, UnwindRegsNative, Unwinder, UnwinderNative};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Registers and the top of the stack of a thread that is in a system call.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub instruction: u64,
    pub pointer: u64,
    /// The frame pointer; 0 where it is not known.
    pub frame: u64,
    /// The link register of machines that have one.
    pub link: u64,
    pub bytes: Vec<u8>,
}

impl Stack {
    /// The registers to ask `perf_event_open` for: the frame pointer, the stack pointer and the instruction pointer; where
    /// there is one, the link register comes second.
    #[cfg(target_arch = "x86_64")]
    pub const REGISTERS: u64 = 1 << 6 | 1 << 7 | 1 << 8;
    /// The same.
    #[cfg(not(target_arch = "x86_64"))]
    pub const REGISTERS: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

    /// Parses `REGS_USER | STACK_USER` of a sample.
    pub fn of_sample(body: &[u8]) -> Option<Self> {
        // Without registers of user space there is no stack either.
        if u64_at(body, 0)? == 0 {
            return Some(Self::default());
        }
        let count = Self::REGISTERS.count_ones() as usize;
        let register = |place: usize| u64_at(body, 8 + 8 * place);
        let (frame, link) = (register(0)?, if count == 4 { register(1)? } else { 0 });
        let (pointer, instruction) = (register(count - 2)?, register(count - 1)?);
        let body = body.get(8 + 8 * count..)?;
        let room = u64_at(body, 0)? as usize;
        let filled = u64_at(body, 8 + room).unwrap_or(0) as usize;
        let bytes = body.get(8..)?.get(..filled.min(room))?.to_vec();
        Some(Self { instruction, pointer, frame, link, bytes })
    }
}

impl Stack {
    /// Returns the word at an address of the stack.
    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.pointer)?).ok()?;
        Some(u64::from_ne_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }
}

/// Unwinds stacks of one process.
pub struct Stacks {
    /// The process; 0 before its map is known.
    process: u32,
    unwinder: UnwinderNative<Vec<u8>, framehop::MayAllocateDuringUnwind>,
    cache: CacheNative<framehop::MayAllocateDuringUnwind>,
    /// Files, and where they lie.
    known: HashMap<Key, Known>,
    /// The jumps of functions.
    jumps: RefCell<HashMap<u64, Arc<[Jump]>>>,
    /// Bytes that tables may have still.
    room: u64,
    /// A file system did not answer, so no further file is opened.
    is_stalled: bool,
    allowance: Allowance,
    depth: usize,
}

/// A file that was looked at.
struct Known {
    range: Range<u64>,
    size: u64,
    /// Where its functions begin, from the begin of the range; empty if its tables do not say it.
    begins: Vec<u32>,
}

/// The tables of one file.
struct Tables {
    module: Module<Vec<u8>>,
    /// Bytes.
    size: u64,
    begins: Vec<u32>,
}

/// Bytes of the tables of all files, and of one file; and how many files.
const MOST_OF_ALL: u64 = 96 << 20;
const MOST_OF_FILE: u64 = 48 << 20;
const MOST_FILES: usize = 1_024;

/// Calls that are followed at most; and by [`Stacks::deep`].
const DEPTH: usize = 16;
const GREAT_DEPTH: usize = 96;

impl Default for Stacks {
    fn default() -> Self {
        Self {
            process: 0,
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
            known: HashMap::new(),
            jumps: RefCell::default(),
            room: MOST_OF_ALL,
            is_stalled: false,
            allowance: Allowance::default(),
            depth: DEPTH,
        }
    }
}

impl Stacks {
    /// Creates stacks whose files are read until a run ends.
    pub fn within(allowance: &Allowance) -> Self {
        Self { allowance: allowance.clone(), ..Self::default() }
    }

    /// Follows more calls: up to the first function of a thread, of which most have fewer.
    pub fn deep(self) -> Self {
        Self { depth: GREAT_DEPTH, ..self }
    }

    /// Learns the current memory map: the process may have executed another program.
    pub fn learn(&mut self, pid: u32, mappings: &[Mapping]) {
        self.process = pid;
        let mut files: HashMap<Key, Vec<Mapping>> = HashMap::new();
        for mapping in mappings {
            files.entry(Key::of(mapping)).or_default().push(mapping.clone());
        }
        // Tables of how to unwind are in programs and libraries, and those have code.
        files.retain(|_, pieces| pieces.iter().any(|piece| piece.is_code));
        let range = |pieces: &[Mapping]| {
            let (from, to) = (pieces.iter().map(|piece| piece.start).min(), pieces.iter().map(|piece| piece.end).max());
            from.unwrap_or_default()..to.unwrap_or_default()
        };
        let (unwinder, room, jumps) = (&mut self.unwinder, &mut self.room, &mut self.jumps);
        self.known.retain(|key, known| {
            let is_there = files.get(key).is_some_and(|pieces| range(pieces) == known.range);
            if !is_there {
                jumps.get_mut().clear();
                unwinder.remove_module(known.range.start);
                *room += known.size;
            }
            is_there
        });
        for (key, pieces) in files {
            if !self.known.contains_key(&key) && self.known.len() < MOST_FILES {
                let range = range(&pieces);
                let room = self.room.min(MOST_OF_FILE);
                let found = if self.is_stalled { None } else { self.read(pid, pieces, range.clone(), room) };
                let (mut size, mut begins) = (0, Vec::new());
                if let Some(tables) = found {
                    (size, begins) = (tables.size, tables.begins);
                    self.unwinder.add_module(tables.module);
                }
                self.room = self.room.saturating_sub(size);
                self.jumps.get_mut().clear();
                self.known.insert(key, Known { range, size, begins });
            }
        }
    }

    fn read(&mut self, pid: u32, pieces: Vec<Mapping>, range: Range<u64>, room: u64) -> Option<Tables> {
        let read = move |_: &Allowance| tables(open_mapped(Some(pid), &pieces).ok()?, &pieces[0].path, &range, room);
        let found = self.allowance.patiently(PATIENCE, read);
        self.is_stalled = matches!(found, Err(Exhausted::Stalled));
        found.ok()?
    }

    /// Returns whether the file at this address is known.
    pub fn knows(&self, address: u64) -> bool {
        self.known.values().any(|known| known.range.contains(&address))
    }

    /// Returns the addresses: first where the call to the kernel was, then those that calls return to.
    pub fn frames(&mut self, stack: &Stack) -> Vec<u64> {
        let (mut frames, is_whole) = self.unwind(stack);
        // A process that was seen before its libraries were mapped has the same stack later: nothing proves a frame in it
        // as long as the file with the first instruction is not known.
        if is_whole || stack.frame != 0 || !self.knows(stack.instruction) {
            return frames;
        }
        let known = frames.len();
        let mut best = (false, 0, false, 0);
        for frame in self.frame_pointers(stack, frames.last().copied().unwrap_or_default()) {
            let (found, is_whole) = self.unwind(&Stack { frame, ..stack.clone() });
            if found.len() <= known || found[..known] != frames[..known] {
                continue;
            }
            let unproven = &found[known - 1..];
            let calls = self.calls_in(unproven);
            let is_right = is_whole && calls + 1 == unproven.len();
            let rank = (is_right, calls, is_whole, found.len());
            if rank > best {
                (best, frames) = (rank, found);
            }
        }
        frames
    }

    /// Returns how many addresses of a path are there by a call of the function before them, up to the first one that is not.
    fn calls_in(&self, path: &[u64]) -> usize {
        let returns = |pair: &&[u64]| self.may_return_to(pair[1], pair[0]).is_some();
        path.windows(2).take_while(returns).count()
    }

    /// Returns whether `back` is behind a call of the function that contains `address`, or behind one that does not say
    /// which function it calls; `None` if it is neither.
    fn may_return_to(&self, back: u64, address: u64) -> Option<Call> {
        match self.called_before(back)? {
            Called::Function(function) => self.leads_to(function, address).then_some(Call::Proven),
            Called::Unknown => Some(Call::Possible),
        }
    }

    /// Follows the calls; returns whether the thread's first function, or the greatest depth, was reached.
    fn unwind(&mut self, stack: &Stack) -> (Vec<u64>, bool) {
        let mut word = |address| stack.word(address).ok_or(());
        let mut frames = Vec::new();
        // A frame pointer of 0 would be the end of the stack.
        let frame = if stack.frame == 0 { NOT_KNOWN } else { stack.frame };
        let registers = registers(stack, frame);
        let mut found = self.unwinder.iter_frames(stack.instruction, registers, &mut self.cache, &mut word);
        // It ends: `depth` frames are the most.
        loop {
            match found.next() {
                Ok(Some(frame)) => frames.push(frame.address()),
                Ok(None) => return (frames, true),
                Err(_) => return (frames, false),
            }
            if frames.len() == self.depth {
                return (frames, true);
            }
        }
    }

    /// Addresses in the stack that may be the frame of the function that contains `address`, the lowest first. The word
    /// there is the caller's frame pointer, or any value if the caller was compiled without, and the next one is where the
    /// function may return to.
    fn frame_pointers(&self, stack: &Stack, address: u64) -> Vec<u64> {
        const MOST: usize = 12;
        let Some(first) = stack.pointer.checked_next_multiple_of(8) else { return Vec::new() };
        let (mut frames, mut proven, mut possible) = (Vec::new(), 0, 0);
        for at in (first..first.saturating_add(stack.bytes.len() as u64)).step_by(8) {
            let Some(back) = at.checked_add(8).and_then(|next| stack.word(next)) else { break };
            let count =
                match Some(back).filter(|back| self.knows(*back)).and_then(|back| self.may_return_to(back, address)) {
                    Some(Call::Proven) => &mut proven,
                    Some(Call::Possible) => &mut possible,
                    None => continue,
                };
            *count += 1;
            if *count <= MOST {
                frames.push(at);
            }
            if proven == MOST {
                break;
            }
        }
        frames
    }

    /// Returns whether the function that begins at `function` contains the address, jumps to a part of it that
    /// does, or ends with a jump to a function that does. The address is behind the instruction that counts.
    fn leads_to(&self, function: u64, address: u64) -> bool {
        /// Functions that end with a jump to the next one.
        const JUMPS: usize = 2;
        self.jumps_to(function, address.saturating_sub(1), JUMPS)
    }

    fn jumps_to(&self, function: u64, address: u64, jumps: usize) -> bool {
        let contains = match self.function_at(address) {
            Some(part) => part.contains(&function),
            None => (function..function.saturating_add(LARGEST_FUNCTION)).contains(&address),
        };
        contains || jumps > 0 && self.jumps_from(function).iter().any(|next| self.jumps_to(*next, address, jumps - 1))
    }

    /// Returns the function, or the part of one, that contains an address, as far as the tables say it.
    pub(crate) fn function_at(&self, address: u64) -> Option<Range<u64>> {
        // A file that is mapped twice has others within its range.
        let around = self.known.values().filter(|known| known.range.contains(&address));
        let known = around.max_by_key(|known| known.range.start)?;
        let offset = u32::try_from(address - known.range.start).ok()?;
        let next = known.begins.partition_point(|begin| *begin <= offset);
        let begin = |place: usize| known.begins.get(place).map(|begin| known.range.start + u64::from(*begin));
        Some(begin(next.checked_sub(1)?)?..begin(next).unwrap_or(known.range.end))
    }

    /// Returns where the jumps of a function out of its code lead, as far as a search of the bytes shows.
    #[cfg(target_arch = "x86_64")]
    fn jumps_from(&self, function: u64) -> Vec<u64> {
        let part = self.function_at(function);
        let is_outside = |next: &u64| self.knows(*next) && part.as_ref().is_none_or(|part| !part.contains(next));
        let target = |jump: &Jump| match *jump {
            Jump::To(function) => self.behind_stub(function),
            Jump::By(entry) => self.word_of_process(entry),
        };
        self.jumps_in(function, part.as_ref()).iter().filter_map(target).filter(is_outside).collect()
    }

    /// Returns the jumps of a function. They are remembered, but not what the tables hold that they use: an entry changes
    /// with the first call through it.
    #[cfg(target_arch = "x86_64")]
    fn jumps_in(&self, function: u64, part: Option<&Range<u64>>) -> Arc<[Jump]> {
        const MOST: usize = 4_096;
        if let Some(jumps) = self.jumps.borrow().get(&function) {
            return Arc::clone(jumps);
        }
        let mut code = [0; 4096];
        let most = part.map_or(128, |part| part.end - function).min(code.len() as u64);
        let length = read(self.process, function, &mut code[..most as usize]);
        let code = &code[..length];
        let jump = |at: usize| {
            let from = |length: usize| function + (at + length) as u64;
            let after = |length: usize| {
                let offset = i32::from_le_bytes(*code.get(at + length - 4..)?.first_chunk()?);
                from(length).checked_add_signed(offset.into())
            };
            match code[at..] {
                [0xe9, ..] => after(5).map(Jump::To),
                [0x0f, 0x80..=0x8f, ..] => after(6).map(Jump::To),
                [0xff, 0x25, ..] => after(6).map(Jump::By),
                [0xeb, offset, ..] => {
                    let next = from(2).checked_add_signed(i64::from(offset as i8))?;
                    let begins = self.function_at(next).is_some_and(|part| part.start == next);
                    begins.then_some(Jump::To(next))
                }
                _ => None,
            }
        };
        let is_outside = |jump: &Jump| match (jump, part) {
            (Jump::To(next), Some(part)) => !part.contains(next),
            _ => true,
        };
        let jumps: Arc<[Jump]> = (0..length).filter_map(jump).filter(is_outside).collect();
        let mut known = self.jumps.borrow_mut();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(function, Arc::clone(&jumps));
        jumps
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn jumps_from(&self, _function: u64) -> Vec<u64> {
        Vec::new()
    }

    /// Returns the function that the instruction before an address calls; `None` if it is not a call.
    #[cfg(target_arch = "x86_64")]
    fn called_before(&self, back: u64) -> Option<Called> {
        let mut code = [0; 7];
        let from = back.checked_sub(code.len() as u64)?;
        if read(self.process, from, &mut code) != code.len() {
            return None;
        }
        let offset = i64::from(i32::from_le_bytes(*code.last_chunk()?));
        let target = back.wrapping_add_signed(offset);
        let or_unknown = |function: Option<u64>| Some(function.map_or(Called::Unknown, Called::Function));
        // `call rel32`; `call [rip+rel32]`; calls through a register or memory have two to seven bytes.
        if code[2] == 0xe8 {
            return or_unknown(self.knows(target).then(|| self.behind_stub(target)).flatten());
        }
        if code[1..3] == [0xff, 0x15] {
            return or_unknown(self.word_of_process(target));
        }
        (2..=7).any(|length| is_indirect_call(&code[code.len() - length..])).then_some(Called::Unknown)
    }

    /// Instructions of other machines have one length, and a link register: nothing is searched for there.
    #[cfg(not(target_arch = "x86_64"))]
    fn called_before(&self, _back: u64) -> Option<Called> {
        None
    }

    /// Returns the function at an address, or the one that the stub there jumps to: a function of another file.
    #[cfg(target_arch = "x86_64")]
    fn behind_stub(&self, address: u64) -> Option<u64> {
        // `endbr64`, a prefix, and then `jmp [rip+rel32]`.
        let mut code = [0; 11];
        if read(self.process, address, &mut code) != code.len() {
            return None;
        }
        let start = if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
        let jump = start + usize::from(code[start] == 0xf2);
        if code[jump..jump + 2] != [0xff, 0x25] {
            return Some(address);
        }
        let offset = i32::from_le_bytes(*code[jump + 2..].first_chunk()?);
        self.word_of_process((address + jump as u64 + 6).wrapping_add_signed(offset.into()))
    }

    #[cfg(target_arch = "x86_64")]
    fn word_of_process(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        (read(self.process, address, &mut word) == word.len()).then(|| u64::from_le_bytes(word))
    }

    /// Returns for each address of a path the function that was called there, as the call instruction says; 0 where it
    /// does not, and for the first address. A function that ended with a jump to another one is not on the path, but
    /// here.
    pub fn called(&self, path: &[u64]) -> Vec<u64> {
        let function = |back: &u64| match self.called_before(*back) {
            Some(Called::Function(function)) => function,
            _ => 0,
        };
        path.iter().enumerate().map(|(depth, back)| if depth == 0 { 0 } else { function(back) }).collect()
    }
}

/// Returns whether these bytes are one call through a register or memory: `ff /2`, and as many bytes as its operand has.
#[cfg(target_arch = "x86_64")]
fn is_indirect_call(code: &[u8]) -> bool {
    let [0xff, operand, rest @ ..] = code else { return false };
    let (mode, base) = (operand >> 6, operand & 7);
    let has_index = mode != 3 && base == 4;
    // Without a displacement, 5 stands for one of four bytes and no register.
    let is_without_base = mode == 0 && (base == 5 || has_index && rest.first().is_some_and(|index| index & 7 == 5));
    let displacement = match mode {
        1 => 1,
        2 => 4,
        _ => 4 * usize::from(is_without_base),
    };
    operand >> 3 & 7 == 2 && rest.len() == usize::from(has_index) + displacement
}

/// The target of a call instruction.
enum Called {
    /// The function at this address.
    Function(u64),
    /// A function that the instruction alone does not say.
    Unknown,
}

/// A jump.
#[derive(Clone, Copy, Debug)]
enum Jump {
    /// The target.
    To(u64),
    /// The address of a table's entry, which holds the target.
    By(u64),
}

/// A call, as its instruction shows it.
enum Call {
    /// The function that may have been called is its target.
    Proven,
    /// It does not say its target.
    Possible,
}

/// The largest length of a function, where the tables do not say it.
const LARGEST_FUNCTION: u64 = 64 << 10;

/// A frame pointer that leads nowhere.
const NOT_KNOWN: u64 = 1;

#[cfg(target_arch = "x86_64")]
fn registers(stack: &Stack, frame: u64) -> UnwindRegsNative {
    UnwindRegsNative::new(stack.instruction, stack.pointer, frame)
}

#[cfg(not(target_arch = "x86_64"))]
fn registers(stack: &Stack, frame: u64) -> UnwindRegsNative {
    UnwindRegsNative::new(stack.link, stack.pointer, frame)
}

/// Returns the file's tables of how to unwind it.
fn tables(file: File, path: &Path, place: &Range<u64>, room: u64) -> Option<Tables> {
    let elf = Elf::open(file, room)?;
    let base = elf.segments.iter().map(|segment| segment.address).min()? / PAGE * PAGE;
    let range = |name: &str| {
        let section = elf.section(name)?;
        Some(section.address..section.address.checked_add(section.size)?)
    };
    let data = |name: &str| elf.section(name).and_then(|section| elf.bytes(section));
    let header = data(".eh_frame_hdr");
    let header_range = range(".eh_frame_hdr");
    let begins =
        header.as_deref().zip(header_range.clone()).and_then(|(bytes, range)| begins(bytes, range.start, base));
    let info = ExplicitModuleSectionInfo {
        base_svma: base,
        text_svma: range(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: header_range,
        eh_frame_hdr: header,
        debug_frame: data(".debug_frame"),
        // The least useful last, should there be no room for all.
        text: data(".text"),
        ..Default::default()
    };
    let size = elf.size_read();
    let module = Module::new(path.display().to_string(), place.clone(), place.start, info);
    Some(Tables { module, size, begins: begins.unwrap_or_default() })
}

/// Returns where the functions of a file begin, from its lowest address, in order: from `.eh_frame_hdr` at
/// `address`.
fn begins(bytes: &[u8], address: u64, base: u64) -> Option<Vec<u32>> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(address);
    let header = EhFrameHdr::new(bytes, NativeEndian).parse(&bases, size_of::<usize>() as u8).ok()?;
    let table = header.table()?;
    let (mut entries, mut begins) = (table.iter(&bases), Vec::new());
    // It ends: each entry takes bytes of the table, which is read within a bound.
    while let Ok(Some((Pointer::Direct(begin), _))) = entries.next() {
        begins.extend(begin.checked_sub(base).and_then(|begin| u32::try_from(begin).ok()));
    }
    begins.sort_unstable();
    Some(begins)
}

const PAGE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn indirect_calls_are_told_by_their_whole_length() {
        let calls: [&[u8]; 7] = [
            &[0xff, 0xd0],                   // call rax
            &[0xff, 0x17],                   // call [rdi]
            &[0xff, 0x14, 0x24],             // call [rsp]
            &[0xff, 0x50, 0x18],             // call [rax+0x18]
            &[0xff, 0x15, 1, 2, 3, 4],       // call [rip+…]
            &[0xff, 0x90, 0, 1, 0, 0],       // call [rax+0x100]
            &[0xff, 0x14, 0xc5, 1, 2, 3, 4], // call [rax*8+…]
        ];
        for call in calls {
            assert!(is_indirect_call(call), "{call:x?}");
            assert!(!is_indirect_call(&call[..call.len() - 1]), "{call:x?}");
        }
        // The end of a jump, and the `nop` that fills the room before the next function.
        assert!(!is_indirect_call(&[0xff, 0x90]));
        assert!(!is_indirect_call(&[0xff, 0xe0]));
    }

    /// Before the libraries of a process are known, no word of its stack is taken for a frame. Where a function begins is
    /// known as soon as they are.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn nothing_is_searched_for_behind_an_unknown_file() {
        #[inline(never)]
        fn called() -> u64 {
            std::hint::black_box(here as *const () as u64)
        }
        // It has a call near its beginning, however it is optimised.
        #[inline(never)]
        fn here() -> u64 {
            std::hint::black_box(called())
        }
        let map = std::fs::read("/proc/self/maps").unwrap();
        let mappings = crate::names::parse(&map);
        let mut stacks = Stacks::default();
        stacks.learn(std::process::id(), &mappings);
        let function = here();
        assert_eq!(stacks.function_at(function + 1).map(|part| part.start), Some(function));
        let mut code = [0_u8; 4096];
        let length = read(std::process::id(), function, &mut code);
        // Each address of the code: the one behind a call is among them.
        let words: Vec<u64> = (function..function + length as u64).flat_map(|back| [0, back]).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let known = Stack { instruction: function + 1, pointer: 0x7fff_0000, bytes, ..Stack::default() };
        let unknown = Stack { instruction: 0x10, ..known.clone() };
        assert!(stacks.frames(&known).len() > 1, "no call is found in {length} bytes of code");
        assert_eq!(stacks.frames(&unknown), [0x10]);
    }
}

#[cfg(test)]
mod measured {
    use super::*;
    use crate::names::{mutants, open_regular};
    use std::time::Duration;

    /// Tables that were changed to do harm lead nowhere, and never end or hold what reads them.
    #[test]
    #[ignore = "measured: needs cc"]
    fn stacks_of_mutants_are_unwound_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let Some(bytes) = mutants::compiled(folder.path(), &[]) else { return };
        let path = folder.path().join("mutant");
        let unwound = Allowance::default().patiently(Duration::from_secs(300), move |_| {
            let (mut random, place) = (fastrand::Rng::with_seed(31), 0x1_0000..0x3_0000);
            let mut unwound = 0;
            for _ in 0..500 {
                std::fs::write(&path, mutants::mutated(&bytes, &mut random)).unwrap();
                let Some(tables) = tables(open_regular(&path).unwrap(), &path, &place, 1 << 20) else { continue };
                let mut stacks = Stacks::default();
                stacks.unwinder.add_module(tables.module);
                let pointer = 0x7fff_0000;
                for _ in 0..20 {
                    let word = || [random.u64(place.clone()), random.u64(pointer..pointer + 512), random.u64(..)];
                    let words: Vec<u64> = std::iter::repeat_with(word).take(24).flatten().collect();
                    let [instruction, frame] = [words[0], words[1]];
                    let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                    let frames = stacks.frames(&Stack { instruction, pointer, frame, link: words[3], bytes });
                    assert!(frames.len() <= DEPTH);
                    unwound += usize::from(frames.len() > 1);
                }
            }
            unwound
        });
        assert!(unwound.expect("no mutant ends or holds the reading thread") > 0);
    }
}
