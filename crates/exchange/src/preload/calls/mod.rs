//! The functions that are replaced, by their names.

mod c11;
mod cond;
#[cfg(target_arch = "x86_64")]
mod counter;
pub mod mutex;
mod rwlock;
mod shared_cond;
mod spin;
