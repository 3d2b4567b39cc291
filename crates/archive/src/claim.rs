//! Exclusion between processes that work on the archive: a lock on its mark file that exists until the last Git process
//! started under it ends.
//!
//! The kernel releases the lock when the last process that has it open ends, however it ends. Git inherits it, with all
//! processes that Git starts. If `contend` is killed, its children keep the lock; after the last of them it is free.
//!
//! A killed Git may leave lock files and partial files in the archive: a `refs/records/<hash>.lock` would make every
//! later `pull` of that record fail, and a `packed-refs.lock` every packing; a partial object or a partial fetch would
//! occupy space forever.
//!
//! Git does not record the owner of such a file. The file is stale once no Git process that `contend` started exists,
//! which a [`Claim`] shows, and no other Git process works on this archive, which `/proc` shows.

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A claim, held until it is dropped and until the children that were started in the meantime end.
pub struct Claim {
    _locked: File,
}

impl Claim {
    /// Returns the claim of one writer among several.
    ///
    /// `None` where the file system has no locks: Git's own locks suffice for writing.
    pub fn shared(mark: &Path) -> Option<Self> {
        let mark = File::open(mark).ok()?;
        flock(&mark, FlockOperation::LockShared).ok()?;
        // Keeps the descriptor open across an exec.
        fcntl_setfd(&mark, FdFlags::empty()).ok()?;
        Some(Self { _locked: mark })
    }

    /// Waits for the claim of the only process that deletes records or names them, which no other claim excludes.
    ///
    /// `None` where the file system has no locks.
    pub fn naming(archive: &Path) -> Option<Self> {
        let archive = File::open(archive).ok()?;
        flock(&archive, FlockOperation::LockExclusive).ok()?;
        fcntl_setfd(&archive, FdFlags::empty()).ok()?;
        Some(Self { _locked: archive })
    }

    /// Returns the claim of a sole process, or `None` if other processes work for longer than storing a record takes.
    pub fn sole(mark: &Path) -> Option<Self> {
        const TRIES: usize = 20;
        let mark = File::open(mark).ok()?;
        for _ in 0..TRIES {
            match flock(&mark, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(Self { _locked: mark }),
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(50)),
                Err(_) => return None,
            }
        }
        None
    }
}

/// The directories in which Git has locks in a bare repository.
const FOLDERS: &[&str] = &[
    "",
    "refs",
    "refs/records",
    "refs/baselines",
    "objects",
    "objects/info",
    "objects/info/commit-graphs",
    "objects/pack",
];
/// Lock files of Git without the suffix of a lock.
const OTHER_LOCKS: &[&str] = &["gc.pid", "packed-refs.new"];

/// The prefix of such a repository's name within the archive.
pub const INCOMING: &str = "incoming-";
/// The prefixes of partial files and directories within the objects, and of fetches within the archive.
const HALVES: &[&str] = &["tmp_", ".tmp-", INCOMING];

/// Removes stale files.
///
/// A file that cannot be removed stays, and Git names it when it is in the way.
pub fn remove_stale(archive: &Path, mark: &Path) {
    if left(archive).is_empty() {
        return;
    }
    let Some(_claim) = Claim::sole(mark) else { return };
    // The files are listed before the processes are, so that a living process that made one of these files is among
    // them.
    let stale = left(archive);
    if !has_other_git(archive) {
        stale.iter().for_each(|path| drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path))));
    }
}

fn left(archive: &Path) -> Vec<PathBuf> {
    let folders = FOLDERS.iter().map(|folder| archive.join(folder));
    // Objects are stored in directories that are named by their first two digits.
    let objects = fs::read_dir(archive.join("objects")).into_iter().flatten().flatten();
    let objects = objects.map(|entry| entry.path()).filter(|path| path.file_name().is_some_and(|name| name.len() == 2));
    let files = folders.chain(objects).filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    files.map(|entry| entry.path()).filter(|path| is_left(path)).collect()
}

fn is_left(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    is_lock
        || OTHER_LOCKS.iter().any(|lock| name == *lock)
        || HALVES.iter().any(|start| name.as_bytes().starts_with(start.as_bytes()))
}

/// Returns whether another Git process may be writing here.
///
/// Where that cannot be determined, it may.
fn has_other_git(archive: &Path) -> bool {
    let (Ok(archive), Ok(processes)) = (archive.canonicalize(), fs::read_dir("/proc")) else { return true };
    let is_process = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes()[0].is_ascii_digit());
    processes.flatten().map(|entry| entry.path()).filter(is_process).any(|process| is_git_on(&archive, &process))
}

/// Detects such a process by its working directory, a path on its command line, or the path that another Git passed to
/// it.
fn is_git_on(archive: &Path, process: &Path) -> bool {
    let content = |file: &str| fs::read(process.join(file)).unwrap_or_default();
    if !content("comm").starts_with(b"git") {
        return false;
    }
    let folder = fs::read_link(process.join("cwd")).unwrap_or_default();
    let is_here = |word: &[u8]| {
        // `--git-dir=PATH` and `GIT_DIR=PATH` too.
        let path = word.rsplit(|byte| *byte == b'=').next().unwrap_or(word);
        folder.join(OsStr::from_bytes(path)).canonicalize().is_ok_and(|path| path.starts_with(archive))
    };
    let (called, environment) = (content("cmdline"), content("environ"));
    let mut directories = environment.split(|byte| *byte == 0).filter(|variable| variable.starts_with(b"GIT_DIR="));
    folder.starts_with(archive) || called.split(|byte| *byte == 0).any(is_here) || directories.any(is_here)
}

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

/// A directory in which an archive is created, next to its destination. Its creator has locked it; an unlocked one was
/// left by a process that was killed.
///
/// It is removed when it is dropped unless it was moved to its destination.
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
