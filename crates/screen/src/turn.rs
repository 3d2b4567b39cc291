//! The loop: wait for keys, signals and children; change the state; draw it.
//!
//! A change by a key is drawn at once, reports of a child a few times a second: no user sees more, and drawing takes
//! CPU time that other programs may want.

use crate::app::App;
use crate::draw;
use crate::draw::colours::Colours;
use crate::signals::{Asked, Signals};
use harness::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use terminal::full_screen::{self, Canvas, Event, Input, Key, Tty};

/// Between two pictures of what is measured.
const PICTURE: Duration = Duration::from_millis(250);
/// An escape that no byte follows within this is the key.
const ESCAPE: Duration = Duration::from_millis(40);

/// The state of the loop.
struct Turn<'a> {
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
pub fn turns(tty: &Tty, mut signals: Signals, mut app: App) -> anyhow::Result<Outcome> {
    let (canvas, colours) = (tty.canvas()?, Colours::of_environment());
    let mut turn = Turn { tty, canvas, input: Input::default(), colours, drawn: Instant::now(), is_stale: false };
    turn.draw(&mut app)?;
    loop {
        let (is_typed, is_told) = turn.wait(&app, &signals)?;
        let asked = signals.asked();
        if asked.end {
            return Ok(Outcome::Interrupted);
        }
        let is_changed = turn.obey(asked, &app)? | (is_typed && turn.read(&mut app)?) | turn.settle(&mut app, is_typed);
        if app.is_over {
            return Ok(Outcome::Done);
        }
        turn.is_stale |= (is_told || app.is_running()) && app.look() || app.is_running();
        let is_other_size = full_screen::size() != app.area;
        if is_changed || is_other_size || turn.is_stale && turn.drawn.elapsed() >= PICTURE {
            turn.draw(&mut app)?;
        }
    }
}

impl Turn<'_> {
    /// Waits for anything; whether keys have come, and whether a child or a signal has.
    fn wait(&self, app: &App, signals: &Signals) -> io::Result<(bool, bool)> {
        let stdin = io::stdin();
        let children = app.run.iter().flat_map(|run| run.child.pipes());
        let others: Vec<_> = children.collect();
        let mut fds = vec![PollFd::new(&stdin, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        fds.extend(others.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let patience = match () {
            () if self.input.is_begun() => Some(ESCAPE),
            // A report that was not drawn yet is drawn also when no other follows.
            () if app.is_running() || self.is_stale => Some(PICTURE),
            () => None,
        };
        let patience = patience.map(|time| Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) });
        match poll(&mut fds, patience.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let came = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok((came(&fds[0]), fds[1..].iter().any(came)))
    }

    /// Whether anything was typed.
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

    /// An escape that nothing followed is a key.
    fn settle(&mut self, app: &mut App, is_typed: bool) -> bool {
        let event = if is_typed { None } else { self.input.settle() };
        event.inspect(|event| app.event(*event)).is_some()
    }

    fn obey(&mut self, asked: Asked, app: &App) -> anyhow::Result<bool> {
        if asked.pause {
            self.pause(app, false)?;
        } else if asked.resume {
            self.resume(app)?;
        }
        Ok(asked.pause || asked.resume)
    }

    /// Releases the terminal for as long as another program has it. A key stops the whole process group, as it would
    /// without a screen; a signal has stopped the processes that it was sent to.
    fn pause(&mut self, app: &App, is_key: bool) -> anyhow::Result<()> {
        self.tty.pause();
        if let (true, Some(run)) = (is_key, &app.run) {
            run.child.pause();
        }
        Signals::stop_here();
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
