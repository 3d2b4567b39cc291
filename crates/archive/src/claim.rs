//! Who works on the archive: a lock on its mark that lives as long as any Git that was started under it.
//!
//! The kernel lets go of it when the last process that has it open ends, however it ends. Git inherits it, with all
//! that Git starts; so a `contend` that is killed leaves it to its children, and nobody to nobody.
//!
//! A killed Git may leave locks and halves of files in the archive: a `refs/records/<hash>.lock` would end every further `pull` of that record, a
//! `packed-refs.lock` every packing; half an object, or half a fetch, takes room for ever.
//!
//! Git does not note whose such a file is. It is nobody's once no Git that `contend` started lives, which a [`Claim`]
//! tells, nor any other Git that is at work on this archive, which `/proc` tells.

use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Held until it is dropped, and by the children that were started meanwhile until they end.
pub struct Claim {
    _mark: File,
}

impl Claim {
    /// The claim of one among several that write. `None` where the file system has no locks: Git's own suffice for
    /// writing.
    pub fn shared(mark: &Path) -> Option<Self> {
        let mark = File::open(mark).ok()?;
        flock(&mark, FlockOperation::LockShared).ok()?;
        // Across an exec.
        fcntl_setfd(&mark, FdFlags::empty()).ok()?;
        Some(Self { _mark: mark })
    }

    /// The claim of one who is alone; `None` if others are at work for longer than a record takes to be kept.
    pub fn sole(mark: &Path) -> Option<Self> {
        const TRIES: usize = 20;
        let mark = File::open(mark).ok()?;
        for _ in 0..TRIES {
            match flock(&mark, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Some(Self { _mark: mark }),
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(50)),
                Err(_) => return None,
            }
        }
        None
    }
}

/// Where Git has locks in a bare repository.
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
/// What excludes another Git and is not called a lock.
const OTHER_LOCKS: &[&str] = &["gc.pid", "packed-refs.new"];

/// How such a repository is called, within the archive.
pub const INCOMING: &str = "incoming-";
/// How half-written files and folders begin, within the objects; and fetches, within the archive.
const HALVES: &[&str] = &["tmp_", ".tmp-", INCOMING];

/// Removes what is nobody's. What cannot be removed stays, and Git names it when it is in the way.
pub fn remove_stale(archive: &Path, mark: &Path) {
    if left(archive).is_empty() {
        return;
    }
    let Some(_claim) = Claim::sole(mark) else { return };
    // Listed before the processes are: whoever made one of these and lives is among them.
    let stale = left(archive);
    if !others_are_at_work(archive) {
        stale.iter().for_each(|path| drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path))));
    }
}

fn left(archive: &Path) -> Vec<PathBuf> {
    let folders = FOLDERS.iter().map(|folder| archive.join(folder));
    // Objects lie in folders that are named by their first two digits.
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

/// Whether a Git of somebody else's may be writing here. Where nobody can say, it may.
fn others_are_at_work(archive: &Path) -> bool {
    let (Ok(archive), Ok(processes)) = (archive.canonicalize(), fs::read_dir("/proc")) else { return true };
    let is_process = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes()[0].is_ascii_digit());
    processes.flatten().map(|entry| entry.path()).filter(is_process).any(|process| is_git_on(&archive, &process))
}

/// By its working directory, a path on its command line, or the one that another Git told it.
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
    let mut told = environment.split(|byte| *byte == 0).filter(|variable| variable.starts_with(b"GIT_DIR="));
    folder.starts_with(archive) || called.split(|byte| *byte == 0).any(is_here) || told.any(is_here)
}
