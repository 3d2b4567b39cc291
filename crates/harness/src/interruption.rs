//! Ctrl-C and SIGTERM: a flag that measurements look at between their slices.
//!
//! Nothing is torn down in the handler. A slice lasts a fraction of a second, so the measurement ends by itself, every
//! destructor runs, and what was measured is still shown.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether someone asked for the end.
#[derive(Clone, Debug, Default)]
pub struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Catches the signals that ask a command to end.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn catch() -> io::Result<Self> {
        let asked = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)) {
            signal_hook::flag::register(signal, Arc::clone(&asked.0))?;
        }
        Ok(asked)
    }

    /// Whether a signal has come.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `nohup` has signals ignored before the command starts, and means it.
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only writes the present one to the pointer, which is to memory of the right
    // size; all zeros is a valid value, should the call fail.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
