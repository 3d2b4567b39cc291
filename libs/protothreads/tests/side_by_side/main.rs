//! Threads that wait, wake and hand over: no test here asserts on a time, so all of them are one program, and run side
//! by side.

mod hand_over;
mod starvation;
mod waiting;
mod wakers;
