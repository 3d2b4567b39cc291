//! The bulk-synchronous job on MPI: started by a launcher, a process for each rank; rank 0 writes the record.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run()
}
