//! Which lock was asked for. It is asked once, by the first call of a process, which may come before any constructor.

use super::only;
use crate::c;
use crate::counts::{COUNTS, Left};
use crate::names::{CHOICE, LOCKS, ONLY, PASS};
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64};

/// The place of a lock in [`LOCKS`], plus one.
pub const ADAPTIVE: u8 = 1;
pub const CALOCK: u8 = 2;
pub const CALOCK_SPIN: u8 = 3;
pub const USEMA: u8 = 4;
pub const USEMA_SPIN: u8 = 5;
pub const BENAPHORE: u8 = 6;
pub const TICKET: u8 = 7;
pub const MCS: u8 = 8;
/// None: everything is passed on.
const PASSED_ON: u8 = u8::MAX;
const UNKNOWN: u8 = 0;

const _: () = assert!(LOCKS.len() == MCS as usize);

static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);
static LEFT: AtomicPtr<Left> = AtomicPtr::new(null_mut());

/// The lock; anything that is no lock's number means to pass on.
#[inline(always)]
pub fn choice() -> u8 {
    match CHOSEN.load(Acquire) {
        UNKNOWN => c::keeping_errno(find),
        known => known,
    }
}

/// Counts one that stays the C library's, if somebody wants to know.
pub fn count(why: impl FnOnce(&'static Left) -> &'static AtomicU64) {
    choice();
    // SAFETY: it is null or mapped for good.
    if let Some(left) = unsafe { LEFT.load(Acquire).as_ref() } {
        why(left).fetch_add(1, Relaxed);
    }
}

#[cold]
fn find() -> u8 {
    let choice = match variable(CHOICE) {
        None => ADAPTIVE,
        Some(name) if name == PASS.as_bytes() => PASSED_ON,
        Some(name) => match LOCKS.iter().position(|lock| lock.name.as_bytes() == name) {
            Some(place) => place as u8 + 1,
            None => {
                c::say("libulocks_pthread: ULOCKS_PTHREAD: unknown lock; the mutexes of the C library are kept\n");
                PASSED_ON
            }
        },
    };
    if let Some(list) = variable(ONLY) {
        only::read(list);
    }
    // Who is first maps the counts; the others find the same lock.
    if CHOSEN.compare_exchange(UNKNOWN, choice, Release, Relaxed).is_ok() {
        map();
    }
    choice
}

fn map() {
    let Some(path) = variable(COUNTS) else { return };
    // SAFETY: the value of a variable ends with a NUL, which is not part of the slice.
    let file = unsafe { c::open(path.as_ptr().cast(), c::O_RDWR | c::O_CLOEXEC) };
    if file < 0 {
        return;
    }
    let protection = c::PROT_READ | c::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
    let start = unsafe { c::mmap(null_mut(), size_of::<Left>(), protection, c::MAP_SHARED, file, 0) };
    // SAFETY: the descriptor was opened above.
    unsafe { c::close(file) };
    if start != c::MAP_FAILED {
        LEFT.store(start.cast(), Release);
        count(|left| &left.processes);
    }
}

/// The value of a variable, if it has one that is not empty.
fn variable(name: &str) -> Option<&'static [u8]> {
    const MOST: usize = 32;
    let mut bytes = [0; MOST];
    bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    // SAFETY: the name is shorter than the array, so a NUL follows it.
    let value: *const c_char = unsafe { c::getenv(bytes.as_ptr().cast()) };
    // SAFETY: a value that is there ends with a NUL and stays, as long as nobody sets it anew meanwhile.
    let value = (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())?;
    (!value.is_empty()).then_some(value)
}
