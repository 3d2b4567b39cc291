//! Records and live figures between machines, over HTTP/1.1: `contend serve` gives them, `contend fetch` asks for them.
//!
//! What is sent is what the archive has, byte for byte, and a record's name is the hash of all that; so neither side
//! has to trust the other, or the way, to know that a record is the one that was kept. Both are programs of their own,
//! which `contend serve` and `contend fetch` become: nobody who only measures builds a server.

mod certificate;
mod dates;
mod exchange;
mod fetch;
mod fingerprint;
mod program;
mod serve;
mod sibling;
mod token;
mod trust;

use std::process::ExitCode;

/// The program behind `contend serve`.
pub fn serve() -> ExitCode {
    program::run(&serve::EXAMPLES, serve::run)
}

/// The program behind `contend fetch`.
pub fn fetch() -> ExitCode {
    program::run(&fetch::EXAMPLES, fetch::run)
}
