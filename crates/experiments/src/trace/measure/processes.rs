//! Starting the program, and its end.

use super::other_users::has_library;
use crate::trace::plan::Plan;
use anyhow::Context;
use blame::names::message;
use harness::Interruption;
use interpose::{Memory, PLACE, Region};
use launch::preload;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus};
use std::sync::atomic::Ordering::Acquire;
use std::time::{Duration, Instant};

/// The program while it runs. It does not outlive this, nor, since the kernel sees to that, contend itself.
pub struct Running {
    child: Child,
    /// Tells of its end, where the kernel can.
    end: Option<OwnedFd>,
    /// The library that it loads.
    _library: File,
    status: Option<ExitStatus>,
}

/// How often is looked whether it ended, where the kernel does not tell.
const LOOK: Duration = Duration::from_millis(2);

const ASAN: &str = "ASAN_OPTIONS";

/// The options of AddressSanitizer, as they are, and one more. It refuses to start where another library comes before its
/// own, since that one might replace `malloc`; contend's does not.
fn asan_options() -> OsString {
    let mut options = std::env::var_os(ASAN).unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

impl Running {
    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(plan: &Plan, memory: &Memory) -> anyhow::Result<Self> {
        let (library, path) = Memory::library().context("cannot copy the library into memory")?;
        let mut command = plan.program.command();
        command.env("LD_PRELOAD", preload(&path)).env(PLACE, memory.path()).env(ASAN, asan_options());
        let parent = std::process::id();
        // SAFETY: between fork and exec only these two system calls are made, which take no pointers.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() as u32 == parent { Ok(()) } else { Err(std::io::Error::other("contend has exited")) }
            });
        }
        let child = command
            .spawn()
            .map_err(|error| anyhow::anyhow!("cannot start {}: {}", plan.program.path.display(), message(&error)))?;
        let end = Pid::from_raw(child.id() as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Ok(Self { child, end, _library: library, status: None })
    }

    /// The program's number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// Waits for its end, for so long at most.
    pub fn wait(&mut self, at_most: Duration) {
        let until = Instant::now() + at_most;
        while !self.has_ended() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            match &self.end {
                // A signal only makes the loop look once more.
                Some(end) => drop(poll(&mut [PollFd::new(end, PollFlags::IN)], Timespec::try_from(left).ok().as_ref())),
                None => std::thread::sleep(LOOK.min(left)),
            }
        }
    }

    /// Asks it to end, and ends it if it does not: with what it started, as far as that is watched too.
    pub fn end(&mut self, region: &Region, patience: Duration, interruption: &Interruption) {
        // Ctrl-C at a terminal is for both, and most programs end by themselves.
        if interruption.is_requested() {
            self.wait(Duration::from_millis(300));
        }
        if !self.has_ended() {
            self.signal(libc::SIGTERM);
            self.wait(patience);
        }
        let is_stubborn = !self.has_ended();
        if is_stubborn {
            self.signal(libc::SIGKILL);
            self.wait(Duration::from_secs(5));
        }
        if is_stubborn || self.exit_signal().is_some() {
            descendants(region, self.child.id()).into_iter().for_each(|pid| kill(pid, libc::SIGKILL));
        }
    }

    pub fn exit_status(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    pub fn exit_signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }

    fn signal(&self, signal: i32) {
        kill(self.child.id(), signal);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn kill(pid: u32, signal: i32) {
    // SAFETY: the call takes no pointers.
    unsafe { libc::kill(pid as i32, signal) };
}

/// Watched processes that live still: their numbers are not others' meanwhile, since the library lies in them.
fn descendants(region: &Region, child: u32) -> Vec<u32> {
    let pids = region.processes().map(|process| process.pid.load(Acquire)).filter(|&pid| pid != child);
    pids.filter(|pid| has_library(*pid)).collect()
}
