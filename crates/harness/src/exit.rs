//! The end of a command: its outcome, errors in its usage, and interruptions.

use instruments::warning::CpusTakenAway;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGTERM};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Flags that are invalid on this machine or in combination: exit status 2.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&terminal::without_error_numbers(&self.0))
    }
}

impl std::error::Error for UsageError {}

/// A part that cannot be measured in this run, although the rest can.
#[derive(Debug)]
pub struct LeftOut {
    pub what: String,
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.reason)
    }
}

impl std::error::Error for LeftOut {}

/// The error of a run that a signal ended before anything was measured.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("interrupted before anything was measured")
    }
}

impl std::error::Error for Interrupted {}

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// A comparison or a measurement exceeded a limit.
    Exceeded,
    /// A comparison that should give a verdict could not give one.
    NotJudged,
    Interrupted,
    /// The measured program failed, with this exit status.
    ProgramFailed(u8),
}

/// The interval at which a waiting thread checks for an interruption.
pub const LOOK: Duration = Duration::from_millis(50);

/// The request to end a run, by a signal or because CPUs were taken away: a flag that measurements read between their
/// windows.
///
/// The handler releases no resources. A window lasts a fraction of a second, so the measurement ends by itself, every
/// destructor runs, and the results so far are still shown.
#[derive(Clone, Debug, Default)]
pub struct Interruption {
    requested: Arc<AtomicBool>,
    cpus_taken: Arc<OnceLock<CpusTakenAway>>,
    is_out_of_time: Arc<AtomicBool>,
    is_sigint_ignored: bool,
}

impl Interruption {
    /// Catches the signals that ask a command to end.
    pub fn catch() -> io::Result<Self> {
        let requested = Self { is_sigint_ignored: is_ignored(SIGINT), ..Self::default() };
        // `nohup` ignores SIGHUP on purpose. A shell without job control ignores SIGINT in every command that it starts
        // in the background, although a script may send that signal later.
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)) {
            signal_hook::flag::register(signal, Arc::clone(&requested.requested))?;
        }
        Ok(requested)
    }

    /// Returns whether a signal has arrived, or CPUs are gone.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Requests the end at this time, for a run whose user has set its length. A timer of the process needs no thread,
    /// which measurements that fork do not allow, and forked processes have none.
    ///
    /// # Errors
    /// The system refuses the handler or the timer.
    pub fn request_at(&self, at: Instant) -> io::Result<()> {
        for flag in [&self.is_out_of_time, &self.requested] {
            signal_hook::flag::register(SIGALRM, Arc::clone(flag))?;
        }
        // A timer of no length is none.
        let left = at.saturating_duration_since(Instant::now()).max(LOOK);
        let left = libc::timeval { tv_sec: left.as_secs() as _, tv_usec: left.subsec_micros().into() };
        let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: left };
        // SAFETY: the pointer is to a timer that lives during the call, and the null pointer is for the old one.
        match unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns whether the user's time was up before the measurement ended by itself.
    pub fn is_out_of_time(&self) -> bool {
        self.is_out_of_time.load(Ordering::Relaxed)
    }

    /// Returns whether SIGINT was ignored when contend started: a program that contend starts then ignores it, too.
    pub fn is_sigint_ignored(&self) -> bool {
        self.is_sigint_ignored
    }

    /// Requests the end because the measurement lacks CPUs that it was planned for.
    pub fn end_without_cpus(&self, taken: CpusTakenAway) {
        let _ = self.cpus_taken.set(taken);
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Returns the CPUs whose loss was the reason, if that was the reason.
    pub fn cpus_taken(&self) -> Option<&CpusTakenAway> {
        self.cpus_taken.get()
    }

    /// Returns the flag itself, for code that has no knowledge of signals.
    pub fn flag(&self) -> &AtomicBool {
        &self.requested
    }

    /// Returns the flag itself, for code that outlives this value.
    pub fn shared_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Returns whether to continue.
    pub fn flow(&self) -> ControlFlow<()> {
        if self.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Runs work that cannot check the flag on a separate thread, and returns its result; `None` once a signal has
    /// arrived, or at this time.
    ///
    /// The thread then ends with the process.
    ///
    /// # Errors
    /// The system cannot create a thread.
    ///
    /// # Panics
    /// If the work panics.
    pub fn unless_requested<T: Send + 'static>(
        &self,
        until: Option<Instant>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Option<T>> {
        if self.is_requested() {
            return Ok(None);
        }
        let is_over = || until.is_some_and(|until| Instant::now() >= until);
        let (done, result) = mpsc::channel();
        // The receiver may be gone.
        let worker = std::thread::Builder::new().spawn(move || drop(done.send(work())))?;
        loop {
            match result.recv_timeout(LOOK) {
                Ok(result) => return Ok(Some(result)),
                Err(RecvTimeoutError::Timeout) if self.is_requested() || is_over() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Ok(()) => unreachable!("work that ends sends what it gives"),
                    Err(panic) => resume_unwind(panic),
                },
            }
        }
    }

    /// Waits until this time, or until a signal arrives.
    pub fn wait(&self, until: Instant) -> ControlFlow<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.is_requested() || left.is_zero() {
                return self.flow();
            }
            std::thread::sleep(left.min(LOOK));
        }
    }
}

/// Returns whether a signal was ignored when contend started.
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one to the pointer, which is to memory of the right
    // size; all zeros is a valid value if the call fails.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
