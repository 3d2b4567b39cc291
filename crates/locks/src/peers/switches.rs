//! Whether a thread runs: the kernel's records of its switches, which other threads of the process read.
//!
//! | in the table of threads | meaning | written by |
//! |---|---|---|
//! | `taken` | a thread has this number | that thread |
//! | `ring` | the mapped switch records of the thread; null: not available | that thread |
//! | `readers` | how many threads read the ring now | those threads |
//!
//! Each thread opens a perf event that records its own context switches into a ring of one page, which the kernel
//! overwrites. The last record says whether the thread was switched out. A thread that ends removes its ring and then waits
//! until `readers` is 0 (all `SeqCst`), so a ring is not unmapped while it is read.

use super::atomic::{AtomicPtr, AtomicU32, Ordering};
use perf_event::Builder;
use perf_event::events::Software;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

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
pub fn is_switched_out(number: u32) -> Option<bool> {
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

/// Returns the number of the calling thread, from 1.
#[inline(always)]
pub fn own_number() -> u32 {
    OWN.with(|own| own.number)
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
