//! Which locks are to be ours: all, or those that lie in some variables of the program, and mutexes that some of its
//! functions initialise or are the first to take.
//!
//! The variable names addresses as they stand in the program's file, `1040-1068,c2000-2028` in hexadecimal, where `c`
//! is code. Where the file lies in memory is known before the first call; so a lock is one kind from its first use to
//! its last: what decides of a mutex by code is noted in it.

use crate::c::{self, ProgramHeaders};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU64, AtomicUsize};

/// As many as there is room for.
pub const MOST: usize = 64;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static STARTS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static ENDS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Which of them are code, a bit for each.
static CODE: AtomicU64 = AtomicU64::new(0);

/// Whether what lies there keeps the C library's lock.
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

/// Whether code decides of any mutex.
pub fn names_code() -> bool {
    CODE.load(Relaxed) != 0
}

/// Whether a call that returns there is one of those that are meant.
pub fn is_meant(site: usize) -> bool {
    let count = COUNT.load(Relaxed).min(MOST);
    // What a function does last returns behind it.
    (0..count).any(|place| is_code(place) && contains(place, site.wrapping_sub(1)))
}

/// Reads the list. One that is not understood leaves every mutex as it is: then nothing is claimed that is not so.
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

/// What is added to the addresses of the program's file: the loader tells of the program first.
fn program_base() -> usize {
    unsafe extern "C" fn first(object: *const ProgramHeaders, _: usize, base: *mut c_void) -> c_int {
        // SAFETY: the loader gives what it knows of an object, and the pointer is that below.
        unsafe { base.cast::<usize>().write((*object).base) };
        1
    }
    let mut base = 0_usize;
    // SAFETY: the function takes what the loader gives it, and a pointer to a number.
    unsafe { c::dl_iterate_phdr(first, (&raw mut base).cast()) };
    base
}
