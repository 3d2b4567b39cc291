//! Threads whose closures sleep with a mutex of the standard library, each time in a labelled request. Without debugging
//! information, an optimised closure has no name.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> Option<unsafe extern "C" fn(*const c_char)>;
}

fn main() {
    // SAFETY: the null handle searches the whole program, and contend's function has this type.
    let label = unsafe { dlsym(null_mut(), c"contend_trace_label".as_ptr()) };
    // SAFETY: the function reads the name before it returns.
    let label = |name: &CStr| label.iter().for_each(|label| unsafe { label(name.as_ptr()) });
    let (end, mutex) = (Instant::now() + Duration::from_millis(1_200), &Mutex::new(0_u64));
    let work = move || {
        while Instant::now() < end {
            label(c"GET /x");
            let mut count = mutex.lock().unwrap();
            std::thread::sleep(Duration::from_millis(5));
            *count += 1;
        }
        label(c"");
    };
    std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
}
