//! Contenders under several conditions: a line for each, a column for each condition, and in each cell the share of the best,
//! the darker the larger. The conditions have numbers above the columns, and their words below the picture.

use super::svg;
use maud::{Markup, html};
use record::{Grid, GridCell, GridRow};
use terminal::shortened;

const LEFT: f64 = 150.0;
const COLUMN: f64 = 62.0;
const WIDTH: f64 = LEFT + MOST as f64 * COLUMN + 8.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 22.0;
const LINE: f64 = 18.0;
/// The maximum number of columns; further ones are below these, with all names again.
const MOST: usize = 7;
/// The maximum number of letters of a condition.
const ROOM: usize = 90;

/// Draws the picture with this name for screen readers.
pub fn grid(grid: &Grid, name: &str) -> Markup {
    let band_height = HEAD + grid.rows.len() as f64 * ROW + 10.0;
    let bands = grid.columns.len().div_ceil(MOST);
    let foot = bands as f64 * band_height;
    let line = |number: usize| foot + LINE * number as f64 + 14.0;
    let content = html! {
        @for number in 0..bands {
            (band(grid, number * MOST, number as f64 * band_height))
        }
        text.dim x="8" y=(line(0)) { (grid.key) }
        @for (place, words) in grid.columns.iter().enumerate() {
            text.dim x="8" y=(line(place + 1)) { (place + 1) ": " (shortened(words, ROOM)) }
        }
    };
    svg(WIDTH, line(grid.columns.len()) + 8.0, name, &content)
}

/// Draws some columns of all rows, from the column `first` on.
fn band(grid: &Grid, first: usize, top: f64) -> Markup {
    let columns = first..grid.columns.len().min(first + MOST);
    let left = |column: usize| LEFT + (column - first) as f64 * COLUMN;
    let line = |row: &GridRow, top: f64| {
        html! {
            text x=(LEFT - 8.0) y=(top + 16.0) text-anchor="end" { (row.name) }
            @for column in columns.clone() {
                @match row.cells.get(column).and_then(Option::as_ref) {
                    Some(one) => (cell(one, left(column), top, &row.name)),
                    None => text.dim x=(left(column) + COLUMN / 2.0) y=(top + 16.0) text-anchor="middle" { "–" },
                }
            }
        }
    };
    html! {
        @for column in columns.clone() {
            text x=(left(column) + COLUMN / 2.0) y=(top + HEAD - 7.0) text-anchor="middle" { (column + 1) }
        }
        @for (place, row) in grid.rows.iter().enumerate() {
            (line(row, top + HEAD + place as f64 * ROW))
        }
    }
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

    #[test]
    fn cells_have_their_share_and_only_the_first_have_a_frame() {
        let cell = |share: f64, is_first: bool| Some(GridCell { share, is_first, words: "1/s".into() });
        let rows = vec![
            GridRow { name: "std".into(), cells: vec![cell(1.0, true), cell(0.25, false)] },
            GridRow { name: "mcs".into(), cells: vec![None, cell(1.0, true)] },
        ];
        let picture =
            grid(&Grid { key: "shares", columns: vec!["2 threads".into(), "8 threads".into()], rows }, "ranking")
                .into_string();
        assert_eq!((picture.matches("class=\"frame\"").count(), picture.matches("class=\"fill\"").count()), (2, 3));
        assert!(picture.contains(">0.25<") && picture.contains("2: 8 threads") && picture.contains(">–<"), "{picture}");
        assert!(shade(0.1) < shade(0.9));
    }

    #[test]
    fn columns_beyond_the_width_are_below_the_others() {
        let columns: Vec<String> = (1..=9).map(|children| format!("{children} threads")).collect();
        let cells =
            columns.iter().map(|_| Some(GridCell { share: 0.5, is_first: false, words: "1/s".into() })).collect();
        let picture =
            grid(&Grid { key: "shares", columns, rows: vec![GridRow { name: "std".into(), cells }] }, "ranking")
                .into_string();
        assert_eq!((picture.matches(">std<").count(), picture.matches(">0.50<").count()), (2, 9));
    }
}
