//! The instruments on the machine that runs the tests, and on machines that are made up.

mod cpus;
mod environment;
mod evidence;
mod neighbour;
mod schedule;
mod timing;
