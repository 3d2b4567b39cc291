//! What a run leaves behind: a server that goes into the background has a session of its own, and no parent.
//!
//! While a run lasts, contend is the parent of all that loses its own in it. What is left at the end is ended: it would
//! take the CPU from the runs that follow, and have their port.

use super::listening::relatives;
use std::fs;

/// A run, since it began.
pub struct Orphans {
    /// Children that are contend's own.
    known: Vec<i32>,
}

/// Who is ended leaves orphans in turn: as many generations as nobody has by chance.
const GENERATIONS: usize = 1_000;

impl Orphans {
    /// A run begins.
    pub fn adopt() -> Self {
        let known = children();
        is_parent_of_orphans(true);
        Self { known }
    }

    /// The run is over: ends what it left; how many of them ran still.
    ///
    /// What commands around the runs leave is theirs.
    pub fn end(self) -> usize {
        let mut ended = 0;
        for _ in 0..GENERATIONS {
            let left: Vec<i32> = children().into_iter().filter(|pid| !self.known.contains(pid)).collect();
            if left.is_empty() {
                break;
            }
            ended += left.into_iter().filter(|pid| end(*pid)).count();
        }
        is_parent_of_orphans(false);
        ended
    }
}

fn is_parent_of_orphans(is_parent: bool) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(is_parent), 0, 0, 0) };
}

/// Ends a child; whether it ran still.
fn end(pid: i32) -> bool {
    let mut status = 0;
    // SAFETY: the pointer is to a number; the process is a child that nobody has waited for, so that the number is its.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, &raw mut status, 0);
    }
    libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL
}

fn children() -> Vec<i32> {
    let me = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(relatives).filter(|(_, parent, _)| *parent == me).map(|(pid, ..)| pid as i32).collect()
}
