//! The server and those who ask it: no test here asserts on a time or on memory, so all of them are one program, and
//! run side by side.

#[path = "../command/mod.rs"]
mod command;

mod dashboard;
mod description;
mod fetch;
mod hostile_hosts;
mod pushes;
mod serve;
