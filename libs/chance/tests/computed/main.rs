//! Chances, computed and simulated: one program, since it measures nothing.

mod agreement;
mod gaps;
mod limits;
mod page;
mod ranks;
