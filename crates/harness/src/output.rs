//! Text on the standard streams, and files that are written atomically. Nothing else writes to a terminal except the
//! live pictures, so that no view can forget to escape foreign text.

use anyhow::Context;
use serde::Serialize;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::NamedTempFile;
use terminal::{escaped_json, escaped_text, without_error_numbers};

/// Prints a line on stderr.
///
/// A failure to write it is ignored.
pub fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped_text(&without_error_numbers(text)));
}

/// Prints text for people.
///
/// A closed reader (`contend … | head`) is not an error.
///
/// # Errors
/// Any other reason why stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    spared(print_piece(text))
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
    spared(if io::stdout().is_terminal() { put(&escaped_json(json)) } else { put(json) })
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
    if io::stdout().is_terminal() { print(text) } else { spared(put(text)) }
}

/// Prints data that are not text, such as a picture.
///
/// # Errors
/// Standard output is a terminal; or as [`print()`].
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
    if IS_STDOUT_CLOSED.load(Ordering::Relaxed) {
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
    /// A draft next to the file, which is renamed to it, so that a reader never sees a part of it.
    Draft(NamedTempFile),
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
        Ok(Self { path: resolved(path), destination })
    }

    /// Writes all of the content.
    pub fn write(self, content: &[u8]) -> anyhow::Result<()> {
        let Self { path, destination } = self;
        let written = match destination {
            // Not through the draft itself, whose errors name it and not the user's file.
            Destination::Draft(draft) => draft
                .as_file()
                .write_all(content)
                .and_then(|()| draft.as_file().sync_all())
                .and_then(|()| draft.persist(&path).map(drop).map_err(Into::into)),
            // A device cannot be truncated, and need not be.
            Destination::InPlace(mut file) => file.set_len(0).or(Ok(())).and_then(|()| file.write_all(content)),
        };
        written.with_context(|| format!("{}: cannot write the file", path.display()))
    }
}

/// Follows links: `/dev/stdout` is one, and replacing it would affect all other programs.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn open_destination(path: &Path) -> io::Result<Destination> {
    let path = resolved(path);
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a directory")),
        Ok(found) if !found.is_file() => in_place(&path),
        Ok(_) => {
            // The directory may allow a new file while the file itself is write-protected, or the other way round.
            OpenOptions::new().append(true).open(&path)?;
            let mode = path.metadata()?.permissions().mode();
            draft_beside(&path, mode).map(Destination::Draft).or_else(|_| in_place(&path))
        }
        // The mode is the same as in a shell's redirection.
        Err(_) => draft_beside(&path, 0o666).map(Destination::Draft),
    }
}

fn in_place(path: &Path) -> io::Result<Destination> {
    Ok(Destination::InPlace(OpenOptions::new().write(true).open(path)?))
}

/// Creates a file in the directory of `path`, to be renamed to it.
///
/// # Errors
/// A problem with the directory, which the message names: the draft's own name would not help the user.
pub fn draft_beside(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = Permissions::from_mode(mode);
    let draft = tempfile::Builder::new().prefix(".contend-").permissions(permissions).tempfile_in(folder);
    draft.map_err(|error| {
        let shown = folder.display();
        let why = match error.kind() {
            io::ErrorKind::NotFound => format!("directory {shown} does not exist"),
            io::ErrorKind::NotADirectory => format!("{shown} is not a directory"),
            // The full error contains the draft's path.
            kind => format!("cannot create a file in {shown}: {kind}"),
        };
        io::Error::new(error.kind(), why)
    })
}
