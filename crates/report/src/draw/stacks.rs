//! What each of several wholes is made of: one bar a whole, its parts side by side, small ones together.

use super::frame::svg;
use crate::hues::class;
use maud::{Markup, html};
use record::{Stack, distinct};
use terminal::percent;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 4.0;
const RIGHT: f64 = 636.0;
const NAME: f64 = 20.0;
const BAR: f64 = 22.0;
const KEY: f64 = 18.0;

/// A part that is smaller has no place of its own, nor has one behind so many others.
const LEAST_SHARE: f64 = 0.02;
const MOST_PARTS: usize = 5;

/// The grey one.
const REST: usize = 7;

/// A part as it is drawn.
struct Piece {
    words: String,
    share: f64,
    colour: usize,
}

/// The picture with this name for screen readers.
pub fn stacks(stacks: &[Stack], name: &str) -> Markup {
    let all: Vec<Vec<Piece>> = pieces(stacks);
    let ends = sums(all.iter().map(|pieces| height(pieces)));
    let content = html! {
        @for ((stack, pieces), top) in stacks.iter().zip(&all).zip(&ends) {
            (one(stack, pieces, *top))
        }
    };
    svg(WIDTH, ends.last().map_or(1.0, |end| end.max(1.0)), name, &content)
}

/// Where each begins when they stand behind each other, and where the last one ends.
fn sums(lengths: impl Iterator<Item = f64>) -> Vec<f64> {
    let behind = lengths.scan(0.0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0.0).chain(behind).collect()
}

fn height(pieces: &[Piece]) -> f64 {
    NAME + BAR + KEY * pieces.len().div_ceil(2) as f64 + 14.0
}

/// The same cause has the same colour in every bar.
fn pieces(stacks: &[Stack]) -> Vec<Vec<Piece>> {
    let share = |share: f64| if share.is_finite() { share.max(0.0) } else { 0.0 };
    let is_own = |(place, (_, share)): &(usize, &(String, f64))| *place < MOST_PARTS && *share >= LEAST_SHARE;
    let own = |stack: &'_ Stack| -> Vec<(String, f64)> {
        stack.parts.iter().enumerate().filter(is_own).map(|(_, part)| (part.0.clone(), share(part.1))).collect()
    };
    let names: Vec<String> = stacks.iter().flat_map(own).map(|(name, _)| name).collect();
    let names = distinct(&names, String::clone);
    let colour = |name: &String| names.iter().position(|known| known == name).unwrap_or(0) % REST;
    let of = |stack: &Stack| {
        let own = own(stack);
        let left = stack.parts.len() - own.len();
        let all = stack.parts.iter().map(|(_, part)| share(*part)).sum::<f64>();
        let rest = (left > 0).then(|| Piece {
            words: format!("{left} other{}", if left == 1 { "" } else { "s" }),
            share: (all - own.iter().map(|(_, share)| share).sum::<f64>()).max(0.0),
            colour: REST,
        });
        let own = own.into_iter().map(|(words, share)| Piece { colour: colour(&words), words, share });
        own.chain(rest).collect()
    };
    stacks.iter().map(of).collect()
}

fn one(stack: &Stack, pieces: &[Piece], top: f64) -> Markup {
    let whole = pieces.iter().map(|piece| piece.share).sum::<f64>().max(f64::MIN_POSITIVE);
    let widths: Vec<f64> = pieces.iter().map(|piece| (RIGHT - LEFT) * piece.share / whole).collect();
    let begins = sums(widths.iter().copied());
    html! {
        text.name x=(LEFT) y=(top + 14.0) { (stack.name) }
        @for ((piece, begin), width) in pieces.iter().zip(&begins).zip(&widths) {
            @let (at, width) = (format!("{:.1}", LEFT + begin), format!("{width:.1}"));
            g class=(class(piece.colour)) { rect.fill x=(at) y=(top + NAME) width=(width) height=(BAR) {} }
        }
        @for (place, piece) in pieces.iter().enumerate() {
            @let left = LEFT + (place % 2) as f64 * (RIGHT - LEFT) / 2.0;
            @let foot = top + NAME + BAR + KEY * (place / 2 + 1) as f64 - 3.0;
            g class=(class(piece.colour)) { rect.fill x=(left) y=(foot - 9.0) width="10" height="10" {} }
            text x=(left + 15.0) y=(foot) { (shortened(&piece.words)) ": " (percent(piece.share)) }
        }
    }
}

fn shortened(words: &str) -> String {
    const ROOM: usize = 34;
    if words.chars().count() <= ROOM {
        return words.to_owned();
    }
    words.chars().take(ROOM - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(name: &str, parts: &[(&str, f64)]) -> Stack {
        Stack { name: name.into(), parts: parts.iter().map(|(name, share)| ((*name).into(), *share)).collect() }
    }

    #[test]
    fn small_parts_are_one_and_a_cause_has_one_colour() {
        let stacks =
            [stack("quiet", &[("a", 0.9), ("b", 0.09), ("c", 0.006), ("d", 0.004)]), stack("busy", &[("b", 1.0)])];
        let pieces = pieces(&stacks);
        let said: Vec<(&str, usize)> = pieces[0].iter().map(|piece| (piece.words.as_str(), piece.colour)).collect();
        assert_eq!(said, [("a", 0), ("b", 1), ("2 others", REST)]);
        assert!((pieces[0][2].share - 0.01).abs() < 1e-9);
        assert_eq!(pieces[1][0].colour, 1);
    }

    #[test]
    fn shares_that_are_none_do_no_harm() {
        for parts in [&[][..], &[("a", 0.0)], &[("a", f64::NAN)], &[("a", -1.0), ("b", 1e300)]] {
            let drawn = super::stacks(&[stack("x", parts)], "").into_string();
            assert!(drawn.contains("<svg"), "{drawn}");
        }
    }
}
