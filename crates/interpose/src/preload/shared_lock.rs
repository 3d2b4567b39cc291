//! Locks that several processes share. Each process has such a lock at a separate address, so the lock is known by the
//! file that it is in, which for anonymous memory is one of the kernel's, and by its place in that file.
//!
//! The C library keeps in each lock whether processes share it, except in a spinlock, which counts as one of its process.
//! A condition variable of an unknown layout counts as one of its process too.
//! The file comes from `/proc/self/maps`, which is read once for each such lock at each call site of a thread.

use super::external::open_file;
use super::local;
use crate::layout::{Kind, Lock};
use crate::maps::Maps;
use crate::shared::condition::{self, Initialise};
use crate::shared::next_object::{find_in_c_library, keeping_errno};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// Returns the key of a lock that processes share; `None` for one of this process alone, and where its file is not known.
pub fn key(address: usize, kind: Kind) -> Option<u64> {
    // The fast ways are those on which waits are recorded. Predictions are for the locks of one process.
    if !local::is_ready() || local::is_confined() || !is_shared(address, kind) {
        return None;
    }
    let file = open_file(c"/proc/self/maps")?;
    let mut maps = Maps::new(address as u64);
    let mut bytes = [0; 1024];
    loop {
        let length = usize::try_from(file.read(&mut bytes)).ok().filter(|length| *length > 0)?;
        if let Some(found) = bytes[..length].iter().find_map(|byte| maps.next(*byte)) {
            return found.map(|place| Lock::key_of(Lock::SHARED, place as usize & ((1 << 48) - 1)));
        }
    }
}

/// Returns whether processes share a lock, by the word of glibc's locks on 64-bit machines that says so.
fn is_shared(address: usize, kind: Kind) -> bool {
    let (offset, bits) = match kind {
        Kind::Mutex => (16, 0x80),
        Kind::Read | Kind::Write => (28, u32::MAX),
        Kind::Cond | Kind::Broadcast | Kind::Signal => mark_of_condition(),
        Kind::Sem => (8, 0x80),
        Kind::Barrier => (12, u32::MAX),
        Kind::Spin => return false,
    };
    // The C library accepts a null pointer in some functions that destroy.
    if address == 0 {
        return false;
    }
    let word = (address + offset) as *const u32;
    // SAFETY: the program gives a pointer to a lock of this kind, in which the word is.
    let word = unsafe { word.read_volatile() };
    // Another word than those of the C library says nothing.
    word != u32::MAX && word & bits != 0
}

/// The mark of condition variables: the bits above, the offset of their word below; 0 until they are looked up.
static MARK: AtomicU64 = AtomicU64::new(0);

/// Returns the offset of a condition variable's word that says that processes share it, and the bits; no bits where the
/// layout is unknown.
fn mark_of_condition() -> (usize, u32) {
    if MARK.load(Relaxed) == 0 {
        // Concurrent threads find the same.
        let (word, bits) = keeping_errno(find_mark).unwrap_or((1, 0));
        MARK.store(u64::from(bits) << 32 | (4 * word) as u64, Relaxed);
    }
    let mark = MARK.load(Relaxed);
    (mark as u32 as usize, (mark >> 32) as u32)
}

fn find_mark() -> Option<(usize, u32)> {
    let initialise = find_in_c_library(c"pthread_cond_init");
    if initialise.is_null() {
        return None;
    }
    // SAFETY: the C library's function of this name has this type.
    condition::mark_of_shared(unsafe { core::mem::transmute::<*mut core::ffi::c_void, Initialise>(initialise) })
}
