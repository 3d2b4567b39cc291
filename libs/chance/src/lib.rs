//! Random experiments as ordinary functions, for simulation, exact enumeration and single probabilities.
//!
//! An experiment is a function that draws dice, coins and other random values from a [`Chance`], branches and loops
//! on them, and returns an outcome. Three types interpret the same function:
//!
//! - [`Simulation`] performs it with seeded random numbers.
//! - [`Distribution`] enumerates it: every outcome with its probability, in exact rationals ([`Exact`]) or in `f64`.
//! - [`Expectation`] reduces it to one number, the probability of an event or a mean, without a table of the
//!   outcomes.
//!
//! # Examples
//!
//! ```
//! use chance::{Chance, Distribution, Expectation, Simulation};
//!
//! fn roll_3d6(chance: &mut Chance) -> u32 {
//!     chance.die(6) + chance.die(6) + chance.die(6)
//! }
//!
//! let total = Simulation::seeded(1).run(&roll_3d6)?;
//! assert!((3..=18).contains(&total));
//!
//! let all = Distribution::exact(&roll_3d6)?;
//! assert_eq!(all.probability(&10).to_string(), "1/8");
//!
//! let one = Expectation::exact(&roll_3d6).probability(|total| *total >= 17)?;
//! assert_eq!(one.to_string(), "1/54");
//! # Ok::<(), chance::Error>(())
//! ```
//!
//! # Cost
//!
//! An enumeration performs the function once for each path through its draws. A function of three dice has 216 paths;
//! a function of a thousand dice has more paths than the universe has atoms.
//!
//! - Long experiments are therefore written in steps, with [`then`](Experiment::then) and
//!   [`repeat`](Experiment::repeat). Equal outcomes merge after each step, and the cost grows with the number of
//!   distinct states.
//! - Independent copies have closed forms, which cost less: [`sum_of`](Experiment::sum_of),
//!   [`max_of`](Experiment::max_of) and [`min_of`](Experiment::min_of).
//! - An enumeration that exceeds its [`Limits`] stops with an [`Error`] that contains the size it had reached.
//!
//! # Origin
//!
//! "Warm fuzzy things for random simulations" (2008), on the weblog eigenclass.org, wrote experiments in Ruby against
//! an abstract monad and interpreted them as Simulation, Distribution and Expectation; this crate keeps the names.
//! There, each draw receives a continuation. Here, the continuation is the rest of the function, which is run again
//! for each value of the draw.

#![warn(missing_docs)]

mod barrier;
mod chance;
mod continuous;
mod delay;
mod distribution;
mod error;
mod evaluation;
mod expectation;
mod experiment;
mod gaps;
mod power;
mod ranks;
mod show;
mod source;
mod weight;

pub use barrier::{Barrier, Network, Noise, Simulated};
pub use chance::Chance;
pub use continuous::{Continuous, Exponential, Pareto, Uniform};
pub use delay::Delay;
pub use distribution::{Distribution, Integer, Sink};
pub use error::{Error, Limits};
pub use evaluation::{Estimate, Simulation};
pub use expectation::Expectation;
pub use experiment::{Constant, Experiment, MaxOf, MinOf, Repeat, SumOf, Then, constant};
pub use gaps::{Gap, Gaps, GapsError, Problem, Recording, SpanFrom, TraceError};
pub use num_bigint::BigUint;
pub use num_rational::BigRational;
pub use ranks::{Playback, Ranks, RanksError};
pub use show::{Plot, Table};
pub use source::Source;
pub use weight::{Exact, Weight};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
