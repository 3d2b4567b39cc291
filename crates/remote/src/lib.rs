//! Exchange of records and live values between machines, over HTTP/1.1: `contend serve` serves them, and `contend
//! fetch` requests them.
//!
//! The archive's content is sent byte for byte, and a record's name is the hash of all of it. So neither side has to
//! trust the other, or the network, to know that a record is unchanged. Both are separate programs, which `contend
//! serve` and `contend fetch` execute: a build for measuring does not include a server.

mod exchange;
mod fetch;
mod program;
mod serve;
mod tls;
mod token;

use std::process::ExitCode;

/// Runs the program behind `contend serve`.
pub fn serve() -> ExitCode {
    program::run(&serve::EXAMPLES, serve::run)
}

/// Runs the program behind `contend fetch`.
pub fn fetch() -> ExitCode {
    program::run(&fetch::EXAMPLES, fetch::run)
}
