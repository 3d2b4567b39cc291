//! The functions that are replaced.

mod c11;
mod cond;
mod exclusive;
mod sem;
mod threads;
