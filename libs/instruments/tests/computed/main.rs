//! What is computed from figures that are given: one program, since nothing of it is measured.

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
