//! A contestant of this process.

use super::ring_spec::{RingResult, RingSpec};
use crate::ring::class::Class;
use std::io;

/// A contestant of this process.
#[derive(Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    pub class: Class,
    pub scheduler: &'static str,
    pub limit: &'static str,
    pub ns_per_hop: f64,
    pub max_threads: usize,
    /// The number of threads, where it has one of its own.
    pub threads: Option<usize>,
    /// Whether its threads must be on different CPUs.
    pub across: bool,
    /// Bytes of a thread, for one that is also run as a large ring, in order and shuffled.
    pub large: Option<usize>,
    pub run: fn(&RingSpec) -> io::Result<RingResult>,
}
