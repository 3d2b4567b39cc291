//! The functions that are replaced, by their names.

mod c11;
mod cond;
pub mod mutex;
mod rwlock;
mod shared_cond;
mod spin;
