//! A condition variable that processes may share, which stays the C library's, with a mutex that is ours: only threads
//! of this process can use the two together, but the C library does not know how to free the mutex.
//!
//! So the waiter takes a mutex of the C library's, frees its own, and waits with that one. Whoever of this process
//! notifies takes it too, and so does not come between the two.

use crate::preload::calls::mutex::{pthread_mutex_lock, pthread_mutex_unlock};
use crate::preload::cancel::cancellably;
use crate::preload::mutex::{Kind, at};
use crate::preload::next;
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};

const MUTEXES: usize = 64;

/// The C library's mutexes, all 0: as its static initialiser leaves them, and large enough for any machine's.
#[repr(align(64))]
struct Stand(UnsafeCell<[u64; 8]>);

// SAFETY: only the C library's own functions, which are for several threads, look into it.
unsafe impl Sync for Stand {}

static STANDS: [Stand; MUTEXES] = [const { Stand(UnsafeCell::new([0; 8])) }; MUTEXES];

/// The one for this condition variable.
fn stand(cond: *mut c_void) -> *mut c_void {
    STANDS[(cond as usize >> 4) % MUTEXES].0.get().cast()
}

struct Waiting {
    stand: *mut c_void,
    mutex: *mut c_void,
}

/// Waits as the program asked to, with this mutex or with one that stands for it.
pub fn wait(cond: *mut c_void, mutex: *mut c_void, theirs: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    // SAFETY: the program gives a mutex.
    if unsafe { at(mutex) }.kind() == Kind::Theirs {
        return theirs(mutex);
    }
    let waiting = Waiting { stand: stand(cond), mutex };
    // SAFETY: it is a mutex of the C library's.
    unsafe { next::pthread_mutex_lock()(waiting.stand) };
    let refused = pthread_mutex_unlock(mutex);
    if refused != 0 {
        // SAFETY: it was taken above.
        unsafe { next::pthread_mutex_unlock()(waiting.stand) };
        return refused;
    }
    let argument = (&raw const waiting).cast_mut().cast();
    // SAFETY: the C library's wait is where a thread is cancelled anyhow; what undoes it takes such a thread.
    let code = unsafe { cancellably(undo, argument, || theirs(waiting.stand)) };
    come_back(&waiting);
    code
}

/// Notifies, between no waiter's freeing its mutex and its waiting.
pub fn notify(cond: *mut c_void, theirs: impl FnOnce() -> c_int) -> c_int {
    let stand = stand(cond);
    // SAFETY: it is a mutex of the C library's.
    unsafe { next::pthread_mutex_lock()(stand) };
    let code = theirs();
    // SAFETY: it was taken above.
    unsafe { next::pthread_mutex_unlock()(stand) };
    code
}

fn come_back(waiting: &Waiting) {
    // SAFETY: the C library's wait returns with it, and so does who is cancelled in it.
    unsafe { next::pthread_mutex_unlock()(waiting.stand) };
    pthread_mutex_lock(waiting.mutex);
}

unsafe extern "C" fn undo(waiting: *mut c_void) {
    // SAFETY: it is the thread that waits, which lies on this stack, further up.
    come_back(unsafe { &*waiting.cast() });
}
