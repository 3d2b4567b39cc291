//! What the kernel and the C library must have agreed to, asked once in a process.

use super::sequence;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};

const UNKNOWN: u8 = 0;
const ASKING: u8 = 1;
const READY: u8 = 2;
const REFUSED: u8 = 3;
const FAILING: u8 = 4;

/// A child inherits all of this by fork, with the registrations that it describes, and loses both by exec.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// How far behind the thread pointer a thread's `struct rseq` is; 0, where something else is, until [`prepare`] found
/// out that sequences work here, and always if they don't.
static OFFSET: AtomicUsize = AtomicUsize::new(0);

/// Stores 0 to `word` if it holds `EXPECTED`, in a restartable sequence; says whether it did. `false` may also mean
/// that the sequence was aborted, or that there are none here.
#[inline(always)]
pub(crate) fn store_zero_if<const EXPECTED: u32>(word: &AtomicU32) -> bool {
    // Acquire, for the order that `ask` makes: free on x86-64.
    let offset = OFFSET.load(Acquire);
    // SAFETY: `ask` stores an offset other than 0 only if the C library has registered its threads with it, and it is the
    // same in all of them.
    offset != 0 && unsafe { sequence::store_zero_if::<EXPECTED>(offset, word) }
}

/// Stores `new` to `word` if it holds `expected`, in a restartable sequence; says whether it did. `false` may also mean
/// that the sequence was aborted, or that there are none here.
#[inline(always)]
pub(crate) fn store_if(word: &AtomicU64, expected: u64, new: u64) -> bool {
    let offset = OFFSET.load(Acquire);
    // SAFETY: `ask` stores an offset other than 0 only if the C library has registered its threads with it, and it is the
    // same in all of them.
    offset != 0 && unsafe { sequence::store_if(offset, word, expected, new) }
}

/// A number that no other thread has which runs at the same time, and whose lower two bits are 0.
#[inline(always)]
pub(crate) fn me() -> u64 {
    sequence::thread_pointer()
}

/// As [`mark_and_fence`], for a word that is stored to only since sequences work.
pub(crate) fn mark_wide_and_fence(word: &AtomicU64, old: u64, mark: u64) -> Result<(), u64> {
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    restart_sequences();
    Ok(())
}

/// Changes `word` from `old` to `mark` and fences; `Err` is what the word was instead.
///
/// While nobody stores without an atomic there is nothing to fence, also where another thread is just asking whether it
/// may: the mark comes before this look at the state, that thread's answer after it, and whoever stores because of the
/// answer compares after that.
pub(crate) fn mark_and_fence(word: &AtomicU32, old: u32, mark: u32) -> Result<(), u32> {
    prepare();
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    if STATE.load(SeqCst) == READY {
        restart_sequences();
    }
    Ok(())
}

/// Whether a mark and a fence may have been in vain, because the kernel refuses now what it granted at first (a seccomp
/// filter that was installed since). Nobody stores without an atomic any more, but one that had compared before may.
pub(crate) fn may_be_in_vain() -> bool {
    STATE.load(Relaxed) == FAILING
}

/// Whether it was found that sequences work here.
pub(crate) fn works() -> bool {
    STATE.load(Relaxed) == READY
}

/// Calls [`prepare`] when the object is loaded: `dlsym` and a first `membarrier` belong neither into a signal handler,
/// which may be where the first contended call is, nor between two threads that wait for each other.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    // SAFETY: the C library has this word for every thread, and no other thread writes it.
    let errno = unsafe { libc::__errno_location() };
    // A program begins with 0 in it, which a refused system call would change.
    // SAFETY: the pointer is to this thread's word, which lives as long as the thread.
    let before = unsafe { *errno };
    prepare();
    // SAFETY: the pointer is to this thread's word, which lives as long as the thread.
    unsafe { *errno = before };
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
    STATE.store(state, SeqCst);
    // Who marked a word and did not see the answer has marked it before this; who reads the offset compares after it.
    fence(SeqCst);
    OFFSET.store(offset.unwrap_or(0), Release);
}

/// Makes every thread of this process that is within a sequence restart it.
#[cold]
fn restart_sequences() {
    if !kernel::restart_sequences() {
        OFFSET.store(0, SeqCst);
        STATE.store(FAILING, SeqCst);
    }
}

mod kernel {
    use core::ffi::CStr;

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

    pub(super) fn restart_sequences() -> bool {
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
