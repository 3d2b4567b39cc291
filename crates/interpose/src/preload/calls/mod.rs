//! The functions that are replaced.

mod address_space;
mod c11;
mod cond;
mod exclusive;
mod kernel;
mod sem;
mod threads;
