//! The functions that are replaced.

mod barrier;
mod cond;
mod exclusive;
mod kin;
mod sem;
mod threads;
