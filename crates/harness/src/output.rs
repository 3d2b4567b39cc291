//! Text on the standard streams, and files that are written atomically. Nothing else writes to a terminal except the
//! live pictures, so that no view can forget to escape foreign text.

use crate::place::{Draft, Place};
use anyhow::Context;
use serde::Serialize;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use terminal::{escaped_json, escaped_text, without_error_numbers};

/// Prints a line on stderr.
///
/// A failure to write it is ignored.
pub fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped_text(&without_error_numbers(text)));
}

/// Prints text for people on stderr, where stdout belongs to another program.
///
/// # Errors
/// As [`print()`], of stderr.
pub fn eprint(text: &str) -> io::Result<()> {
    spared(io::stderr().write_all(escaped_text(text).as_bytes()), "standard error")
}

/// Prints text for people.
///
/// A closed reader (`contend … | head`) is not an error.
///
/// # Errors
/// Any other reason why stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    spared(print_piece(text), STDOUT)
}

/// Prints a part of a text for people; a closed reader is an error too, so that the measurement for it ends.
pub fn print_piece(text: &str) -> io::Result<()> {
    put(&escaped_text(text))
}

/// Returns one value as a line of JSON, whose strings have no raw character that a terminal obeys or a browser hides.
pub fn json_line<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    Ok(escaped_json(&serde_json::to_string(value)?).into_owned() + "\n")
}

/// Prints JSON: byte for byte, except on a terminal, where it has more escapes with the same meaning.
pub fn print_json(json: &str) -> io::Result<()> {
    spared(if io::stdout().is_terminal() { put(&escaped_json(json)) } else { put(json) }, STDOUT)
}

/// Prints a value as a line of JSON among others.
///
/// # Errors
/// As [`print_piece`]; or the value cannot be written as JSON.
pub fn print_json_piece<T: Serialize + ?Sized>(value: &T) -> io::Result<()> {
    put(&json_line(value)?)
}

/// Prints the content of a file, such as a page or a script: byte for byte, except on a terminal.
pub fn print_document(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() { print(text) } else { spared(put(text), STDOUT) }
}

/// Prints data that are not text, such as a picture.
///
/// # Errors
/// Standard output is a terminal; or as [`print()`].
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return Err(io::Error::other("the terminal cannot show binary output; redirect it to a file"));
    }
    spared(put_bytes(bytes), STDOUT)
}

fn put(text: &str) -> io::Result<()> {
    put_bytes(text.as_bytes())
}

fn put_bytes(bytes: &[u8]) -> io::Result<()> {
    if IS_STDOUT_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("it is closed"));
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

const STDOUT: &str = "standard output";

fn spared(outcome: io::Result<()>, stream: &str) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|error| io::Error::new(error.kind(), format!("cannot write to {stream}: {error}"))),
    }
}

/// Whether the command was started without a standard output, as by `contend history >&-`; set before `main`, and not
/// changed later.
///
/// The runtime of Rust opens `/dev/null` in the place of a closed stream before `main` begins, and all output is lost
/// without an error. Therefore the stream is checked before that.
static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: the call takes a number, which need not be that of an open file, and no pointer; it changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
    // Rust's standard library treats the error of a write to a stream that is open only for reading as a success as
    // well.
    let is_closed = flags == -1 || flags & libc::O_ACCMODE == libc::O_RDONLY;
    IS_STDOUT_CLOSED.store(is_closed, Ordering::Relaxed);
}

// SAFETY: the dynamic loader calls each function of this section once, before `main` and on the main thread. `look` has
// the C calling convention, ignores the arguments that glibc passes, and uses nothing that Rust's runtime prepares: a
// system call and an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// A file that the user named: checked before the measurement, written after it, and replaced atomically where its
/// directory allows that.
pub struct OutputFile {
    path: PathBuf,
    destination: Destination,
}

enum Destination {
    /// A file that is written in the same directory and renamed to this place, so that a reader never sees a part of it.
    Replaced(Place, u32),
    /// A pipe, a device, or a file in a directory without write permission: it cannot be replaced.
    InPlace(File),
}

impl OutputFile {
    /// Opens the destination before the measurement, so that an unwritable one costs no measurement.
    ///
    /// `flag` is the option that named it.
    pub fn open(flag: &str, path: &Path) -> anyhow::Result<Self> {
        let destination =
            open_destination(path).with_context(|| format!("{flag} {}: cannot write the file", path.display()))?;
        Ok(Self { path: path.to_owned(), destination })
    }

    /// Gives a file that is replaced another mode than that of the one before it.
    #[must_use]
    pub fn with_mode(mut self, new: u32) -> Self {
        if let Destination::Replaced(_, mode) = &mut self.destination {
            *mode = new;
        }
        self
    }

    /// Opens a file that is replaced again and again.
    ///
    /// # Errors
    /// It cannot be replaced: it is a directory or a device, or its directory is not writable.
    pub fn replaceable(path: &Path) -> io::Result<Self> {
        match open_destination(path)? {
            Destination::InPlace(_) => Err(io::Error::other("not a regular file, so it cannot be replaced")),
            destination @ Destination::Replaced(..) => Ok(Self { path: path.to_owned(), destination }),
        }
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn replace(&mut self, content: &[u8]) -> io::Result<()> {
        match &mut self.destination {
            Destination::Replaced(place, mode) => Draft::beside(place, *mode, content)?.replace(place),
            // A device cannot be truncated, and need not be.
            Destination::InPlace(file) => file.set_len(0).or(Ok(())).and_then(|()| file.write_all(content)),
        }
    }

    /// Writes all of the content.
    pub fn write(mut self, content: &[u8]) -> anyhow::Result<()> {
        self.replace(content).with_context(|| format!("{}: cannot write the file", self.path.display()))
    }
}

/// The mode of a new file is the same as in a shell's redirection.
pub const MODE: u32 = 0o666;
/// The mode of a file that only its owner may read.
pub const PRIVATE: u32 = 0o600;

fn open_destination(path: &Path) -> io::Result<Destination> {
    let place = match Place::of(path)? {
        Ok(place) => place,
        Err(file) => return Ok(Destination::InPlace(file)),
    };
    match place.open()? {
        Some((file, mode)) => {
            let is_replaceable = mode.is_some() && Draft::try_beside(&place).is_ok();
            Ok(match mode {
                Some(mode) if is_replaceable => Destination::Replaced(place, mode),
                _ => Destination::InPlace(file),
            })
        }
        None => Draft::try_beside(&place).map(|()| Destination::Replaced(place, MODE)),
    }
}

/// A directory of files that are created one by one and replace no other.
pub struct OutputFolder {
    place: Place,
}

/// A file in an [`OutputFolder`].
pub struct Created {
    name: String,
    identity: (u64, u64),
}

impl Created {
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl OutputFolder {
    /// Opens the directory, and checks that a file can be created there.
    ///
    /// # Errors
    /// It is not a directory, or not a writable one.
    pub fn open(path: &Path) -> io::Result<Self> {
        let place = Place::inside(path)?;
        Draft::try_beside(&place)?;
        Ok(Self { place })
    }

    /// Creates a file with this mode, which appears whole; `None` if the name is in use.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(&self, name: &str, mode: u32, content: &[u8]) -> io::Result<Option<Created>> {
        let place = self.place.sibling(name)?;
        let draft = Draft::beside(&place, mode, content)?;
        let identity = draft.identity()?;
        Ok(draft.persist_new(&place)?.then(|| Created { name: name.to_owned(), identity }))
    }

    /// Removes a file that was created here, if it is still there.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, file: &Created) -> io::Result<()> {
        self.place.sibling(&file.name)?.remove(file.identity)
    }
}
