//! User-space locks in plain words.

mod atomic;
mod benaphore;
mod count;
mod semaphore;
mod sysv;

pub use benaphore::Benaphore;
pub use count::{Count, Counted, Counts, NoCount};
pub use lock_api;
pub use semaphore::Semaphore;
pub use sysv::SysvSem;
