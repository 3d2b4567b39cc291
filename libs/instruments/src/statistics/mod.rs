//! Statistics without assumptions about distributions.
//!
//! Latencies are skewed, have several modes and long tails, so nothing here assumes that they are normal. Quantiles
//! get confidence intervals from order statistics ([`order`]), ratios from the bootstrap ([`bootstrap`]). A
//! measurement is repeated until its interval is narrow enough ([`stopping`]), and compared configurations are
//! interleaved in a random, recorded order ([`interleave`]). Paired runs are compared in [`signed_rank`], repeatedly
//! during a measurement in [`sequential`]. Runs are compared in [`comparison`], many configurations at once in
//! [`discovery`], machines in [`outlier`], long series of runs in [`steps`]. A number of occurrences gives the interval of
//! its probability in [`proportion`]. The rules follow Hoefler and Belli,
//! "Scientific Benchmarking of Parallel Computing Systems" (SC15), and Georges, Buytaert and Eeckhout, "Statistically
//! Rigorous Java Performance Evaluation" (OOPSLA 2007).
//!
//! Unless documented otherwise, intervals assume that the samples are independent draws from one distribution.
//! Consecutive latencies of one run are not: use [`slices`] for those, and [`blocks`] for values that share a period
//! of time.
pub mod blocks;
pub mod bootstrap;
pub mod comparison;
pub mod discovery;
pub mod interleave;
pub mod interval;
pub mod levels;
pub mod order;
pub mod outlier;
pub mod proportion;
pub mod rank_sum;
pub mod ranks;
pub mod sequential;
pub mod signed_rank;
pub mod slices;
pub mod steps;
pub mod stopping;
pub mod summary;
mod thinned;

pub use bootstrap::Ratio;
pub use interleave::Interleaving;
pub use interval::Interval;
pub use stopping::{EndedBy, StoppingRule, Verdict};
pub use summary::{Summary, coefficient_of_variation};
pub use thinned::Thinned;
