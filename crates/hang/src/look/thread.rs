//! One thread: its call path, and what it waits for.

use super::Known;
use super::call::{Call, State};
use super::channels::Channels;
use super::{process, signal, sources};
use crate::snapshot::{Frame, Lock, Owner, Thread, Wait};
use blame::frames::{Frames, Kind, function_of};
use blame::memory::read;
use blame::names::Names;
use blame::python::{self, Python};
use blame::stacks::{Stack, Stacks};
use blame::stuck::{self, Alive};
use std::collections::HashMap;

/// The kind of CPython's lock of the interpreter.
pub const INTERPRETER: &str = "interpreter";
/// A call with its target's distance, in bytes.
const CALL: u8 = 0xe8;
const CALL_LENGTH: usize = 5;
/// Bytes of a stack that are read.
const STACK: usize = 64 << 10;

/// A thread that is looked at.
pub struct View<'a> {
    pub pid: u32,
    pub tid: u32,
    pub letter: char,
    pub channels: &'a Channels,
    pub alive: &'a Alive,
}

/// A thread, with the data by which owners of locks are guessed.
pub struct Looked {
    pub thread: Thread,
    pub frames: Frames,
    pub stack: Vec<u8>,
    pub is_parking: bool,
    pub futex: u64,
    /// The function that the program calls to acquire the lock that it waits for.
    pub acquires_by: Option<u64>,
    /// The address at which the program goes on after that call.
    pub goes_on_at: Option<u64>,
    /// The time until its wait for a futex ends.
    pub left_s: Option<f64>,
}

impl Looked {
    /// Returns whether an address is on its stack, as guards have it.
    pub fn refers_to(&self, address: u64) -> bool {
        words(&self.stack).any(|word| word == address)
    }

    /// Returns whether an address is in its part of the stack that is older than the call by which it acquires a lock: the
    /// call's own part has the address of the lock in any case.
    pub fn referred_to_before(&self, address: u64) -> bool {
        let older = words(&self.stack).skip_while(|word| Some(*word) != self.goes_on_at);
        self.goes_on_at.is_some() && older.skip(1).any(|word| word == address)
    }

    /// Returns whether its whole stack was read.
    pub fn is_whole(&self) -> bool {
        (1..STACK).contains(&self.stack.len())
    }
}

fn words(stack: &[u8]) -> impl Iterator<Item = u64> {
    stack.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word))
}

impl View<'_> {
    pub fn look(&self, state: State, names: &mut Names, known: Option<&mut Known>) -> Looked {
        let name = blame::sampling::name_of(self.pid, self.tid).unwrap_or_default();
        let name = terminal::escaped(&name).into_owned();
        let mut thread = Thread { tid: self.tid, name, state: self.letter, ..Thread::default() };
        let looked = |thread: Thread| Looked {
            thread,
            frames: Frames::default(),
            stack: Vec::new(),
            is_parking: false,
            futex: 0,
            acquires_by: None,
            goes_on_at: None,
            left_s: None,
        };
        let call = match state {
            State::Running => return looked(thread),
            State::Hidden => {
                thread.wait = if self.letter == 'R' { Wait::Nothing } else { Wait::Hidden };
                return looked(thread);
            }
            State::Blocked(call) => call,
        };
        let Some(known) = known else {
            thread.wait = call.wait(self.pid, self.tid, self.letter, self.channels).unwrap_or(Wait::Hidden);
            return looked(thread);
        };
        let stack = self.stack(call.pointer, call.instruction);
        let python = known.python.as_mut();
        let word = call.arguments[0];
        let path = self.path((&stack, word), names, &mut known.stacks, python);
        thread.frames = path.handler;
        thread.interrupted = path.interrupted;
        let has_python = known.python.is_some();
        thread.wait = call
            .wait(self.pid, self.tid, self.letter, self.channels)
            .unwrap_or_else(|| self.futex(&call, &path.frames, (has_python, &known.map), names));
        let is_parking = path.frames.is_in_parking_lot();
        Looked {
            thread,
            frames: path.frames,
            stack: stack.bytes,
            is_parking,
            futex: call.arguments[0],
            acquires_by: path.acquires_by,
            goes_on_at: path.goes_on_at,
            left_s: call.left_s(self.pid),
        }
    }

    fn stack(&self, pointer: u64, instruction: u64) -> Stack {
        Stack { instruction, pointer, frame: 0, link: 0, bytes: self.bytes(pointer) }
    }

    fn bytes(&self, pointer: u64) -> Vec<u8> {
        let mut bytes = vec![0; STACK];
        let length = read(self.pid, pointer, &mut bytes);
        bytes.truncate(length);
        bytes
    }

    fn path(
        &self,
        (stack, word): (&Stack, u64),
        names: &mut Names,
        stacks: &mut Stacks,
        python: Option<&mut Python>,
    ) -> Path {
        let mut addresses = stacks.frames(stack);
        let interrupted = signal::interrupted(self.pid, stack, &addresses, |pointer| self.bytes(pointer));
        if let Some(interrupted) = &interrupted {
            addresses.truncate(interrupted.depth);
        }
        let below = interrupted.map(|interrupted| {
            let addresses = stacks.frames(&interrupted.stack);
            self.named((&addresses, word), stacks, names, &[], None).handler
        });
        let (functions, python) = match python {
            Some(python) => (python.frames(self.tid), Some(&*python)),
            None => (Vec::new(), None),
        };
        let path = self.named((&addresses, word), stacks, names, &functions, python);
        Path { interrupted: below.unwrap_or_default(), ..path }
    }

    fn named(
        &self,
        (addresses, word): (&[u64], u64),
        stacks: &Stacks,
        names: &mut Names,
        functions: &[u64],
        python: Option<&Python>,
    ) -> Path {
        let called = stacks.called(addresses);
        let all: Vec<u64> = addresses.iter().chain(functions).copied().collect();
        let frames = Frames::of(names, self.pid, &all, &called, |number| python.and_then(|python| python.site(number)));
        // By the begin of each function: the one that its call names, and where it is.
        let mut sites: HashMap<u64, (u64, u64)> = HashMap::new();
        for (address, target) in addresses.iter().zip(&called).skip(1) {
            sites.entry(names.function(self.pid, *address).unwrap_or(0)).or_insert((*target, *address));
        }
        let owns: Vec<bool> =
            frames.frames.iter().map(|frame| is_own(frame) && !self.is_extension(frame, names, python)).collect();
        let innermost = owns.iter().position(|is_own| *is_own);
        let goes_on_at = innermost.and_then(|place| sites.get(&frames.frames[place].begin)).map(|(_, at)| *at);
        let acquired = goes_on_at.and_then(|at| target(self.pid, at));
        let mut sources: HashMap<String, Option<String>> = HashMap::new();
        let frame = |(place, frame): (usize, &blame::frames::Frame)| {
            let call = sites.get(&frame.begin).filter(|_| frame.begin != 0);
            let acquired = acquired.filter(|_| Some(place) >= innermost);
            let acquiring = call.zip(acquired);
            let source = frame.site.source.clone();
            let is_python = frame.begin == 0 && source.as_deref().is_some_and(|source| source.contains(".py:"));
            let (within, acquires_here) = match source.as_deref().filter(|_| is_python && owns[place]) {
                Some(source) => self.statements(source, &mut sources),
                None => Default::default(),
            };
            Frame {
                function: name_of(frame),
                source,
                is_own: owns[place],
                calls_by_pointer: call.is_some_and(|(target, _)| *target == 0),
                acquires_elsewhere: acquiring.and_then(|((_, at), by)| {
                    acquires(self.pid, frame.begin, Some(*at), Acquiring { by, word }, names)
                }),
                within,
                acquires: acquires_here,
            }
        };
        let handler = frames.frames.iter().enumerate().map(frame).collect();
        Path { frames, handler, interrupted: Vec::new(), acquires_by: acquired, goes_on_at }
    }

    fn statements(&self, source: &str, known: &mut HashMap<String, Option<String>>) -> (Vec<String>, Option<String>) {
        let Some((file, line)) = source.rsplit_once(':') else { return Default::default() };
        let text = known.entry(file.to_owned()).or_insert_with(|| sources::text(self.pid, file));
        let line = line.parse().ok();
        text.as_deref().zip(line).map(|(text, line)| sources::statements(text, line)).unwrap_or_default()
    }

    /// Returns whether a function is in a module that the interpreter loaded from its own library.
    fn is_extension(&self, frame: &blame::frames::Frame, names: &mut Names, python: Option<&Python>) -> bool {
        python.is_some()
            && frame.begin != 0
            && names.in_file(self.pid, frame.begin + 1).is_some_and(|(path, _)| {
                let path = path.to_string_lossy();
                ["/lib-dynload/", "/libffi", "/site-packages/", "/dist-packages/"]
                    .iter()
                    .any(|part| path.contains(part))
            })
    }

    fn futex(&self, call: &Call, frames: &Frames, (has_python, map): (bool, &[u8]), names: &mut Names) -> Wait {
        let (word, is_timed) = (call.arguments[0], call.arguments[3] != 0);
        // Some libraries ask the kernel for a word that processes share where none is.
        let may_be_shared = call.arguments[1] & libc::FUTEX_PRIVATE_FLAG as u64 == 0;
        let is_shared = may_be_shared && is_in_shared_memory(map, word);
        let variable = names.variable(self.pid, word);
        if has_python && frames.frames.iter().any(|frame| function_of(&frame.site) == Some("take_gil")) {
            let kind = INTERPRETER.to_owned();
            return Wait::Lock(Lock {
                address: word,
                name: None,
                kind,
                owner: Owner::Unknown,
                is_timed: false,
                ..Lock::default()
            });
        }
        let wanted = stuck::wanted(self.pid, call.short(), frames.kind, self.alive);
        let sites = || frames.frames.iter().map(|frame| &frame.site);
        let is_semaphore = wanted.is_none_or(|wanted| wanted.kind == Kind::Semaphore);
        let event = |kind: &str| Wait::Event {
            // The word is a member of the object that the program knows.
            name: variable.as_deref().and_then(|name| name.split("+0x").next()).map(str::to_owned),
            object: kind.to_owned(),
            address: word,
            is_timed,
            is_shared,
        };
        match (frames.kind, wanted) {
            (_, Some(wanted)) if !(has_python && is_semaphore) => {
                let name = names.variable(self.pid, wanted.address);
                let name = name.or_else(|| frames.library_call().map(|function| format!("the lock in {function}")));
                let owner = match wanted.owner {
                    stuck::Owner::Thread(thread) => Owner::Thread { process: self.pid, thread },
                    stuck::Owner::Gone(thread) if is_shared => elsewhere(thread),
                    stuck::Owner::Gone(thread) => Owner::Gone { thread },
                    stuck::Owner::Readers => Owner::Readers,
                    stuck::Owner::Unknown => Owner::Unknown,
                };
                let kind = wanted.kind.name().to_owned();
                Wait::Lock(Lock {
                    address: wanted.address,
                    name,
                    kind,
                    owner,
                    is_timed: wanted.is_timed,
                    is_shared,
                    owner_acquires: None,
                })
            }
            (Some(Kind::Semaphore), _) if has_python && !python::waits_for_work(sites()) => Wait::Lock(Lock {
                address: word,
                name: None,
                kind: "Python lock".into(),
                owner: Owner::Unknown,
                is_timed,
                ..Lock::default()
            }),
            (Some(Kind::Join), _) => self.join(call, is_timed, event("join")),
            // Without a name: the kernel clears the number of an ended thread as in a word that processes share.
            (None, None) if may_be_shared => self.join(call, is_timed, event("futex")),
            (Some(Kind::Semaphore), _) if has_python => {
                Wait::Event { object: "lock".into(), name: None, address: word, is_timed, is_shared: false }
            }
            (kind, _) => event(kind.map_or("futex", Kind::name)),
        }
    }

    fn join(&self, call: &Call, is_timed: bool, otherwise: Wait) -> Wait {
        match self.alive.get(&(call.arguments[2] as u32)) {
            Some(thread) if !is_timed => Wait::Join { thread: *thread },
            _ => otherwise,
        }
    }
}

/// Returns the target of the call that returns to an address, as its instruction has it: a stub of the linker is one.
fn target(pid: u32, back: u64) -> Option<u64> {
    let mut code = [0; CALL_LENGTH];
    let is_read = read(pid, back.checked_sub(CALL_LENGTH as u64)?, &mut code) == code.len();
    let is_call = cfg!(target_arch = "x86_64") && is_read && code[0] == CALL;
    is_call.then(|| back.wrapping_add_signed(i32::from_le_bytes([code[1], code[2], code[3], code[4]]).into()))
}

/// A call of the function that acquires a lock.
#[derive(Clone, Copy)]
pub struct Acquiring {
    /// The target of the call.
    pub by: u64,
    /// The lock, or a word in it.
    pub word: u64,
}

/// Returns whether the function that begins at `begin` acquires this lock by a call, other than the one that returns to
/// `except`. A call with another lock, as far as its instructions say which, is not one.
pub fn acquires(pid: u32, begin: u64, except: Option<u64>, acquiring: Acquiring, names: &mut Names) -> Option<bool> {
    /// Bytes of a function's code that are read: those of a path that is rarely taken are at its end.
    const LARGEST: usize = 16 << 10;
    if !cfg!(target_arch = "x86_64") || begin == 0 {
        return None;
    }
    let mut code = vec![0; LARGEST];
    let length = read(pid, begin, &mut code);
    let code = &code[..length];
    let back_to = |(place, bytes): (usize, &[u8])| {
        let next = begin + (place + CALL_LENGTH) as u64;
        let is_it = bytes[0] == CALL && next.wrapping_add_signed(distance(&bytes[1..])) == acquiring.by;
        let is_for_other = || first_argument(code, place, begin).is_some_and(|other| !is_near(other, acquiring.word));
        (is_it && Some(next) != except && !is_for_other()).then_some(next)
    };
    let mut found = code.windows(CALL_LENGTH).enumerate().filter_map(back_to);
    (length > 0).then(|| found.any(|next| names.function(pid, next) == Some(begin)))
}

/// Returns whether a word can be in the object at an address.
fn is_near(object: u64, word: u64) -> bool {
    const LARGEST_LOCK: u64 = 64;
    (object..object + LARGEST_LOCK).contains(&word)
}

fn distance(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes).into())
}

/// Returns the first argument of the call at `place`, if it is the address of a variable: `lea DISTANCE(%rip), %rdi`.
fn first_argument(code: &[u8], place: usize, begin: u64) -> Option<u64> {
    const LOAD: [u8; 3] = [0x48, 0x8d, 0x3d];
    const LENGTH: usize = LOAD.len() + 4;
    /// Bytes of instructions between both.
    const BETWEEN: usize = 24;
    let from = place.saturating_sub(BETWEEN);
    let at = from + code[from..place].windows(LENGTH).rposition(|bytes| bytes.starts_with(&LOAD))?;
    let next = begin + (at + LENGTH) as u64;
    Some(next.wrapping_add_signed(distance(&code[at + LOAD.len()..])))
}

/// Returns the name of a function: of the C library's as a program calls it.
fn name_of(frame: &blame::frames::Frame) -> Option<String> {
    let function = function_of(&frame.site)?;
    let name = if frame.is_in_c_library { blame::frames::plain(function) } else { function };
    Some(terminal::escaped(name).into_owned())
}

/// Returns the owner of a lock in memory that processes share.
fn elsewhere(thread: u32) -> Owner {
    let is_there = std::path::Path::new(&format!("/proc/{thread}")).exists();
    if is_there { Owner::Thread { process: process::process_of(thread), thread } } else { Owner::Gone { thread } }
}

/// Returns whether other processes may have the memory at an address, by the memory map.
fn is_in_shared_memory(map: &[u8], address: u64) -> bool {
    let map = String::from_utf8_lossy(map);
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    map.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace();
        let range =
            fields.next().and_then(|range| range.split_once('-')).and_then(|(from, to)| Some(hex(from)?..hex(to)?));
        let is_there = range.is_some_and(|range| range.contains(&address));
        is_there && fields.next().is_some_and(|rights| rights.ends_with('s'))
    })
}

/// The call path of a thread: with names, as the rules read it, and the part that a signal interrupted.
struct Path {
    frames: Frames,
    handler: Vec<Frame>,
    interrupted: Vec<Frame>,
    acquires_by: Option<u64>,
    goes_on_at: Option<u64>,
}

/// Returns whether a function is the program's own: none of a library, and none that the linker or the compiler adds.
fn is_own(frame: &blame::frames::Frame) -> bool {
    let is_first = || matches!(function_of(&frame.site), Some("_start" | "__libc_start_main"));
    !frame.is_runtime && !frame.is_of_library && function_of(&frame.site).is_some() && !is_first()
}
