//! The functions that are replaced.

mod barrier;
mod cond;
mod exclusive;
mod kin;
mod mutex;
mod rwlock;
mod sem;
mod shapes;
mod spin;
mod threads;
