//! One thread's rounds with a lock, a timestamp around each part.

mod any_lock;
mod known;
mod pairs;
mod rounds;

pub use any_lock::{AnyLock, make, of_known_time, of_object_calls, without_lock};
pub use pairs::{PAIRS, known_time};
pub use rounds::{Round, Trace, Way};
