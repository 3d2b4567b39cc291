//! The values of a watched word that other rows do not have.

use serde::{Deserialize, Serialize};

/// The use of a watched word. Counts are those of the watched windows; a value for the whole run says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedWord {
    /// Windows in which the word was watched, and their total length.
    pub windows: u64,
    pub watched_s: f64,
    /// The run that the windows are a part of.
    pub elapsed_s: f64,
    /// The part of one CPU's time that watching was allowed to take.
    pub budget_share: f64,
    /// Accesses by the program's threads, and those that the kernel had no room for.
    pub accesses: u64,
    pub lost_accesses: u64,
    /// Accesses by unknown instructions, and changes that neither acquire nor release a lock.
    pub other_accesses: u64,
    /// Attempts that did not acquire the lock.
    pub failed_attempts: u64,
    /// Reads by threads that did not hold the lock: most of them are iterations of loops that spin.
    pub spin_reads: u64,
    /// Holds without a known begin or end in their window.
    pub holds_cut: u64,
    /// The time that watching an access takes, which hold times exclude, and the distance of its quartiles.
    pub access_cost_ns: f64,
    pub access_cost_spread_ns: f64,
    /// The part of the time outside the windows in which the word was not free, by reading it from outside, and the
    /// number of reads; `null` if it was never read, or its value when free is unknown.
    pub held_share: Option<f64>,
    pub reads: u64,
    /// Acquisitions in the whole run, extrapolated from their rate in the windows: a low estimate, since watching slows
    /// the program.
    pub acquisitions_extrapolated: f64,
    /// The functions that accessed the word, by acquisitions, then by failed attempts.
    pub sites: Vec<WordSite>,
}

/// The accesses of one function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WordSite {
    pub site: String,
    pub acquisitions: u64,
    pub failed_attempts: u64,
    pub spin_reads: u64,
    /// The sum of the holds that it acquired; `null` where holds are too short to be timed.
    pub hold_total_s: Option<f64>,
}
