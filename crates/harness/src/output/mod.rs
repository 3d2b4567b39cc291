//! Text on the standard streams, and files that are written whole.

mod file;

pub use file::OutputFile;

use std::io::{self, Write};

/// Says something on stderr. That nobody can read it is no reason to fail.
pub fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints to stdout. A reader that has gone away (`contend … | head`) is not an error.
///
/// # Errors
/// Any other reason why stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}
