//! A directory in which an archive is created, next to its destination. Its creator has locked it; an unlocked one was
//! left by a process that was killed.

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = ".contend-archive-";
/// The number of letters and digits after the prefix.
const RANDOM: usize = 6;
/// The entries that a draft may have: those that Git creates, and the mark.
const PARTS: &[&str] = &[
    "HEAD",
    "branches",
    "config",
    "config.lock",
    "contend-archive",
    "description",
    "hooks",
    "info",
    "objects",
    "refs",
];

/// A draft, removed when it is dropped unless it was moved to its destination.
pub struct Draft {
    folder: TempDir,
    _lock: Option<File>,
}

enum Lock {
    Ours(File),
    Others,
    /// The file system has no locks.
    None,
}

impl Draft {
    /// Creates a draft in this directory.
    ///
    /// # Errors
    /// A draft cannot be created there.
    pub fn inside(parent: &Path) -> anyhow::Result<Self> {
        // Between creating the directory and locking it, another process may take it for abandoned.
        const TRIES: usize = 100;
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir_in(parent)?;
            match lock(folder.path()) {
                Ok(Lock::Ours(lock)) => return Ok(Self { folder, _lock: Some(lock) }),
                Ok(Lock::None) => return Ok(Self { folder, _lock: None }),
                Ok(Lock::Others) | Err(_) => {}
            }
        }
        bail!("{}: another process removes new directories there", parent.display())
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the draft to its destination.
    ///
    /// # Errors
    /// The destination exists, or the system call fails.
    pub fn move_to(self, place: &Path) -> io::Result<()> {
        fs::rename(self.folder.path(), place)?;
        // A directory that was moved away need not be removed.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Removes abandoned drafts.
///
/// A draft that cannot be removed stays.
pub fn remove_left(parent: &Path) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        let is_named = random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // The directory itself, not the target of a link.
        let is_owned = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_named || !is_owned {
            continue;
        }
        if let Ok(Lock::Ours(_lock)) = lock(&entry.path())
            && is_draft(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns whether the directory contains only parts of a draft; any other directory of such a name stays.
fn is_draft(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| PARTS.iter().any(|part| entry.file_name() == *part))
}

/// Locks the directory.
///
/// The children that are started in the meantime hold the lock too, until they end.
fn lock(folder: &Path) -> anyhow::Result<Lock> {
    let lock = File::open(folder)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(Lock::Others),
        Err(_) => return Ok(Lock::None),
    }
    let (found, locked) = (fs::symlink_metadata(folder).context("the directory was removed")?, lock.metadata()?);
    if (found.dev(), found.ino()) != (locked.dev(), locked.ino()) {
        return Ok(Lock::Others);
    }
    fcntl_setfd(&lock, FdFlags::empty())?;
    Ok(Lock::Ours(lock))
}
