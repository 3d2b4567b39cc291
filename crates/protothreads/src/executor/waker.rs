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

/// The waker of thread `index` of the kernel in `place`. Dropping it would do nothing.
#[inline(always)]
pub(crate) fn waker(place: usize, index: u32) -> ManuallyDrop<Waker> {
    let data = ptr::without_provenance(place << INDEX_BITS | index as usize);
    // SAFETY: the functions of the table take any number for data, own nothing, and may be called from any OS thread.
    ManuallyDrop::new(unsafe { Waker::new(data, &VTABLE) })
}

fn wake(data: *const ()) {
    let (place, index) = (data.addr() >> INDEX_BITS, data.addr() as u32 & ((1 << INDEX_BITS) - 1));
    #[cfg(feature = "std")]
    if Here::wake(place, index) {
        return;
    }
    REGISTRY[place].wake(index);
}

/// The kernel that runs on this OS thread, for wakes that come from it: they need no atomics.
#[cfg(feature = "std")]
#[derive(Clone, Copy)]
pub(crate) struct Here {
    place: usize,
    kernel: *const (),
    wake: unsafe fn(*const (), u32),
}

#[cfg(feature = "std")]
std::thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here { place: usize::MAX, kernel: ptr::null(), wake: |_, _| () }) };
}

#[cfg(feature = "std")]
impl Here {
    /// Runs `work` while `wake(kernel, index)` is called for the wakes of `place` that come from this OS thread.
    ///
    /// # Safety
    /// `wake(kernel, index)` must be safe to call from this thread until `work` returns or panics, within it.
    pub(crate) unsafe fn with<R>(
        place: usize,
        kernel: *const (),
        wake: unsafe fn(*const (), u32),
        work: impl FnOnce() -> R,
    ) -> R {
        struct Restore(Here);
        impl Drop for Restore {
            fn drop(&mut self) {
                HERE.set(self.0);
            }
        }
        let _restore = Restore(HERE.replace(Here { place, kernel, wake }));
        work()
    }

    #[inline(always)]
    fn wake(place: usize, index: u32) -> bool {
        let here = HERE.get();
        if here.place != place {
            return false;
        }
        // SAFETY: `with` is running on this OS thread, and whoever called it allowed this.
        unsafe { (here.wake)(here.kernel, index) };
        true
    }
}
