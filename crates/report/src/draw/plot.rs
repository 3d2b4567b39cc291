//! Points over two axes, as columns, lines, outlines or dots: the picture, and the look of its series.

use super::scale::Scale;
use super::svg;
use crate::hues::{COLOURS, GREY, Hues, class, is_old};
use maud::{Markup, html};
use record::{Axis, Mark, Picture, Plot, Point, Series, Unit};
use std::fmt::Write;
use terminal::shortened;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 612.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 250.0;

/// The approximate width of a letter.
const LETTER: f64 = 7.2;
/// The height of a line of the legend.
const LINE: f64 = 14.0;
/// The maximum number of spikes that are named, the height of a line, and the maximum number of letters of a name; the
/// table has all of them.
const MOST_SPIKES: usize = 6;
const SPIKE_LINE: f64 = 15.0;
const SPIKE_ROOM: usize = 44;

/// A plot with the look of each series.
pub struct DrawnPlot<'a> {
    pub plot: &'a Plot,
    pub looks: Vec<Look>,
    pub has_spikes: bool,
}

/// The look of a series.
pub struct Look {
    /// The number of its colour.
    pub colour: usize,
    /// The number of earlier series of the plot with this colour, which its dashes show.
    pub dash: usize,
    /// Whether it is the paler of two adjacent series with the same colour.
    pub is_pale: bool,
    /// Its name in the picture.
    pub words: String,
    /// Its details in sentences, if it is a spike.
    pub details: Option<String>,
    /// Whether its values are those of an old document.
    pub is_old: bool,
}

impl<'a> DrawnPlot<'a> {
    /// Returns the plot of a picture, `None` for other kinds.
    ///
    /// Series that are locks or causes have the colours of these; all spikes of a histogram have the colour of its
    /// lock, and adjacent ones differ in paleness.
    pub fn from_picture(picture: &'a Picture, hues: &Hues) -> Option<Self> {
        Some(match picture {
            Picture::Plot(plot) => Self::new(plot, |place, _| place),
            Picture::Locks(plot) => Self::new(plot, |_, name| hues.number(name)),
            Picture::Causes(plot) => Self::new(plot, |_, name| hues.of_cause(name)),
            Picture::Spikes(spikes) => {
                let lock = hues.number(&spikes.lock);
                let is_noise = |name: &str| name == "#";
                let mut drawn = Self::new(&spikes.plot, |_, name| if is_noise(name) { GREY } else { lock });
                for (place, look) in drawn.looks.iter_mut().enumerate() {
                    look.is_pale = place % 2 == 1 && !is_noise(&look.words);
                    if let Some(words) = spikes.words.get(place) {
                        look.words.clone_from(words);
                    }
                    look.details = spikes.details.get(place).cloned();
                }
                Self { has_spikes: true, ..drawn }
            }
            _ => return None,
        })
    }

    /// Creates the plot with a colour for each series, by its index and name.
    pub fn new(plot: &'a Plot, colour: impl Fn(usize, &str) -> usize) -> Self {
        let colours: Vec<usize> =
            plot.series.iter().enumerate().map(|(place, one)| colour(place, &one.name) % COLOURS).collect();
        let is_line = |place: usize| plot.series[place].mark == Mark::Line && !is_old(&plot.series[place].name);
        let dash = |place: usize| {
            let earlier = (0..place).filter(|&other| colours[other] == colours[place] && is_line(other)).count();
            if is_line(place) { earlier } else { 0 }
        };
        let look = |(place, series): (usize, &Series)| Look {
            colour: colours[place],
            dash: dash(place),
            is_pale: false,
            words: series.name.clone(),
            details: None,
            is_old: is_old(&series.name),
        };
        Self { plot, looks: plot.series.iter().enumerate().map(look).collect(), has_spikes: false }
    }
}

/// Draws the picture with this name for screen readers; spikes are named where they are drawn, other series above.
pub fn plot(drawn: &DrawnPlot<'_>, name: &str) -> Markup {
    let DrawnPlot { plot, looks, has_spikes } = drawn;
    let (x, y) = scales(plot);
    let content = html! {
        (axes(plot, &x, &y))
        @for (one, look) in plot.series.iter().zip(looks) {
            g class=(shade(look)) {
                @if let Some(details) = &look.details { title { (look.words) ". " (details) } }
                (series(one, &x, &y))
            }
        }
        @if *has_spikes { (spike_names(looks)) } @else { (legend(looks)) }
    };
    svg(WIDTH, HEIGHT, name, &content)
}

fn scales(plot: &Plot) -> (Scale, Scale) {
    let points = || plot.series.iter().flat_map(|series| series.points.iter().map(move |point| (series.mark, point)));
    let across = points().flat_map(|(mark, point)| match mark {
        Mark::Columns | Mark::Outline => [Some(point.x), point.low, point.high],
        Mark::Line | Mark::Points => [Some(point.x), None, None],
    });
    let upwards = points().flat_map(|(mark, point)| match mark {
        Mark::Columns | Mark::Outline => [Some(point.y), None, None],
        Mark::Line | Mark::Points => [Some(point.y), point.low, point.high],
    });
    // The smallest column on a logarithmic axis must be visible.
    let standing = points().filter(|(mark, _)| matches!(mark, Mark::Columns | Mark::Outline));
    let least = standing.map(|(_, point)| point.y).filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
    let foot = plot.y.logarithmic.then_some(least / 2.0);
    let x = Scale::over(across.flatten(), plot.x.logarithmic, LEFT, RIGHT);
    let upwards = upwards.flatten().chain(foot);
    let y = if begins_at_zero(&plot.y) {
        Scale::over(upwards, plot.y.logarithmic, BOTTOM, TOP)
    } else {
        Scale::around(upwards, BOTTOM, TOP)
    };
    (x, y)
}

/// Returns whether a linear axis begins at zero. One of frequencies does not, since they differ little.
pub fn begins_at_zero(axis: &Axis) -> bool {
    axis.logarithmic || axis.unit != Unit::Mhz
}

/// The number of dash patterns in the style sheets.
const MOST_DASHES: usize = 2;

fn shade(look: &Look) -> String {
    let pale = if look.is_pale { " pale" } else { "" };
    let old = if look.is_old { " old" } else { "" };
    let dash = if look.dash > 0 { format!(" dash{}", look.dash.min(MOST_DASHES)) } else { String::new() };
    class(look.colour) + pale + old + &dash
}

/// The maximum number of values of an axis that are all marked.
const MOST_VALUES: usize = 8;

/// Returns the values of a horizontal axis of numbers, where all are few whole numbers: only they are marked.
pub fn whole_values(plot: &Plot) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = plot.series.iter().flat_map(|series| series.points.iter().map(|one| one.x)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let is_whole = plot.x.unit == Unit::Number && values.iter().all(|value| value.fract() == 0.0);
    (is_whole && (1..=MOST_VALUES).contains(&values.len())).then_some(values)
}

/// Returns whether the values of the vertical axis are counts, which have no marks at fractions.
pub fn has_counts(plot: &Plot) -> bool {
    plot.y.unit == Unit::Number && plot.series.iter().flat_map(|series| &series.points).all(|one| one.y.fract() == 0.0)
}

/// Draws both axes with their marks and labels.
fn axes(plot: &Plot, x: &Scale, y: &Scale) -> Markup {
    html! {
        path.axis d=(format_args!("M{LEFT} {TOP}V{BOTTOM}H{RIGHT}")) {}
        @for (place, value) in whole_values(plot).unwrap_or_else(|| x.marks()).into_iter().enumerate() {
            @let at = format!("{:.1}", x.place(value));
            path.grid d=(format_args!("M{at} {TOP}V{BOTTOM}")) {}
            text.odd[place % 2 == 1] x=(at) y=(BOTTOM + 17.0) text-anchor="middle" { (plot.x.unit.words(value)) }
        }
        @let is_marked = |value: &f64| !has_counts(plot) || value.fract() == 0.0;
        @for value in y.marks().into_iter().filter(is_marked) {
            @let at = y.place(value);
            path.grid d=(format_args!("M{LEFT} {at:.1}H{RIGHT}")) {}
            text x=(LEFT - 6.0) y=(format_args!("{:.1}", at + 4.0)) text-anchor="end" { (plot.y.unit.words(value)) }
        }
        text x=(f64::midpoint(LEFT, RIGHT)) y=(HEIGHT - 8.0) text-anchor="middle" { (plot.x.label) }
        text x="4" y="14" { (plot.y.label) }
    }
}

/// Draws the names of the series in two lines, as far as they fit; the table has all.
fn legend(looks: &[Look]) -> Markup {
    html! {
        @for (look, (at, foot)) in looks.iter().zip(places(looks)) {
            g class=(class(look.colour)) {
                rect.fill x=(format_args!("{at:.1}")) y=(foot - 9.0) width="10" height="10" {}
            }
            text x=(format_args!("{:.1}", at + 14.0)) y=(foot) { (look.words) }
        }
    }
}

/// Returns the positions at which the names begin, as far as they fit.
fn places(looks: &[Look]) -> Vec<(f64, f64)> {
    let mut places = Vec::new();
    // The first line has the label of the axis.
    let (mut at, mut foot) = (LEFT + 150.0, 14.0);
    for look in looks {
        let width = 26.0 + look.words.chars().count() as f64 * LETTER;
        if at + width > RIGHT && foot < TOP - LINE {
            (at, foot) = (LEFT, foot + LINE);
        }
        if at + width > RIGHT {
            break;
        }
        places.push((at, foot));
        at += width;
    }
    places
}

/// Draws the points of a series.
fn series(series: &Series, x: &Scale, y: &Scale) -> Markup {
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

/// Draws the spikes at the right, where columns are rare, a line each: letter, share and cause.
fn spike_names(looks: &[Look]) -> Markup {
    html! {
        @for (place, look) in looks.iter().take(MOST_SPIKES).enumerate() {
            text.spike x=(RIGHT - 4.0) y=(TOP + 10.0 + SPIKE_LINE * place as f64) text-anchor="end" { (shortened(&look.words, SPIKE_ROOM)) }
        }
    }
}
