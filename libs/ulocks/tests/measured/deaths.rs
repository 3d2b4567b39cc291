//! Holders that die, at any moment and with any thread name.

use super::{child_role, create, file, open, run_again, until};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use std::{env, thread};
use ulocks::shared::{Plain, SharedMemory};
use ulocks::{Inherited, Robust, Shared};

#[repr(C)]
struct Ledger {
    lock: Robust<Shared>,
    /// Entries begun and entries done: they differ while a process is within an entry.
    done: AtomicU64,
    begun: AtomicU64,
    deaths_reported: AtomicU64,
    /// The process between acquiring and releasing the lock; 0: none, or one that has not recorded itself yet.
    inside: AtomicU32,
    stop: AtomicU32,
}

// SAFETY: zero is valid for all fields, and none contains a pointer.
unsafe impl Plain for Ledger {}

/// Makes one entry in the ledger, and repairs an entry that a dead owner left unfinished.
fn enter(ledger: &Ledger) {
    if ledger.lock.lock() == Inherited::OwnerDied {
        ledger.deaths_reported.fetch_add(1, SeqCst);
        ledger.done.store(ledger.begun.load(SeqCst), SeqCst);
        ledger.lock.mark_consistent();
    }
    ledger.inside.store(std::process::id(), SeqCst);
    assert_eq!(ledger.begun.load(SeqCst), ledger.done.load(SeqCst), "the ledger is whole");
    ledger.begun.fetch_add(1, SeqCst);
    std::hint::black_box((0..200).sum::<u32>());
    ledger.done.fetch_add(1, SeqCst);
    ledger.inside.store(0, SeqCst);
    // SAFETY: this thread acquired the lock in this function.
    unsafe { ledger.lock.unlock() };
}

/// Processes are killed at random points while they use a robust lock.
///
/// A fork is faster than a new program, so a single-threaded child creates the victims by forking.
#[test]
fn killed_holders_are_reported_once_each_and_survivors_go_on() {
    let test = name_of!(killed_holders_are_reported_once_each_and_survivors_go_on);
    if let Some((file, role)) = child_role() {
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
    let (_directory, file) = file();
    let ledger = create::<Ledger>(&file, 1).unwrap();
    let mut survivors: Vec<_> = (0..2).map(|_| run_again(test, &file, "survivor")).collect();
    let mut killer = run_again(test, &file, &kills);
    assert!(killer.wait().unwrap().success(), "the killer failed");
    ledger.stop.store(1, SeqCst);
    for survivor in &mut survivors {
        assert!(survivor.wait().unwrap().success(), "a survivor failed");
    }
    enter(&ledger);
    let reported = ledger.deaths_reported.load(SeqCst);
    eprintln!("{kills} kills, {reported} of them inside, {} entries", ledger.done.load(SeqCst));
    assert!(reported <= kills.parse().unwrap(), "more deaths reported than kills");
    assert!(!ledger.lock.is_suspect() && !ledger.lock.is_locked());
}

fn kill_victims(ledger: &Ledger, kills: u32) {
    let mut random = 0x2002_0226u64;
    for _ in 0..kills {
        let reported = ledger.deaths_reported.load(SeqCst);
        // SAFETY: the child only uses the ledger, in shared memory, and never returns.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                enter(ledger);
            }
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        thread::sleep(Duration::from_micros(300 + (random >> 33) % 1500));
        // SAFETY: this process created the child and has not waited for it.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        // The next owner overwrites the field, so finding the victim in it proves a death inside; not finding it
        // proves nothing.
        let died_inside = ledger.inside.load(SeqCst) == child.cast_unsigned();
        // The current holder of the lock is alive or its death is detected, so entries continue.
        let done = ledger.done.load(SeqCst);
        until("the ledger goes on", || ledger.done.load(SeqCst) > done);
        let now = ledger.deaths_reported.load(SeqCst);
        assert!(now <= reported + 1, "one death was reported twice");
        assert!(!died_inside || now == reported + 1, "a death was not reported");
    }
}

/// A dead holder with any name is detected by its start time and state, which follow the name in `/proc`.
#[test]
fn dead_holder_with_any_thread_name_is_detected() {
    let test = name_of!(dead_holder_with_any_thread_name_is_detected);
    if child_role().is_none() {
        assert!(run_again(test, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    for name in [c"plain", c"\xff\xfe", c"mid-character\xc3", c") R 1 (", c"line\nbreak"] {
        let lock = SharedMemory::<Robust<Shared>>::anonymous().unwrap();
        // SAFETY: the child only sets its name, uses the shared lock, and exits by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the name is a string with a zero byte at its end; _exit runs no code of this process.
            unsafe {
                libc::prctl(libc::PR_SET_NAME, name.as_ptr());
                let _ = lock.lock();
                libc::_exit(0);
            }
        }
        until("the child holds it", || lock.is_locked());
        // No process has waited for the child, so its number still identifies it.
        assert_eq!(lock.try_lock_for(Duration::from_secs(10)), Some(Inherited::OwnerDied), "{name:?}");
        // SAFETY: this process created the child and has not waited for it.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

/// A program that polls, and never waits, also receives the report of a death, and only once.
#[test]
fn try_lock_of_a_dead_holder_reports_the_death_once() {
    let test = name_of!(try_lock_of_a_dead_holder_reports_the_death_once);
    if child_role().is_none() {
        assert!(run_again(test, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    let lock = SharedMemory::<Robust<Shared>>::anonymous().unwrap();
    let gate = SharedMemory::<Robust<Shared>>::anonymous().unwrap();
    let _ = gate.lock();
    // SAFETY: the child only uses the two shared locks, and exits by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let _ = lock.lock();
        let _ = gate.lock();
        // SAFETY: _exit runs no code of this process.
        unsafe { libc::_exit(0) };
    }
    until("the child holds it", || lock.is_locked());
    assert_eq!(lock.try_lock(), None, "its holder lives");
    // SAFETY: this thread holds the gate; this process created the child and has not waited for it.
    unsafe {
        gate.unlock();
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    assert_eq!(lock.try_lock(), Some(Inherited::OwnerDied));
    assert_eq!(lock.try_lock(), None, "this thread holds it, and lives");
    assert!(lock.is_suspect());
    lock.mark_consistent();
    // SAFETY: this thread holds the lock.
    unsafe { lock.unlock() };
    assert_eq!(lock.try_lock(), Some(Inherited::Clean));
}
