//! Computations from given values: one program, since nothing is measured.

mod coincidence;
mod comparison;
mod cpus;
mod environment;
mod evidence;
mod neighbour;
mod period;
mod spikes;
mod statistics;
mod tally;
mod warning;
