//! The processes that have the locks of files for which threads wait, by `/proc/locks`.

use super::holders::{Seen, ready};
use super::waited::{Holder, Wait, Waited};
use super::{Sample, State};
use std::collections::HashMap;
use std::fs::{File, read_link};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

/// The locks of all files at one time.
#[derive(Default)]
pub(super) struct FileLocks {
    text: String,
}

/// Files with locks whose names are kept, and processes that had them.
pub(super) const MOST_NAMES: usize = 256;

impl FileLocks {
    /// Reads the locks as they are now.
    pub(super) fn read() -> Self {
        Self { text: all() }
    }

    /// Returns the process that has the lock for which a thread waits.
    pub(super) fn owner(&self, sample: &Sample) -> Option<u32> {
        owner_of_file_lock(&self.text, sample.process).or_else(|| owner_of_file_lock(&self.text, sample.thread))
    }
}

/// Returns whether a wait is for the lock of a file.
pub(super) fn is_of_file(wait: Wait) -> bool {
    matches!(wait, Wait::Call { number: libc::SYS_flock | libc::SYS_fcntl, part: super::budget::Part::Lock, .. })
}

/// Reads `/proc/locks`: of a machine with very many locks, the first.
pub fn all() -> String {
    const MOST_BYTES: u64 = 256 << 10;
    let mut text = Vec::new();
    // The part that was read before an error counts.
    let _ = File::open("/proc/locks").and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the process that has the lock of a file for which another waits. A line of `/proc/locks` is
/// `1: FLOCK ADVISORY WRITE 713 fd:01:42 0 EOF`; of a waiter, with the number of the lock, `1: -> FLOCK …`.
pub fn owner_of_file_lock(locks: &str, waiter: u32) -> Option<u32> {
    let mut owner = None;
    for line in locks.lines() {
        let mut fields = line.split_ascii_whitespace().skip(1).peekable();
        let is_waiter = fields.next_if_eq(&"->").is_some();
        let pid = fields.nth(3).and_then(|pid| pid.parse::<u32>().ok());
        if !is_waiter {
            owner = pid;
        } else if pid == Some(waiter) {
            return owner;
        }
    }
    None
}

/// Returns a number for the file of a descriptor, which is not 0, and its name. The file itself is not touched: one of a network
/// can block all that ask for it.
pub(super) fn file_of(process: u32, descriptor: u64) -> Option<(u64, String)> {
    let name = read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?.to_string_lossy().into_owned();
    let mut number = DefaultHasher::new();
    name.hash(&mut number);
    Some((number.finish() | 1, name))
}

/// Adds what the process did that has the lock of a file, for a thread that waits for it; returns whether that is known. Which of
/// several threads uses the file is not.
pub(super) fn judge(waited: &mut Waited, waiter: &Seen, owner: u32, by_thread: &HashMap<u32, &Seen>) -> bool {
    if owner != waiter.sample.process {
        *waited.other_processes.entry(owner).or_default() += waiter.span;
    }
    let mut threads = by_thread.values().filter(|seen| seen.sample.process == owner);
    let Some(holder) = threads.next().filter(|_| threads.next().is_none()) else {
        return false;
    };
    // It gave the lock away between the reading of the locks and that of its state.
    if holder.wait == waiter.wait {
        return true;
    }
    let parts = match (holder.wait, waiter.wait) {
        (Some(wait), Some(held)) if holder.sample.state != State::Runnable => {
            vec![(Holder::Blocked { wait, path: holder.path, held, pair: None }, 1.0)]
        }
        _ => {
            let ready = ready(holder.sample.thread, waiter.sample.thread);
            vec![(Holder::Running, holder.ran_share), (ready, 1.0 - holder.ran_share)]
        }
    };
    for (holder, part) in parts.into_iter().filter(|(_, part)| *part > 0.0) {
        *waited.holders.entry(holder).or_default() += part * waiter.span;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_of_a_file_lock_is_in_the_line_before_its_waiters() {
        let locks = "1: FLOCK  ADVISORY  WRITE 713 fd:01:42 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 715 fd:01:42 0 EOF\n\
                     2: POSIX  ADVISORY  READ 9 fd:01:43 0 EOF\n";
        assert_eq!(owner_of_file_lock(locks, 715), Some(713));
        assert_eq!(owner_of_file_lock(locks, 9), None);
    }
}
