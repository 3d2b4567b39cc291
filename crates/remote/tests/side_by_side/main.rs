//! The server and its clients. Each test has its own server, so that all of them run side by side.

#[path = "../command/mod.rs"]
mod command;

#[path = "../../../contend/tests/command/browser.rs"]
mod browser;

mod description;
mod fetch;
mod hostile;
mod hostile_hosts;
mod metrics;
mod serve;
