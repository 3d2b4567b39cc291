//! Trials of permissions that no experiment has a function for.

use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
use rustix::process::{Resource, geteuid, getppid, getrlimit, setpriority_process};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::{env, fs, thread};

/// Locks this amount of memory, and releases it.
pub fn lock_memory(bytes: usize) -> io::Result<()> {
    // SAFETY: the mapping is new, so it overlaps no other memory.
    let memory = unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ, MapFlags::PRIVATE) }?;
    // SAFETY: the range is the mapping, which nothing else refers to.
    let locked = unsafe { mlock(memory, bytes) };
    // SAFETY: the range is the mapping, and no reference to it exists.
    unsafe { munmap(memory, bytes) }?;
    Ok(locked?)
}

/// Gives a thread a lower nice value, and ends it.
pub fn lower_nice() -> io::Result<()> {
    // For the kernel, the current "process" of this call is the calling thread.
    let trial = thread::Builder::new().name("nice-probe".into()).spawn(|| setpriority_process(None, -20))?;
    Ok(trial.join().map_err(|_| io::Error::other("the trial panicked"))??)
}

/// Opens the memory of the process that started this one, as a trace of a running process does; of another process of
/// this user where that one is of another.
pub fn open_memory_of_another() -> io::Result<()> {
    let own = geteuid().as_raw();
    let is_own = |folder: &PathBuf| fs::metadata(folder).is_ok_and(|metadata| metadata.uid() == own);
    let parent = getppid().map(|parent| PathBuf::from(format!("/proc/{}", parent.as_raw_nonzero())));
    let is_other = |folder: &PathBuf| {
        let number = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
        number.is_some_and(|number| number != std::process::id())
    };
    let others = || fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let other = parent.filter(is_own).or_else(|| others().filter(is_other).find(is_own));
    let other = other.ok_or_else(|| io::Error::other("there is no other process of this user"))?;
    File::open(other.join("mem")).map(drop)
}

/// Returns the highest number of open files that this process may set for itself; `None` is without limit.
pub fn most_files() -> Option<u64> {
    getrlimit(Resource::Nofile).maximum
}

/// Returns the text of a file, without the white space around it.
pub fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Returns the file of a program that a shell would run.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Returns whether files can be created in this directory, or in the next one above that exists.
pub fn is_writable(folder: &Path) -> bool {
    let Ok(folder) = std::path::absolute(folder) else { return false };
    let existing = folder.ancestors().find(|folder| folder.exists());
    existing.is_some_and(|folder| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok())
}
