//! A file that the user named: checked before the measurement, written after it, and replaced atomically where its
//! directory allows that.

use anyhow::Context;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A destination of output.
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
            Destination::Draft(mut draft) => draft
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
