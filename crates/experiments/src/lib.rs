//! The experiments: a folder each, and a line each in [`ALL`].
//!
//! Every folder has the same parts: what the user may set and the plan that comes of it (`flags`), the measurement
//! (`measure`), what came out (`record`), the record on a terminal (`show`), on a page (`section`), what of it can be
//! compared (`metrics`), what a person would say of it (`findings`), what an old document said (`then_and_now`), and
//! how it is measured (`method.md`). An experiment knows no other.

mod clock;
mod core;
mod latency;
mod load;
mod lockstep;
mod model;
#[cfg(test)]
mod night;
mod noise;
mod ring;
#[cfg(feature = "template")]
mod template;
mod throughput;
mod trace;

use harness::Entry;

/// Every experiment, in the order of the help and of the survey: load is measured in a forked child before the ring has
/// a runtime with threads, and a model needs what was measured.
pub static ALL: &[Entry] = &[
    Entry::of::<clock::Clock>(),
    Entry::of::<latency::Latency>(),
    Entry::of::<throughput::Throughput>(),
    Entry::of::<noise::Noise>(),
    Entry::of::<load::Load>(),
    Entry::of::<ring::Ring>(),
    Entry::of::<core::Core>(),
    Entry::of::<model::Frames>(),
    Entry::of::<model::Step>(),
    Entry::of::<lockstep::Lockstep>(),
    Entry::of::<trace::Trace>(),
    #[cfg(feature = "template")]
    Entry::of::<template::Template>(),
];

/// Groups of experiments, whose names begin with the same word, and what the help says of them.
pub const GROUPS: &[(&str, &str)] =
    &[("model", "Compute the effect of scheduler rules and of noise on frames and parallel jobs")];

/// The experiment of this name.
pub fn named(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
