//! Experiments that measure, through the binary. Each test passes while other programs take the CPUs: it asserts on values
//! that a busy machine cannot change. Tests that need the same run share its record.

#[path = "../../examples/bursts/burst.rs"]
mod burst;
#[path = "../command/mod.rs"]
mod command;

mod ab;
mod clock;
mod core;
mod latency;
mod latency_stop;
mod load;
mod noise;
mod noise_every_cpu;
mod noise_wake;
mod own_lock;
mod own_lock_lost;
mod ranking;
mod ring;
mod throughput;
