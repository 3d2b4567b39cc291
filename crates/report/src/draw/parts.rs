//! The parts of totals: in one bar for each total, side by side, small ones combined; or level by level, the total at
//! the bottom.

use super::svg;
use crate::hues::{GREY, Hues, class};
use maud::{Markup, html};
use record::{Flame, FlamePart, Stack, StackPart, Unit};
use terminal::{percent, shortened};

/// The size of a picture, and the number of columns of its key.
#[derive(Clone, Copy)]
struct Size {
    width: f64,
    columns: usize,
}

const WIDE: Size = Size { width: 640.0, columns: 2 };
/// For a phone, on which letters keep their size.
const NARROW: Size = Size { width: 360.0, columns: 1 };
const LEFT: f64 = 4.0;
const NAME: f64 = 20.0;
const BAR: f64 = 22.0;
const KEY: f64 = 18.0;

/// The least share that is drawn separately; a part after too many others is not drawn separately either.
const LEAST_SHARE: f64 = 0.02;
const MOST_PARTS: usize = 5;
/// The maximum number of letters of a name.
const ROOM: usize = 34;

/// A part as it is drawn.
struct Piece {
    words: String,
    share: f64,
    /// The classes of the style sheet.
    colour: String,
}

/// Draws the picture with this name for screen readers, for wide pages and for paper.
pub fn wide(stacks: &[Stack], name: &str, hues: &Hues) -> Markup {
    WIDE.draw(stacks, name, hues)
}

/// Draws the picture for a phone.
pub fn narrow(stacks: &[Stack], name: &str, hues: &Hues) -> Markup {
    NARROW.draw(stacks, name, hues)
}

impl Size {
    fn right(self) -> f64 {
        self.width - LEFT
    }

    fn draw(self, stacks: &[Stack], name: &str, hues: &Hues) -> Markup {
        let all = pieces(stacks, hues);
        let ends = sums(all.iter().map(|pieces| self.height(pieces)));
        let content = html! {
            @for ((stack, pieces), top) in stacks.iter().zip(&all).zip(&ends) {
                (self.one(stack, pieces, *top))
            }
        };
        svg(self.width, ends.last().map_or(1.0, |end| end.max(1.0)), name, &content)
    }

    fn height(self, pieces: &[Piece]) -> f64 {
        NAME + BAR + KEY * pieces.len().div_ceil(self.columns) as f64 + 14.0
    }

    fn one(self, stack: &Stack, pieces: &[Piece], top: f64) -> Markup {
        let total = pieces.iter().map(|piece| piece.share).sum::<f64>().max(f64::MIN_POSITIVE);
        let widths: Vec<f64> = pieces.iter().map(|piece| (self.right() - LEFT) * piece.share / total).collect();
        let begins = sums(widths.iter().copied());
        html! {
            text.name x=(LEFT) y=(top + 14.0) { (stack.name) }
            @for ((piece, begin), width) in pieces.iter().zip(&begins).zip(&widths) {
                @let (at, width) = (format!("{:.1}", LEFT + begin), format!("{width:.1}"));
                g class=(piece.colour) { rect.fill x=(at) y=(top + NAME) width=(width) height=(BAR) {} }
            }
            @for (place, piece) in pieces.iter().enumerate() {
                @let left = LEFT + (place % self.columns) as f64 * (self.right() - LEFT) / self.columns as f64;
                @let foot = top + NAME + BAR + KEY * (place / self.columns + 1) as f64 - 3.0;
                g class=(piece.colour) { rect.fill x=(left) y=(foot - 9.0) width="10" height="10" {} }
                text x=(left + 15.0) y=(foot) { (shortened(&piece.words, ROOM)) ": " (percent(piece.share)) }
            }
        }
    }
}

/// Returns the begin of each length when they follow each other, and the end of the last one.
fn sums(lengths: impl Iterator<Item = f64>) -> Vec<f64> {
    let behind = lengths.scan(0.0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0.0).chain(behind).collect()
}

/// Returns the pieces of each bar.
///
/// A cause has its colour; of several parts of one cause in a bar, all but the first are paler.
fn pieces(stacks: &[Stack], hues: &Hues) -> Vec<Vec<Piece>> {
    stacks.iter().map(|stack| pieces_of(stack, hues)).collect()
}

fn pieces_of(stack: &Stack, hues: &Hues) -> Vec<Piece> {
    let share = |part: &StackPart| if part.share.is_finite() { part.share.max(0.0) } else { 0.0 };
    let is_own = |(place, part): &(usize, &StackPart)| *place < MOST_PARTS && share(part) >= LEAST_SHARE;
    let separate: Vec<&StackPart> = stack.parts.iter().enumerate().filter(is_own).map(|(_, part)| part).collect();
    let left = stack.parts.len() - separate.len();
    let all = stack.parts.iter().map(share).sum::<f64>();
    let rest = (left > 0).then(|| Piece {
        words: format!("{left} other{}", if left == 1 { "" } else { "s" }),
        share: (all - separate.iter().map(|part| share(part)).sum::<f64>()).max(0.0),
        colour: class(GREY),
    });
    let piece = |(place, part): (usize, &&StackPart)| {
        let is_pale = separate[..place].iter().any(|before| before.cause == part.cause);
        let pale = if is_pale { " pale" } else { "" };
        Piece { words: part.words.clone(), share: share(part), colour: class(hues.of_cause(&part.cause)) + pale }
    };
    separate.iter().enumerate().map(piece).chain(rest).collect()
}

const WIDTH: f64 = 640.0;
const ROW: f64 = 20.0;
/// The approximate width of a letter.
const LETTER: f64 = 7.2;
/// The least width that is drawn; the table has all parts.
const NARROWEST: f64 = 0.5;

/// Draws the picture with this name for screen readers.
pub fn flame(flame: &Flame, name: &str, hues: &Hues) -> Markup {
    let levels = flame.parts.iter().map(depth).max().unwrap_or(0);
    let height = levels as f64 * ROW;
    let all: f64 = flame.parts.iter().map(|part| part.value).sum();
    svg(
        WIDTH,
        height + 2.0,
        name,
        &level(&flame.parts, flame.unit, (0.0, WIDTH / all.max(f64::MIN_POSITIVE)), height, &|part| {
            class(hues.number(&part.name))
        }),
    )
}

fn depth(part: &FlamePart) -> usize {
    1 + part.parts.iter().map(depth).max().unwrap_or(0)
}

/// Draws parts side by side from `left` on, and their own parts on top in the same colour.
fn level(
    parts: &[FlamePart],
    unit: Unit,
    (left, scale): (f64, f64),
    foot: f64,
    colour: &dyn Fn(&FlamePart) -> String,
) -> Markup {
    let mut at = left;
    let placed = parts.iter().map(|part| {
        let from = at;
        at += part.value * scale;
        (from, part)
    });
    let placed: Vec<(f64, &FlamePart)> = placed.filter(|(_, part)| part.value * scale >= NARROWEST).collect();
    html! {
        @for (from, part) in placed {
            @let same = colour(part);
            (one(part, unit, (from, part.value * scale), foot, &same))
            (level(&part.parts, unit, (from, scale), foot - ROW, &|_| same.clone()))
        }
    }
}

fn one(part: &FlamePart, unit: Unit, (left, width): (f64, f64), foot: f64, colour: &str) -> Markup {
    let (top, room) = (foot - ROW, (width / LETTER) as usize);
    html! {
        g class=(colour) {
            rect.flame x=(format_args!("{left:.1}")) y=(format_args!("{top:.1}")) width=(format_args!("{:.1}", width - 0.5))
                height=(ROW - 1.0) {
                title { (part.name) ": " (unit.words(part.value)) }
            }
        }
        @if room > 3 {
            text x=(format_args!("{:.1}", left + 3.0)) y=(format_args!("{:.1}", top + 14.0)) { (shortened(&part.name, room)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Figure, Picture, Section};

    fn stack(name: &str, parts: &[(&str, &str, f64)]) -> Stack {
        let part =
            |&(words, cause, share): &(&str, &str, f64)| StackPart { words: words.into(), cause: cause.into(), share };
        Stack { name: name.into(), parts: parts.iter().map(part).collect() }
    }

    fn hues(causes: &[&str]) -> Hues {
        let parts: Vec<(&str, &str, f64)> = causes.iter().map(|cause| (*cause, *cause, 1.0)).collect();
        let picture = Picture::Stacks(vec![stack("", &parts)]);
        let figure = Figure { title: String::new(), picture, tables: Vec::new(), secondary: false };
        let section = Section {
            experiment: "",
            title: String::new(),
            findings: Vec::new(),
            figures: vec![figure],
            histograms: Vec::new(),
        };
        Hues::of([&section].into_iter(), std::iter::empty())
    }

    #[test]
    fn small_parts_are_combined_and_a_cause_has_one_colour() {
        let stacks = [
            stack("quiet", &[("a (12)", "a", 0.5), ("a, every 4 ms", "a", 0.4), ("b", "b", 0.09), ("c", "c", 0.01)]),
            stack("busy", &[("b", "b", 1.0)]),
        ];
        let pieces = pieces(&stacks, &hues(&["b", "a"]));
        let drawn: Vec<(&str, &str)> =
            pieces[0].iter().map(|piece| (piece.words.as_str(), piece.colour.as_str())).collect();
        assert_eq!(drawn, [("a (12)", "c1"), ("a, every 4 ms", "c1 pale"), ("b", "c0"), ("1 other", "c11")]);
        assert!((pieces[0][3].share - 0.01).abs() < 1e-9);
        assert_eq!(pieces[1][0].colour, "c0");
    }

    #[test]
    fn invalid_shares_are_ignored() {
        let all = [&[][..], &[("a", "a", 0.0)], &[("a", "a", f64::NAN)], &[("a", "a", -1.0), ("b", "b", 1e300)]];
        for parts in all {
            let drawn = wide(&[stack("x", parts)], "", &hues(&[])).into_string();
            assert!(drawn.contains("<svg"), "{drawn}");
        }
    }
}
