//! Text on the standard streams, and files that are written whole. Nothing else writes to a terminal, but for the live
//! pictures: so no view can forget that others' words may have what a terminal obeys.

mod closed;
mod file;

pub use file::{OutputFile, draft_beside};

use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;
use terminal::{escaped_json, escaped_text, without_error_numbers};

/// Says something on stderr. That nobody can read it is no reason to fail.
pub fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped_text(&without_error_numbers(text)));
}

/// Prints what people read. A reader that has gone away (`contend … | head`) is not an error.
///
/// # Errors
/// Any other reason why stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    spared(print_piece(text))
}

/// Prints a piece of what people read; a reader that has gone away is an error too, so that no more is measured for it.
pub fn print_piece(text: &str) -> io::Result<()> {
    put(&escaped_text(text))
}

/// One value as a line of JSON, whose strings have no raw character that a terminal obeys or a browser hides.
pub fn json_line<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    Ok(escaped_json(&serde_json::to_string(value)?).into_owned() + "\n")
}

/// Prints JSON: byte for byte, unless a terminal would read it; then with more escapes, which mean the same.
pub fn print_json(json: &str) -> io::Result<()> {
    spared(if io::stdout().is_terminal() { put(&escaped_json(json)) } else { put(json) })
}

/// Prints a value as a line of JSON among others.
///
/// # Errors
/// As [`print_piece`]; or a value that cannot be written as JSON.
pub fn print_json_piece<T: Serialize + ?Sized>(value: &T) -> io::Result<()> {
    put(&json_line(value)?)
}

/// Prints what is a file in itself, as a page or a script: byte for byte, unless a terminal would read it.
pub fn print_document(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { print(text) } else { spared(put(text)) }
}

/// Prints what is no text, as a picture.
///
/// # Errors
/// A terminal would read it; or as [`print()`].
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return Err(io::Error::other("the terminal cannot show binary output; redirect it to a file"));
    }
    spared(put_bytes(bytes))
}

fn put(text: &str) -> io::Result<()> {
    put_bytes(text.as_bytes())
}

fn put_bytes(bytes: &[u8]) -> io::Result<()> {
    if closed::IS_STDOUT_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

fn spared(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => {
            outcome.map_err(|error| io::Error::new(error.kind(), format!("cannot write to standard output: {error}")))
        }
    }
}
