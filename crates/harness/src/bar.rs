//! A progress bar: one line on stderr, drawn again at most 20 times a second.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The length of the bar, where the message leaves room for it, and its least length.
const WIDTH: usize = 32;
const LEAST: usize = 8;
/// The pause between two drawings.
const PAUSE: Duration = Duration::from_millis(50);

/// A line that shows how far a measurement is; without a terminal it is never drawn.
#[derive(Debug)]
pub struct Bar {
    is_visible: bool,
    done: f64,
    left: String,
    message: String,
    drawn: Option<Instant>,
    /// Whether the terminal lacks the present line.
    is_stale: bool,
}

impl Bar {
    /// Creates a bar for a user at a terminal that can move its cursor; an invisible one otherwise.
    pub fn new(is_visible: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_visible = is_visible && !is_dumb && io::stderr().is_terminal();
        Self { is_visible, done: 0.0, left: String::new(), message: String::new(), drawn: None, is_stale: false }
    }

    /// Changes the line, and draws it unless the last drawing was a moment ago.
    pub fn set(&mut self, done: f64, left: &str, message: &str) {
        if self.is_visible {
            (self.done, self.left, self.message) = (done, left.to_owned(), message.to_owned());
            self.is_stale = true;
            self.tick();
        }
    }

    /// Draws a line that was held back, if it is time.
    pub fn tick(&mut self) {
        if self.is_stale && self.drawn.is_none_or(|drawn| drawn.elapsed() >= PAUSE) {
            // A terminal that does not know its size reports 0 columns.
            let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0);
            let width = size.map_or(80, |size| usize::from(size.ws_col));
            let line = line(self.done, &self.left, &self.message, width.saturating_sub(1));
            write(&format!("\r{line}\x1b[K"));
            (self.drawn, self.is_stale) = (Some(Instant::now()), false);
        }
    }

    /// Removes the line, so that another can be printed; the next tick draws it again.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            write("\r\x1b[K");
            self.is_stale = true;
        }
    }

    /// Removes the line permanently.
    pub fn finish(&mut self) {
        self.clear();
        (self.is_visible, self.is_stale) = (false, false);
    }
}

/// Writes to the terminal; errors are ignored, since a closed terminal has no user.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Returns the line in at most this many columns: a line that wraps could not be replaced by the next.
///
/// A long message shortens the bar.
fn line(done: f64, left: &str, message: &str, columns: usize) -> String {
    let text = format!(" {:>3} %  {left:>5} left  {message}", (done * 100.0) as u32);
    let width = columns.saturating_sub(text.chars().count()).clamp(LEAST, WIDTH);
    let filled = ((done * width as f64) as usize).min(width);
    let line = "█".repeat(filled) + &"░".repeat(width - filled) + &text;
    line.chars().take(columns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_fills_with_the_share_that_is_done() {
        assert_eq!(line(0.0, "8 s", "std", 79), format!("{}   0 %    8 s left  std", "░".repeat(32)));
        assert_eq!(line(0.5, "4 s", "std", 79), format!("{}{}  50 %    4 s left  std", "█".repeat(16), "░".repeat(16)));
        assert_eq!(line(1.0, "0 s", "", 79), format!("{} 100 %    0 s left  ", "█".repeat(32)));
    }

    #[test]
    fn long_message_shortens_the_bar_and_no_line_wraps() {
        let message = "noise: competitor and rescheduler, CPU 1";
        let fitting = line(0.5, "4 s", message, 79);
        assert!(fitting.ends_with(message) && fitting.chars().count() == 79, "{fitting}");
        assert_eq!(line(0.5, "4 s", message, 30).chars().count(), 30);
    }
}
