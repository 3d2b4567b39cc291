//! A row for each thing: its spans of time, or a cell for each share, the darker the larger, by powers of ten.

use super::scale::Scale;
use super::svg;
use maud::{Markup, html};
use record::{HeatMap, HeatRow, Span, Timeline, Unit};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 110.0;
const RIGHT: f64 = 628.0;
const ROW: f64 = 20.0;
const COLOURS: usize = 8;

/// Draws the picture with this name for screen readers.
pub fn timeline(timeline: &Timeline, name: &str) -> Markup {
    let spans = || timeline.lanes.iter().flat_map(|lane| &lane.spans);
    let scale = Scale::over(spans().flat_map(|span| [span.from_ns, span.to_ns]), false, LEFT, RIGHT);
    let foot = timeline.lanes.len() as f64 * ROW + 4.0;
    let content = html! {
        @for value in scale.marks() {
            @let at = format!("{:.1}", scale.place(value));
            path.grid d=(format_args!("M{at} 0V{foot}")) {}
            text x=(at) y=(foot + 15.0) text-anchor="middle" { (Unit::Ns.words(value)) }
        }
        text x=(f64::midpoint(LEFT, RIGHT)) y=(foot + 31.0) text-anchor="middle" { "time" }
        @for (place, lane) in timeline.lanes.iter().enumerate() {
            @let top = place as f64 * ROW + 2.0;
            text x=(LEFT - 6.0) y=(top + 14.0) text-anchor="end" { (lane.name) }
            @for span in &lane.spans { (one(span, top, &scale)) }
        }
    };
    svg(WIDTH, foot + 38.0, name, &content)
}

fn one(span: &Span, top: f64, scale: &Scale) -> Markup {
    let (from, to) = (scale.place(span.from_ns), scale.place(span.to_ns));
    html! {
        g class=(format_args!("c{}", span.group % COLOURS)) {
            rect.fill x=(format_args!("{from:.1}")) y=(top) width=(format_args!("{:.1}", (to - from).max(1.0))) height="16" {
                title { (span.name) ": " (Unit::Ns.words(span.to_ns - span.from_ns)) }
            }
        }
    }
}

const MAP_WIDTH: f64 = 440.0;
/// The left edge of the cells, behind the name of the row.
const MAP_LEFT: f64 = 64.0;
const MAP_FOOT: f64 = 20.0;

/// Draws the picture with this name for screen readers.
pub fn map(map: &HeatMap, name: &str) -> Markup {
    let columns = map.rows.iter().map(|row| row.shares.len()).max().unwrap_or(0).max(1);
    let height = map.rows.len() as f64 * ROW;
    let content = html! {
        @for (place, row) in map.rows.iter().enumerate() {
            (cells(row, place as f64 * ROW, (MAP_WIDTH - MAP_LEFT) / columns as f64))
        }
        text x=(MAP_LEFT) y=(height + 15.0) { (map.across) " →" }
    };
    svg(MAP_WIDTH, height + MAP_FOOT, name, &content)
}

fn cells(row: &HeatRow, top: f64, width: f64) -> Markup {
    html! {
        g.c0 {
            text x="0" y=(top + 14.0) { (row.name) }
            @for (place, share) in row.shares.iter().enumerate() {
                rect.fill x=(format_args!("{:.1}", MAP_LEFT + place as f64 * width)) y=(top + 1.0)
                    width=(format_args!("{width:.1}")) height=(ROW - 2.0)
                    opacity=(format_args!("{:.2}", shade(*share))) {
                    title { (row.name) ": " (Unit::Share.words(*share)) }
                }
            }
        }
    }
}

/// Returns the shade of a share: a ten-thousandth is hardly visible, 1 is the full colour.
fn shade(share: f64) -> f64 {
    const DECADES: f64 = 4.0;
    ((share.max(1e-9).log10() + DECADES) / DECADES).clamp(0.0, 1.0) * 0.95 + 0.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_share_is_darker_and_every_piece_has_a_cell() {
        let rows = ["CPU 0", "CPU 1"].map(|name| HeatRow { name: name.into(), shares: vec![0.0, 0.001, 0.5] });
        let picture = map(&HeatMap { across: "time", rows: rows.into() }, "lost").into_string();
        assert_eq!(picture.matches("<rect").count(), 6);
        assert!(shade(0.0) < shade(0.001) && shade(0.001) < shade(0.5) && shade(0.5) < shade(1.0));
        assert!(picture.contains("CPU 1"));
    }
}
