//! Warnings about a measured value as typed values, each with its remedy.
//!
//! A warning is part of the record. There it has its code, its message, its remedy and its fields, so that a program
//! can act on it and a person need not look it up:
//!
//! ```
//! use instruments::warning::{Steal, Warning};
//!
//! let warning = Warning::from(Steal { share: 0.03 });
//! assert_eq!(warning.code(), "steal");
//! assert!(warning.is::<Steal>() && warning.message().contains("3.0 %"));
//! println!("warning: {}\n  remedy: {}", warning.message(), warning.remedy());
//! ```
//!
//! Each kind is a struct with its code and its texts: a [`WarningKind`]. This module contains those that any
//! measurement may have; an experiment can define its own kinds.

mod machine;
mod run;
mod value;

pub use machine::{
    Autogroup, ClockFallback, CpuQuota, CpusTakenAway, FrequencyChanging, MemoryNotLocked, NeverAlone, NiceRefused,
    NoRealtimePriority, OTHER_LOAD_SHARE, OtherLoad, PriorityRefused, Probed, RealtimeThrottling, STEAL_SHARE,
    SmtSiblingsShared, Steal, disturbances, realtime_throttling, standing,
};
pub use run::{BufferFull, FewSamples, Interrupted, LeftOut, NotConverged};
pub use value::{Severity, Warning, WarningKind};
