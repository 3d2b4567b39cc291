//! Named values side by side: the name is above its bar, so that it is readable on a phone.

use super::scale::Scale;
use super::svg;
use crate::hues::{Hues, class};
use maud::{Markup, html};
use record::{Bar, Bars, Unit};
use terminal::shortened;

const WIDTH: f64 = 440.0;
const ROW: f64 = 38.0;
const LEFT: f64 = 4.0;
/// The right end of the bars; the rest of the width is for the number.
const RIGHT: f64 = 430.0;

/// The maximum number of bars in a column; a longer column is split into several, all on the same axis.
const MOST: usize = 8;
/// The maximum number of letters of a name.
const ROOM: usize = 52;

/// Draws the pictures with this name for screen readers: one, or several of a few bars each.
pub fn multiples(bars: &Bars, name: &str, hues: &Hues) -> Vec<Markup> {
    let columns = bars.bars.len().div_ceil(MOST).max(1);
    let pieces: Vec<&[Bar]> = bars.bars.chunks(bars.bars.len().div_ceil(columns).max(1)).collect();
    if pieces.len() < 2 {
        return vec![column(bars, name, hues)];
    }
    let part = |place: usize| format!("{name}, part {} of {}", place + 1, pieces.len());
    pieces.iter().enumerate().map(|(place, piece)| some(bars, piece, &part(place), hues)).collect()
}

/// Draws all bars in one picture.
pub fn column(bars: &Bars, name: &str, hues: &Hues) -> Markup {
    some(bars, &bars.bars, name, hues)
}

/// Draws some of the bars, on the axis that fits all.
fn some(bars: &Bars, piece: &[Bar], name: &str, hues: &Hues) -> Markup {
    // The bar of a ratio grows to either side of 1.
    let even = (bars.unit == Unit::Times).then_some(1.0);
    let scale = scale(bars, even);
    let from = even.map_or_else(|| scale.foot(), |even| scale.place(even));
    let content = html! {
        @for (row, one) in piece.iter().enumerate() {
            g class=(class(hues.number_of_ranked(&one.name))) { (bar(one, bars.unit, row as f64 * ROW, from, &scale)) }
        }
    };
    svg(WIDTH, piece.len() as f64 * ROW + 6.0, name, &content)
}

fn scale(bars: &Bars, even: Option<f64>) -> Scale {
    let values = bars.bars.iter().flat_map(|bar| {
        let ends = bar.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
        bar.value.iter().copied().chain(ends).chain(bar.limit.iter().map(|limit| limit.0)).collect::<Vec<f64>>()
    });
    // On a logarithmic axis the smallest bar needs a length.
    let known = bars.bars.iter().filter_map(|bar| bar.value.as_ref().ok().copied());
    let least = known.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let foot = (bars.logarithmic && least.is_finite()).then_some(least / 2.0);
    Scale::over(values.chain(foot).chain(even), bars.logarithmic, LEFT, RIGHT)
}

fn bar(bar: &Bar, unit: Unit, top: f64, from: f64, scale: &Scale) -> Markup {
    let (middle, above, below) = (top + 26.0, top + 17.0, top + 35.0);
    let (ends_from, ends_to) = (middle - 4.0, middle + 4.0);
    let value = match &bar.value {
        Ok(value) => *value,
        Err(words) => {
            return html! { text.dim x=(LEFT) y=(top + 15.0) { (shortened(&bar.name, ROOM)) ": " (words) } };
        }
    };
    let to = scale.place(value);
    let (left, width) = (from.min(to), (to - from).abs().max(1.0));
    let interval = bar.interval.map(|ends| (scale.place(ends.low), scale.place(ends.high)));
    html! {
        text x=(LEFT) y=(top + 15.0) { (shortened(&bar.name, ROOM)) ": " (unit.words(value)) }
        rect.fill x=(format_args!("{left:.1}")) y=(top + 20.0) width=(format_args!("{width:.1}")) height="12" {}
        @if let Some((low, high)) = interval {
            path.ends d=(format_args!("M{low:.1} {middle}H{high:.1}M{low:.1} {ends_from}V{ends_to}M{high:.1} {ends_from}V{ends_to}")) {}
        }
        @if let Some((limit, label)) = &bar.limit {
            path.limit d=(format_args!("M{:.1} {above}V{below}", scale.place(*limit))) {
                title { "limit " (label) ": " (unit.words(*limit)) }
            }
        }
    }
}
