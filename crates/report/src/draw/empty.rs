//! The picture of values of which none can be drawn: a figure is never without its picture.

use super::scale::holds;
use super::svg;
use maud::{Markup, html};
use record::{Mark, Picture, Plot};

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 48.0;

/// The reason in the picture; the table below it and the warnings of the record have more.
pub const REASON: &str = "No chart: no value was measured that it can show.";

/// Draws the reason, if nothing else can be drawn.
pub fn empty(picture: &Picture, name: &str) -> Option<Markup> {
    let content = html! { text.dim x="4" y="28" { (REASON) } };
    has_nothing(picture).then(|| svg(WIDTH, HEIGHT, name, &content))
}

fn has_nothing(picture: &Picture) -> bool {
    match picture {
        Picture::Plot(plot) | Picture::Locks(plot) | Picture::Causes(plot) => has_no_point(plot),
        Picture::Spikes(spikes) => has_no_point(&spikes.plot),
        Picture::Bars(bars) => bars.bars.is_empty(),
        Picture::Stacks(stacks) => stacks.iter().flat_map(|stack| &stack.parts).all(|part| !is_above_0(part.share)),
        Picture::Ladder(ladder) => ladder.costs.is_empty(),
        Picture::Flame(flame) => flame.parts.iter().all(|part| !is_above_0(part.value)),
        Picture::Timeline(timeline) => timeline.lanes.iter().all(|lane| lane.spans.is_empty()),
        Picture::Map(map) => map.rows.iter().all(|row| row.shares.is_empty()),
        Picture::Grid(grid) => grid.columns.is_empty() || grid.rows.is_empty(),
        Picture::None => false,
    }
}

fn has_no_point(plot: &Plot) -> bool {
    let mut points = plot.series.iter().flat_map(|series| series.points.iter().map(move |point| (series.mark, point)));
    !points.any(|(mark, point)| {
        // A column without a place is at the edge of the axis.
        let is_placed = matches!(mark, Mark::Columns | Mark::Outline) || holds(point.x, plot.x.logarithmic);
        is_placed && holds(point.y, plot.y.logarithmic)
    })
}

fn is_above_0(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Axis, Bars, Flame, Grid, HeatMap, Ladder, Point, Series, Stack, Timeline, Unit};

    fn plot(points: Vec<Point>) -> Plot {
        let axis = || Axis { label: "time", unit: Unit::Ns, logarithmic: true };
        Plot { x: axis(), y: axis(), series: vec![Series { name: "std".into(), mark: Mark::Line, points }] }
    }

    #[test]
    fn every_kind_of_picture_without_a_value_has_the_reason() {
        for picture in [
            Picture::Plot(plot(Vec::new())),
            // A logarithmic axis has no place for it.
            Picture::Locks(plot(vec![Point::new(0.0, 5.0)])),
            Picture::Bars(Bars { unit: Unit::Ns, logarithmic: true, bars: Vec::new() }),
            Picture::Stacks(vec![Stack { name: "quiet".into(), parts: Vec::new() }]),
            Picture::Ladder(Ladder { costs: Vec::new() }),
            Picture::Flame(Flame { unit: Unit::Ns, parts: Vec::new() }),
            Picture::Timeline(Timeline { lanes: Vec::new() }),
            Picture::Map(HeatMap { across: "time", rows: Vec::new() }),
            Picture::Grid(Grid { key: "", columns: Vec::new(), rows: Vec::new() }),
        ] {
            let drawn = empty(&picture, "a chart").unwrap().into_string();
            assert!(drawn.starts_with("<svg") && drawn.contains(REASON), "{drawn}");
        }
        let some = [Picture::None, Picture::Plot(plot(vec![Point::new(2.0, 5.0)]))];
        assert!(some.iter().all(|picture| empty(picture, "a chart").is_none()));
    }
}
