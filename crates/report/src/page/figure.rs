//! A figure: its picture, static and as data for the script, and the tables with its numbers. A table scrolls by itself
//! where the page is narrow, and each heading has a link to itself.

use crate::draw::{self, DrawnPlot, begins_at_zero, has_counts, whole_values};
use crate::hues::{Hues, class, is_old};
use maud::{Markup, PreEscaped, html};
use record::{Axis, Figure, Mark, Picture, Point, Table};
use serde_json::{Value, json};
use terminal::escaped_json;

/// Longer tables are folded below their picture.
const LONG_TABLE: usize = 12;

pub fn figure(figure: &Figure, id: &str, level: Level, hues: &Hues) -> Markup {
    html! {
        section.figure {
            (heading(level, id, &figure.title))
            @if has_old_values(figure) { (years(id)) }
            (picture(figure, hues))
            @for one in &figure.tables {
                @if is_folded(figure, one) {
                    details {
                        summary { (one.caption) }
                        (table(one, &figure.title))
                    }
                } @else {
                    (table(one, &figure.title))
                }
            }
        }
    }
}

/// Returns whether the table only repeats its picture, at length.
fn is_folded(figure: &Figure, table: &Table) -> bool {
    match figure.picture {
        Picture::None => false,
        // The picture already has it in words.
        Picture::Ladder(_) | Picture::Spikes(_) | Picture::Stacks(_) => true,
        _ => table.rows.len() > LONG_TABLE,
    }
}

/// Returns whether the picture has values of an old document next to today's.
fn has_old_values(figure: &Figure) -> bool {
    match &figure.picture {
        Picture::Ladder(ladder) => ladder.costs.iter().any(|cost| !cost.then.is_empty()),
        Picture::Locks(plot) => plot.series.iter().any(|series| is_old(&series.name)),
        _ => false,
    }
}

/// Returns a choice between the values of the old documents and today's. It needs no script.
fn years(id: &str) -> Markup {
    html! {
        fieldset.years {
            legend { "Values" }
            @for (place, (value, words)) in [("both", "both"), ("old", "1998 to 2008"), ("now", "now")].into_iter().enumerate() {
                label {
                    input type="radio" name={ "years-" (id) } value=(value) checked[place == 0];
                    " " (words)
                }
            }
        }
    }
}

fn picture(figure: &Figure, hues: &Hues) -> Markup {
    let name = format!("{}; the table below contains the values", figure.title);
    if let Some(empty) = draw::empty(&figure.picture, &name) {
        return html! { figure.stacks { div.static { (empty) } } };
    }
    html! {
        @match &figure.picture {
            Picture::Bars(bars) => {
                figure.bars {
                    @for one in draw::multiples(bars, &name, hues) {
                        div.static tabindex="0" { (one) }
                    }
                }
            }
            Picture::Stacks(stacks) => {
                figure.stacks {
                    div.wide { (draw::wide_stacks(stacks, &name, hues)) }
                    div.narrow { (draw::narrow_stacks(stacks, &name, hues)) }
                }
            }
            Picture::Ladder(ladder) => {
                figure.ladder {
                    div.wide { (draw::wide_ladder(ladder, &name, hues)) }
                    div.narrow { (draw::narrow_ladder(ladder, &name, hues)) }
                }
            }
            Picture::Flame(flame) => figure.stacks { div.static tabindex="0" { (draw::flame(flame, &name, hues)) } },
            Picture::Timeline(timeline) => {
                figure.stacks { div.static tabindex="0" { (draw::timeline(timeline, &name)) } }
            }
            Picture::Grid(grid) => figure.stacks { div.static tabindex="0" { (draw::grid(grid, &name)) } },
            Picture::Map(map) => figure.stacks { div.static tabindex="0" { (draw::map(map, &name)) } },
            other => @if let Some(drawn) = DrawnPlot::from_picture(other, hues) { (plot(&drawn, &name)) },
        }
    }
}

fn plot(drawn: &DrawnPlot<'_>, name: &str) -> Markup {
    html! {
        figure.plot.spikes[drawn.has_spikes] {
            div.static tabindex="0" { (draw::plot(drawn, name)) }
            script type="application/json" { (plot_data(drawn)) }
            (details(drawn))
        }
    }
}

/// Returns the spikes of a histogram with their causes and details, for all readers.
fn details(drawn: &DrawnPlot<'_>) -> Markup {
    html! {
        @if drawn.looks.iter().any(|look| look.details.is_some()) {
            ul.spike-list {
                @for look in &drawn.looks {
                    li tabindex="0" {
                        span class={ "mark " (class(look.colour)) } aria-hidden="true" { "■" }
                        " " strong { (look.words) }
                        @if let Some(details) = &look.details { ". " (details) }
                    }
                }
            }
        }
    }
}

/// The longest cell that counts as a number; longer text may take several lines, whereas a value, its unit and its
/// interval stay on one.
const LONGEST_FIGURE: usize = 38;

fn is_words(cell: &str) -> bool {
    cell.chars().count() > LONGEST_FIGURE
}

/// Returns whether a column has words; columns of numbers are aligned at the right.
fn has_words(table: &Table, column: usize) -> bool {
    let is_number = |cell: &&String| {
        let first = cell.trim_start_matches(['<', '>', '≤', '≥', '~', '+', '-', '−', ' ', '(']).chars().next();
        first.is_none_or(|first| first.is_ascii_digit() || first == '–')
    };
    let cells: Vec<&String> = table.rows.iter().filter_map(|row| row.get(column)).collect();
    cells.iter().filter(|cell| !is_number(cell)).count() * 2 > cells.len()
}

/// Returns the class of a cell: left or right, in one line or in several.
fn cell_class(has_words: bool, cell: &str) -> &'static str {
    match (has_words, is_words(cell)) {
        (true, true) => "text words",
        (true, false) => "text short",
        (false, true) => "words",
        (false, false) => "short",
    }
}

/// Returns a table with numbers; `of` names its figure.
pub fn table(table: &Table, of: &str) -> Markup {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0).max(table.header.len());
    let texts: Vec<bool> = (0..columns).map(|column| has_words(table, column)).collect();
    html! {
        div.table tabindex="0" role="group" aria-label={ (of) ": " (table.caption) } {
            table {
                caption { (table.caption) }
                thead {
                    tr {
                        @for (place, name) in table.header.iter().enumerate() {
                            th.text[texts[place]] scope="col" { (name) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 {
                                    th scope="row" { (cell) }
                                } @else {
                                    td class=(cell_class(texts[place], cell)) { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns JSON for a script element: only JSON's own escapes work there, and no `<` may end the element.
fn plot_data(drawn: &DrawnPlot<'_>) -> Markup {
    PreEscaped(escaped_json(&data(drawn).to_string()).replace('<', "\\u003c"))
}

fn data(drawn: &DrawnPlot<'_>) -> Value {
    let DrawnPlot { plot, looks, .. } = drawn;
    let axis = |axis: &Axis| json!({"label": axis.label, "quantity": axis.unit.name(), "log": axis.logarithmic});
    let point = |mark: Mark, point: &Point| {
        // Many events are close together on a long axis.
        let x = if mark == Mark::Points { point.x.round() } else { short(point.x) };
        json!([x, short(point.y), point.low.map(short), point.high.map(short)])
    };
    let series: Vec<Value> = plot
        .series
        .iter()
        .zip(looks)
        .map(|(series, look)| {
            let points: Vec<Value> = series.points.iter().map(|one| point(series.mark, one)).collect();
            json!({
                "name": series.name, "label": look.words, "colour": look.colour, "pale": look.is_pale, "old": look.is_old, "dash": look.dash,
                "mark": series.mark.name(), "points": points,
            })
        })
        .collect();
    let (mut x, mut y) = (axis(&plot.x), axis(&plot.y));
    x["marks"] = json!(whole_values(plot));
    y["counts"] = json!(has_counts(plot));
    y["zero"] = json!(begins_at_zero(&plot.y));
    json!({"x": x, "y": y, "series": series})
}

/// Rounds to five digits, which is more than a picture shows.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Chapter,
    Section,
    Figure,
}

/// Returns a heading with this name and a link to itself.
pub fn heading(level: Level, id: &str, text: &str) -> Markup {
    let content = html! { (text) " " a.permalink href={ "#" (id) } aria-label={ "Link to " (text) } { "#" } };
    match level {
        Level::Chapter => html! { h2 id=(id) { (content) } },
        Level::Section => html! { h3 id=(id) { (content) } },
        Level::Figure => html! { h4 id=(id) { (content) } },
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use record::{Plot, Series, Unit};

    #[test]
    fn text_cannot_end_the_script_element_and_is_read_back() {
        let axis = || Axis { label: "", unit: Unit::Ns, logarithmic: false };
        let series = Series {
            name: "</script><script>\u{202e}\u{1b}".into(),
            mark: Mark::Line,
            points: vec![Point::new(1.0, 2.0)],
        };
        let plot = Plot { x: axis(), y: axis(), series: vec![series] };
        let drawn = DrawnPlot::new(&plot, |place, _| place);
        let text = plot_data(&drawn).into_string();
        assert!(!text.contains(['<', '\u{202e}', '\u{1b}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data(&drawn));
    }
}
