//! The measured loops: those around a lock, those of the ring, and the calibrated busy loops.
//!
//! They are a separate crate because of how they are compiled: fully optimised, and each for every lock, which the code
//! that plans, counts and shows does not need. So nothing generic over a lock or a scheduler leaves this crate. The
//! loops are instantiated here, behind a trait without a type ([`latency::AnyLock`], [`throughput::AnyLocks`]) or a
//! pointer to a function ([`ring::BuiltIn`]); a crate that instantiates a loop itself gets it as that crate is
//! compiled.

pub mod clock;
pub mod latency;
pub mod load;
pub mod own_lock;
pub mod ring;
pub mod throughput;
