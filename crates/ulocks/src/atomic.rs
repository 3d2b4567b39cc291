//! The atomics that the locks are made of.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
