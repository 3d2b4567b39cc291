//! The futex calls of running processes: their events in the kernel's record, and the waits that these make up.
//!
//! The kernel records every switch, wake-up and futex call of the machine, tens of thousands a second in a busy server.
//! What reads them takes its CPU time from the processes that it watches, so all of it is here, in a crate that is always
//! optimised, and not in the experiment.

pub mod events;
pub mod follow;
mod runs;
pub mod waits;
