//! Threads that wait, wake and hand off: no test here asserts a time, so all of them are one program, and run in
//! parallel.

mod handoff;
mod starvation;
mod waiting;
mod wakers;
