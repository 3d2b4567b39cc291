//! Lookup of a function's frame by an address in it. The tables are found by `_dl_find_object`, which takes no lock:
//! the loader may hold its own in this very call.

pub use crate::frames::Frame;
use crate::frames::Segment;
use crate::preload::next::{FIND_OBJECT, NOT_LOOKED_UP};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;

/// The result of `_dl_find_object`: `struct dl_find_object` on machines with one kind of table.
#[repr(C)]
#[derive(Default)]
struct Object {
    flags: u64,
    begins: usize,
    ends: usize,
    link_map: usize,
    tables: usize,
    reserved: [u64; 7],
}

/// Returns whether frames can be looked up: not before the C library's functions are.
pub fn is_ready() -> bool {
    FIND_OBJECT.load(Relaxed) != NOT_LOOKED_UP
}

/// Returns the frame of the function to which a call returns at this address; `None` where it is not known.
pub fn frame(returns_to: usize) -> Option<Frame> {
    let function = FIND_OBJECT.load(Relaxed);
    if function.is_null() || !is_ready() {
        return None;
    }
    // SAFETY: the pointer is that of the C library's function, which has this type.
    let find: unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int = unsafe { core::mem::transmute(function) };
    let mut object = Object::default();
    // The call itself is before the address: it may be the last instruction of its function.
    let at = returns_to - 1;
    // SAFETY: `object` is a structure of the shape that the function fills.
    let is_found = unsafe { find(at as *mut c_void, &raw mut object) } == 0;
    if !is_found || object.tables == 0 {
        return None;
    }
    Segment::of(object.begins..object.ends, object.tables)?.frame_in(object.tables, at)
}
