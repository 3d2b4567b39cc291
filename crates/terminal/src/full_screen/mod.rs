//! The terminal as a full-screen interface: its modes, its keys, and the cells that ratatui draws.
//!
//! The modes are restored however the command ends, except by SIGKILL: when [`Tty`] is dropped, and on a panic before
//! its message is written.

mod backend;
mod input;

pub use backend::Backend;
pub use input::{Event, Input, Key};

use ratatui_core::layout::Rect;
use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fs::File;
use std::io::{self, IsTerminal, Stdout, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// The terminal that ratatui draws on.
pub type Canvas = Terminal<Backend<Stdout>>;

/// The state of a terminal before it was taken.
struct Before {
    keyboard: File,
    termios: Termios,
    restore: &'static [u8],
}

/// `None` while the terminal is not taken.
///
/// A panic must find it too.
static BEFORE: Mutex<Option<Before>> = Mutex::new(None);

/// The alternate screen, cleared, without a cursor.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
const RESTORE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";
/// The same, with clicks as numbers.
const TAKE_WITH_MOUSE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[2J";
const RESTORE_WITH_MOUSE: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l";

/// An escape character that no byte follows within this time is the key.
pub const ESCAPE_TIMEOUT: Duration = Duration::from_millis(40);

/// A terminal that was taken.
pub struct Tty {
    keyboard: File,
    has_mouse: bool,
}

impl Tty {
    /// Takes the terminal: its keyboard is standard input, or the controlling terminal if that is redirected.
    pub fn take(has_mouse: bool) -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        let keyboard = match stdin() {
            stdin if stdin.is_terminal() => File::from(stdin.as_fd().try_clone_to_owned()?),
            _ => File::options().read(true).write(true).open("/dev/tty")?,
        };
        let tty = Self { keyboard, has_mouse };
        tty.resume()?;
        Ok(tty)
    }

    /// Takes it again after [`Self::pause`], or after another program had it in the meantime.
    pub fn resume(&self) -> io::Result<()> {
        let mut state = before();
        let termios = match &*state {
            Some(before) => before.termios.clone(),
            None => {
                let termios = tcgetattr(&self.keyboard).map_err(failed("cannot read the terminal settings"))?;
                let restore = if self.has_mouse { RESTORE_WITH_MOUSE } else { RESTORE };
                *state = Some(Before { keyboard: self.keyboard.try_clone()?, termios: termios.clone(), restore });
                termios
            }
        };
        let mut raw = termios;
        raw.make_raw();
        tcsetattr(&self.keyboard, OptionalActions::Now, &raw).map_err(failed("cannot change the terminal settings"))?;
        write(if self.has_mouse { TAKE_WITH_MOUSE } else { TAKE })
    }

    /// Gives it back for a while.
    pub fn pause(&self) {
        restore();
    }

    /// Returns an empty canvas.
    pub fn canvas(&self) -> io::Result<Canvas> {
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Terminal::new(Backend::new(stdout(), has_colours))
    }

    /// Waits for input for `patience` at most; returns the events that it completes.
    pub fn events(&self, input: &mut Input, patience: Duration) -> io::Result<Vec<Event>> {
        let patience = if input.is_begun() { patience.min(ESCAPE_TIMEOUT) } else { patience };
        let time = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.keyboard, PollFlags::IN)], Some(&time)) {
            Ok(0) => return Ok(input.settle().into_iter().collect()),
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let mut bytes = [0; 1_024];
        match rustix::io::read(&self.keyboard, &mut bytes) {
            // A terminal that has gone is at its end from then on.
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(input.events(&bytes[..length])),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        restore();
    }
}

/// Adds the name of the operation that failed to its error.
fn failed(operation: &'static str) -> impl FnOnce(Errno) -> io::Error {
    move |errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("{operation}: {error}"))
    }
}

/// Returns the terminal's present size.
pub fn size() -> Rect {
    tcgetwinsize(stdout()).map_or(Rect::ZERO, |size| Rect::new(0, 0, size.ws_col, size.ws_row))
}

/// Asks the terminal to put a text where the user can paste it from; many do.
pub fn copy(text: &str) -> io::Result<()> {
    write(format!("\x1b]52;c;{}\x07", base64(text.as_bytes())).as_bytes())
}

fn before() -> MutexGuard<'static, Option<Before>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Restores the modes of the terminal; a failure here has no remedy.
fn restore() {
    if let Some(before) = before().take() {
        let _ = write(before.restore);
        let _ = tcsetattr(&before.keyboard, OptionalActions::Now, &before.termios);
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| -> [char; 4] {
        let bits = (0..3).fold(0, |bits, place| bits << 8 | u32::from(three.get(place).copied().unwrap_or(0)));
        std::array::from_fn(|place| {
            let is_there = place <= three.len();
            if is_there { char::from(LETTERS[(bits >> (18 - 6 * place) & 63) as usize]) } else { '=' }
        })
    };
    bytes.chunks(3).flat_map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let known = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        known.iter().for_each(|(text, encoded)| assert_eq!(base64(text.as_bytes()), *encoded));
    }
}
