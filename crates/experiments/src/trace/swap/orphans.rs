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
    pub fn end(mut self) -> usize {
        let mut ended = 0;
        for _ in 0..GENERATIONS {
            let left: Vec<i32> = children().into_iter().filter(|pid| !self.known.contains(pid)).collect();
            if left.is_empty() {
                break;
            }
            for pid in left {
                match end(pid) {
                    Some(ran) => ended += usize::from(ran),
                    // Another user's, which stays.
                    None => self.known.push(pid),
                }
            }
        }
        is_parent_of_orphans(false);
        ended
    }
}

fn is_parent_of_orphans(is_parent: bool) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, libc::c_ulong::from(is_parent), 0, 0, 0) };
}

/// Ends a child, if it may; whether it ran still.
fn end(pid: i32) -> Option<bool> {
    let mut status = 0;
    // SAFETY: the pointer is to a number; the process is a child that nobody has waited for, so that the number is its.
    let is_ended = unsafe { libc::kill(pid, libc::SIGKILL) == 0 && libc::waitpid(pid, &raw mut status, 0) == pid };
    is_ended.then(|| libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL)
}

/// Waits for those that have ended meanwhile, but not for these: who asks whether one is there would find it for as
/// long as nobody has waited for it.
pub fn reap_but(own: &[u32]) {
    loop {
        let mut ended = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the pointer is to room for what the call writes, and all zeros, which it may leave, are a value too.
        let (is_told, pid) =
            unsafe { (libc::waitid(libc::P_ALL, 0, ended.as_mut_ptr(), flags) == 0, ended.assume_init().si_pid()) };
        if !is_told || pid == 0 || own.contains(&(pid as u32)) {
            break;
        }
        // SAFETY: the call writes nothing.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG) };
    }
}

fn children() -> Vec<i32> {
    let me = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(relatives).filter(|(_, parent, _)| *parent == me).map(|(pid, ..)| pid as i32).collect()
}
