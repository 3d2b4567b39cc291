//! The blocked threads of a process, seen from outside: the call path of each, the lock that it waits for, and the owner
//! of that lock by the words that glibc keeps in it.
//!
//! | lock | word that a thread waits for | owner |
//! |---|---|---|
//! | `pthread_mutex_t` | its first one | 8 bytes behind it |
//! | the same, robust or with priority inheritance | its first one | in that word |
//! | `pthread_rwlock_t` | at 0, 8 or 12 in it | 24 bytes behind its beginning, for a writer |
//!
//! A word counts as an owner only if it is a thread of the process: so a lock that is laid out otherwise has none. Only
//! where the C library's function for mutexes waits, and the other words are those of a mutex, an owner can be gone.

use crate::frames::{Frames, Kind};
use crate::memory::{read, top_of_stack};
use crate::names::Names;
use crate::namespace::OwnNumbers;
use crate::sampling::{Call, call_of, threads};
use crate::stacks::{Stack, Stacks};
use std::collections::HashMap;

/// A blocked thread.
#[derive(Clone, Debug)]
pub struct Blocked {
    pub thread: u32,
    pub call: Call,
    pub frames: Frames,
    /// Number of times that it was switched out so far: as long as that is the same, it did not run.
    pub switches: u64,
    /// The lock that it waits for.
    pub wanted: Option<Wanted>,
}

/// A lock that a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    pub address: u64,
    pub kind: Kind,
    pub owner: Owner,
    /// Whether the wait ends at a time that the program sets.
    pub is_timed: bool,
}

/// The owner of a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owner {
    /// The kernel's number of the thread.
    Thread(u32),
    /// A thread that the process does not have: it has ended, or is another process's.
    Gone(u32),
    /// Some threads hold it as readers, which no word names.
    Readers,
    Unknown,
}

/// Threads that are looked at.
const MOST_THREADS: usize = 1_024;

/// Looks at the blocked threads of a process, whose memory map `names` and `stacks` know.
pub fn blocked(process: u32, slot: u32, names: &mut Names, stacks: &mut Stacks) -> Vec<Blocked> {
    let alive = alive(process);
    let look = |thread: u32| of_thread(process, thread, &alive, slot, names, stacks);
    threads(process).take(MOST_THREADS).filter_map(look).collect()
}

/// Looks at one blocked thread.
pub fn blocked_thread(process: u32, thread: u32, slot: u32, names: &mut Names, stacks: &mut Stacks) -> Option<Blocked> {
    of_thread(process, thread, &alive(process), slot, names, stacks)
}

/// The threads of a process: their numbers for the kernel, by those that the process knows.
pub type Alive = HashMap<u32, u32>;

/// Returns the threads that a process has now.
pub fn alive(process: u32) -> Alive {
    let mut numbers = OwnNumbers::of(process);
    threads(process).filter_map(|thread| Some((numbers.own(thread)?, thread))).collect()
}

/// Returns the circles of threads that wait for each other without an end: each waits for a lock of the next one, and
/// the last for one of the first.
pub fn circles(blocked: &[Blocked]) -> Vec<Vec<&Blocked>> {
    let next = |one: &Blocked| match one.wanted {
        Some(Wanted { owner: Owner::Thread(thread), is_timed: false, .. }) => {
            blocked.iter().position(|other| other.thread == thread)
        }
        _ => None,
    };
    let next: Vec<Option<usize>> = blocked.iter().map(next).collect();
    let mut found = Vec::new();
    let mut is_known = vec![false; blocked.len()];
    for first in 0..blocked.len() {
        let mut way = Vec::new();
        let mut at = Some(first);
        // It ends: each thread is gone through once.
        while let Some(place) = at.filter(|place| !is_known[*place]) {
            is_known[place] = true;
            way.push(place);
            at = next[place];
        }
        // It ends where it began to go round, or at a thread of an earlier way.
        if let Some(begin) = at.and_then(|at| way.iter().position(|place| *place == at)) {
            found.push(way[begin..].iter().map(|place| &blocked[*place]).collect());
        }
    }
    found
}

fn of_thread(
    process: u32,
    thread: u32,
    alive: &Alive,
    slot: u32,
    names: &mut Names,
    stacks: &mut Stacks,
) -> Option<Blocked> {
    let call = call_of(process, thread)?;
    let bytes = top_of_stack(process, call.pointer);
    let stack = Stack { instruction: call.instruction, pointer: call.pointer, frame: 0, link: 0, bytes };
    let frames = Frames::of(names, slot, &stacks.frames(&stack), &[], |_| None);
    let switches = switches(process, thread)?;
    let wanted = wanted(process, call, frames.kind, alive);
    Some(Blocked { thread, call, frames, switches, wanted })
}

/// Returns how often a thread was switched out.
fn switches(process: u32, thread: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/status")).ok()?;
    let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
    Some(counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum())
}

/// The bits of a futex word that are a thread's number, where the kernel reads them.
const OWNER: u32 = 0x3fff_ffff;
/// The operations of `futex` without their flags.
const OPERATION: u64 = 0x7f;
const MOST_THREAD_NUMBER: u32 = 1 << 22;
/// All bits that glibc sets in the word of a mutex's type.
const MUTEX_FLAGS: u32 = 0x3ff;
const PRIVATE: u64 = libc::FUTEX_PRIVATE_FLAG as u64;
const WAITS: [u64; 2] = [libc::FUTEX_WAIT as u64, libc::FUTEX_WAIT_BITSET as u64];
const LOCKS: [u64; 2] = [libc::FUTEX_LOCK_PI as u64, 13];

/// Returns the lock that a thread waits for in this call, whose functions wait for an object of this kind.
pub fn wanted(process: u32, call: Call, kind: Option<Kind>, alive: &Alive) -> Option<Wanted> {
    let operation = call.arguments[1] & OPERATION;
    if call.number != libc::SYS_futex || !WAITS.contains(&operation) && !LOCKS.contains(&operation) {
        return None;
    }
    let (word, is_timed) = (call.arguments[0], call.arguments[3] != 0);
    let found = |address: u64, kind: Kind, owner: Owner| Some(Wanted { address, kind, owner, is_timed });
    let known = |thread: u32| alive.get(&thread).copied();
    // The kernel clears the number of an ended thread, and wakes its waiters as those of a word that processes share.
    let may_join = kind.is_none() && call.arguments[1] & PRIVATE == 0 && WAITS.contains(&operation);
    if may_join && known(call.arguments[2] as u32).is_some() {
        return None;
    }
    match kind {
        Some(Kind::RwLock) => {
            let (address, owner) = readers_writer(process, word, alive);
            found(address, Kind::RwLock, owner)
        }
        // A wait for a condition ends with getting the mutex back.
        Some(Kind::Mutex | Kind::Condition) | None => {
            let [first, _, owner, users, flags] = words(process, word)?;
            let by_word = known(first & OWNER).filter(|_| first > 2);
            let by_mutex = known(owner).filter(|_| first == 2);
            // The kernel gives no thread a greater number.
            let is_number = (1..=MOST_THREAD_NUMBER).contains(&owner);
            let is_gone = first == 2 && is_number && users > 0 && flags <= MUTEX_FLAGS;
            match by_word.or(by_mutex) {
                Some(thread) => found(word, Kind::Mutex, Owner::Thread(thread)),
                None if kind == Some(Kind::Mutex) && is_gone => found(word, Kind::Mutex, Owner::Gone(owner)),
                None if kind == Some(Kind::Mutex) => found(word, Kind::Mutex, Owner::Unknown),
                None => None,
            }
        }
        Some(kind) if kind.is_lock() => found(word, kind, Owner::Unknown),
        Some(_) => None,
    }
}

fn words<const N: usize>(process: u32, address: u64) -> Option<[u32; N]> {
    let mut bytes = vec![0; 4 * N];
    let is_read = read(process, address, &mut bytes) == bytes.len();
    let word = |place: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[4 * place + byte]));
    is_read.then(|| std::array::from_fn(word))
}

/// Returns the beginning of a readers-writer lock that a word is in, and its owner: the one whose words fit.
fn readers_writer(process: u32, word: u64, alive: &Alive) -> (u64, Owner) {
    /// Bits of the first word below the number of readers.
    const BELOW_READERS: u32 = 3;
    let at = |offset: u64| {
        let address = word.checked_sub(offset)?;
        let [readers, _, _, _, _, _, writer] = words(process, address)?;
        let owner = match () {
            () if alive.contains_key(&writer) => Owner::Thread(alive[&writer]),
            () if writer == 0 && (1..=alive.len() as u32 + 1).contains(&(readers >> BELOW_READERS)) => Owner::Readers,
            () => return None,
        };
        Some((address, owner))
    };
    let found: Vec<(u64, Owner)> = [8, 12, 0].into_iter().filter_map(at).collect();
    let writer = found.iter().find(|(_, owner)| matches!(owner, Owner::Thread(_)));
    writer.or(found.first()).copied().unwrap_or((word, Owner::Unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_without_a_name_waits_for_no_lock() {
        let (process, thread) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let word = [thread, 0, 0];
        let waits_with = |flags: i32, kind| {
            let arguments = [word.as_ptr() as u64, (libc::FUTEX_WAIT_BITSET | flags) as u64, thread.into(), 0];
            let call = Call { number: libc::SYS_futex, arguments, pointer: 0, instruction: 0 };
            wanted(process, call, kind, &[(thread, thread)].into())
        };
        assert_eq!(waits_with(0, None), None, "the kernel wakes it as a waiter of a word that processes share");
        let owner = |wanted: Option<Wanted>| wanted.map(|wanted| wanted.owner);
        assert_eq!(owner(waits_with(libc::FUTEX_PRIVATE_FLAG, None)), Some(Owner::Thread(thread)));
        assert_eq!(owner(waits_with(0, Some(Kind::Mutex))), Some(Owner::Thread(thread)), "a mutex of processes");
    }
}
