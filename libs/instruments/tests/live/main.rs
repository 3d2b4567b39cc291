//! The instruments on the machine that runs the tests, and on simulated machines.

mod cpus;
mod environment;
mod evidence;
mod neighbour;
mod timing;
