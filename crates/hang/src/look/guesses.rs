//! Owners of locks that have no word for it, by inference. Each has its reason, which the explanation states.

use super::thread::{Acquiring, INTERPRETER, Looked, acquires};
use crate::snapshot::{Language, Owner, Reason, Wait};
use blame::frames::{Kind, function_of};
use blame::names::Names;
use blame::parked::Parked;

/// Threads whose stacks are searched: each search reads them whole.
const MOST_THREADS: usize = 256;

/// Finds the likely owners of locks whose owner is unknown.
pub fn owners(pid: u32, language: Language, threads: &mut [&mut Looked]) {
    name_parking_locks(pid, threads);
    let found: Vec<Option<(usize, Reason)>> = (0..threads.len())
        .map(|waiter| {
            let Wait::Lock(lock) = &threads[waiter].thread.wait else { return None };
            match lock.owner {
                Owner::Unknown if lock.kind == INTERPRETER => Some((of_interpreter(threads)?, Reason::Interpreter)),
                Owner::Unknown if lock.kind == Kind::Once.name() => {
                    Some((of_initialiser(threads, waiter)?, Reason::Initialiser))
                }
                Owner::Unknown if language == Language::Python => Some((by_with(threads, waiter)?, Reason::With)),
                Owner::Unknown if threads.len() <= MOST_THREADS => Some((by_stack(threads, waiter)?, Reason::Stack)),
                _ => None,
            }
        })
        .collect();
    for (waiter, found) in found.into_iter().enumerate() {
        let Some((owner, reason)) = found else { continue };
        let thread = threads[owner].thread.tid;
        if let Wait::Lock(lock) = &mut threads[waiter].thread.wait {
            lock.owner = Owner::Likely { process: pid, thread, reason };
        }
    }
}

/// Finds whether the owners of locks are in functions that acquire locks in the way of the waiters.
pub fn acquirers(pid: u32, threads: &mut [&mut Looked], names: &mut Names) {
    for waiter in 0..threads.len() {
        let by = threads[waiter].acquires_by;
        let Wait::Lock(lock) = &threads[waiter].thread.wait else { continue };
        let (Owner::Thread { thread, .. } | Owner::Likely { thread, .. }) = lock.owner else { continue };
        let owner = threads.iter().find(|one| one.thread.tid == thread);
        let begins: Vec<u64> =
            owner.into_iter().flat_map(|owner| owner.frames.own().map(|frame| frame.begin)).collect();
        let acquiring = by.map(|by| Acquiring { by, word: lock.address });
        let mut is_acquired_in = |begin: &u64, acquiring| acquires(pid, *begin, None, acquiring, names) == Some(true);
        let acquires = acquiring.map(|acquiring| begins.iter().any(|begin| is_acquired_in(begin, acquiring)));
        if let Wait::Lock(lock) = &mut threads[waiter].thread.wait {
            lock.owner_acquires = acquires.filter(|_| !begins.is_empty());
        }
    }
}

/// Gives waits in parking_lot the addresses of the locks: each of its threads waits in its own word.
fn name_parking_locks(pid: u32, threads: &mut [&mut Looked]) {
    let mut parked = Parked::default();
    threads.iter().filter(|one| one.is_parking).for_each(|one| parked.note(pid, one.futex));
    let locks = parked.locks();
    for one in threads.iter_mut().filter(|one| one.is_parking) {
        if let (Wait::Lock(lock), Some(address)) = (&mut one.thread.wait, locks.get(&(pid, one.futex))) {
            lock.address = *address;
        }
    }
}

/// Returns the only thread that is blocked outside of the interpreter and does not ask for its lock. Python's own functions
/// give the lock up before they wait.
fn of_interpreter(threads: &[&mut Looked]) -> Option<usize> {
    let is_outside = |one: &&mut Looked| {
        let is_asking = matches!(&one.thread.wait, Wait::Lock(lock) if lock.kind == INTERPRETER);
        let mut native = one.frames.frames.iter().filter(|frame| frame.begin != 0 && !frame.is_in_c_library);
        let first = native.next().and_then(|frame| function_of(&frame.site).map(|name| (name, frame)));
        !is_asking
            && first.is_some_and(|(name, frame)| !frame.is_runtime && !name.starts_with('_') && !name.contains("Py"))
    };
    single(threads.iter().enumerate().filter(|(_, one)| is_outside(one)).map(|(place, _)| place))
}

/// Returns the only other thread that is in the function which waits for the end of an initialisation, called further out
/// than what it waits for now.
fn of_initialiser(threads: &[&mut Looked], waiter: usize) -> Option<usize> {
    let begin = threads[waiter].frames.caller().map(|frame| frame.begin).filter(|begin| *begin != 0)?;
    let runs = |one: &Looked| {
        let own = one.frames.caller().is_some_and(|frame| frame.begin == begin);
        let waits_too = own && matches!(&one.thread.wait, Wait::Lock(lock) if lock.kind == Kind::Once.name());
        let times = one.frames.frames.iter().filter(|frame| frame.begin == begin).count();
        // The initialiser can come to itself.
        times > usize::from(waits_too)
    };
    single((0..threads.len()).filter(|place| runs(threads[*place])))
}

/// Returns the only other thread whose source has the wanted lock in a `with` statement around its line.
fn by_with(threads: &[&mut Looked], waiter: usize) -> Option<usize> {
    let wanted = threads[waiter].thread.frames.iter().find(|frame| frame.is_own)?;
    let (name, file) = (wanted.acquires.clone()?, wanted.source.as_deref()?.rsplit_once(':')?.0.to_owned());
    let holds = |one: &Looked| {
        let own = one.thread.frames.iter().filter(|frame| {
            frame.source.as_deref().and_then(|source| source.rsplit_once(':')).is_some_and(|(of, _)| of == file)
        });
        own.into_iter().any(|frame| frame.within.contains(&name))
    };
    single((0..threads.len()).filter(|place| holds(threads[*place])))
}

/// Returns the only other thread that has the lock's address on its stack, as guards have it. If no other thread refers to
/// the lock, that is the waiter itself, where it did before it made the call that waits. Semaphores are also signals, which
/// no thread owns, and a lock that only a function's name makes one may be neither.
fn by_stack(threads: &[&mut Looked], waiter: usize) -> Option<usize> {
    let own = &threads[waiter];
    let Wait::Lock(lock) = &own.thread.wait else { return None };
    let kinds = [Kind::Mutex, Kind::RwLock, Kind::Lock].map(Kind::name);
    if !kinds.contains(&&*lock.kind) || lock.is_shared {
        return None;
    }
    let waits = |one: &Looked| matches!(&one.thread.wait, Wait::Lock(other) if other.address == lock.address);
    let refers = |one: &Looked| !waits(one) && one.refers_to(lock.address);
    let mut others = (0..threads.len()).filter(|place| refers(threads[*place]));
    match (others.next(), others.next()) {
        (Some(owner), None) => Some(owner),
        (None, _) => {
            let is_alone = threads.iter().filter(|one| waits(one)).count() == 1;
            let is_seen = threads.iter().all(|one| one.is_whole());
            (is_alone && is_seen && !own.frames.is_named_lock && own.referred_to_before(lock.address)).then_some(waiter)
        }
        _ => None,
    }
}

fn single(mut places: impl Iterator<Item = usize>) -> Option<usize> {
    let first = places.next()?;
    // A lock that several threads may own has no likely owner.
    places.all(|place| place == first).then_some(first)
}
