//! What the page's script draws a plot from.

use crate::looks::Look;
use maud::{Markup, PreEscaped};
use record::{Axis, Mark, Plot, Point};
use serde_json::{Value, json};
use terminal::escaped_json;

/// JSON for a script element: escaping is JSON's own there, since no other is undone, and no `<` may end the element.
pub fn plot_data(plot: &Plot, looks: &[Look]) -> Markup {
    PreEscaped(escaped_json(&data(plot, looks).to_string()).replace('<', "\\u003c"))
}

fn data(plot: &Plot, looks: &[Look]) -> Value {
    let axis = |axis: &Axis| json!({"label": axis.label, "quantity": axis.unit.name(), "log": axis.logarithmic});
    let point = |mark: Mark, point: &Point| {
        // Many events lie close together on a long axis.
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

/// Five digits: more than a picture shows.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looks::in_turn;
    use record::{Series, Unit};

    #[test]
    fn no_text_ends_the_script_element_and_all_of_it_can_be_read_back() {
        let axis = || Axis { label: "", unit: Unit::Ns, logarithmic: false };
        let series = Series {
            name: "</script><script>\u{202e}\u{1b}".into(),
            mark: Mark::Line,
            points: vec![Point::new(1.0, 2.0)],
        };
        let plot = Plot { x: axis(), y: axis(), series: vec![series] };
        let looks = in_turn(&plot);
        let text = plot_data(&plot, &looks).into_string();
        assert!(!text.contains(['<', '\u{202e}', '\u{1b}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data(&plot, &looks));
    }
}
