//! A figure: its picture, static and as data for the script, and the tables with its numbers. A table scrolls by itself
//! where the page is narrow, and each heading has a link to itself.

use crate::draw::{self, DrawnPlot};
use crate::hues::Hues;
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

fn picture(figure: &Figure, hues: &Hues) -> Markup {
    let name = format!("{}; the table below contains the values", figure.title);
    html! {
        @match &figure.picture {
            Picture::Bars(bars) => {
                figure.bars {
                    @for one in draw::multiples(bars, &name, hues) {
                        div.static tabindex="0" { (one) }
                    }
                }
            }
            Picture::Stacks(stacks) => figure.stacks { div.static tabindex="0" { (draw::stacks(stacks, &name, hues)) } },
            Picture::Ladder(ladder) => {
                figure.ladder {
                    div.wide { (draw::wide_ladder(ladder, &name, hues)) }
                    div.narrow { (draw::narrow_ladder(ladder, &name, hues)) }
                }
            }
            Picture::Flame(flame) => figure.stacks { div.static tabindex="0" { (draw::flame(flame, &name)) } },
            Picture::Timeline(timeline) => {
                figure.stacks { div.static tabindex="0" { (draw::timeline(timeline, &name)) } }
            }
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
        }
    }
}

/// The longest cell that counts as a number; longer text may take several lines, whereas a value, its unit and its
/// interval stay on one.
const LONGEST_FIGURE: usize = 38;

fn is_words(cell: &str) -> bool {
    cell.chars().count() > LONGEST_FIGURE
}

/// Returns a table with numbers; `of` names its figure.
pub fn table(table: &Table, of: &str) -> Markup {
    html! {
        div.table tabindex="0" role="group" aria-label={ (of) ": " (table.caption) } {
            table {
                caption { (table.caption) }
                thead {
                    tr {
                        @for name in &table.header {
                            th scope="col" { (name) }
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
                                    td class=(if is_words(cell) { "words" } else { "short" }) { (cell) }
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
                "name": series.name, "label": look.words, "colour": look.colour, "pale": look.is_pale,
                "mark": series.mark.name(), "points": points,
            })
        })
        .collect();
    json!({"x": axis(&plot.x), "y": axis(&plot.y), "series": series})
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
