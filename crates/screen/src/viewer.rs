//! A text that is longer than the screen.

use terminal::escaped;

/// A text, and where in it one is.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    lines: Vec<String>,
    top: usize,
    left: usize,
}

impl Viewer {
    /// What a terminal would obey is shown as its number.
    pub fn of(text: &str) -> Self {
        let lines = text.lines().map(|line| escaped(&line.replace('\t', "        ")).into_owned());
        Self { lines: lines.collect(), top: 0, left: 0 }
    }

    /// The lines that are seen of so many.
    pub fn seen(&self, height: usize) -> impl Iterator<Item = String> + '_ {
        let from = self.top.min(self.lines.len().saturating_sub(height.max(1)));
        self.lines.iter().skip(from).take(height).map(|line| line.chars().skip(self.left).collect())
    }

    /// Up or down by so many lines, on a screen of `height`.
    pub fn scroll(&mut self, by: isize, height: usize) {
        let last = self.lines.len().saturating_sub(height.max(1));
        self.top = self.top.min(last).saturating_add_signed(by).min(last);
    }

    /// To the side; what is wider than the screen is seen so.
    pub fn shift(&mut self, by: isize) {
        let widest = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        self.left = self.left.saturating_add_signed(by).min(widest.saturating_sub(1));
    }

    /// Which lines are seen, for people.
    pub fn place(&self, height: usize) -> String {
        let all = self.lines.len();
        if all <= height {
            String::new()
        } else {
            format!("{}–{} of {all}", self.top + 1, (self.top + height).min(all))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_scrolls_out_of_a_text() {
        let mut viewer = Viewer::of("a\nb\nc\x1b[2J\nd");
        viewer.scroll(99, 2);
        assert_eq!(viewer.seen(2).collect::<Vec<_>>(), ["c\\u{1b}[2J", "d"]);
        viewer.scroll(-99, 2);
        viewer.shift(-5);
        assert_eq!(viewer.seen(9).next().unwrap(), "a");
        viewer.shift(999);
        assert!(viewer.seen(2).all(|line| line.is_empty()));
        Viewer::of("").scroll(isize::MAX, 0);
    }
}
