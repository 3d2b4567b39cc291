//! Room for a lock of another library.

use std::cell::UnsafeCell;
use std::ffi::c_void;

/// Room for a lock whose size only its headers know.
#[repr(transparent)]
pub struct Room(UnsafeCell<[u64; 2]>);

impl Room {
    /// All zeros, which is the free state of every lock here.
    pub const fn zeroed() -> Self {
        Self(UnsafeCell::new([0; 2]))
    }

    pub const fn start(&self) -> *mut c_void {
        self.0.get().cast()
    }
}
