//! Points over two axes.

mod axes;
mod layout;
mod legend;
mod series;
mod spikes;

use super::frame::svg;
use super::scale::Scale;
use crate::hues::class;
use crate::looks::Look;
use layout::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH};
use maud::{Markup, html};
use record::{Mark, Plot};

/// The picture with this name for screen readers; spikes are named where they stand, other series above.
pub fn plot(plot: &Plot, looks: &[Look], has_spikes: bool, name: &str) -> Markup {
    let (x, y) = scales(plot);
    let content = html! {
        (axes::axes(plot, &x, &y))
        @for (one, look) in plot.series.iter().zip(looks) {
            g class=(shade(look)) { (series::series(one, &x, &y)) }
        }
        @if has_spikes { (spikes::names(looks)) } @else { (legend::legend(looks)) }
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
    // The least of what stands on a logarithmic axis must be seen.
    let standing = points().filter(|(mark, _)| matches!(mark, Mark::Columns | Mark::Outline));
    let least = standing.map(|(_, point)| point.y).filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
    let foot = plot.y.logarithmic.then_some(least / 2.0);
    let x = Scale::over(across.flatten(), plot.x.logarithmic, LEFT, RIGHT);
    let y = Scale::over(upwards.flatten().chain(foot), plot.y.logarithmic, BOTTOM, TOP);
    (x, y)
}

fn shade(look: &Look) -> String {
    let pale = if look.is_pale { " pale" } else { "" };
    class(look.colour) + pale
}
