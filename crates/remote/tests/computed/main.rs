//! The server and its clients: no answer depends on the time that it takes. Each test has its own server, so that all of
//! them run side by side.

#[path = "../command/mod.rs"]
mod command;

mod description;
mod fetch;
mod hostile;
mod metrics;
mod serve;
