//! The chosen lock. The choice is read once, by the first call of a process, which may come before any constructor.
//!
//! Also the selection of the locks to substitute. These are all, or those in some variables of the program, and mutexes
//! that some of its functions initialise or acquire first.
//!
//! The variable names addresses in the program's file, `1040-1068,c2000-2028` in hexadecimal, where `c` marks code. The
//! load address of the file is known before the first call; so a lock is of one kind from its first use to its last: a
//! decision about a mutex by code is noted in it.

use crate::c::{self, ProgramHeaders};
use crate::names::{CHOICE, COUNTS, LOCKS, Left, ONLY, PASS};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize};

/// The index of a lock in [`LOCKS`], plus one.
pub const ADAPTIVE: u8 = 1;
pub const CALOCK: u8 = 2;
pub const CALOCK_SPIN: u8 = 3;
pub const USEMA: u8 = 4;
pub const USEMA_SPIN: u8 = 5;
pub const BENAPHORE: u8 = 6;
pub const TICKET: u8 = 7;
pub const MCS: u8 = 8;
pub const TWA: u8 = 9;
pub const HAPAX: u8 = 10;
pub const RECIPROCATING: u8 = 11;
pub const CNA: u8 = 12;
pub const MALTHUSIAN: u8 = 13;
/// No lock: everything is passed on.
const PASSED_ON: u8 = u8::MAX;
const UNKNOWN: u8 = 0;

const _: () = assert!(LOCKS.len() == MALTHUSIAN as usize);

static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);
static LEFT: AtomicPtr<Left> = AtomicPtr::new(null_mut());

/// Returns the lock's number; any other number means to pass on.
#[inline(always)]
pub fn choice() -> u8 {
    match CHOSEN.load(Acquire) {
        UNKNOWN => c::keeping_errno(find),
        known => known,
    }
}

/// Counts an object that stays the C library's, if counts are enabled.
pub fn count(why: impl FnOnce(&'static Left) -> &'static AtomicU64) {
    choice();
    // SAFETY: the pointer is null or permanently mapped.
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
                c::print("libulocks_pthread: ULOCKS_PTHREAD: unknown lock; the mutexes of the C library are kept\n");
                PASSED_ON
            }
        },
    };
    if let Some(list) = variable(ONLY) {
        read(list);
    }
    // The first thread maps the counts; the others find the same lock.
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

/// Returns the value of a variable, if it has one that is not empty.
fn variable(name: &str) -> Option<&'static [u8]> {
    const MOST: usize = 32;
    let mut bytes = [0; MOST];
    bytes.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    // SAFETY: the name is shorter than the array, so a NUL follows it.
    let value: *const c_char = unsafe { c::getenv(bytes.as_ptr().cast()) };
    // SAFETY: an existing value ends with a NUL and stays, unless the program changes it at this moment.
    let value = (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_bytes())?;
    (!value.is_empty()).then_some(value)
}

/// The maximum number of ranges.
pub const MOST: usize = 64;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static STARTS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static ENDS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// A bit for each range that is code.
static CODE: AtomicU64 = AtomicU64::new(0);

/// Returns whether an object at this address keeps the C library's lock.
#[inline(always)]
pub fn leaves(address: usize) -> bool {
    match COUNT.load(Relaxed) {
        0 => false,
        count => is_outside(address, count),
    }
}

#[inline(never)]
fn is_outside(address: usize, count: usize) -> bool {
    !(0..count.min(MOST)).any(|place| !is_code(place) && contains(place, address))
}

fn contains(place: usize, address: usize) -> bool {
    (STARTS[place].load(Relaxed)..ENDS[place].load(Relaxed)).contains(&address)
}

fn is_code(place: usize) -> bool {
    CODE.load(Relaxed) >> place & 1 != 0
}

/// Returns whether code decides about any mutex.
pub fn names_code() -> bool {
    CODE.load(Relaxed) != 0
}

/// Returns whether a call that returns there is a selected one.
pub fn is_meant(site: usize) -> bool {
    let count = COUNT.load(Relaxed).min(MOST);
    // The last call of a function returns behind the function.
    (0..count).any(|place| is_code(place) && contains(place, site.wrapping_sub(1)))
}

/// Reads the list.
///
/// An invalid one leaves every mutex as it is, so that nothing wrong is reported.
pub fn read(list: &[u8]) {
    let base = program_base();
    let mut count = 0;
    let mut code = 0_u64;
    for range in list.split(|&byte| byte == b',') {
        let (range, is_code) = range.strip_prefix(b"c").map_or((range, false), |range| (range, true));
        let mut ends = range.split(|&byte| byte == b'-').map(hexadecimal);
        if let (Some(Some(start)), Some(Some(end))) = (ends.next(), ends.next())
            && count < MOST
        {
            STARTS[count].store(base.wrapping_add(start), Relaxed);
            ENDS[count].store(base.wrapping_add(end), Relaxed);
            code |= u64::from(is_code) << count;
            count += 1;
        }
    }
    CODE.store(code, Relaxed);
    COUNT.store(count.max(1), Release);
}

fn hexadecimal(digits: &[u8]) -> Option<usize> {
    usize::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

/// Returns the offset of the addresses of the program's file: the loader reports the program first.
fn program_base() -> usize {
    unsafe extern "C" fn first(object: *const ProgramHeaders, _: usize, base: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description of an object, and the pointer is the one below.
        unsafe { base.cast::<usize>().write((*object).base) };
        1
    }
    let mut base = 0_usize;
    // SAFETY: the function matches the loader's signature, and receives a pointer to a number that outlives the call.
    unsafe { c::dl_iterate_phdr(first, (&raw mut base).cast()) };
    base
}
