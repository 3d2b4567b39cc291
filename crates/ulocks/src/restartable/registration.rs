//! What the kernel and the C library must have agreed to, asked once in a process.

use super::sequence;
use crate::futex::give_way;
use std::sync::atomic::{
    AtomicU8, AtomicU32, AtomicUsize,
    Ordering::{Relaxed, Release, SeqCst},
};

const UNKNOWN: u8 = 0;
const ASKING: u8 = 1;
const READY: u8 = 2;
const REFUSED: u8 = 3;
const FAILING: u8 = 4;

/// How often to look whether another thread has the answer.
const MOST_ROUNDS: u32 = 1000;

/// A child inherits all of this by fork, with the registrations that it describes, and loses both by exec.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// How far behind the thread pointer a thread's `struct rseq` is; 0, where something else is, until [`prepare`] found
/// out that sequences work here, and always if they don't.
static OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Stores 0 to `word` if it holds `EXPECTED`, in a restartable sequence; says whether it did. `false` may also mean
/// that the sequence was aborted, or that there are none here.
#[inline(always)]
pub(crate) fn store_zero_if<const EXPECTED: u32>(word: &AtomicU32) -> bool {
    let offset = OFFSET.load(Relaxed);
    // SAFETY: an offset that is not 0 was checked when it was found, and is the same in all threads of the C library.
    offset != 0 && unsafe { sequence::store_zero_if::<EXPECTED>(offset, word) }
}

/// Changes `word` from `old` to `mark` and fences; `Err` is what the word was instead.
pub(crate) fn mark_and_fence(word: &AtomicU32, old: u32, mark: u32) -> Result<(), u32> {
    settle();
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    fence();
    Ok(())
}

/// Whether a mark and a fence may have been in vain, because the kernel refuses now what it granted at first (a seccomp
/// filter that was installed since). Nobody stores without an atomic any more, but one that had compared before may.
pub(crate) fn may_be_in_vain() -> bool {
    STATE.load(Relaxed) == FAILING
}

/// Finds out, the first time, whether sequences work here.
pub(crate) fn prepare() {
    if STATE.load(Relaxed) == UNKNOWN && STATE.compare_exchange(UNKNOWN, ASKING, Relaxed, Relaxed).is_ok() {
        ask();
    }
}

#[cold]
fn ask() {
    let offset = kernel::rseq_offset().filter(|_| kernel::register());
    let state = if offset.is_some() { READY } else { REFUSED };
    if STATE.compare_exchange(ASKING, state, SeqCst, Relaxed).is_ok() {
        OFFSET.store(offset.unwrap_or(0), Release);
    }
}

/// Returns when it is decided whether anybody stores without an atomic: a mark that came before that decision would not
/// be seen by all. Where another thread takes too long to ask, or this one itself is asking, the answer is no.
fn settle() {
    prepare();
    for round in 0..MOST_ROUNDS {
        if STATE.load(SeqCst) != ASKING {
            return;
        }
        give_way(round);
    }
    let _ = STATE.compare_exchange(ASKING, REFUSED, SeqCst, Relaxed);
}

/// Makes every thread of this process that is within a sequence restart it.
#[cold]
fn fence() {
    if STATE.load(SeqCst) == READY && !kernel::fence() {
        OFFSET.store(0, SeqCst);
        STATE.store(FAILING, SeqCst);
    }
}

mod kernel {
    use std::ffi::CStr;

    const PRIVATE_EXPEDITED_RSEQ: libc::c_int = 1 << 7;
    const REGISTER_PRIVATE_EXPEDITED_RSEQ: libc::c_int = 1 << 8;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes integers and touches no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// While there is one thread this is quick; beside others it takes milliseconds.
    pub(super) fn register() -> bool {
        membarrier(REGISTER_PRIVATE_EXPEDITED_RSEQ)
    }

    pub(super) fn fence() -> bool {
        membarrier(PRIVATE_EXPEDITED_RSEQ)
    }

    /// Where the C library has registered its threads' `struct rseq`, if it has.
    pub(super) fn rseq_offset() -> Option<usize> {
        let offset = symbol::<isize>(c"__rseq_offset")?;
        let size = symbol::<u32>(c"__rseq_size")?;
        (size != 0 && offset != 0).then_some(offset.cast_unsigned())
    }

    /// The value of a variable of the C library, which an older one lacks.
    fn symbol<T: Copy>(name: &CStr) -> Option<T> {
        // SAFETY: the name ends with a zero.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: if the C library has a variable of this name it is constant after its start, and of this type.
        (!address.is_null()).then(|| unsafe { address.cast::<T>().read() })
    }
}
