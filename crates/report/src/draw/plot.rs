//! Points over two axes.

use super::scale::Scale;
use super::{colour, svg};
use crate::markup::escape;
use record::{Mark, Plot, Point, Series};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 628.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 250.0;
/// A letter of the legend is about so wide.
const LETTER: f64 = 7.2;
const LEGEND_LINE: f64 = 14.0;

pub fn draw(plot: &Plot, name: &str) -> String {
    let points = || plot.series.iter().flat_map(|series| series.points.iter().map(move |point| (series.mark, point)));
    let across = points().flat_map(|(mark, point)| match mark {
        Mark::Columns | Mark::Outline => [Some(point.x), point.low, point.high],
        Mark::Line | Mark::Points => [Some(point.x), None, None],
    });
    let upwards = points().flat_map(|(mark, point)| match mark {
        Mark::Columns | Mark::Outline => [Some(point.y), None, None],
        Mark::Line | Mark::Points => [Some(point.y), point.low, point.high],
    });
    // The least of what stands on a logarithmic axis must be seen.
    let standing = points().filter(|(mark, _)| matches!(mark, Mark::Columns | Mark::Outline));
    let least = standing.map(|(_, point)| point.y).filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
    let foot = plot.y.logarithmic.then_some(least / 2.0);
    let x = Scale::over(across.flatten(), plot.x.logarithmic, LEFT, RIGHT);
    let y = Scale::over(upwards.flatten().chain(foot), plot.y.logarithmic, BOTTOM, TOP);
    let mut content = axes(plot, &x, &y);
    for (place, series) in plot.series.iter().enumerate() {
        let drawn = match series.mark {
            Mark::Columns => columns(series, &x, &y),
            Mark::Line => line(series, &x, &y),
            Mark::Points => points_alone(series, &x, &y),
            Mark::Outline => outline(series, &x, &y),
        };
        // Writing to a string cannot fail.
        let _ = write!(content, "<g class=\"c{}\">{drawn}</g>", colour(place));
    }
    content.push_str(&legend(&plot.series));
    svg(WIDTH, HEIGHT, name, &content)
}

fn axes(plot: &Plot, x: &Scale, y: &Scale) -> String {
    let mut content = format!("<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>");
    for value in x.marks() {
        let (at, words) = (x.place(value), escape(&plot.x.unit.words(value)));
        let _ = write!(content, "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>");
        let _ = write!(content, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{words}</text>", BOTTOM + 17.0);
    }
    for value in y.marks() {
        let (at, words) = (y.place(value), escape(&plot.y.unit.words(value)));
        let _ = write!(content, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>");
        let _ = write!(content, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{words}</text>", LEFT - 6.0, at + 4.0);
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    let (below, beside) = (escape(plot.x.label), escape(plot.y.label));
    let _ = write!(content, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{below}</text>", HEIGHT - 8.0);
    let _ = write!(content, "<text x=\"4\" y=\"14\">{beside}</text>");
    content
}

fn columns(series: &Series, x: &Scale, y: &Scale) -> String {
    let mut path = String::new();
    for point in series.points.iter().filter(|point| y.holds(point.y)) {
        let (left, right) = (x.place(point.low.unwrap_or(point.x)), x.place(point.high.unwrap_or(point.x)));
        let width = (right - left).max(1.0);
        let _ = write!(path, "M{left:.1} {BOTTOM}V{:.1}h{width:.1}V{BOTTOM}z", y.place(point.y));
    }
    let letter = match series.points.iter().max_by(|one, other| one.y.total_cmp(&other.y)) {
        Some(top) if series.name.chars().count() == 1 => {
            let (at, above) = (x.place(top.x), y.place(top.y) - 4.0);
            format!("<text class=\"letter\" x=\"{at:.1}\" y=\"{above:.1}\">{}</text>", escape(&series.name))
        }
        _ => String::new(),
    };
    format!("<path class=\"fill\" d=\"{path}\"/>{letter}")
}

fn outline(series: &Series, x: &Scale, y: &Scale) -> String {
    let mut path = String::new();
    let mut end = None;
    for point in series.points.iter().filter(|point| y.holds(point.y)) {
        let (from, to) = (point.low.unwrap_or(point.x), point.high.unwrap_or(point.x));
        if end != Some(from) {
            let down = if end.is_some() { format!("V{BOTTOM}") } else { String::new() };
            let _ = write!(path, "{down}M{:.1} {BOTTOM}", x.place(from));
        }
        let _ = write!(path, "V{:.1}H{:.1}", y.place(point.y), x.place(to));
        end = Some(to);
    }
    if end.is_some() {
        let _ = write!(path, "V{BOTTOM}");
    }
    format!("<path class=\"line\" d=\"{path}\"/>")
}

fn line(series: &Series, x: &Scale, y: &Scale) -> String {
    let shown: Vec<&Point> = series.points.iter().filter(|point| x.holds(point.x) && y.holds(point.y)).collect();
    let mut path = String::new();
    let mut marks = String::new();
    for (place, point) in shown.iter().enumerate() {
        let (across, up) = (x.place(point.x), y.place(point.y));
        let _ = write!(path, "{}{across:.1} {up:.1}", if place == 0 { 'M' } else { 'L' });
        let _ = write!(marks, "<circle cx=\"{across:.1}\" cy=\"{up:.1}\" r=\"3\"/>");
        if let (Some(low), Some(high)) = (point.low, point.high) {
            let _ = write!(marks, "<path class=\"line\" d=\"M{across:.1} {:.1}V{:.1}\"/>", y.place(low), y.place(high));
        }
    }
    format!("<path class=\"line\" d=\"{path}\"/>{marks}")
}

fn points_alone(series: &Series, x: &Scale, y: &Scale) -> String {
    let shown = series.points.iter().filter(|point| x.holds(point.x) && y.holds(point.y));
    shown
        .map(|point| format!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>", x.place(point.x), y.place(point.y)))
        .collect()
}

/// The series' names, as many as two lines have room for; the table has all.
fn legend(series: &[Series]) -> String {
    let mut content = String::new();
    // In the first line the axis has its label.
    let (mut at, mut foot) = (LEFT + 150.0, 14.0);
    for (place, one) in series.iter().enumerate() {
        let width = 26.0 + one.name.chars().count() as f64 * LETTER;
        if at + width > RIGHT && foot < TOP - LEGEND_LINE {
            (at, foot) = (LEFT, foot + LEGEND_LINE);
        }
        if at + width > RIGHT {
            break;
        }
        let name = escape(&one.name);
        let _ = write!(
            content,
            "<g class=\"c{}\"><rect class=\"fill\" x=\"{at:.1}\" y=\"{}\" width=\"10\" height=\"10\"/></g>\
             <text x=\"{:.1}\" y=\"{foot}\">{name}</text>",
            colour(place),
            foot - 9.0,
            at + 14.0
        );
        at += width;
    }
    content
}
