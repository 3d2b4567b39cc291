//! The live view at a terminal, which is restored.

use super::signal;
use rustix::process::Signal;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The live view at a pseudo terminal ends by a signal and by a key: the terminal is restored.
#[test]
fn the_terminal_is_restored() {
    for (ending, status) in [(None, 130), (Some(b"q"), 0)] {
        let Some(mut terminal) = Terminal::with(&["load", "--interval", "100ms"]) else {
            return println!("skipped: needs pseudo terminals");
        };
        terminal.read_until("\x1b[?1049h");
        terminal.read_until("/proc/stat");
        match ending {
            None => signal(&terminal.child, Signal::TERM),
            Some(key) => drop(rustix::io::write(&terminal.controller, key).unwrap()),
        }
        terminal.read_until("\x1b[?1049l");
        terminal.read_until("priority of the spinner: idle");
        assert_eq!(terminal.child.wait().unwrap().code(), Some(status));
    }
}

/// The command at a pseudo terminal.
struct Terminal {
    child: Child,
    controller: std::os::fd::OwnedFd,
    seen: String,
}

impl Terminal {
    fn with(arguments: &[&str]) -> Option<Self> {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
        grantpt(&controller).and_then(|()| unlockpt(&controller)).ok()?;
        let name = ptsname(&controller, Vec::new()).ok()?;
        let side = std::fs::OpenOptions::new().read(true).write(true).open(name.to_str().ok()?).ok()?;
        let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&controller, size).ok()?;
        let handle = || Some(Stdio::from(side.try_clone().ok()?));
        let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
        command.env("CONTEND_ARCHIVE", "");
        command.args(arguments).env_remove("NO_COLOR").env("TERM", "xterm");
        let child = command.stdin(handle()?).stdout(handle()?).stderr(Stdio::null()).spawn().ok()?;
        Some(Self { child, controller, seen: String::new() })
    }

    /// Reads until `what` has arrived, for at most half a minute.
    fn read_until(&mut self, what: &str) {
        let patience = std::time::Instant::now();
        while !self.seen.contains(what) {
            assert!(patience.elapsed() < Duration::from_secs(30), "{what:?} never came:\n{:?}", self.seen);
            let mut ready = [rustix::event::PollFd::new(&self.controller, rustix::event::PollFlags::IN)];
            let soon = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
            if rustix::event::poll(&mut ready, Some(&soon)).unwrap() == 0 {
                continue;
            }
            let mut piece = [0; 4096];
            match rustix::io::read(&self.controller, &mut piece) {
                Ok(length) => self.seen.push_str(&String::from_utf8_lossy(&piece[..length])),
                Err(error) => panic!("the terminal closed ({error}) before {what:?} came:\n{:?}", self.seen),
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A failed test must not leave it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
