//! A process: its first call finds the memory, and the process gets a place in it.
//!
//! Calls come before the library's own constructor, from the constructors of what the program is linked with; the C
//! library itself is ready by then. Should it not be, the constructor tries once more.

use super::clock::{now, now_ns};
use super::external::{
    MADV_DONTDUMP, MAP_FAILED, MAP_NORESERVE, MAP_SHARED, O_CLOEXEC, O_RDONLY, O_RDWR, PROT_READ, PROT_WRITE, close,
    getenv, getpid, keeping_errno, madvise, mmap, open, pthread_atfork, read, sleep,
};
use super::local::{self, Local, OFF};
use super::{free_mutex, slot};
use crate::layout::{Header, MAPS, PROCESSES, Process, Region};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The variable of the memory's file: that of `memory::PLACE`.
const PLACE: &core::ffi::CStr = c"CONTEND_TRACE_MEMORY";

/// Determines whether this process records; `is_last` if no later call will try again.
#[cold]
pub fn begin(local: &'static Local, is_last: bool) {
    keeping_errno(|| {
        if !local::claim(local) {
            return;
        }
        if local::region().is_none() {
            match memory() {
                Some(region) if region.header.level.load(Relaxed) != 0 => local::take(region),
                None if !is_last => return local.claimed.store(0, Release),
                _ => return local::give_up(),
            }
            slot::prepare();
            // SAFETY: the handler is a function of this library, which is never unloaded. It is inherited by children,
            // so it is registered once, by the process that maps the memory.
            unsafe { pthread_atfork(None, None, Some(slot::forget_parent)) };
            free_mutex::find_out();
        }
        let Some(region) = local::region() else { return };
        enter(region, local);
    });
}

/// Maps the file that the environment names.
fn memory() -> Option<&'static Region> {
    // SAFETY: the name ends with a NUL.
    let path = unsafe { getenv(PLACE.as_ptr()) };
    if path.is_null() {
        return None;
    }
    // SAFETY: what getenv gives ends with a NUL.
    let file = unsafe { open(path, O_RDWR | O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let (length, flags) = (size_of::<Region>(), MAP_SHARED | MAP_NORESERVE);
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let start = unsafe { mmap(core::ptr::null_mut(), length, PROT_READ | PROT_WRITE, flags, file, 0) };
    // SAFETY: the descriptor is ours.
    unsafe { close(file) };
    if start == MAP_FAILED {
        return None;
    }
    // A core file of the program is to be the program's.
    // SAFETY: the range is that of the mapping just made.
    unsafe { madvise(start, length, MADV_DONTDUMP) };
    // SAFETY: the region is mapped for good, aligned to a page, and all of it is atomics.
    let region = unsafe { &*start.cast::<Region>() };
    (region.header.magic.load(Relaxed) == Header::MAGIC).then_some(region)
}

/// Takes a place for this process.
fn enter(region: &'static Region, local: &Local) {
    let place = region.header.processes.fetch_add(1, Relaxed);
    let Some(process) = region.processes.get(place as usize) else {
        region.header.processes.store(PROCESSES as u32, Relaxed);
        region.header.lost_processes.fetch_add(1, Relaxed);
        return local.level.store(OFF, Release);
    };
    process.started.store(now(), Relaxed);
    // SAFETY: the call takes nothing.
    process.pid.store(unsafe { getpid() } as u32, Release);
    note_map(process);
    let level = region.header.level.load(Relaxed);
    if level == Header::CONFIRM {
        wait_for_targets(process);
    }
    local.process.store(place, Relaxed);
    local.level.store(level, Release);
    local.ready.store((!matches!(level, Header::WHAT_IF | Header::CONFIRM)) as u32, Release);
}

/// The longest wait of a process at its start for its targets, and the period at which it looks.
const AIM_NS: u64 = 3_000_000_000;
const LOOK_NS: u64 = 200_000;

/// Waits until the reader has written where to hold threads of this process.
fn wait_for_targets(process: &Process) {
    let began = now_ns();
    while process.is_aimed_at.load(Acquire) == 0 && now_ns().saturating_sub(began) < AIM_NS {
        sleep(LOOK_NS);
    }
}

/// Writes the memory map, for the later lookup of names.
pub fn note_map(process: &Process) {
    // SAFETY: the path ends with a NUL.
    let file = unsafe { open(c"/proc/self/maps".as_ptr(), O_RDONLY | O_CLOEXEC) };
    if file < 0 {
        return;
    }
    let (first, mut length) = (process.maps.as_ptr().cast_mut(), 0);
    while length < MAPS {
        // SAFETY: the rest of the array is there to be written; its bytes are atomics, which the kernel writes whole.
        let read = unsafe { read(file, first.byte_add(length).cast(), MAPS - length) };
        if read <= 0 {
            break;
        }
        length += read as usize;
    }
    process.maps_length.store(length as u32, Release);
    // SAFETY: the descriptor is ours.
    unsafe { close(file) };
}
