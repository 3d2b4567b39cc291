//! The command through its binary, where it measures, compares other programs, or is ended at any moment; and its pages in a
//! browser. Each test passes while other programs take the CPUs: it asserts on values that a busy machine cannot change.
//! Tests that need the same run share its record. `cargo xtask measured` runs them.

#[path = "../../examples/bursts/burst.rs"]
mod burst;
#[path = "../command/mod.rs"]
mod command;
#[path = "../pages/mod.rs"]
mod pages;

mod ab;
mod book;
mod clock;
mod compare;
mod core;
mod ends_in_time;
mod files_of_the_user;
mod interruption;
mod latency;
mod latency_stop;
mod load;
mod next;
mod noise;
mod noise_every_cpu;
mod noise_wake;
mod own_lock;
mod own_lock_lost;
mod page_in_browser;
mod ranking;
mod report_in_browser;
mod ring;
mod screen;
mod survey;
mod throughput;
mod writers;
