//! Threads that wait, wake and hand off: no test here asserts a time, so all of them are one program, and run in
//! parallel. Those of the example are part of it.

mod handoff;
#[path = "../../examples/ring/main.rs"]
#[allow(dead_code, reason = "only its tests run here")]
mod ring;
mod starvation;
mod waiting;
mod wakers;
