//! The command: flags in, one experiment, its record out.
//!
//! It is a library so that it compiles while the experiments' machine code is generated; a program would wait for that.

mod cli;
mod commands;
mod output;

pub use cli::{command_line, run};
