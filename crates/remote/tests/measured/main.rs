//! The server and its clients where time counts: hosts and clients that are slow, processes that are killed, a browser.

#[path = "../command/mod.rs"]
mod command;

#[path = "../../../contend/tests/command/browser.rs"]
mod browser;

mod crowd;
mod hostile_hosts;
mod in_browser;
mod killed;
