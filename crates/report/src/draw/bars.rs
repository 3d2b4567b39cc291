//! Named values beside each other: the name above its bar, so that it is readable on a phone.

use super::scale::Scale;
use super::svg;
use crate::markup::escape;
use record::{Bars, Unit};
use std::fmt::Write;

const WIDTH: f64 = 440.0;
const ROW: f64 = 38.0;
const LEFT: f64 = 4.0;
/// The rest is for the number.
const RIGHT: f64 = 430.0;

pub fn draw(bars: &Bars, name: &str) -> String {
    let values = bars.bars.iter().flat_map(|bar| {
        let ends = bar.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
        [bar.value].into_iter().chain(ends).chain(bar.limit.iter().map(|limit| limit.0)).collect::<Vec<f64>>()
    });
    // On a logarithmic axis the smallest bar needs a length.
    let least = bars.bars.iter().map(|bar| bar.value).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let foot = (bars.logarithmic && least.is_finite()).then_some(least / 2.0);
    // A ratio's bar grows to either side of what is as it was.
    let even = (bars.unit == Unit::Times).then_some(1.0);
    let scale = Scale::over(values.chain(foot).chain(even), bars.logarithmic, LEFT, RIGHT);
    let from = even.map_or_else(|| scale.foot(), |even| scale.place(even));
    let mut content = String::new();
    for (place, bar) in bars.bars.iter().enumerate() {
        let top = place as f64 * ROW;
        let (label, middle) = (top + 15.0, top + 26.0);
        let words = format!("{}: {}", shortened(&bar.name), bars.unit.words(bar.value));
        let to = scale.place(bar.value);
        let (left, width) = (from.min(to), (to - from).abs().max(1.0));
        // Writing to a string cannot fail.
        let _ = write!(
            content,
            "<g class=\"c0\"><text x=\"{LEFT}\" y=\"{label}\">{}</text><rect class=\"fill\" x=\"{left:.1}\" y=\"{}\" \
             width=\"{width:.1}\" height=\"12\"/>",
            escape(&words),
            top + 20.0,
        );
        if let Some(ends) = bar.interval {
            let (low, high) = (scale.place(ends.low), scale.place(ends.high));
            let _ = write!(content, "<path class=\"ends\" d=\"M{low:.1} {middle}H{high:.1}\"/>");
        }
        if let Some((limit, whose)) = &bar.limit {
            let (at, above, below) = (scale.place(*limit), top + 17.0, top + 35.0);
            let title = escape(&format!("limit {whose}: {}", bars.unit.words(*limit)));
            let _ =
                write!(content, "<path class=\"limit\" d=\"M{at:.1} {above}V{below}\"><title>{title}</title></path>");
        }
        content.push_str("</g>");
    }
    svg(WIDTH, bars.bars.len() as f64 * ROW + 6.0, name, &content)
}

/// As much of a name as there is room for; the table has all of it.
fn shortened(name: &str) -> String {
    const ROOM: usize = 52;
    if name.chars().count() <= ROOM {
        return name.to_owned();
    }
    name.chars().take(ROOM - 1).chain(['…']).collect()
}
