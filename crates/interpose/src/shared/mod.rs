//! Code that this crate shares with `exchange`, whose build script declares the same modules.

#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
pub mod condition;
#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
pub mod exec;
#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
pub mod kernel;
#[cfg(not(preload))]
pub mod memory_file;
#[cfg(any(preload, clippy))]
#[cfg_attr(not(preload), allow(dead_code, reason = "its callers are programs; here it is only looked at"))]
pub mod next_object;
