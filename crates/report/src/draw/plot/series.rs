//! The points of a series, each kind of mark in its own way.

use super::layout::BOTTOM;
use crate::draw::scale::Scale;
use maud::{Markup, html};
use record::{Mark, Point, Series};
use std::fmt::Write;

pub fn series(series: &Series, x: &Scale, y: &Scale) -> Markup {
    match series.mark {
        Mark::Columns => columns(series, x, y),
        Mark::Line => line(series, x, y),
        Mark::Points => points(series, x, y),
        Mark::Outline => outline(series, x, y),
    }
}

fn columns(series: &Series, x: &Scale, y: &Scale) -> Markup {
    let shown = series.points.iter().filter(|point| y.holds(point.y));
    let path: String = shown
        .map(|point| {
            let (left, right) = (x.place(point.low.unwrap_or(point.x)), x.place(point.high.unwrap_or(point.x)));
            let width = (right - left).max(1.0);
            format!("M{left:.1} {BOTTOM}V{:.1}h{width:.1}V{BOTTOM}z", y.place(point.y))
        })
        .collect();
    let is_letter = series.name.chars().count() == 1;
    let top = series.points.iter().max_by(|one, other| one.y.total_cmp(&other.y)).filter(|_| is_letter);
    html! {
        path.fill d=(path) {}
        @if let Some(top) = top {
            @let (at, above) = (x.place(top.x), y.place(top.y) - 4.0);
            text.letter x=(format_args!("{at:.1}")) y=(format_args!("{above:.1}")) { (series.name) }
        }
    }
}

fn outline(series: &Series, x: &Scale, y: &Scale) -> Markup {
    let mut path = String::new();
    let mut end = None;
    for point in series.points.iter().filter(|point| y.holds(point.y)) {
        let (from, to) = (point.low.unwrap_or(point.x), point.high.unwrap_or(point.x));
        // Writing to a string cannot fail.
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
    html! { path.line d=(path) {} }
}

fn line(series: &Series, x: &Scale, y: &Scale) -> Markup {
    let shown: Vec<&Point> = shown(series, x, y).collect();
    let path: String = shown
        .iter()
        .enumerate()
        .map(|(place, point)| {
            let (across, up) = (x.place(point.x), y.place(point.y));
            format!("{}{across:.1} {up:.1}", if place == 0 { 'M' } else { 'L' })
        })
        .collect();
    html! {
        path.line d=(path) {}
        @for point in shown {
            (circle(point, x, y))
            @if let (Some(low), Some(high)) = (point.low, point.high) {
                path.line d=(format_args!("M{:.1} {:.1}V{:.1}", x.place(point.x), y.place(low), y.place(high))) {}
            }
        }
    }
}

fn points(series: &Series, x: &Scale, y: &Scale) -> Markup {
    html! {
        @for point in shown(series, x, y) {
            (circle(point, x, y))
        }
    }
}

fn shown<'a>(series: &'a Series, x: &'a Scale, y: &'a Scale) -> impl Iterator<Item = &'a Point> {
    series.points.iter().filter(|point| x.holds(point.x) && y.holds(point.y))
}

fn circle(point: &Point, x: &Scale, y: &Scale) -> Markup {
    let (across, up) = (x.place(point.x), y.place(point.y));
    html! { circle cx=(format_args!("{across:.1}")) cy=(format_args!("{up:.1}")) r="3" {} }
}
