//! The call site of a lock on machines where the functions around it are not passed over: the return address.

use core::ffi::c_int;

/// The address to which a call returns, and the frame pointer of the function that called.
#[derive(Clone, Copy)]
pub struct Call {
    pub place: usize,
    pub frame_pointer: usize,
}

#[inline(always)]
pub fn site(call: Call) -> Option<usize> {
    Some(call.place)
}

pub fn is_in_wrapper(_: usize) -> bool {
    false
}

pub fn try_out(_: usize, call: Call, take: impl FnOnce(usize) -> c_int) -> c_int {
    take(call.place)
}

#[inline(always)]
pub fn end_trial(_: usize, _: usize) {}

pub fn forget_trials() {}
