//! The locks between processes: at different addresses, with holders that are stopped or killed, across forks.
//!
//! The test binary runs itself again for another process (so that threads of the test runner are not forked), in the
//! test named by its arguments, with its orders in the environment. `ULOCKS_KILLS` sets how often the robust lock's
//! holder is killed (10,000 for a thorough run).
#![cfg(not(loom))]

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use ulocks::{
    Adaptive, Calock, FutexSem, Inherited, NoCount, Pi, Robust, RwLock, RwLockFair, Semaphore, Shared, SysvSem, Ticket,
    Usema, UsemaSpin,
    lock_api::RawMutex,
    shared::{Guarded, Plain, Result, SharedMemory},
};

const FILE: &str = "ULOCKS_TEST_FILE";
const LOCK: &str = "ULOCKS_TEST_LOCK";

/// The file that this process was told to work on, if it is a child of the test.
fn orders() -> Option<(PathBuf, String)> {
    Some((env::var_os(FILE)?.into(), env::var(LOCK).unwrap_or_default()))
}

/// Runs this test again in another process.
fn again(test: &str, file: &Path, lock: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .env(LOCK, lock)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

macro_rules! safely {
    ($($name:ident),*) => {
        $(fn $name<T: Plain>(path: impl AsRef<Path>, layout: u32) -> Result<SharedMemory<T>> {
            // SAFETY: the file is in the test's own folder, and each test uses its file as one type.
            unsafe { SharedMemory::$name(path, layout) }
        })*
    };
}
safely!(create, open, open_or_create);

fn file() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("locks");
    (folder, file)
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: the child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

/// Waits for something that another process does. Too long is an error: nothing here depends on how long.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute until {what}");
        thread::sleep(Duration::from_micros(200));
    }
}

#[repr(C)]
struct Counter<R: RawMutex> {
    halves: Guarded<R, [u64; 2]>,
    addresses: [AtomicU64; 2],
}
// SAFETY: zero is valid for both fields, and neither holds a pointer (the addresses are numbers to compare).
unsafe impl<R: RawMutex + Plain> Plain for Counter<R> {}

const ROUNDS: u64 = 5_000;

/// Two processes count in the same file. Before it maps it, one of them maps other things, and it maps it twice.
fn count<R: RawMutex + Plain>(file: &Path, child: bool) {
    let other_things: Vec<_> = (0..2 * usize::from(child)).map(|_| SharedMemory::<[u8; 65536]>::anonymous()).collect();
    let here = open_or_create::<Counter<R>>(file, 1).unwrap();
    let twice = open::<Counter<R>>(file, 1).unwrap();
    here.addresses[usize::from(child)].store((&raw const *here).addr() as u64, SeqCst);
    for round in 0..ROUNDS {
        let mapping = if round % 2 == 0 { &here } else { &twice };
        mapping.halves.with(|halves| {
            assert_eq!(halves[0], halves[1], "two processes were inside");
            halves[0] += 1;
            if round % 128 == 0 {
                thread::yield_now();
            }
            halves[1] += 1;
        });
    }
    drop(other_things);
}

fn counts_between_processes<R: RawMutex + Plain>(name: &str) {
    const TEST: &str = "processes_exclude_each_other_at_different_addresses";
    if let Some((file, lock)) = orders() {
        if lock == name {
            count::<R>(&file, true);
        }
        return;
    }
    let (_folder, file) = file();
    let mut child = again(TEST, &file, name);
    count::<R>(&file, false);
    assert!(child.wait().unwrap().success(), "{name}: the other process failed");
    let memory = open::<Counter<R>>(&file, 1).unwrap();
    assert_eq!(memory.halves.with(|halves| *halves), [2 * ROUNDS; 2], "{name}");
    assert_ne!(memory.addresses[0].load(SeqCst), memory.addresses[1].load(SeqCst), "{name}: different addresses");
}

#[test]
fn processes_exclude_each_other_at_different_addresses() {
    counts_between_processes::<Adaptive<Shared>>("adaptive");
    counts_between_processes::<Calock<Shared>>("calock");
    counts_between_processes::<Usema<Shared>>("usema");
    counts_between_processes::<UsemaSpin<Shared>>("usema-spin");
    counts_between_processes::<Ticket<NoCount>>("ticket");
    counts_between_processes::<Pi<Shared>>("pi");
    counts_between_processes::<Robust<Shared>>("robust");
}

#[repr(C)]
struct Stage {
    robust: Robust<Shared>,
    adaptive: Adaptive<Shared>,
    inside: AtomicU32,
}
// SAFETY: zero is valid for all three, and none holds a pointer.
unsafe impl Plain for Stage {}

/// A stopped holder is not a dead one: nobody gets its lock until it goes on.
#[test]
fn a_stopped_holder_keeps_its_lock() {
    if let Some((file, _)) = orders() {
        let stage = open::<Stage>(file, 1).unwrap();
        let _ = stage.robust.lock();
        stage.adaptive.lock();
        stage.inside.store(1, SeqCst);
        until("the stop is over", || stage.inside.load(SeqCst) == 2);
        // SAFETY: both were locked above.
        unsafe {
            stage.adaptive.unlock();
            stage.robust.unlock();
        }
        return;
    }
    let (_folder, file) = file();
    let stage = create::<Stage>(&file, 1).unwrap();
    let mut child = again("a_stopped_holder_keeps_its_lock", &file, "");
    until("the child holds both", || stage.inside.load(SeqCst) == 1);
    signal(&child, libc::SIGSTOP);
    assert_eq!(stage.robust.try_lock_for(Duration::from_millis(100)), None);
    assert!(!stage.adaptive.try_lock_for(Duration::from_millis(20)));
    stage.inside.store(2, SeqCst);
    signal(&child, libc::SIGCONT);
    stage.adaptive.lock();
    assert_eq!(stage.robust.lock(), Inherited::Clean);
    assert!(child.wait().unwrap().success());
}

/// A killed waiter takes nothing with it: the lock still goes round among the others.
#[test]
fn a_killed_waiter_does_not_block_the_others() {
    if let Some((file, _)) = orders() {
        let stage = open::<Stage>(file, 1).unwrap();
        stage.inside.fetch_add(1, SeqCst);
        loop {
            stage.adaptive.lock();
            // SAFETY: locked in the line before.
            unsafe { stage.adaptive.unlock() };
        }
    }
    let (_folder, file) = file();
    let stage = create::<Stage>(&file, 1).unwrap();
    for round in 0..5u32 {
        stage.adaptive.lock();
        stage.inside.store(0, SeqCst);
        let children: Vec<_> = (0..2).map(|_| again("a_killed_waiter_does_not_block_the_others", &file, "")).collect();
        until("the children wait", || stage.inside.load(SeqCst) == 2);
        thread::sleep(Duration::from_micros(u64::from(round) * 300));
        // They wait for a lock that this process holds, so killing them kills waiters.
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // SAFETY: locked above.
        unsafe { stage.adaptive.unlock() };
        stage.adaptive.lock();
        // SAFETY: locked in the line before.
        unsafe { stage.adaptive.unlock() };
    }
}

#[repr(C)]
struct Ledger {
    lock: Robust<Shared>,
    /// What is done, and what is announced: they differ while somebody is in the middle.
    done: AtomicU64,
    begun: AtomicU64,
    deaths_told: AtomicU64,
    /// The process that is between taking and freeing the lock; 0: nobody, or somebody who has not said so yet.
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
    const TEST: &str = "killed_holders_are_reported_once_each_and_nobody_hangs";
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
    let mut survivors: Vec<_> = (0..2).map(|_| again(TEST, &file, "survivor")).collect();
    let mut killer = again(TEST, &file, &kills);
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
        // It goes on: whoever holds the lock now is alive or is found out.
        let done = ledger.done.load(SeqCst);
        until("the ledger goes on", || ledger.done.load(SeqCst) > done);
        let now = ledger.deaths_told.load(SeqCst);
        assert!(now <= told + 1, "one death was told twice");
        assert!(!died_inside || now == told + 1, "a death was not told");
    }
}

/// A dead holder is found whatever it was called: by its start time and state, which stand behind the name.
#[test]
fn a_dead_holder_with_any_name_is_found() {
    const TEST: &str = "a_dead_holder_with_any_name_is_found";
    if orders().is_none() {
        assert!(again(TEST, Path::new("-"), "").wait().unwrap().success());
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
        // Nobody has waited for the child, so its number still names it.
        assert_eq!(lock.try_lock_for(Duration::from_secs(10)), Some(Inherited::OwnerDied), "{name:?}");
        // SAFETY: the child is ours.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}

/// A fork in the middle of everything: the child can use shared locks, and does not remove its parent's semaphore.
#[test]
fn forked_children_share_locks_and_remove_nothing() {
    const TEST: &str = "forked_children_share_locks_and_remove_nothing";
    if orders().is_none() {
        // In a process of its own, whose other threads cannot be in the middle of an allocation at the fork.
        assert!(again(TEST, Path::new("-"), "").wait().unwrap().success());
        return;
    }
    #[repr(C)]
    struct Family {
        adaptive: Guarded<Adaptive<Shared>, u64>,
        robust: Guarded<Robust<Shared>, u64>,
        pi: Guarded<Pi<Shared>, u64>,
        readers: RwLock<Shared>,
        fair: RwLockFair<Shared>,
        semaphore: FutexSem<Shared>,
    }
    // SAFETY: zero is valid for all, and none holds a pointer.
    unsafe impl Plain for Family {}
    let family = SharedMemory::<Family>::anonymous().unwrap();
    let sysv = SysvSem::new(1).unwrap();
    // The parent's thread number and membarrier registration are known before the forks.
    family.robust.with(|n| *n += 1);
    family.adaptive.with(|n| *n += 1);
    let children: Vec<_> = (0..3)
        .map(|_| {
            // SAFETY: this process has one thread that matters; the child uses shared memory and leaves by _exit.
            let child = unsafe { libc::fork() };
            if child == 0 {
                for _ in 0..1000 {
                    family.adaptive.with(|n| *n += 1);
                    family.robust.with(|n| *n += 1);
                    family.pi.with(|n| *n += 1);
                    family.readers.lock_shared();
                    family.fair.lock_exclusive();
                    // SAFETY: both were locked above.
                    unsafe {
                        family.fair.unlock_exclusive();
                        family.readers.unlock_shared();
                    }
                }
                sysv.lock();
                sysv.unlock();
                // SAFETY: the child leaves by _exit below, so this copy is the only one it drops.
                drop(unsafe { std::ptr::read(&sysv) });
                family.semaphore.release();
                // SAFETY: leaves without running the test runner's exit handlers.
                unsafe { libc::_exit(0) };
            }
            child
        })
        .collect();
    children.iter().for_each(|_| family.semaphore.acquire());
    for child in children {
        let mut status = 0;
        // SAFETY: the child is ours, the status is a valid place.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "a child failed");
    }
    sysv.lock();
    assert_eq!(family.adaptive.with(|n| *n), 3001);
    assert_eq!(family.robust.with(|n| *n), 3001);
    assert_eq!(family.pi.with(|n| *n), 3000);
}
