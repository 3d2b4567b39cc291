//! Where a record goes, and in which form.

mod csv;
mod destination;
mod file;

pub use destination::Destination;
pub use file::OutputFile;

use crate::session::SharedFlags;
use crate::terminal::Page;
use std::io::{self, Write};

/// A record that can be shown to a person.
pub trait Show {
    /// Tables and pictures that fit the page.
    fn show(&self, page: &Page) -> String;

    /// One screen to close with, where there is much to show: on stdout it stands in the place of all.
    fn closing(&self, _: &Page) -> Option<String> {
        None
    }

    /// The layout of ulockflex, for the experiment that has it.
    fn ulockflex(&self) -> Option<String> {
        None
    }
}

/// Says something on stderr. That nobody can read it is no reason to fail.
pub fn complain(text: &str) {
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

/// Prints a text, or writes it to the file that `--output` names.
///
/// # Errors
/// Stdout or the file cannot be written.
pub fn print_or_write(text: &str, flags: &SharedFlags) -> anyhow::Result<()> {
    match flags.output.as_ref().filter(|_| flags.writes_a_file()) {
        Some(path) => OutputFile::open("--output", path)?.write(text.as_bytes()),
        None => Ok(print(text)?),
    }
}
