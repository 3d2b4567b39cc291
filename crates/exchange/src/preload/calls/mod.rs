//! The functions that are replaced, by their names.

mod c11;
mod cond;
mod mutex;
mod others;
mod shared_cond;
