//! The place where the C library's condition variables note their attributes, found by initialising one.
//!
//! The fields of `pthread_cond_t` moved in version 2.41 of the GNU C library, and distributions have that change in
//! older versions too, so the version does not show the layout.

use core::ffi::{c_int, c_uint, c_void};

/// The number of words of a condition variable.
pub const WORDS: usize = 12;

/// `pthread_cond_init` of the C library.
pub type Initialise = unsafe extern "C" fn(*mut c_void, *const c_uint) -> c_int;

const PTHREAD_PROCESS_SHARED: c_int = 1;

unsafe extern "C" {
    fn pthread_condattr_init(attributes: *mut c_uint) -> c_int;
    fn pthread_condattr_setpshared(attributes: *mut c_uint, shared: c_int) -> c_int;
    fn pthread_condattr_setclock(attributes: *mut c_uint, clock: c_int) -> c_int;
}

/// Returns the word and the bits by which a condition variable shows that processes may share it; `None` for an unknown
/// layout.
pub fn mark_of_shared(initialise: Initialise) -> Option<(usize, u32)> {
    mark(initialise, |attributes| {
        // SAFETY: the attributes are initialised.
        unsafe { pthread_condattr_setpshared(attributes, PTHREAD_PROCESS_SHARED) };
    })
}

/// Returns the word and the bits by which a condition variable shows that its deadlines are by this clock; `None` for an
/// unknown layout.
pub fn mark_of_clock(initialise: Initialise, clock: c_int) -> Option<(usize, u32)> {
    mark(initialise, |attributes| {
        // SAFETY: the attributes are initialised.
        unsafe { pthread_condattr_setclock(attributes, clock) };
    })
}

/// Returns the only word that is not 0 in a new condition variable with one attribute.
fn mark(initialise: Initialise, set: impl FnOnce(*mut c_uint)) -> Option<(usize, u32)> {
    let mut attributes: [c_uint; 4] = [0; 4];
    let mut words = [0_u32; WORDS];
    // SAFETY: both buffers are at least as large as the C library's objects.
    unsafe {
        pthread_condattr_init(attributes.as_mut_ptr());
        set(attributes.as_mut_ptr());
        initialise(words.as_mut_ptr().cast::<c_void>(), attributes.as_ptr());
    }
    let mut marks = words.iter().enumerate().filter(|(_, word)| **word != 0);
    match (marks.next(), marks.next()) {
        (Some((word, bits)), None) => Some((word, *bits)),
        _ => None,
    }
}
