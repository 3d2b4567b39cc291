//! Who works on the archive: a lock on its mark that lives as long as any Git that was started under it.
//!
//! The kernel lets go of it when the last process that has it open ends, however it ends. Git inherits it, with all
//! that Git starts; so a `contend` that is killed leaves it to its children, and nobody to nobody.

use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::File;
use std::path::Path;
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
