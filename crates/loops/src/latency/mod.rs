//! One thread's rounds with a lock, a timestamp around each part.

mod any_lock;
mod rounds;

pub use any_lock::{AnyLock, make, of_object_calls, without_lock};
pub use rounds::{Round, Trace, Way};
