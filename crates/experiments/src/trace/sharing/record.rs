//! The rows of cache lines: one for all samples, and one for each line.

use crate::trace::record::Frame;
use instruments::statistics::Interval;
use serde::{Deserialize, Serialize};

/// The subject of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// All samples.
    #[default]
    Total,
    /// A cache line.
    Line,
}

/// How threads share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// One thread uses it, or all that do run on one CPU.
    #[default]
    OneThread,
    ReadOnly,
    /// Threads use it and write, one after the other: the samples of them are not of the same time.
    InTurn,
    /// Threads on several CPUs use one word, and write it.
    #[serde(rename = "shared_and_written")]
    Written,
    /// Threads on several CPUs use different words, and write.
    #[serde(rename = "false_sharing")]
    False,
}

impl Sharing {
    /// Returns whether the line moves between CPUs.
    pub fn is_contended(self) -> bool {
        matches!(self, Self::Written | Self::False)
    }

    /// Returns the words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::OneThread => "one thread",
            Self::ReadOnly => "read only",
            Self::InTurn => "in turn",
            Self::Written => "shared and written",
            Self::False => "false sharing",
        }
    }
}

/// One row. A value that does not apply or is not known is 0, `null` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    pub kind: RowKind,
    pub process: u32,
    /// The address of the line.
    pub address: String,
    pub sharing: Sharing,
    /// The variables in the line, the lock, or where the memory is used.
    pub object: String,
    /// The kind of the lock, if most samples are in the functions of one: `mutex`, `rwlock`, `spin`, `allocator`.
    pub lock_type: Option<String>,
    /// Samples; of a line that moves between CPUs, those in windows in which it did.
    pub samples: u64,
    /// The part of the program's CPU time; 95 %, as if samples were independent.
    pub cpu_share: Option<f64>,
    pub cpu_share_ci: Option<Interval>,
    /// Samples at times when another thread of the process ran: those of the row of all samples are the whole for lines that
    /// move.
    pub together: u64,
    /// The part of the time that the program's threads had something to run and no CPU, in the row of all samples.
    pub ready_share: Option<f64>,
    pub threads: u32,
    /// The words of the line, the first in the line first.
    pub words: Vec<Word>,
    /// The places in the code that use it, the first used most.
    pub places: Vec<Place>,
    /// Where the program calls a library in which the line is used, and the function that it calls there.
    pub caller: Option<String>,
    pub called: Option<String>,
    /// The call path that was seen most, the innermost function first.
    pub stack: Vec<Frame>,
    /// The parts of the CPU time in functions that acquire and release locks, by the kind of the lock.
    pub lock_functions: Vec<LockShare>,
    /// The part of the CPU time that is in the kernel, which was not sampled.
    pub kernel_share: Option<f64>,
    /// Parts of the samples: with an address; of these, on the thread's own stack.
    pub addressed_share: Option<f64>,
    pub own_stack_share: Option<f64>,
    /// The instruction before uses no memory.
    pub no_access_share: Option<f64>,
    /// The instruction before is not known: a jump, a call or a return came between.
    pub jumped_share: Option<f64>,
    /// The access has overwritten its own address.
    pub overwritten_share: Option<f64>,
    /// The code was not readable.
    pub not_decoded_share: Option<f64>,
}

/// The functions of a kind of lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockShare {
    pub lock_type: String,
    /// The part of the CPU time.
    pub share: f64,
}

/// A word of a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Word {
    /// The first byte in the line, and the number of bytes.
    pub offset: u32,
    pub bytes: u32,
    /// The variable there.
    pub variable: Option<String>,
    /// The part of the line's samples.
    pub share: f64,
    /// The threads that were seen to write it, and those that were seen only to read it.
    pub writers: Vec<u32>,
    pub readers: Vec<u32>,
    /// Whether an instruction reads and writes it at once: `lock add`, `xchg`.
    pub is_atomic: bool,
}

/// A place in the code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The function, and the source line.
    pub site: String,
    /// The part of the line's samples.
    pub share: f64,
    pub writes: bool,
}
