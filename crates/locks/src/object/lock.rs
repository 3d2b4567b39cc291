//! A lock of a shared object as a lock under test.

use super::functions::{Exports, Functions, MOST_BYTES};
use super::watch::{Within, enter, is_lost};
use crate::lock::Lock;
use crossbeam_utils::CachePadded;
use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::io;

/// The functions, which nobody writes, are on a line of their own, or every call would wait for the lock's line.
pub struct FromObject {
    functions: CachePadded<Functions>,
    memory: CachePadded<UnsafeCell<[u8; MOST_BYTES]>>,
    is_made: bool,
}

// SAFETY: the memory is touched by the object's functions alone, and contend_lock.h says that any thread may call them.
unsafe impl Sync for FromObject {}
// SAFETY: as above; it is not moved between `settle` and its end.
unsafe impl Send for FromObject {}

thread_local! {
    /// What the next lock of this thread is made of: a type has no arguments.
    static WANTED: Cell<Option<Functions>> = const { Cell::new(None) };
}

/// Makes locks of this object in `work`.
pub fn with_object<T>(exports: &Exports, work: impl FnOnce() -> T) -> T {
    WANTED.set(Some(exports.functions));
    let done = work();
    WANTED.set(None);
    done
}

impl FromObject {
    fn of(functions: Functions) -> Self {
        let memory = CachePadded::new(UnsafeCell::new([0; MOST_BYTES]));
        Self { functions: CachePadded::new(functions), memory, is_made: false }
    }

    fn address(&self) -> *mut c_void {
        self.memory.get().cast()
    }
}

/// Releases the lock when it is dropped.
pub struct Guard<'a>(&'a FromObject);

impl Lock for FromObject {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        WANTED.get().map(Self::of).ok_or_else(|| io::Error::other("no object was chosen"))
    }

    fn settle(&mut self) -> io::Result<()> {
        enter(Within::Init);
        // SAFETY: the memory is zeroed and stays where it is from here on.
        let made = unsafe { (self.functions.init)(self.address()) };
        enter(Within::Nothing);
        match made {
            0 => {
                self.is_made = true;
                Ok(())
            }
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    #[inline(always)]
    fn lock(&self) -> Guard<'_> {
        enter(Within::Acquire);
        // SAFETY: the lock was made by `settle`, and this thread does not have it: a guard would.
        unsafe { (self.functions.acquire)(self.address()) };
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        enter(Within::Release);
        // SAFETY: whoever has the guard has the lock.
        unsafe { (self.0.functions.release)(self.0.address()) };
        // What goes wrong from here on is not the object's.
        enter(Within::Nothing);
    }
}

impl Drop for FromObject {
    fn drop(&mut self) {
        // Another of the object's locks may be what threads were lost at.
        if self.is_made && !is_lost() {
            enter(Within::Destroy);
            // SAFETY: it was made, and is free: a guard borrows it.
            unsafe { (self.functions.destroy)(self.address()) };
            enter(Within::Nothing);
        }
    }
}

/// What calls through pointers cost: the lock of an object whose functions do nothing. It excludes nobody.
pub struct EmptyCalls(FromObject);

impl Lock for EmptyCalls {
    type Guard<'a> = Guard<'a>;

    fn create() -> io::Result<Self> {
        let functions = Functions { init: made, acquire: nothing, release: nothing, destroy: nothing };
        // Nobody knows at compile time what is called, as with an object.
        Ok(Self(FromObject::of(std::hint::black_box(functions))))
    }

    #[inline(always)]
    fn lock(&self) -> Guard<'_> {
        self.0.lock()
    }
}

extern "C" fn made(_: *mut c_void) -> c_int {
    0
}

extern "C" fn nothing(_: *mut c_void) {}
