//! `contend trace` on C programs whose waits, holds, deadlocks and ends are known; their sources are in `tests/trace`.

mod calls;
mod code;
#[path = "../command/mod.rs"]
mod command;
#[path = "../corpus/mod.rs"]
mod corpus;
mod limits;
mod patience;
mod programs;
mod times;

mod ab;
mod attach;
mod cycles;
mod diagnosis;
mod ends;
mod faults;
mod hangs;
mod hostile;
mod killed;
mod labels;
mod languages;
mod lines;
mod other_processes;
mod parts;
mod preempted;
mod purposes;
mod runtimes_hostile;
mod sisters;
mod swap;
mod targets;
mod top;
mod true_statements;
mod unharmed_programs;
mod watched;
mod watchpoints;
mod what_if;
