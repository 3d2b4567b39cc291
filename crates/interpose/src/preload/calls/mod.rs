//! The functions that are replaced.

mod barrier;
mod c11;
mod cond;
mod exclusive;
mod sem;
mod threads;
