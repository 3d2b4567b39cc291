//! Records and sections with a text of choice in every place that takes one.

use record::{
    Axis, Bar, Bars, Figure, Mark, Picture, Plot, Point, SCHEMA, Section, Series, Source, Statement, Table, Unit,
    understand,
};
use serde_json::json;

pub const PLAIN: &str = "plain";
/// Short enough to be written wherever a text is.
pub const EVIL: &str = "</script><img onerror='x()'>\" onload=\"&amp; \0\u{7f}\u{9b}\r";

pub fn source(experiment: &str, text: &str) -> Source {
    let record = json!({
        "schema": SCHEMA,
        "experiment": experiment,
        "environment": {"command_line": [text], "cpu": {"model": text}, text: text},
        "parameters": {},
        "results": [{"experiment": "latency"}, {"experiment": "survey"}],
        "warnings": [{"code": text, "message": text, "remedy": text}],
    });
    understand(text, record.to_string().as_bytes()).unwrap()
}

fn table(rows: usize, text: &str) -> Table {
    let row = |_| vec![text.to_owned(), text.to_owned()];
    Table { caption: format!("{rows} rows {text}"), header: vec!["name", "value"], rows: (0..rows).map(row).collect() }
}

pub fn figure(picture: Picture, rows: usize, text: &str) -> Figure {
    Figure { title: format!("figure {text}"), picture, tables: vec![table(rows, text)], secondary: false }
}

pub fn plot(mark: Mark, text: &str) -> Picture {
    let axis = || Axis { label: "time", unit: Unit::Ns, logarithmic: true };
    let point = |x| Point { x, y: 2.0 * x, low: Some(x / 2.0), high: Some(x * 2.0) };
    let series = Series { name: text.to_owned(), mark, points: [1.0, 10.0, 100.0].map(point).into() };
    Picture::Plot(Plot { x: axis(), y: axis(), series: vec![series] })
}

pub fn bars(text: &str) -> Picture {
    let bar = Bar { name: text.to_owned(), value: 2.0, interval: None, limit: Some((3.0, text.to_owned())) };
    Picture::Bars(Bars { unit: Unit::Times, logarithmic: false, bars: vec![bar] })
}

/// A figure for every kind of picture.
pub fn section(experiment: &'static str, text: &str) -> Section {
    let marks = [Mark::Columns, Mark::Line, Mark::Points, Mark::Outline];
    let plots = marks.map(|mark| figure(plot(mark, text), 2, text));
    let secondary = Figure { secondary: true, ..figure(bars(text), 2, text) };
    Section {
        experiment,
        title: format!("section {text}"),
        findings: vec![Statement { words: text.to_owned(), about: None }],
        figures: plots.into_iter().chain([figure(bars(text), 2, text), secondary]).collect(),
        histograms: vec![],
    }
}
