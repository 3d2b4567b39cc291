//! Holders that die, at any moment and with any name.

use super::{again, create, file, open, orders, until};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use std::{env, thread};
use ulocks::shared::{Plain, SharedMemory};
use ulocks::{Inherited, Robust, Shared};

#[repr(C)]
struct Ledger {
    lock: Robust<Shared>,
    /// The work done and the work announced: they differ while a process is in the middle.
    done: AtomicU64,
    begun: AtomicU64,
    deaths_told: AtomicU64,
    /// The process between acquiring and releasing the lock; 0: none, or one that has not noted itself yet.
    inside: AtomicU32,
    stop: AtomicU32,
}

// SAFETY: zero is valid for all, and none holds a pointer.
unsafe impl Plain for Ledger {}

/// One entry in the ledger, repairing what a dead owner left half done.
fn enter(ledger: &Ledger) {
    if ledger.lock.lock() == Inherited::OwnerDied {
        ledger.deaths_told.fetch_add(1, SeqCst);
        ledger.done.store(ledger.begun.load(SeqCst), SeqCst);
        ledger.lock.mark_consistent();
    }
    ledger.inside.store(std::process::id(), SeqCst);
    assert_eq!(ledger.begun.load(SeqCst), ledger.done.load(SeqCst), "the ledger is whole");
    ledger.begun.fetch_add(1, SeqCst);
    std::hint::black_box((0..200).sum::<u32>());
    ledger.done.fetch_add(1, SeqCst);
    ledger.inside.store(0, SeqCst);
    // SAFETY: locked above.
    unsafe { ledger.lock.unlock() };
}

/// Processes are killed at random points of their use of a robust lock. A fork is quicker than a new program, so a
/// single-threaded child makes the victims by forking.
#[test]
fn killed_holders_are_reported_once_each_and_nobody_hangs() {
    let test = name_of!(killed_holders_are_reported_once_each_and_nobody_hangs);
    if let Some((file, role)) = orders() {
        let ledger = open::<Ledger>(file, 1).unwrap();
        match role.as_str() {
            "survivor" => {
                while ledger.stop.load(SeqCst) == 0 {
                    enter(&ledger);
                }
            }
            kills => kill_victims(&ledger, kills.parse().unwrap()),
        }
        return;
    }
    let kills = env::var("ULOCKS_KILLS").unwrap_or_else(|_| "150".into());
    let (_folder, file) = file();
    let ledger = create::<Ledger>(&file, 1).unwrap();
    let mut survivors: Vec<_> = (0..2).map(|_| again(test, &file, "survivor")).collect();
    let mut killer = again(test, &file, &kills);
    assert!(killer.wait().unwrap().success(), "the killer failed");
    ledger.stop.store(1, SeqCst);
    for survivor in &mut survivors {
        assert!(survivor.wait().unwrap().success(), "a survivor failed");
    }
    enter(&ledger);
    let told = ledger.deaths_told.load(SeqCst);
    eprintln!("{kills} kills, {told} of them inside, {} entries", ledger.done.load(SeqCst));
    assert!(told <= kills.parse().unwrap(), "more deaths told than died");
    assert!(!ledger.lock.is_suspect() && !ledger.lock.is_locked());
}

fn kill_victims(ledger: &Ledger, kills: u32) {
    let mut random = 0x2002_0226u64;
    for _ in 0..kills {
        let told = ledger.deaths_told.load(SeqCst);
        // SAFETY: the child only uses the ledger, in shared memory, and never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                enter(ledger);
            }
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        thread::sleep(Duration::from_micros(300 + (random >> 33) % 1500));
        // SAFETY: the child is ours and not waited for.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        // The next owner overwrites it, so seeing it proves a death inside; not seeing it proves nothing.
        let died_inside = ledger.inside.load(SeqCst) == child.cast_unsigned();
        // It goes on: the present holder of the lock is alive or its death is detected.
        let done = ledger.done.load(SeqCst);
        until("the ledger goes on", || ledger.done.load(SeqCst) > done);
        let now = ledger.deaths_told.load(SeqCst);
        assert!(now <= told + 1, "one death was told twice");
        assert!(!died_inside || now == told + 1, "a death was not told");
    }
}

/// A dead holder with any name is found: by its start time and state, which follow the name.
#[test]
fn a_dead_holder_with_any_name_is_found() {
    let test = name_of!(a_dead_holder_with_any_name_is_found);
    if orders().is_none() {
        assert!(again(test, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    for name in [c"plain", c"\xff\xfe", c"mid-character\xc3", c") R 1 (", c"line\nbreak"] {
        let lock = SharedMemory::<Robust<Shared>>::anonymous().unwrap();
        // SAFETY: the child only sets its name, uses the shared lock, and leaves by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the name is a string with a zero at its end; _exit runs nothing of this process.
            unsafe {
                libc::prctl(libc::PR_SET_NAME, name.as_ptr());
                let _ = lock.lock();
                libc::_exit(0);
            }
        }
        until("the child holds it", || lock.is_locked());
        // No process has waited for the child, so its number still names it.
        assert_eq!(lock.try_lock_for(Duration::from_secs(10)), Some(Inherited::OwnerDied), "{name:?}");
        // SAFETY: the child is ours.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

/// A program that polls, and never waits, learns of a death too, and only once.
#[test]
fn try_lock_of_a_dead_holder_tells_the_death_once() {
    let test = name_of!(try_lock_of_a_dead_holder_tells_the_death_once);
    if orders().is_none() {
        assert!(again(test, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    let lock = SharedMemory::<Robust<Shared>>::anonymous().unwrap();
    let gate = SharedMemory::<Robust<Shared>>::anonymous().unwrap();
    let _ = gate.lock();
    // SAFETY: the child only uses the two shared locks, and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let _ = lock.lock();
        let _ = gate.lock();
        // SAFETY: it runs nothing of this process.
        unsafe { libc::_exit(0) };
    }
    until("the child holds it", || lock.is_locked());
    assert_eq!(lock.try_lock(), None, "its holder lives");
    // SAFETY: this process holds the gate; the child is ours.
    unsafe {
        gate.unlock();
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    assert_eq!(lock.try_lock(), Some(Inherited::OwnerDied));
    assert_eq!(lock.try_lock(), None, "this thread holds it, and lives");
    assert!(lock.is_suspect());
    lock.mark_consistent();
    // SAFETY: this thread holds it.
    unsafe { lock.unlock() };
    assert_eq!(lock.try_lock(), Some(Inherited::Clean));
}
