//! A measured bulk-synchronous job: the work, the sampling and the reports of its ranks, and predictions from their
//! noise.
//!
//! Each rank computes for a fixed time and then synchronises with the others. Only the program `lockstep` uses MPI, and
//! needs an installed one. Its parts can be used, and are tested, without MPI.
//!
//! | to | use |
//! |---|---|
//! | check that all ranks were started with the same flags, and give each a CPU | [`greeting`] |
//! | align the clocks of two machines | [`alignment`] |
//! | compute, detect interruptions, and inject some at known times | [`watched`] |
//! | predict steps from the traces of the ranks | [`traces`], [`prediction`] |
//! | write and read the record | [`record`] |

#![warn(missing_docs)]

pub mod alignment;
pub mod causes;
pub mod flags;
pub mod greeting;
pub mod prediction;
pub mod record;
pub mod traces;
pub mod watched;
