//! A condition variable that processes may share, which stays the C library's, with a substituted mutex.
//!
//! Only threads of this process can use the two together, but the C library cannot release the mutex.
//!
//! So the waiter acquires a mutex of the C library, releases its own, and waits with that one. A notifier of this
//! process acquires it too, and so does not get between the two. If no thread of this process waits in this way, which
//! a notifier sees if it has held the waiter's mutex, nothing is acquired. A forked child starts afresh.

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
    /// The number of threads that wait with it, or are about to.
    waiting: AtomicU32,
    /// The process in which it was last used.
    generation: AtomicU32,
}

// SAFETY: only the C library's own thread-safe functions access the cell; or a forked child's first thread that uses
// it, while the others that would wait for it.
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

/// Returns the one for this condition variable.
fn stand(cond: *mut c_void) -> &'static Stand {
    let stand = &STANDS[(cond as usize >> 4) % MUTEXES];
    settle(&stand.generation, || {
        stand.waiting.store(0, Relaxed);
        // SAFETY: no thread of this process uses it before it is settled, and the parent's threads do not exist here.
        unsafe { *stand.mutex.get() = [0; 8] };
    });
    stand
}

struct Waiting {
    stand: &'static Stand,
    mutex: *mut c_void,
}

/// Waits as the program requested, with this mutex or with its substitute.
pub fn wait(cond: *mut c_void, mutex: *mut c_void, original: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    // SAFETY: the program gives a mutex.
    if unsafe { at(mutex) }.kind() == Kind::CLibrary {
        return original(mutex);
    }
    let waiting = Waiting { stand: stand(cond), mutex };
    waiting.stand.waiting.fetch_add(1, SeqCst);
    // SAFETY: the pointer is to an initialised mutex of the C library.
    unsafe { next::pthread_mutex_lock()(waiting.stand.mutex()) };
    let refused = pthread_mutex_unlock(mutex);
    if refused != 0 {
        leave(waiting.stand);
        return refused;
    }
    let argument = (&raw const waiting).cast_mut().cast();
    // SAFETY: the undo function takes such a waiter. The C library's wait is itself a cancellation point, and
    // reacquires the mutex before the undo function runs.
    let code = unsafe { undone(undo, argument, || original(waiting.stand.mutex())) };
    come_back(&waiting);
    code
}

/// Notifies, but not between a waiter's release of its mutex and its wait.
pub fn notify(cond: *mut c_void, original: impl FnOnce() -> c_int) -> c_int {
    let stand = stand(cond);
    if stand.waiting.load(SeqCst) == 0 {
        return original();
    }
    // SAFETY: the pointer is to an initialised mutex of the C library.
    unsafe { next::pthread_mutex_lock()(stand.mutex()) };
    let code = original();
    // SAFETY: it was acquired above.
    unsafe { next::pthread_mutex_unlock()(stand.mutex()) };
    code
}

/// Releases the substitute, which this thread has.
fn leave(stand: &Stand) {
    // SAFETY: this thread acquired it.
    unsafe { next::pthread_mutex_unlock()(stand.mutex()) };
    stand.waiting.fetch_sub(1, SeqCst);
}

fn come_back(waiting: &Waiting) {
    // The C library's wait returns with it held, also when it is cancelled.
    leave(waiting.stand);
    pthread_mutex_lock(waiting.mutex);
}

unsafe extern "C" fn undo(waiting: *mut c_void) {
    // SAFETY: the pointer is to the waiter, which is on this stack, further up.
    come_back(unsafe { &*waiting.cast() });
}
