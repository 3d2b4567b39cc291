//! How wide a page is, and whether it has colours.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// What a picture must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Columns.
    pub width: usize,
    /// Whether letters may be coloured.
    pub colour: bool,
}

const PLAIN_WIDTH: usize = 80;
/// A wider picture is not easier to read.
const WIDEST: usize = 160;

impl Page {
    /// 80 columns without colour: a file, a pipe, a test.
    pub const fn plain() -> Self {
        Self { width: PLAIN_WIDTH, colour: false }
    }

    /// The terminal that stdout is; a plain page if it is none.
    pub fn of_stdout() -> Self {
        Self::of(std::io::stdout())
    }

    /// The terminal that stderr is; a plain page if it is none.
    pub fn of_stderr() -> Self {
        Self::of(std::io::stderr())
    }

    fn of(place: impl IsTerminal + AsFd) -> Self {
        if !place.is_terminal() {
            return Self::plain();
        }
        let columns = rustix::termios::tcgetwinsize(place).map_or(0, |size| usize::from(size.ws_col));
        let width = if columns == 0 { PLAIN_WIDTH } else { columns.clamp(40, WIDEST) };
        Self { width, colour: takes_colours() }
    }

    /// A line that fits: what is too long ends with `…`.
    pub fn cut(&self, line: &str) -> String {
        let fits = line.chars().count() <= self.width;
        if fits { line.to_owned() } else { line.chars().take(self.width - 1).chain(['…']).collect() }
    }

    /// A text whose lines all fit.
    pub fn cut_lines(&self, text: &str) -> String {
        text.lines().map(|line| self.cut(line) + "\n").collect()
    }
}

/// Whether the terminal that there is takes colours and moves its cursor: <https://no-color.org>, and `TERM=dumb`.
fn takes_colours() -> bool {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    variable("NO_COLOR").is_none() && variable("TERM").is_none_or(|term| term != "dumb")
}
