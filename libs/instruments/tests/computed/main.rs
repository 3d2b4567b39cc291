//! Computations from given values: one program, since nothing is measured.

mod blocks;
mod coincidence;
mod comparison;
mod environment_json;
mod evidence;
mod outlier;
mod period;
mod spikes;
mod statistics;
mod steps;
mod tally;
mod warning;
mod warning_json;
