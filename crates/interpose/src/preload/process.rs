//! A process: its first call finds the memory, and the process gets a place in it.
//!
//! Calls come before the library's own constructor, from the constructors of what the program is linked with; the C
//! library itself is ready by then. Should it not be, the constructor tries once more.

use super::clock::{now, now_ns};
use super::external::{
    MADV_DONTDUMP, MAP_FAILED, MAP_NORESERVE, MAP_SHARED, O_CLOEXEC, O_RDWR, PROT_NONE, PROT_READ, PROT_WRITE, close,
    getenv, keeping_errno, madvise, mmap, mprotect, open, open_file, pthread_atfork, sleep,
};
use super::local::{self, Local, OFF};
use super::{free_mutex, next, slot};
use crate::layout::{Header, MAPS, PROCESSES, Process, Region};
use crate::shared::kernel;
use core::sync::atomic::AtomicU32;
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
            next::find_all();
            if next::is_other_library() {
                return local::give_up();
            }
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
    if path.is_null() || local::is_confined() {
        return None;
    }
    // SAFETY: what getenv gives ends with a NUL.
    let file = unsafe { open(path, O_RDWR | O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    let (length, flags) = (size_of::<Region>(), MAP_SHARED | MAP_NORESERVE);
    // Without access first, and then unlocked: where the program has the kernel lock each new mapping, and so fill it.
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let start = unsafe { mmap(core::ptr::null_mut(), length, PROT_NONE, flags, file, 0) };
    // SAFETY: the descriptor is ours.
    unsafe { close(file) };
    if start == MAP_FAILED {
        return None;
    }
    // A core file of the program is to be the program's.
    // SAFETY: the range is that of the mapping just made.
    let can_be_used = unsafe {
        kernel::call(kernel::MUNLOCK, [start.addr(), length, 0, 0]);
        madvise(start, length, MADV_DONTDUMP);
        mprotect(start, length, PROT_READ | PROT_WRITE)
    };
    if can_be_used != 0 {
        return None;
    }
    // SAFETY: the region is mapped for good, aligned to a page, and all of it is atomics.
    let region = unsafe { &*start.cast::<Region>() };
    (region.header.magic.load(Relaxed) == Header::MAGIC).then_some(region)
}

/// The place of the process that was noted last, plus 1: in a child of `fork`, that of its parent.
static NOTED: AtomicU32 = AtomicU32::new(0);

/// Takes a place for this process.
fn enter(region: &'static Region, local: &Local) {
    let place = region.header.processes.fetch_add(1, Relaxed);
    let Some(process) = region.processes.get(place as usize) else {
        region.header.processes.store(PROCESSES as u32, Relaxed);
        region.header.lost_processes.fetch_add(1, Relaxed);
        return local.level.store(OFF, Release);
    };
    process.started.store(now(), Relaxed);
    let pid = match local.pid.load(Relaxed) {
        // SAFETY: the call takes nothing.
        0 => unsafe { kernel::call(kernel::GETPID, [0; 4]) as u32 },
        pid => pid,
    };
    local.pid.store(pid, Relaxed);
    process.pid.store(pid, Release);
    let parent = NOTED.swap(place + 1, Relaxed).checked_sub(1);
    match parent.and_then(|parent| region.processes.get(parent as usize)) {
        Some(parent) if local::is_confined() => copy_map(parent, process),
        _ => note_map(process),
    }
    let level = region.header.level.load(Relaxed);
    if level == Header::CONFIRM {
        wait_for_targets(process);
    }
    local.process.store(place, Relaxed);
    local.level.store(level, Release);
    local.ready.store((!matches!(level, Header::WHAT_IF | Header::CONFIRM)) as u32, Release);
}

/// Gives a process the map of its parent, which it has until it loads an object.
fn copy_map(parent: &Process, process: &Process) {
    let length = parent.maps_length.load(Acquire);
    process
        .maps
        .iter()
        .zip(&parent.maps)
        .take(length as usize)
        .for_each(|(to, from)| to.store(from.load(Relaxed), Relaxed));
    process.maps_length.store(length, Release);
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
    let Some(file) = open_file(c"/proc/self/maps") else { return };
    let (first, mut length) = (process.maps.as_ptr().cast_mut().cast::<u8>(), 0);
    while length < MAPS {
        // SAFETY: the rest of the array is there to be written, by this process alone; its bytes are atomics.
        let read = unsafe { file.read_to(first.byte_add(length), MAPS - length) };
        let Some(read) = usize::try_from(read).ok().filter(|read| *read > 0) else { break };
        length += read;
    }
    process.maps_length.store(length as u32, Release);
}
