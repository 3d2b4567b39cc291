//! The command: flags in, one experiment, its record out.

use rustix::process::{Resource, getrlimit};
use std::process::ExitCode;

/// The stack size in bytes, enough for all commands.
///
/// The parser of the command line alone uses a tenth of it.
const STACK: usize = 2 << 20;

fn main() -> ExitCode {
    // Where the user has limited stacks (`ulimit -s`), so is that of the first thread; other threads have the requested
    // size.
    if getrlimit(Resource::Stack).current.is_some_and(|bytes| bytes < STACK as u64)
        && let Ok(thread) = std::thread::Builder::new().stack_size(STACK).spawn(contend::run)
    {
        return thread.join().unwrap_or(ExitCode::from(101));
    }
    contend::run()
}
