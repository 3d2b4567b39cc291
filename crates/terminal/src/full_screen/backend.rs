//! ratatui's backend: writes the cells that changed as the escape sequences of ECMA-48 that terminals share.
//!
//! Nothing here reads from the terminal. A backend that asks where the cursor is waits for an answer, which a terminal
//! that has gone never sends.

use ratatui_core::backend::{self, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use std::io::{self, Write};

/// Writes to `W` what ratatui draws on a terminal of the size of standard output.
#[derive(Debug)]
pub struct Backend<W: Write> {
    out: W,
    /// Written by the next flush.
    pending: Vec<u8>,
    cursor: Position,
    /// Creates a backend that writes to `out`.
    has_colours: bool,
}

/// The look of a cell: foreground, background, modifiers.
type Look = (Color, Color, Modifier);

const PLAIN: Look = (Color::Reset, Color::Reset, Modifier::empty());

const MODIFIERS: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

impl<W: Write> Backend<W> {
    /// Creates a backend that writes to `out`.
    pub fn new(out: W, has_colours: bool) -> Self {
        Self { out, pending: Vec::new(), cursor: Position::ORIGIN, has_colours }
    }

    fn push(&mut self, text: &str) {
        self.pending.extend_from_slice(text.as_bytes());
    }

    fn move_to(&mut self, position: Position) {
        self.push(&format!("\x1b[{};{}H", position.y + 1, position.x + 1));
    }

    /// Resets the look first, so that one sequence serves every change of modifiers.
    fn set_look(&mut self, (foreground, background, modifiers): Look) {
        let mut sequence = String::from("\x1b[0");
        for (modifier, code) in MODIFIERS {
            if modifiers.contains(modifier) {
                sequence.push_str(&format!(";{code}"));
            }
        }
        if self.has_colours {
            sequence.push_str(&colour(foreground, 38));
            sequence.push_str(&colour(background, 48));
        }
        sequence.push('m');
        self.push(&sequence);
    }
}

/// Returns the parameters that set this colour; `ground` is 38 for the foreground, 48 for the background.
fn colour(colour: Color, ground: u8) -> String {
    let number = match colour {
        Color::Reset => return String::new(),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Indexed(number) => number,
        Color::Rgb(red, green, blue) => return format!(";{ground};2;{red};{green};{blue}"),
    };
    format!(";{ground};5;{number}")
}

impl<W: Write> backend::Backend for Backend<W> {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, cells: I) -> io::Result<()> {
        let mut look = PLAIN;
        let mut next = None;
        for (x, y, cell) in cells {
            if next != Some((x, y)) {
                self.move_to(Position { x, y });
            }
            next = Some((x + 1, y));
            let new = (cell.fg, cell.bg, cell.modifier);
            if new != look {
                self.set_look(new);
                look = new;
            }
            self.push(cell.symbol());
        }
        if look != PLAIN {
            self.set_look(PLAIN);
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.push("\x1b[?25l");
        self.flush()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.push("\x1b[?25h");
        self.flush()
    }

    /// Returns the last position that was set.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        self.move_to(self.cursor);
        self.flush()
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.push(match region {
            ClearType::All => "\x1b[2J",
            ClearType::AfterCursor => "\x1b[0J",
            ClearType::BeforeCursor => "\x1b[1J",
            ClearType::CurrentLine => "\x1b[2K",
            ClearType::UntilNewLine => "\x1b[0K",
        });
        self.flush()
    }

    fn size(&self) -> io::Result<Size> {
        let size = rustix::termios::tcgetwinsize(io::stdout())?;
        Ok(Size { width: size.ws_col, height: size.ws_row })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let size = rustix::termios::tcgetwinsize(io::stdout())?;
        Ok(WindowSize {
            columns_rows: Size { width: size.ws_col, height: size.ws_row },
            pixels: Size { width: size.ws_xpixel, height: size.ws_ypixel },
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.pending)?;
        self.pending.clear();
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::backend::Backend as _;
    use ratatui_core::style::Style;

    fn drawn(has_colours: bool) -> String {
        let cell = |symbol: &str, style: Style| {
            let mut cell = Cell::default();
            cell.set_symbol(symbol).set_style(style);
            cell
        };
        let cells = [
            (2, 0, cell("a", Style::new())),
            (3, 0, cell("b", Style::new().fg(Color::LightGreen).add_modifier(Modifier::BOLD))),
            (0, 1, cell("ü", Style::new().bg(Color::Rgb(1, 2, 3)))),
            (1, 1, cell("c", Style::new())),
        ];
        let mut backend = Backend::new(Vec::new(), has_colours);
        backend.draw(cells.iter().map(|(x, y, cell)| (*x, *y, cell))).unwrap();
        backend.flush().unwrap();
        String::from_utf8(backend.out).unwrap()
    }

    #[test]
    fn cells_move_the_cursor_only_where_they_do_not_follow() {
        let coloured = "\x1b[1;3Ha\x1b[0;1;38;5;10mb\x1b[2;1H\x1b[0;48;2;1;2;3mü\x1b[0mc";
        assert_eq!(drawn(true), coloured);
    }

    #[test]
    fn no_color_keeps_modifiers_and_drops_colours() {
        assert_eq!(drawn(false), "\x1b[1;3Ha\x1b[0;1mb\x1b[2;1H\x1b[0mü\x1b[0mc");
    }
}
