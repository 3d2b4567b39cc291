//! The colours: one for a lock throughout, and one for a rank.

use ratatui_core::style::{Color, Modifier, Style};

/// Whether there are any: <https://no-color.org>.
#[derive(Clone, Copy, Debug)]
pub struct Colours(pub bool);

/// From the best to the worst.
const RANKS: [Color; 5] = [Color::Green, Color::LightGreen, Color::Yellow, Color::LightRed, Color::Red];
const HUES: [Color; 10] = [
    Color::Cyan,
    Color::Magenta,
    Color::Yellow,
    Color::Green,
    Color::LightBlue,
    Color::LightRed,
    Color::LightMagenta,
    Color::LightCyan,
    Color::LightGreen,
    Color::Blue,
];

impl Colours {
    pub fn of_environment() -> Self {
        Self(std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    fn of(self, colour: Color) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new() }
    }

    /// The colour of a rank among this number, 0 the best; a single rank has none.
    pub fn rank(self, rank: Option<(usize, usize)>) -> Style {
        match rank {
            Some((rank, of)) if of > 1 => self.of(RANKS[rank * (RANKS.len() - 1) / (of - 1)]),
            _ => Style::new(),
        }
    }

    /// The colour of a row, by its name: a lock has the same everywhere.
    pub fn name(self, name: &str) -> Style {
        let lock = locks::ENTRIES.iter().position(|entry| entry.name == name);
        let place = lock.unwrap_or_else(|| name.bytes().map(usize::from).sum());
        self.of(HUES[place % HUES.len()])
    }

    pub fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    pub fn grey(self) -> Style {
        if self.0 { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    pub fn good(self) -> Style {
        self.of(Color::Green)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}
