//! Registration of restartable sequences with the kernel and the C library, checked once in a process.

use super::sequence;
use core::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};

const UNKNOWN: u8 = 0;
const REGISTERING: u8 = 1;
const READY: u8 = 2;
const REFUSED: u8 = 3;
const FAILING: u8 = 4;

/// State of the registration. A child inherits it by fork, with the registrations that it describes, and loses both
/// by exec.
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Distance from the thread pointer to a thread's `struct rseq`, which only this module changes.
///
/// The inline functions of the C header read it.
#[doc(hidden)]
#[derive(Debug)]
#[repr(transparent)]
pub struct RestartableOffset(AtomicUsize);

/// It is 0, where another structure is, until [`prepare`] has found that sequences work here, and always if they do not.
#[doc(hidden)]
pub static RESTARTABLE_OFFSET: RestartableOffset = RestartableOffset(AtomicUsize::new(0));

/// Changes `word` from `EXPECTED` to 0, as a release; returns whether it did.
///
/// Where sequences work, that is a plain store in one, and `false` may also mean that it was aborted. Elsewhere it is a
/// compare-and-swap.
#[inline(always)]
pub(crate) fn free_if<const EXPECTED: u32>(word: &AtomicU32) -> bool {
    // `Acquire` pairs with the order of the stores in `register`; it is free on x86-64.
    let offset = RESTARTABLE_OFFSET.0.load(Acquire);
    if offset == 0 {
        core::hint::cold_path();
        return word.compare_exchange(EXPECTED, 0, Release, Relaxed).is_ok();
    }
    // SAFETY: `register` stores an offset other than 0 only if the C library has registered its threads at that
    // offset, which is the same in all threads.
    unsafe { sequence::store_zero_if::<EXPECTED>(offset, word) }
}

/// Stores `new` to `word` if it equals `expected`, in a restartable sequence; returns whether it did. `false` may
/// also mean that the sequence was aborted, or that sequences do not work here.
#[inline(always)]
pub(crate) fn store_if(word: &AtomicU64, expected: u64, new: u64) -> bool {
    let offset = RESTARTABLE_OFFSET.0.load(Acquire);
    // SAFETY: `register` stores an offset other than 0 only if the C library has registered its threads at that
    // offset, which is the same in all threads.
    offset != 0 && unsafe { sequence::store_if(offset, word, expected, new) }
}

/// Returns a number that is unique among the running threads, and whose lower two bits are 0.
#[inline(always)]
pub(crate) fn current_thread() -> u64 {
    sequence::thread_pointer()
}

/// Returns the number of the CPU on which this thread runs, if sequences work here.
///
/// The C library has a function for it, whose call takes as long as the rest of an acquisition's slow path.
#[inline]
pub(crate) fn current_cpu() -> Option<u32> {
    const CPU_ID: usize = 4;
    let offset = RESTARTABLE_OFFSET.0.load(Acquire);
    if offset == 0 {
        return None;
    }
    let cpu = (sequence::thread_pointer() as usize).wrapping_add(offset).wrapping_add(CPU_ID);
    // SAFETY: `register` stores an offset other than 0 only if the C library has registered its threads at that offset from
    // the thread pointer. The kernel writes the second word of that `struct rseq` while the thread does not run, so the
    // read is volatile.
    Some(unsafe { core::ptr::with_exposed_provenance::<u32>(cpu).read_volatile() })
}

/// Changes `word` from `old` to `mark` and fences, as [`mark_and_fence`] does, for a word that is only stored to if
/// sequences work.
pub(crate) fn mark_wide_and_fence(word: &AtomicU64, old: u64, mark: u64) -> Result<(), u64> {
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    restart_sequences();
    Ok(())
}

/// Changes `word` from `old` to `mark` and fences; `Err` contains the different value of the word.
///
/// While no thread stores without an atomic operation, no fence is needed. That includes the time during which
/// another thread registers. The flag is set before this thread reads the state, that thread writes the state after
/// that, and a thread that stores because of the state compares even later.
pub(crate) fn mark_and_fence(word: &AtomicU32, old: u32, mark: u32) -> Result<(), u32> {
    prepare();
    word.compare_exchange(old, mark, SeqCst, Relaxed)?;
    if STATE.load(SeqCst) == READY {
        restart_sequences();
    }
    Ok(())
}

/// Returns whether a flag and a fence may have been in vain, because the kernel now refuses a call that it accepted
/// at first.
///
/// (A seccomp filter may have been installed since.) No thread starts to store without an atomic operation any more,
/// but one that had compared before may still do so.
pub(crate) fn may_be_in_vain() -> bool {
    STATE.load(Relaxed) == FAILING
}

/// Returns whether sequences work here.
pub(crate) fn works() -> bool {
    STATE.load(Relaxed) == READY
}

/// Calls [`prepare`] when the object is loaded.
///
/// The first contended call may be in a signal handler, where `dlsym` and a first `membarrier` are not permitted, or
/// between two threads that wait for each other, where they cost too much.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    // SAFETY: the C library has this word for every thread, and no other thread writes it.
    let errno = unsafe { libc::__errno_location() };
    // A program starts with 0 in `errno`, which a refused system call would change.
    // SAFETY: the pointer is to this thread's word, which lives as long as the thread.
    let before = unsafe { *errno };
    prepare();
    // SAFETY: the pointer is to this thread's word, which lives as long as the thread.
    unsafe { *errno = before };
}

/// Determines, in its first call, whether sequences work here.
#[inline]
pub(crate) fn prepare() {
    if STATE.load(Relaxed) == UNKNOWN && STATE.compare_exchange(UNKNOWN, REGISTERING, Relaxed, Relaxed).is_ok() {
        register();
    }
}

#[cold]
fn register() {
    let offset = if sequence::EXISTS { kernel::rseq_offset().filter(|_| kernel::register()) } else { None };
    let state = if offset.is_some() { READY } else { REFUSED };
    STATE.store(state, SeqCst);
    // A thread that set a flag and did not see this state has set it before this fence; a thread that reads the
    // offset compares after it.
    fence(SeqCst);
    RESTARTABLE_OFFSET.0.store(offset.unwrap_or(0), Release);
}

/// Makes every thread of this process that is within a sequence restart it.
#[cold]
fn restart_sequences() {
    if !kernel::restart_sequences() {
        RESTARTABLE_OFFSET.0.store(0, SeqCst);
        STATE.store(FAILING, SeqCst);
    }
}

mod kernel {
    use core::ffi::CStr;

    const PRIVATE_EXPEDITED_RSEQ: libc::c_int = 1 << 7;
    const REGISTER_PRIVATE_EXPEDITED_RSEQ: libc::c_int = 1 << 8;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes integers and accesses no memory of this program.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Registers this process for the membarrier: quickly while it has one thread, in milliseconds while it has
    /// several.
    pub(super) fn register() -> bool {
        membarrier(REGISTER_PRIVATE_EXPEDITED_RSEQ)
    }

    pub(super) fn restart_sequences() -> bool {
        membarrier(PRIVATE_EXPEDITED_RSEQ)
    }

    /// Returns the offset at which the C library has registered its threads' `struct rseq`, if it has.
    pub(super) fn rseq_offset() -> Option<usize> {
        let offset = symbol::<isize>(c"__rseq_offset")?;
        let size = symbol::<u32>(c"__rseq_size")?;
        (size != 0 && offset != 0).then_some(offset.cast_unsigned())
    }

    /// Returns the value of a variable of the C library; an older library lacks it.
    fn symbol<T: Copy>(name: &CStr) -> Option<T> {
        // SAFETY: the name is a string that ends with a zero byte.
        let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: if the C library has a variable of this name, it is constant after the start of the program, and of
        // this type.
        (!address.is_null()).then(|| unsafe { address.cast::<T>().read() })
    }
}
