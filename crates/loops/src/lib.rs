//! What is measured with a clock in hand: the loops around a lock, those of the ring, and the grinds.
//!
//! They are a crate of their own because of how they are compiled: optimised whole, and each for every lock, while what
//! plans, counts and shows need not be. So nothing generic over a lock or a scheduler leaves this crate: what is handed
//! out is made here, behind a trait without a type ([`latency::AnyLock`], [`throughput::AnyLocks`]) or a pointer to a
//! function ([`ring::BuiltIn`]); whoever instantiates a loop elsewhere gets it as that other crate is compiled.

pub mod clock;
pub mod latency;
pub mod load;
pub mod own_lock;
pub mod ring;
pub mod throughput;
