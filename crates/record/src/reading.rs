//! Reading of a file that may be anything: a record, a pipe from another program, an endless device.

use crate::limits::MOST_BYTES;
use anyhow::{Context, bail, ensure};
use rustix::fs::{OFlags, fcntl_setfl};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Returns whether a name means a file rather than a record of the archive.
pub fn is_file(name: &str) -> bool {
    // A file without read permission exists.
    let may_not = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    name == "-" || Path::new(name).try_exists().unwrap_or_else(may_not)
}

/// Returns the file's name for people, and its content; `-` is standard input.
pub fn content(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    if path == Path::new("-") {
        let name = "standard input".to_owned();
        let bytes = limited(io::stdin().lock()).with_context(|| format!("cannot read {name}"))?;
        return Ok((name, bytes));
    }
    let name = path.display().to_string();
    let bytes = opened(path).and_then(limited).with_context(|| format!("cannot read {name}"))?;
    Ok((name, bytes))
}

fn limited(file: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MOST_BYTES, "larger than {} MiB, the limit for a record", MOST_BYTES >> 20);
    Ok(bytes)
}

/// Opens the file, if it is a regular file or a pipe with a writer.
fn opened(path: &Path) -> anyhow::Result<impl Read> {
    // Opening a pipe must not wait for a writer that never comes, and a terminal must not become the controlling one.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let kind = file.metadata()?.file_type();
    ensure!(!kind.is_dir(), "is a directory");
    ensure!(!kind.is_char_device() && !kind.is_block_device(), "is a device; give a file, or - for standard input");
    let first = if kind.is_fifo() { first_of(&mut file)? } else { Vec::new() };
    fcntl_setfl(&file, OFlags::empty()).map_err(io::Error::from)?;
    Ok(io::Cursor::new(first).chain(file))
}

/// Returns the bytes that a pipe already has, once it has a writer.
///
/// A writer that has not come yet looks like one that has gone.
fn first_of(pipe: &mut File) -> anyhow::Result<Vec<u8>> {
    const TRIES: usize = 100;
    let mut first = vec![0; 4_096];
    for _ in 0..TRIES {
        match pipe.read(&mut first) {
            Ok(0) => std::thread::sleep(Duration::from_millis(20)),
            Ok(length) => {
                first.truncate(length);
                return Ok(first);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
    }
    bail!("is a pipe that no process writes to")
}
