//! The processes that a run leaves behind. A server in the background, for example, has its own session, and its parent
//! has exited.
//!
//! During a run, contend is the parent of all processes that lose their parent (a subreaper). It kills those that are
//! left at the end of the run: they would take the CPU from the next runs, and occupy their port.

use crate::listening::relatives;
use std::fs;

/// A run, since it began.
pub struct Orphans {
    /// Children that are contend's own.
    known: Vec<i32>,
}

/// A killed process leaves orphans in turn. No program has this many generations by chance.
const GENERATIONS: usize = 1_000;

impl Orphans {
    /// Begins a run.
    pub fn adopt() -> Self {
        let known = children();
        is_parent_of_orphans(true);
        Self { known }
    }

    /// Kills the processes that the run left, and returns the number of those that still ran.
    ///
    /// Processes that `--prepare` and `--cleanup` leave stay alone.
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

/// Kills a child, if the kernel permits, and returns whether it still ran.
fn end(pid: i32) -> Option<bool> {
    let mut status = 0;
    // SAFETY: the pointer is to a number; the process is a child that was not waited for, so the number is still its own.
    let is_ended = unsafe { libc::kill(pid, libc::SIGKILL) == 0 && libc::waitpid(pid, &raw mut status, 0) == pid };
    is_ended.then(|| libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL)
}

/// Reaps the children that have ended, except these. An unreaped process still looks alive to a program that tests
/// whether it exists.
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

/// Returns the children of contend, as the kernel lists them by thread; by the parents of all processes where it does
/// not.
fn children() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed: Result<Vec<String>, _> =
        threads.map(|thread| fs::read_to_string(thread.path().join("children"))).collect();
    match listed {
        Ok(lists) => lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect(),
        // The kernel has no such list, or a thread has ended.
        Err(_) => children_by_parent(),
    }
}

fn children_by_parent() -> Vec<i32> {
    let own = std::process::id();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(relatives).filter(|(_, parent, _)| *parent == own).map(|(pid, ..)| pid as i32).collect()
}
