//! The parts of a total, level by level: the total at the bottom, its parts on top of it.

use super::{shortened, svg};
use crate::hues::{Hues, class};
use maud::{Markup, html};
use record::{Flame, FlamePart, Unit};

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
