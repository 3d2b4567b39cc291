//! Standard wakers that are numbers: a place in the registry and a thread's number. They own nothing.
#[cfg(feature = "std")]
use core::cell::Cell;
use core::{
    mem::ManuallyDrop,
    ptr,
    task::{RawWaker, RawWakerVTable, Waker},
};

use super::registry::REGISTRY;

const INDEX_BITS: u32 = 24;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, |_| ());

fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(data, &VTABLE)
}

/// The waker of thread `index` of the runtime in `place`. Dropping it would do nothing.
#[inline(always)]
pub(crate) fn waker(place: usize, index: u32) -> ManuallyDrop<Waker> {
    let data = ptr::without_provenance(place << INDEX_BITS | index as usize);
    // SAFETY: the functions of the table take any number for data, own nothing, and may be called from any OS thread.
    ManuallyDrop::new(unsafe { Waker::new(data, &VTABLE) })
}

fn wake(data: *const ()) {
    let (place, index) = (data.addr() >> INDEX_BITS, data.addr() as u32 & ((1 << INDEX_BITS) - 1));
    #[cfg(feature = "std")]
    if LocalWake::wake(place, index) {
        return;
    }
    REGISTRY[place].wake(index);
}

/// How to wake the threads of the runtime that runs on this OS thread: wakes that come from it need no atomics.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(crate) struct LocalWake {
    place: usize,
    runtime: *const (),
    wake: unsafe fn(*const (), u32),
}

#[cfg(feature = "std")]
std::thread_local! {
    static LOCAL_WAKE: Cell<LocalWake> =
        const { Cell::new(LocalWake { place: usize::MAX, runtime: ptr::null(), wake: |_, _| () }) };
}

#[cfg(feature = "std")]
impl LocalWake {
    /// Runs `work` while `wake(runtime, index)` is called for the wakes of `place` that come from this OS thread.
    ///
    /// # Safety
    /// `wake(runtime, index)` must be safe to call from this thread until `work` returns or panics, within it.
    pub(crate) unsafe fn with<R>(
        place: usize,
        runtime: *const (),
        wake: unsafe fn(*const (), u32),
        work: impl FnOnce() -> R,
    ) -> R {
        struct Restore(LocalWake);
        impl Drop for Restore {
            fn drop(&mut self) {
                LOCAL_WAKE.set(self.0);
            }
        }
        let _restore = Restore(LOCAL_WAKE.replace(LocalWake { place, runtime, wake }));
        work()
    }

    #[inline(always)]
    fn wake(place: usize, index: u32) -> bool {
        let local = LOCAL_WAKE.get();
        if local.place != place {
            return false;
        }
        // SAFETY: `with` is running on this OS thread, and whoever called it allowed this.
        unsafe { (local.wake)(local.runtime, index) };
        true
    }
}
