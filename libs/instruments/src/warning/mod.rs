//! What a reader of a figure should know before trusting it: warnings as typed values, each with its remedy.
//!
//! A warning is part of the record. There it carries its code, its message, its remedy and its fields, so that a
//! program can act on it and a person need not look it up:
//!
//! ```
//! use instruments::warning::{Steal, Warning};
//!
//! let warning = Warning::from(Steal { share: 0.03 });
//! assert_eq!(warning.code(), "steal");
//! assert!(warning.is::<Steal>() && warning.message().contains("3.00 %"));
//! println!("warning: {}\n  remedy: {}", warning.message(), warning.remedy());
//! ```
//!
//! Each kind is a struct with its code and its texts beside it: a [`WarningKind`]. Here are those that any measurement
//! may have to give; who measures something in particular has kinds of their own.

mod clock;
mod due;
mod kind;
mod machine;
mod privilege;
mod run;
mod severity;
mod value;

pub use clock::ClockFallback;
pub use due::{OTHER_LOAD_SHARE, STEAL_SHARE, disturbances, realtime_throttling, standing};
pub use kind::{WarningKind, percent};
pub use machine::{
    Autogroup, CpuQuota, CpusTakenAway, FrequencyChanging, NeverAlone, OtherLoad, RealtimeThrottling,
    SmtSiblingsShared, Steal,
};
pub use privilege::{MemoryNotLocked, NiceRefused, NoRealtimePriority, PriorityRefused};
pub use run::{BufferFull, FewSamples, Interrupted, LeftOut, NotConverged};
pub use severity::Severity;
pub use value::Warning;
