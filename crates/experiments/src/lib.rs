//! The experiments: a directory each, and a line each in [`ALL`].
//!
//! Every directory has the same parts: the options and the plan that they make (`flags`, `plan`), the measurement
//! (`measure`), its rows (`record`), the record on a terminal and on a page (`show`; a long page is in `section`), its
//! statements and its values that are compared with other records or with an old document (`findings`), and the
//! description of the method (`method.md`). Its `mod.rs` implements `Experiment`, whose table `VIEWS` names the functions
//! that read its rows. No experiment imports another one. An experiment that a flag selects is a mode of the command
//! with that flag: both share the command, and nothing else.

mod ab;
mod clock;
mod core;
mod estimates;
mod exclusion;
mod latency;
mod load;
mod lockstep;
mod model;
#[cfg(test)]
mod night;
mod noise;
mod ring;
mod swap;
#[cfg(feature = "template")]
mod template;
mod throughput;
mod trace;
mod what_if;

use harness::Entry;

pub use trace::Saved as SavedTrace;
pub use trace::SliceExtension;
pub use trace::rules::Rule;

/// Every experiment, in the order of the help and of the survey: load is measured in a forked child before the ring has
/// a runtime with threads, and a model needs what was measured.
pub static ALL: &[Entry] = &[
    Entry::of::<clock::Clock>(),
    Entry::of::<latency::Latency>(),
    Entry::of::<throughput::Throughput>(),
    Entry::of::<noise::Noise>().with(&[Entry::of::<noise::Wake>()]),
    Entry::of::<load::Load>(),
    Entry::of::<ring::Ring>(),
    Entry::of::<core::Core>(),
    Entry::of::<model::Frames>(),
    Entry::of::<model::Step>(),
    Entry::of::<model::Locks>(),
    Entry::of::<lockstep::Lockstep>(),
    Entry::of::<trace::Trace>().with(&[
        Entry::of::<trace::Confirm>(),
        Entry::of::<what_if::WhatIf>(),
        Entry::of::<swap::Swap>(),
    ]),
    Entry::of::<trace::Preempted>(),
    Entry::of::<trace::Lines>(),
    Entry::of::<ab::Ab>(),
    #[cfg(feature = "template")]
    Entry::of::<template::Template>(),
];

/// Groups of experiments, whose names begin with the same word, and what the help says of them.
pub const GROUPS: &[(&str, &str)] = &[("model", "Compute the effect of scheduler rules, of noise, and of many cores")];

/// The experiment of this name.
pub fn named(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
