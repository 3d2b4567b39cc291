//! Signals, as bytes in a pipe that the loop waits at beside the keys.

use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which have come.
pub struct Signals {
    pipe: UnixStream,
    ended: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
}

/// What they ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// SIGTERM, SIGHUP, and SIGINT of another process: the terminal passes Ctrl-C on as a key.
    pub end: bool,
    /// SIGTSTP.
    pub pause: bool,
    /// SIGCONT: another program may have had the terminal.
    pub resume: bool,
}

impl Signals {
    /// Catches them.
    ///
    /// # Errors
    /// The system refuses a handler or a pipe.
    pub fn catch() -> io::Result<Self> {
        let (pipe, wake) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let signals = Self { pipe, ended: Arc::default(), paused: Arc::default(), resumed: Arc::default() };
        let flags = [
            (SIGTERM, &signals.ended),
            (SIGHUP, &signals.ended),
            (SIGINT, &signals.ended),
            (SIGTSTP, &signals.paused),
            (SIGCONT, &signals.resumed),
        ];
        // The flag first: who is woken finds it.
        for (signal, flag) in flags {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
        }
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(signals)
    }

    /// What has been asked for since the last time.
    pub fn asked(&mut self) -> Asked {
        let mut bytes = [0; 256];
        while let Ok(1..) = self.pipe.read(&mut bytes) {}
        let take = |flag: &AtomicBool| flag.swap(false, Ordering::Relaxed);
        Asked { end: take(&self.ended), pause: take(&self.paused), resume: take(&self.resumed) }
    }

    /// Stops the process, as the signal does that it caught; it returns when somebody lets it go on.
    pub fn stop_here() {
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
