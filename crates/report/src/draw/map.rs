//! Shares by row and column: a cell each, the darker the larger, by powers of ten.

use super::svg;
use maud::{Markup, html};
use record::{HeatMap, HeatRow, Unit};

const WIDTH: f64 = 440.0;
const ROW: f64 = 20.0;
/// The left edge of the cells, behind the name of the row.
const LEFT: f64 = 64.0;
const FOOT: f64 = 20.0;

/// Draws the picture with this name for screen readers.
pub fn map(map: &HeatMap, name: &str) -> Markup {
    let columns = map.rows.iter().map(|row| row.shares.len()).max().unwrap_or(0).max(1);
    let height = map.rows.len() as f64 * ROW;
    let content = html! {
        @for (place, row) in map.rows.iter().enumerate() {
            (line(row, place as f64 * ROW, (WIDTH - LEFT) / columns as f64))
        }
        text x=(LEFT) y=(height + 15.0) { (map.across) " →" }
    };
    svg(WIDTH, height + FOOT, name, &content)
}

fn line(row: &HeatRow, top: f64, width: f64) -> Markup {
    html! {
        g.c0 {
            text x="0" y=(top + 14.0) { (row.name) }
            @for (place, share) in row.shares.iter().enumerate() {
                rect.fill x=(format_args!("{:.1}", LEFT + place as f64 * width)) y=(top + 1.0)
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
