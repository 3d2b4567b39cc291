//! Runs futures on a runtime.
mod inbox;
#[cfg_attr(loom, allow(dead_code))]
mod registry;
#[cfg(not(loom))]
mod run;
#[cfg(not(loom))]
mod waker;

pub use inbox::Inbox;
#[cfg(loom)]
pub use registry::Place;
