//! The peers of `locks` that fit into a mutex: their own files, with the atomics and the sleeping of this crate.

#[allow(dead_code, reason = "its callers are programs; here it is only looked at")]
pub mod atomic;

include!(concat!(env!("OUT_DIR"), "/peers.rs"));
