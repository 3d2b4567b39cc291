//! The instruments on the machine that runs the tests: what they time, and what the kernel reports.

mod cpus;
mod environment;
mod evidence;
mod neighbour;
mod timing;
