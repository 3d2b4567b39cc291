//! Times on one logarithmic axis from 1 ns to 10 s, a line each, as text.
//!
//! Every line has its words, its value, its mark `●` with the ends of its interval, and hollow marks `○` with the years
//! of older values.

use crate::escape::escaped;
use crate::page::Page;

/// A line of the ladder.
pub struct Rung {
    pub words: String,
    /// The value as it is written.
    pub figure: String,
    pub ns: f64,
    /// The ends of its interval.
    pub ends: Option<(f64, f64)>,
    /// Older values, and their years.
    pub then: Vec<(u16, f64)>,
}

/// The number of powers of ten on the axis, the first of which is a nanosecond.
pub const DECADES: u32 = 10;

/// Returns the position of a time as a share of the axis; a time outside is at the end.
pub fn share_of_axis(ns: f64) -> f64 {
    (ns.max(1.0).log10() / f64::from(DECADES)).clamp(0.0, 1.0)
}

/// Returns the label of a power of ten: `1ns`, `10µs`.
pub fn decade_words(power: u32) -> String {
    let unit = ["ns", "µs", "ms", "s"][(power / 3).min(3) as usize];
    format!("{}{unit}", 10_u32.pow(power % 3))
}

/// The columns of the axis that a label must leave on an 80-column page.
const LEAST_AXIS: usize = 24;

/// Draws the axis, and a line for each rung, all of them within the page; a line that says so where there is none.
pub fn ladder(rungs: &[Rung], page: &Page) -> String {
    if rungs.is_empty() {
        return "  (no values)\n".to_owned();
    }
    let layout = Layout::of(rungs, page);
    let mut lines = vec![layout.axis()];
    lines.extend(rungs.iter().map(|rung| layout.line(rung)));
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The positions of the parts of a line.
struct Layout {
    words: usize,
    figure: usize,
    /// Columns of the axis; 0 where there is no room for it.
    axis: usize,
}

impl Layout {
    fn of(rungs: &[Rung], page: &Page) -> Self {
        let widest = |of: fn(&Rung) -> &str| rungs.iter().map(|rung| of(rung).chars().count()).max().unwrap_or(0);
        let figure = widest(|rung| &rung.figure);
        let room = page.width.saturating_sub(figure + 2);
        let words = widest(|rung| &rung.words).min(room.saturating_sub(LEAST_AXIS + 1).max(room / 2));
        let axis = room.saturating_sub(words + 1);
        Self { words, figure, axis: if axis < LEAST_AXIS { 0 } else { axis } }
    }

    fn cell(&self, ns: f64) -> usize {
        (share_of_axis(ns) * (self.axis - 1) as f64).round() as usize
    }

    fn axis(&self) -> String {
        if self.axis == 0 {
            return String::new();
        }
        let mut letters = vec![' '; self.axis];
        let mut free = 0;
        // If not all powers of ten fit, each unit has one.
        let every = if self.axis >= 70 { 1 } else { 3 };
        for power in (0..=DECADES).step_by(every) {
            let label = decade_words(power);
            let start = self.cell(10_f64.powi(power as i32)).min(self.axis - label.chars().count());
            if start >= free {
                free = put(&mut letters, start, &label) + 1;
            }
        }
        let labels: String = letters.into_iter().collect();
        format!("{:1$}{labels}", "", self.words + self.figure + 2)
    }

    fn line(&self, rung: &Rung) -> String {
        let words = escaped(&rung.words);
        let cut = Page { width: self.words, colour: false }.cut(&words);
        let begin = format!("{cut:<words$} {:>figure$}", rung.figure, words = self.words, figure = self.figure);
        if self.axis == 0 { begin } else { format!("{begin} {}", self.picture(rung)) }
    }

    fn picture(&self, rung: &Rung) -> String {
        let mut letters = vec![' '; self.axis];
        for power in (0..=DECADES).step_by(3) {
            letters[self.cell(10_f64.powi(power as i32))] = '·';
        }
        if let Some((low, high)) = rung.ends {
            let (low, high) = (self.cell(low), self.cell(high));
            letters[low..=high.max(low)].fill('─');
            (letters[low], letters[high.max(low)]) = ('├', '┤');
        }
        let years = self.years(rung, &mut letters);
        letters[self.cell(rung.ns)] = '●';
        put_years(&mut letters, &years);
        letters.into_iter().collect()
    }

    /// Marks the older values, and names their years in the order of the marks.
    fn years(&self, rung: &Rung, letters: &mut [char]) -> String {
        let mut then = rung.then.clone();
        then.sort_by(|one, other| one.1.total_cmp(&other.1));
        then.iter().for_each(|(_, ns)| letters[self.cell(*ns)] = '○');
        then.iter().map(|(year, _)| year.to_string()).collect::<Vec<String>>().join(" ")
    }
}

/// Writes the years behind the last mark if they fit there, otherwise before the first.
///
/// A value in the place of an older one hides its mark, and the year shows it.
fn put_years(letters: &mut [char], years: &str) {
    let is_mark = |letter: &char| !matches!(letter, ' ' | '·');
    let (Some(first), Some(last)) = (letters.iter().position(is_mark), letters.iter().rposition(is_mark)) else {
        return;
    };
    let width = years.chars().count();
    if width == 0 {
        return;
    }
    if last + 2 + width <= letters.len() {
        put(letters, last + 1, &format!(" {years}"));
    } else if first > width {
        put(letters, first - 1 - width, years);
    }
}

/// Writes a text over the existing letters, and returns where it ends.
fn put(letters: &mut [char], start: usize, text: &str) -> usize {
    text.chars().zip(&mut letters[start..]).for_each(|(letter, place)| *place = letter);
    start + text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(words: &str, ns: f64) -> Rung {
        let figure = crate::format::nanoseconds(ns);
        Rung { words: words.to_owned(), figure, ns, ends: Some((ns / 3.0, ns * 3.0)), then: vec![(1998, ns * 100.0)] }
    }

    fn drawn(rungs: &[Rung], width: usize) -> String {
        ladder(rungs, &Page { width, colour: false })
    }

    #[test]
    fn no_line_is_wider_than_its_page() {
        for width in [40, 60, 80, 120, 160, 200] {
            let long = "words ".repeat(30);
            let all = [1e-30, 0.3, 1.0, 25.0, 1e5, 1e10, 1e30].map(|ns| rung("a line", ns));
            for rungs in [&all[..], &[rung(&long, 10.0), rung("short", 1e9)], &[]] {
                let picture = drawn(rungs, width);
                assert!(picture.lines().all(|line| line.chars().count() <= width), "{width}:\n{picture}");
                assert_eq!(picture.lines().count(), rungs.len() + 1);
            }
        }
    }

    #[test]
    fn rung_has_words_value_interval_and_older_values() {
        let picture = drawn(&[rung("a free lock", 1e3)], 120);
        let line = picture.lines().nth(1).unwrap();
        for part in ["a free lock", "1.00 µs", "├", "●", "┤", "○ 1998"] {
            assert!(line.contains(part), "{part} is missing in {line}");
        }
    }

    #[test]
    fn larger_is_further_right_and_marks_match_powers_of_ten() {
        let picture = drawn(&[rung("a", 10.0), rung("b", 1e3), rung("c", 1e9)], 120);
        let column = |line: &str, mark: &str| line[..line.find(mark).unwrap()].chars().count();
        let lines: Vec<&str> = picture.lines().collect();
        let marks: Vec<usize> = lines[1..].iter().map(|line| column(line, "●")).collect();
        assert!(marks.is_sorted(), "{picture}");
        assert_eq!(marks[0], column(lines[0], "10ns"), "{picture}");
        assert_eq!(marks[1], column(lines[0], "1µs"), "{picture}");
    }

    #[test]
    fn years_precede_the_marks_if_they_do_not_fit_behind() {
        let late = Rung { then: vec![(2002, 9e9)], ends: None, ..rung("late", 8e9) };
        let picture = drawn(&[late], 80);
        assert!(picture.contains("2002 ●"), "{picture}");
    }
}
