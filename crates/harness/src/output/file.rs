//! A file that the user named: checked before the measurement, written after it, and replaced whole where its folder
//! allows that.

use anyhow::Context;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Where something will be written.
pub struct OutputFile {
    path: PathBuf,
    way: Way,
}

enum Way {
    /// Written beside the file and moved over it, so that a reader never sees half of it.
    Beside(NamedTempFile),
    /// A pipe, a device, or a file in a folder that takes no new one: it cannot be replaced.
    Into(File),
}

impl OutputFile {
    /// Opens the place, so that one that cannot be written costs no measurement. `flag` is who named it.
    pub fn open(flag: &str, path: &Path) -> anyhow::Result<Self> {
        let way = open(path).with_context(|| format!("{flag} {}: cannot write the file", path.display()))?;
        Ok(Self { path: resolved(path), way })
    }

    /// Writes all of it.
    pub fn write(self, content: &[u8]) -> anyhow::Result<()> {
        let Self { path, way } = self;
        let written = match way {
            Way::Beside(mut draft) => draft
                .write_all(content)
                .and_then(|()| draft.as_file().sync_all())
                .and_then(|()| draft.persist(&path).map(drop).map_err(Into::into)),
            // A device cannot be cut short, and need not be.
            Way::Into(mut file) => file.set_len(0).or(Ok(())).and_then(|()| file.write_all(content)),
        };
        written.with_context(|| format!("{}: cannot write the file", path.display()))
    }
}

/// A link is followed: `/dev/stdout` is one, and replacing it would take it from everybody.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn open(path: &Path) -> io::Result<Way> {
    let path = resolved(path);
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a directory")),
        Ok(found) if !found.is_file() => in_place(&path),
        Ok(_) => {
            // Its folder may allow a new file while the file itself is write-protected, or the other way round.
            OpenOptions::new().append(true).open(&path)?;
            let mode = path.metadata()?.permissions().mode();
            draft_beside(&path, mode).map(Way::Beside).or_else(|_| in_place(&path))
        }
        // As a shell's redirection would make it.
        Err(_) => draft_beside(&path, 0o666).map(Way::Beside),
    }
}

fn in_place(path: &Path) -> io::Result<Way> {
    Ok(Way::Into(OpenOptions::new().write(true).open(path)?))
}

/// A new file in the folder of `path`, to be moved over it.
///
/// # Errors
/// What is wrong with the folder, which the message names: the draft's own name would tell the user nothing.
pub fn draft_beside(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = Permissions::from_mode(mode);
    let draft = tempfile::Builder::new().prefix(".contend-").permissions(permissions).tempfile_in(folder);
    draft.map_err(|error| {
        let shown = folder.display();
        let why = match error.kind() {
            io::ErrorKind::NotFound => format!("directory {shown} does not exist"),
            io::ErrorKind::NotADirectory => format!("{shown} is not a directory"),
            // The whole error has the draft's path in it.
            kind => format!("cannot create a file in {shown}: {kind}"),
        };
        io::Error::new(error.kind(), why)
    })
}
