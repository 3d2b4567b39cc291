//! Statistics that assume no distribution.
//!
//! Latencies are skewed, have several modes and long tails, so nothing here supposes that they are normal: quantiles
//! get intervals from order statistics ([`order`]), ratios from the bootstrap ([`bootstrap`]), a measurement is
//! repeated until its interval is narrow enough ([`stopping`]), compared cells are interleaved in a random,
//! recorded order ([`interleave`]). Paired runs are compared in [`signed_rank`], at several looks by [`sequential`].
//! Runs are compared in [`comparison`], many cells at once in [`discovery`], machines in [`outlier`], long series of
//! them in [`steps`]. The rules follow Hoefler and Belli,
//! "Scientific Benchmarking of Parallel Computing Systems" (SC15), and Georges, Buytaert and Eeckhout, "Statistically
//! Rigorous Java Performance Evaluation" (OOPSLA 2007).
//!
//! Unless they say otherwise, intervals suppose that the samples are independent draws from one distribution.
//! Consecutive latencies of one run are not: [`slices`] is for those, and [`blocks`] for what shares a stretch of time.
pub mod blocks;
pub mod bootstrap;
pub mod comparison;
pub mod discovery;
pub mod interleave;
pub mod interval;
pub mod levels;
pub mod order;
pub mod outlier;
pub mod rank_sum;
pub mod ranks;
pub mod sequential;
pub mod signed_rank;
pub mod slices;
pub(crate) mod spectrum;
pub mod steps;
pub mod stopping;
pub mod summary;
mod thinned;

pub use bootstrap::Ratio;
pub use interleave::Interleaving;
pub use interval::Interval;
pub use stopping::{EndedBy, StoppingRule, Verdict};
pub use summary::Summary;
pub use thinned::Thinned;
