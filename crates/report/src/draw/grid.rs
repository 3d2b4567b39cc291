//! Contenders under several conditions: a line for each, a column for each condition, and in each cell the share of the best,
//! the darker the larger. The conditions have numbers above the columns, and their words below the picture.

use super::svg;
use maud::{Markup, html};
use record::{Grid, GridCell};

const LEFT: f64 = 150.0;
const COLUMN: f64 = 62.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 22.0;
const LINE: f64 = 18.0;
/// Room for the words of a condition.
const LEAST_WIDTH: f64 = 640.0;

/// Draws the picture with this name for screen readers.
pub fn grid(grid: &Grid, name: &str) -> Markup {
    let width = (LEFT + grid.columns.len() as f64 * COLUMN + 8.0).max(LEAST_WIDTH);
    let foot = HEAD + grid.rows.len() as f64 * ROW + 10.0;
    let left = |place: usize| LEFT + place as f64 * COLUMN;
    let content = html! {
        @for place in 0..grid.columns.len() {
            text x=(left(place) + COLUMN / 2.0) y=(HEAD - 7.0) text-anchor="middle" { (place + 1) }
        }
        @for (row, top) in grid.rows.iter().zip(0..).map(|(row, place)| (row, HEAD + f64::from(place) * ROW)) {
            text x=(LEFT - 8.0) y=(top + 16.0) text-anchor="end" { (row.name) }
            @for (place, one) in row.cells.iter().enumerate() {
                @if let Some(one) = one { (cell(one, left(place), top, &row.name)) }
                @else { text.dim x=(left(place) + COLUMN / 2.0) y=(top + 16.0) text-anchor="middle" { "–" } }
            }
        }
        text.dim x="8" y=(foot + LINE - 4.0) { "Share of the best throughput; framed: first, or not shown to be below the first." }
        @for (place, words) in grid.columns.iter().enumerate() {
            text.dim x="8" y=(foot + LINE * (place + 2) as f64 - 4.0) { (place + 1) ": " (words) }
        }
    };
    svg(width, foot + LINE * (grid.columns.len() + 1) as f64 + 4.0, name, &content)
}

fn cell(one: &GridCell, left: f64, top: f64, name: &str) -> Markup {
    html! {
        g.c0 {
            title { (name) ": " (one.words) }
            rect.fill x=(left + 2.0) y=(top + 1.0) width=(COLUMN - 4.0) height=(ROW - 2.0) fill-opacity=(format_args!("{:.2}", shade(one.share))) {}
            @if one.is_first { rect.frame x=(left + 3.0) y=(top + 2.0) width=(COLUMN - 6.0) height=(ROW - 4.0) {} }
            text.figure x=(left + COLUMN / 2.0) y=(top + 16.0) text-anchor="middle" { (format_args!("{:.2}", one.share)) }
        }
    }
}

/// Returns the opacity of a share: the number on it stays readable on any.
fn shade(share: f64) -> f64 {
    0.45 * share.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::GridRow;

    #[test]
    fn cells_have_their_share_and_only_the_first_have_a_frame() {
        let cell = |share: f64, is_first: bool| Some(GridCell { share, is_first, words: "1/s".into() });
        let rows = vec![
            GridRow { name: "std".into(), cells: vec![cell(1.0, true), cell(0.25, false)] },
            GridRow { name: "mcs".into(), cells: vec![None, cell(1.0, true)] },
        ];
        let picture =
            grid(&Grid { columns: vec!["2 threads".into(), "8 threads".into()], rows }, "ranking").into_string();
        assert_eq!((picture.matches("class=\"frame\"").count(), picture.matches("class=\"fill\"").count()), (2, 3));
        assert!(picture.contains(">0.25<") && picture.contains("2: 8 threads") && picture.contains(">–<"), "{picture}");
        assert!(shade(0.1) < shade(0.9));
    }
}
