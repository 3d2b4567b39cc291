//! The event loop: wait for keys, signals and children; change the state; draw it.
//!
//! Signals arrive as bytes in a pipe, so that one call of `poll` waits for all of them. A change by a key is drawn at
//! once, reports of a child a few times a second. No user sees more, and drawing takes CPU time that other programs may
//! want.

use crate::app::App;
use crate::draw::{self, Colours};
use harness::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terminal::full_screen::{self, Canvas, ESCAPE_TIMEOUT, Event, Input, Key, Tty};

/// Time between two pictures of a measurement.
const REDRAW: Duration = Duration::from_millis(250);

/// The state of the loop.
struct EventLoop<'a> {
    tty: &'a Tty,
    canvas: Canvas,
    input: Input,
    colours: Colours,
    drawn: Instant,
    /// Whether a report of a child was not drawn yet.
    is_stale: bool,
}

/// Runs the loop until the user leaves, or a signal ends it.
///
/// # Errors
/// The terminal has gone.
pub fn run(tty: &Tty, mut signals: Signals, app: &mut App) -> anyhow::Result<Outcome> {
    let (canvas, colours) = (tty.canvas()?, Colours::from_environment());
    let mut state = EventLoop { tty, canvas, input: Input::default(), colours, drawn: Instant::now(), is_stale: false };
    state.draw(app)?;
    loop {
        let (is_typed, is_reported) = state.wait(app, &signals)?;
        let requests = signals.requests();
        if requests.end {
            return Ok(Outcome::Interrupted);
        }
        let is_changed = state.obey(requests, app)? | (is_typed && state.read(app)?) | state.settle(app, is_typed);
        let is_changed = is_changed | app.refresh();
        state.is_stale |= (is_reported || app.is_running()) && app.look() || app.is_running();
        if app.is_over {
            return Ok(Outcome::Done);
        }
        let is_other_size = full_screen::size() != app.area;
        if is_changed || is_other_size || state.is_stale && state.drawn.elapsed() >= REDRAW {
            state.draw(app)?;
        }
    }
}

impl EventLoop<'_> {
    /// Waits for any event; returns whether keys have arrived, and whether a child or a signal has.
    fn wait(&self, app: &App, signals: &Signals) -> io::Result<(bool, bool)> {
        let stdin = io::stdin();
        let children = app.run.iter().flat_map(|run| run.child.pipes());
        let child_pipes: Vec<_> = children.collect();
        let mut fds = vec![PollFd::new(&stdin, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        fds.extend(child_pipes.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let timeout = match () {
            () if self.input.is_begun() => Some(ESCAPE_TIMEOUT),
            // A report that was not drawn yet is drawn even if no other follows.
            () if app.is_running() || self.is_stale || app.has_live_list() => Some(REDRAW),
            () => None,
        };
        let timeout = timeout.map(|time| Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let came = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok((came(&fds[0]), fds[1..].iter().any(came)))
    }

    /// Handles the bytes of the keyboard; returns whether there were any.
    fn read(&mut self, app: &mut App) -> anyhow::Result<bool> {
        let mut bytes = [0; 1_024];
        match rustix::io::read(io::stdin().as_fd(), &mut bytes) {
            // A terminal that has gone is at its end from then on.
            Ok(0) | Err(Errno::IO) => anyhow::bail!("the terminal was closed"),
            Ok(length) => {
                for event in self.input.events(&bytes[..length]) {
                    if event == Event::Key(Key::Ctrl('z')) {
                        self.pause(app, true)?;
                    } else if !app.is_over {
                        app.event(event);
                    }
                }
                Ok(true)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Handles an escape that no byte followed: it is a key.
    fn settle(&mut self, app: &mut App, is_typed: bool) -> bool {
        let event = if is_typed { None } else { self.input.settle() };
        event.inspect(|event| app.event(*event)).is_some()
    }

    fn obey(&mut self, requests: Requests, app: &App) -> anyhow::Result<bool> {
        if requests.pause {
            self.pause(app, false)?;
        } else if requests.resume {
            self.resume(app)?;
        }
        Ok(requests.pause || requests.resume)
    }

    /// Releases the terminal for as long as another program has it.
    ///
    /// A key stops the whole process group, as it would without a screen; a signal has stopped the processes that it
    /// was sent to.
    fn pause(&mut self, app: &App, is_key: bool) -> anyhow::Result<()> {
        self.tty.pause();
        if let (true, Some(run)) = (is_key, &app.run) {
            run.child.pause();
        }
        Signals::suspend();
        self.resume(app)
    }

    fn resume(&mut self, app: &App) -> anyhow::Result<()> {
        self.tty.resume()?;
        // Clearing the old one would ask the terminal where its cursor is, and wait for an answer.
        self.canvas = self.tty.canvas()?;
        app.resume();
        Ok(())
    }

    fn draw(&mut self, app: &mut App) -> io::Result<()> {
        app.area = full_screen::size();
        let (colours, app) = (self.colours, &*app);
        self.canvas.draw(|frame| draw::draw(frame, app, colours))?;
        (self.drawn, self.is_stale) = (Instant::now(), false);
        Ok(())
    }
}

/// The signals that have arrived.
pub struct Signals {
    pipe: UnixStream,
    ended: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
}

/// The requests that signals make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Requests {
    /// SIGTERM, SIGHUP, and SIGINT of another process: the terminal passes Ctrl-C on as a key.
    end: bool,
    /// SIGTSTP.
    pause: bool,
    /// SIGCONT: another program may have had the terminal.
    resume: bool,
}

impl Signals {
    /// Installs the handlers.
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
        // The flag is set before the byte is written, so that the loop finds it when the byte wakes it.
        for (signal, flag) in flags {
            signal_hook::flag::register(signal, Arc::clone(flag))?;
        }
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD] {
            signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(signals)
    }

    /// Returns the requests since the last call.
    fn requests(&mut self) -> Requests {
        let mut bytes = [0; 256];
        while let Ok(1..) = self.pipe.read(&mut bytes) {}
        let take = |flag: &AtomicBool| flag.swap(false, Ordering::Relaxed);
        Requests { end: take(&self.ended), pause: take(&self.paused), resume: take(&self.resumed) }
    }

    /// Suspends the process as SIGTSTP does by default; returns when it is continued.
    fn suspend() {
        let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
