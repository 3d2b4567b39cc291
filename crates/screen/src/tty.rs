//! The terminal as a whole screen, and as it was before.
//!
//! It is given back however the command ends, except by SIGKILL: when this is dropped, and on a panic before its
//! message is written.

use anyhow::{Context, ensure};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{IsTerminal, Stdout, Write, stdin, stdout};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What ratatui draws on.
pub type Canvas = Terminal<CrosstermBackend<Stdout>>;

/// As it was before; `None` while nobody has taken it. A panic must find it too.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Another screen, no cursor, and clicks as numbers.
const TAKE: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[2J";
const GIVE_BACK: &[u8] = b"\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l";

/// A terminal that was taken.
pub struct Tty(());

impl Tty {
    /// Takes it.
    ///
    /// # Errors
    /// There is none.
    pub fn take() -> anyhow::Result<Self> {
        const WHAT: &str = "`contend screen` needs a terminal";
        const HOW: &str = "all other commands work without one, see `contend --help`";
        ensure!(stdin().is_terminal(), "{WHAT}: standard input is not a terminal; {HOW}");
        ensure!(stdout().is_terminal(), "{WHAT}: standard output is not a terminal; {HOW}");
        ensure!(
            std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            "{WHAT} with cursor addressing, but TERM is dumb; {HOW}"
        );
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        let tty = Self(());
        tty.resume()?;
        Ok(tty)
    }

    /// Takes it again after [`Self::pause`], or after another program had it meanwhile.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn resume(&self) -> anyhow::Result<()> {
        let mut taken = before();
        if taken.is_none() {
            *taken = Some(tcgetattr(stdin()).context("cannot read the terminal settings")?);
        }
        let mut raw = taken.clone().expect("it was just set");
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).context("cannot change the terminal settings")?;
        Ok(write(TAKE)?)
    }

    /// Gives it back for a while.
    pub fn pause(&self) {
        give_back();
    }

    /// What is drawn on, empty.
    ///
    /// # Errors
    /// The terminal has gone.
    pub fn canvas(&self) -> std::io::Result<Canvas> {
        Terminal::new(CrosstermBackend::new(stdout()))
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        give_back();
    }
}

/// How large it is by now.
pub fn size() -> Rect {
    tcgetwinsize(stdout()).map_or(Rect::ZERO, |size| Rect::new(0, 0, size.ws_col, size.ws_row))
}

/// Asks the terminal to put a text where the user can paste it from; many do.
///
/// # Errors
/// The terminal has gone.
pub fn copy(text: &str) -> std::io::Result<()> {
    write(format!("\x1b]52;c;{}\x07", base64(text.as_bytes())).as_bytes())
}

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whatever goes wrong here has no remedy.
fn give_back() {
    if let Some(termios) = before().take() {
        let _ = write(GIVE_BACK);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &termios);
    }
}

fn write(bytes: &[u8]) -> std::io::Result<()> {
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
