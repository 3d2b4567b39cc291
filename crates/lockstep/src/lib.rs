//! A job in lock-step, measured: what every rank computes, watches and tells; and what follows from their noise.
//!
//! Each rank computes for a fixed time and meets the others. Nothing here speaks MPI: the program `lockstep` does,
//! which needs one installed. What it is made of can be used, and is tested, without.
//!
//! | to | use |
//! |---|---|
//! | know that all ranks were started alike | [`greeting`] |
//! | lay the clocks of two machines on each other | [`alignment`] |
//! | compute, and know when one was kept from it | [`watched`] |
//! | give each rank a CPU | [`placement`] |
//! | be kept from it at known times | [`injection`] |
//! | predict steps from what the ranks saw | [`traces`], [`prediction`], [`scatter`] |
//! | write and read what came out | [`record`] |

#![warn(missing_docs)]

pub mod alignment;
pub mod causes;
pub mod flags;
pub mod greeting;
pub mod injection;
pub mod placement;
pub mod prediction;
pub mod record;
pub mod scatter;
pub mod traces;
pub mod warnings;
pub mod watched;
