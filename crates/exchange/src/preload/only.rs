//! Which mutexes are to have another lock: all, or those that lie in some variables of the program.
//!
//! The variable names addresses as they stand in the program's file, `1040-1068,2000-2028` in hexadecimal. Where the
//! file lies in memory is known before the first call; so a mutex is one kind from its first use to its last.

use crate::c::{self, ProgramHeaders};
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Relaxed, Release};

/// As many as there is room for.
pub const MOST: usize = 64;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static STARTS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static ENDS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

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
    let is_in = |place: usize| (STARTS[place].load(Relaxed)..ENDS[place].load(Relaxed)).contains(&address);
    !(0..count.min(MOST)).any(is_in)
}

/// Reads the list. One that is not understood leaves every mutex as it is: then nothing is claimed that is not so.
pub fn read(list: &[u8]) {
    let base = program_base();
    let mut count = 0;
    for range in list.split(|&byte| byte == b',') {
        let mut ends = range.split(|&byte| byte == b'-').map(hexadecimal);
        if let (Some(Some(start)), Some(Some(end))) = (ends.next(), ends.next())
            && count < MOST
        {
            STARTS[count].store(base.wrapping_add(start), Relaxed);
            ENDS[count].store(base.wrapping_add(end), Relaxed);
            count += 1;
        }
    }
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
