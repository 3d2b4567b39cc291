//! A condition variable that processes may share, which stays the C library's, with a mutex that is ours: only threads
//! of this process can use the two together, but the C library does not know how to free the mutex.
//!
//! So the waiter takes a mutex of the C library's, frees its own, and waits with that one. Whoever of this process
//! notifies takes it too, and so does not come between the two. Where nobody of this process waits so, which whoever
//! notifies sees if it has had the waiter's mutex, nothing is taken. A forked child begins anew.

use super::cancel::undone;
use super::generation::settle;
use super::mutex::{Kind, at, pthread_mutex_lock, pthread_mutex_unlock};
use super::next;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

const MUTEXES: usize = 64;

/// The C library's mutexes, all 0: as its static initialiser leaves them, and large enough for any machine's.
#[repr(align(64))]
struct Stand {
    mutex: UnsafeCell<[u64; 8]>,
    /// Threads that wait with it, or are about to.
    waiting: AtomicU32,
    /// In which process.
    generation: AtomicU32,
}

// SAFETY: only the C library's own functions, which are for several threads, look into the cell; or a forked child's
// first thread that uses it, while the others that would wait for it.
unsafe impl Sync for Stand {}

impl Stand {
    const fn new() -> Self {
        Self { mutex: UnsafeCell::new([0; 8]), waiting: AtomicU32::new(0), generation: AtomicU32::new(0) }
    }

    fn mutex(&self) -> *mut c_void {
        self.mutex.get().cast()
    }
}

static STANDS: [Stand; MUTEXES] = [const { Stand::new() }; MUTEXES];

/// The one for this condition variable.
fn stand(cond: *mut c_void) -> &'static Stand {
    let stand = &STANDS[(cond as usize >> 4) % MUTEXES];
    settle(&stand.generation, || {
        stand.waiting.store(0, Relaxed);
        // SAFETY: nobody of this process uses it before it is settled, and those of the parent are not here.
        unsafe { *stand.mutex.get() = [0; 8] };
    });
    stand
}

struct Waiting {
    stand: &'static Stand,
    mutex: *mut c_void,
}

/// Waits as the program asked to, with this mutex or with one that stands for it.
pub fn wait(cond: *mut c_void, mutex: *mut c_void, theirs: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    // SAFETY: the program gives a mutex.
    if unsafe { at(mutex) }.kind() == Kind::Theirs {
        return theirs(mutex);
    }
    let waiting = Waiting { stand: stand(cond), mutex };
    waiting.stand.waiting.fetch_add(1, SeqCst);
    // SAFETY: it is a mutex of the C library's.
    unsafe { next::pthread_mutex_lock()(waiting.stand.mutex()) };
    let refused = pthread_mutex_unlock(mutex);
    if refused != 0 {
        leave(waiting.stand);
        return refused;
    }
    let argument = (&raw const waiting).cast_mut().cast();
    // SAFETY: what undoes it takes such a thread. The C library's wait is itself a point where a thread is cancelled,
    // and takes the mutex again before it does what is to be undone.
    let code = unsafe { undone(undo, argument, || theirs(waiting.stand.mutex())) };
    come_back(&waiting);
    code
}

/// Notifies, between no waiter's freeing its mutex and its waiting.
pub fn notify(cond: *mut c_void, theirs: impl FnOnce() -> c_int) -> c_int {
    let stand = stand(cond);
    if stand.waiting.load(SeqCst) == 0 {
        return theirs();
    }
    // SAFETY: it is a mutex of the C library's.
    unsafe { next::pthread_mutex_lock()(stand.mutex()) };
    let code = theirs();
    // SAFETY: it was taken above.
    unsafe { next::pthread_mutex_unlock()(stand.mutex()) };
    code
}

/// By a thread that has the stand.
fn leave(stand: &Stand) {
    // SAFETY: it was taken by this thread.
    unsafe { next::pthread_mutex_unlock()(stand.mutex()) };
    stand.waiting.fetch_sub(1, SeqCst);
}

fn come_back(waiting: &Waiting) {
    // The C library's wait returns with it, and so does who is cancelled in it.
    leave(waiting.stand);
    pthread_mutex_lock(waiting.mutex);
}

unsafe extern "C" fn undo(waiting: *mut c_void) {
    // SAFETY: it is the thread that waits, which lies on this stack, further up.
    come_back(unsafe { &*waiting.cast() });
}
