//! A FlexGuard-like lock: waiters spin while the holder runs, and sleep as soon as it does not.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `word` = 0 | released | the holder, by swap |
//! | `word`, lower 31 bits | the number of the holder in the table of threads | the acquiring thread, by compare-and-swap |
//! | `word`, bit 31 | threads may sleep | waiters, by compare-and-swap; the acquiring thread that has slept |
//!
//! | in the table of threads | meaning | written by |
//! |---|---|---|
//! | `taken` | a thread has this number | that thread |
//! | `ring` | the mapped switch records of the thread; null: not available | that thread |
//! | `readers` | how many threads read the ring now | those threads |
//!
//! Each thread opens a perf event that records its own context switches into a ring of one page, which the kernel
//! overwrites. The last record says whether the thread was switched out. A waiter looks at the holder's last record
//! about once per microsecond: it spins while the holder runs, and sleeps on `word` when the holder is switched out.
//!
//! # Ordering
//! `word` is acquired with `Acquire` and released with a `Release` swap. A sleeper sets bit 31 before it sleeps, and
//! the kernel compares the whole word: either the release sees the bit and wakes a thread, or the comparison fails. A
//! woken thread keeps the bit set, since others may still sleep. A thread that ends removes its ring and then waits
//! until `readers` is 0 (all `SeqCst`), so a ring is not unmapped while it is read.
//!
//! # Fairness
//! None: any thread may acquire a released lock.
//!
//! # A stopped or dead holder
//! Waiters sleep after about a microsecond, and take no CPU time.
//!
//! # Source
//! Victor Laforet, Sanidhya Kashyap, Călin Iorgulescu, Julia Lawall and Jean-Pierre Lozi, "FlexGuard: Fast Mutual
//! Exclusion Independent of Subscription", SOSP 2025. From the paper: spinning while no holder is preempted, sleeping
//! otherwise, and the scheduler as the source. Different here, so that no privilege is needed: the paper has a BPF
//! program on `sched_switch`, which counts the preempted holders of the whole process. Here a waiter reads the record
//! of the one holder, which costs more. Not here: the queue of the paper's spinning waiters (an MCS queue), and the
//! telling of a preempted critical section from a preempted lock function by the address of the instruction. Where the
//! kernel refuses the event (`perf_event_paranoid` above 2, a seccomp filter), a waiter does not know the holder's
//! state and sleeps after a fixed number of rounds.

use super::algorithm::Algorithm;
use super::atomic::{AtomicPtr, AtomicU32, Ordering, sleep_while, wake_one};
use perf_event::Builder;
use perf_event::events::Software;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

const SLEEPERS: u32 = 1 << 31;

/// The number of iterations between two looks at the holder: about a microsecond.
const LOOK_EVERY: u32 = 32;
/// The number of iterations after which a waiter sleeps that does not know the holder's state.
const MOST_BLIND: u32 = 1_000;

pub struct FlexGuard {
    word: AtomicU32,
}

impl FlexGuard {
    #[cold]
    fn wait(&self, own: u32) {
        let (mut kept, mut rounds) = (0, 0_u32);
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word == 0 {
                if self.word.compare_exchange(0, own | kept, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return;
                }
                continue;
            }
            rounds += 1;
            let sleeps =
                rounds.is_multiple_of(LOOK_EVERY) && is_switched_out(word & !SLEEPERS).unwrap_or(rounds >= MOST_BLIND);
            if sleeps && self.announce(word) {
                sleep_while(&self.word, word | SLEEPERS);
                (kept, rounds) = (SLEEPERS, 0);
            }
            std::hint::spin_loop();
        }
    }

    /// Sets the bit that requests a wake. Returns false if the word has changed.
    fn announce(&self, word: u32) -> bool {
        word & SLEEPERS != 0
            || self.word.compare_exchange(word, word | SLEEPERS, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Algorithm for FlexGuard {
    type Held = ();

    fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    #[inline(always)]
    fn acquire(&self) {
        let own = OWN.with(|own| own.number);
        if self.word.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait(own);
        }
    }

    #[inline(always)]
    unsafe fn release(&self, (): ()) {
        let word = &raw const self.word;
        if self.word.swap(0, Ordering::Release) & SLEEPERS != 0 {
            wake_one(word);
        }
    }
}

/// A thread in the table.
struct Thread {
    taken: AtomicU32,
    ring: AtomicPtr<u8>,
    readers: AtomicU32,
}

/// Threads that can have records at the same time; further ones have none. Each record takes a file descriptor, of
/// which a process usually has 1,024.
const THREADS: usize = 512;
static TABLE: [Thread; THREADS] =
    [const { Thread { taken: AtomicU32::new(0), ring: AtomicPtr::new(null_mut()), readers: AtomicU32::new(0) } };
        THREADS];
/// The number of the threads that are not in the table.
const UNKNOWN: u32 = THREADS as u32 + 1;

/// Bytes of the page with the ring's state, and of the ring.
const PAGE: usize = 4096;
/// `data_head` in `struct perf_event_mmap_page`, part of the kernel's interface.
const HEAD: usize = 1024;
/// `PERF_RECORD_SWITCH`: its header, of 8 bytes, is all of it.
const SWITCH: u64 = 14;
/// `PERF_RECORD_MISC_SWITCH_OUT`, in the header's second field.
const SWITCHED_OUT: u64 = 1 << (13 + 32);

/// Returns whether the thread with this number is off its CPU; `None` if it has no record.
fn is_switched_out(number: u32) -> Option<bool> {
    let thread = TABLE.get(number as usize - 1)?;
    thread.readers.fetch_add(1, Ordering::SeqCst);
    let ring = thread.ring.load(Ordering::SeqCst);
    // SAFETY: a ring that is found here is not unmapped before `readers` is 0 again.
    let state = if ring.is_null() { None } else { unsafe { last_switch(ring) } };
    thread.readers.fetch_sub(1, Ordering::SeqCst);
    state
}

/// # Safety
/// The address is that of a mapped ring, of two pages.
unsafe fn last_switch(ring: *const u8) -> Option<bool> {
    // SAFETY: both reads are within the two pages, and aligned to their 8 bytes: all records have 8 bytes.
    let record = unsafe {
        let head = (*ring.add(HEAD).cast::<std::sync::atomic::AtomicU64>()).load(Ordering::Acquire) as usize;
        if head == 0 {
            // The thread has been on its CPU since the event was opened.
            return Some(false);
        }
        (*ring.add(PAGE + (head - 8) % PAGE).cast::<std::sync::atomic::AtomicU64>()).load(Ordering::Relaxed)
    };
    (record & 0xFFFF_FFFF == SWITCH).then_some(record & SWITCHED_OUT != 0)
}

/// The calling thread's place in the table.
struct Own {
    number: u32,
    _event: Option<perf_event::Counter>,
}

thread_local! {
    static OWN: Own = Own::enter();
}

impl Own {
    #[cold]
    fn enter() -> Self {
        let is_taken =
            |thread: &&Thread| thread.taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        let Some(thread) = TABLE.iter().find(is_taken) else { return Self { number: UNKNOWN, _event: None } };
        let place = TABLE.element_offset(thread).expect("the thread is from the table");
        let opened = record_switches().ok();
        if let Some((_, ring)) = &opened {
            thread.ring.store(*ring, Ordering::SeqCst);
        }
        Self { number: place as u32 + 1, _event: opened.map(|(event, _)| event) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let Some(thread) = TABLE.get(self.number as usize - 1) else { return };
        let ring = thread.ring.swap(null_mut(), Ordering::SeqCst);
        while thread.readers.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
        if !ring.is_null() {
            // SAFETY: `record_switches` mapped the two pages, and no thread can find them any more. If the call fails,
            // they stay mapped.
            let _ = unsafe { munmap(ring.cast(), 2 * PAGE) };
        }
        thread.taken.store(0, Ordering::Release);
    }
}

/// Opens the record of the calling thread's switches, and maps its ring.
fn record_switches() -> io::Result<(perf_event::Counter, *mut u8)> {
    let mut event = Builder::new(Software::DUMMY)
        .observe_self()
        .any_cpu()
        .exclude_kernel(true)
        .context_switch(true)
        .enabled(true)
        .build()?;
    event.enable()?;
    // SAFETY: the descriptor is open while `event` exists; the kernel chooses an unused address. A mapping that cannot
    // be written makes the kernel overwrite the ring.
    let ring = unsafe {
        let descriptor = BorrowedFd::borrow_raw(event.as_raw_fd());
        mmap(null_mut(), 2 * PAGE, ProtFlags::READ, MapFlags::SHARED, descriptor, 0)?
    };
    Ok((event, ring.cast()))
}
