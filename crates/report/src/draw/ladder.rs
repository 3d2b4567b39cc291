//! The ladder: times on one logarithmic axis from 1 ns to 10 s, a line each. In the wide picture its words are in front
//! of the axis; in the narrow one they are above it, so that they can be read on a phone.

use super::empty::REASON;
use super::svg;
use crate::hues::{Hues, class};
use maud::{Markup, html};
use record::{Cost, Ladder, Unit};
use terminal::{DECADES, decade_words, share_of_axis, shortened};

/// The positions of the parts of a line.
struct Layout {
    width: f64,
    row: f64,
    /// The top of the first line.
    top: f64,
    /// The baselines of words and value, and the middle of the axis, from the top of a line.
    text: f64,
    middle: f64,
    /// The positions at which the words begin, the value ends, and the axis begins and ends.
    words: f64,
    figure: f64,
    from: f64,
    to: f64,
    /// The number of powers of ten from label to label.
    every: usize,
}

const WIDE: Layout = Layout {
    width: 960.0,
    row: 23.0,
    top: 26.0,
    text: 16.0,
    middle: 11.5,
    words: 4.0,
    figure: 318.0,
    from: 336.0,
    to: 944.0,
    every: 1,
};

const NARROW: Layout = Layout {
    width: 400.0,
    row: 36.0,
    top: 24.0,
    text: 14.0,
    middle: 25.0,
    words: 4.0,
    figure: 396.0,
    from: 8.0,
    to: 388.0,
    every: 3,
};

/// The maximum number of letters of the words.
const ROOM: usize = 38;

/// Draws the ladder for wide pages, and for paper.
pub fn wide(ladder: &Ladder, name: &str, hues: &Hues) -> Markup {
    WIDE.draw(ladder, name, hues)
}

/// Draws the ladder for a slide: with a title, a line about the machine and the time, and a key.
pub fn titled(ladder: &Ladder, title: &str, about: &str, hues: &Hues) -> Markup {
    const HEAD: f64 = 78.0;
    const ROOM: usize = 150;
    let mut locks: Vec<&str> = Vec::new();
    for lock in ladder.costs.iter().filter_map(|cost| cost.lock.as_deref()) {
        if !locks.contains(&lock) {
            locks.push(lock);
        }
    }
    let named = locks.iter().map(|lock| (class(hues.number(lock)), *lock));
    let marks: Vec<(String, &str)> = named.chain([("plain".to_owned(), "no lock")]).collect();
    let width = |words: &str| 36.0 + 7.0 * words.chars().count() as f64;
    let begins = marks.iter().scan(WIDE.words, |at, (_, words)| {
        let begin = *at;
        *at += width(words);
        Some(begin)
    });
    let begins: Vec<f64> = begins.collect();
    let end = begins.last().zip(marks.last()).map_or(WIDE.words, |(begin, (_, words))| begin + width(words));
    let (rest, bottom) = WIDE.content(ladder, hues);
    let content = html! {
        text.title x=(WIDE.words) y="22" { (title) }
        text.dim x=(WIDE.words) y="42" { (shortened(about, ROOM)) }
        @for ((colour, words), begin) in marks.iter().zip(&begins) {
            g class=(colour) { circle cx=(begin + 6.0) cy="60" r="5" {} }
            text x=(begin + 16.0) y="64" { (words) }
        }
        circle.then cx=(end + 6.0) cy="60" r="5.5" {}
        text x=(end + 16.0) y="64" { "document of that year; line: 95 % CI" }
        g transform={ "translate(0 " (HEAD) ")" } { (rest) }
    };
    svg(WIDE.width, HEAD + bottom + 6.0, title, &content)
}

/// Draws the ladder for phones.
pub fn narrow(ladder: &Ladder, name: &str, hues: &Hues) -> Markup {
    NARROW.draw(ladder, name, hues)
}

impl Layout {
    fn draw(&self, ladder: &Ladder, name: &str, hues: &Hues) -> Markup {
        let (content, bottom) = self.content(ladder, hues);
        svg(self.width, bottom + 6.0, name, &content)
    }

    /// Draws the axis and the lines, and returns the bottom of the last line.
    fn content(&self, ladder: &Ladder, hues: &Hues) -> (Markup, f64) {
        let bottom = self.top + self.row * ladder.costs.len().max(1) as f64;
        let content = html! {
            (self.axis(bottom))
            @if ladder.costs.is_empty() { text.dim x=(self.words) y=(self.top + self.text) { (REASON) } }
            @for (place, cost) in ladder.costs.iter().enumerate() {
                (self.line(cost, self.top + self.row * place as f64, hues))
            }
        };
        (content, bottom)
    }

    fn place(&self, ns: f64) -> f64 {
        self.from + (self.to - self.from) * share_of_axis(ns)
    }

    fn axis(&self, bottom: f64) -> Markup {
        html! {
            @for power in 0..=DECADES {
                @let at = format!("{:.1}", self.place(10_f64.powi(power as i32)));
                path.grid d=(format_args!("M{at} {}V{bottom}", self.top)) {}
                @if (power as usize).is_multiple_of(self.every) {
                    text.dim x=(at) y="15" text-anchor=(self.anchor(power)) { (decade_words(power)) }
                }
            }
        }
    }

    /// Returns the alignment of a label: at the ends of a narrow picture it must not be centred.
    fn anchor(&self, power: u32) -> &'static str {
        match power {
            0 if self.every > 1 => "start",
            _ => "middle",
        }
    }

    fn line(&self, cost: &Cost, top: f64, hues: &Hues) -> Markup {
        let (text, middle) = (format!("{:.1}", top + self.text), format!("{:.1}", top + self.middle));
        let ends = cost.ns_ci.map(|ends| (self.place(ends.low), self.place(ends.high)));
        let now = self.place(cost.ns);
        let colour = cost.lock.as_deref().map_or_else(|| "plain".to_owned(), |lock| class(hues.number(lock)));
        html! {
            @if let Some(anchor) = &cost.anchor {
                a href={ "#" (anchor) } aria-label={ (cost.what) ", " (cost.value_words()) ": its section" } {
                    text x=(self.words) y=(text) { (shortened(&cost.what, ROOM)) }
                }
            } @else {
                text x=(self.words) y=(text) { (shortened(&cost.what, ROOM)) }
            }
            text.figure.now x=(self.figure) y=(text) text-anchor="end" { (cost.value_words()) }
            @if let Some((first, last)) = self.span(cost) {
                path.between d=(format_args!("M{first:.1} {middle}H{last:.1}")) {}
            }
            g class=(colour) {
                @if let Some((low, high)) = ends.filter(|(low, high)| high - low > 1.0) {
                    (whisker(low, high, top + self.middle))
                }
                circle.now cx=(format_args!("{now:.1}")) cy=(middle) r="5" {}
            }
            @for then in &cost.then {
                circle.then cx=(format_args!("{:.1}", self.place(then.ns))) cy=(middle) r="5.5" {
                    title { (then.year) ": " (Unit::Ns.words(then.ns)) }
                }
            }
            (self.years(cost, top))
        }
    }

    /// Returns the span from today's value to the older ones.
    fn span(&self, cost: &Cost) -> Option<(f64, f64)> {
        let places = cost.then.iter().map(|then| self.place(then.ns)).chain([self.place(cost.ns)]);
        let ends = places.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), at| (low.min(at), high.max(at)));
        (!cost.then.is_empty()).then_some(ends)
    }

    /// Draws the years in the order of their marks, behind the last mark of the line.
    fn years(&self, cost: &Cost, top: f64) -> Markup {
        let mut then = cost.then.clone();
        then.sort_by(|one, other| one.ns.total_cmp(&other.ns));
        let words = then.iter().map(|then| then.year.to_string()).collect::<Vec<String>>().join(", ");
        let ends = cost.ns_ci.into_iter().map(|ends| ends.high).chain([cost.ns]);
        let last = ends.chain(then.iter().map(|then| then.ns)).fold(0.0, f64::max);
        let is_room = self.place(last) + 12.0 + 7.0 * words.len() as f64 <= self.width;
        let first = then.iter().map(|then| then.ns).chain([cost.ns]).fold(f64::INFINITY, f64::min);
        let (at, anchor) = if is_room { (self.place(last) + 10.0, "start") } else { (self.place(first) - 10.0, "end") };
        html! {
            @if !words.is_empty() {
                text.dim.year x=(format_args!("{at:.1}")) y=(format_args!("{:.1}", top + self.middle + 4.0)) text-anchor=(anchor) {
                    (words)
                }
            }
        }
    }
}

/// Draws an interval as in every picture.
fn whisker(low: f64, high: f64, middle: f64) -> Markup {
    let (above, below) = (middle - 4.0, middle + 4.0);
    html! {
        path.line d=(format_args!("M{low:.1} {middle:.1}H{high:.1}M{low:.1} {above:.1}V{below:.1}M{high:.1} {above:.1}V{below:.1}")) {}
    }
}
