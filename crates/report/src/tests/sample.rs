//! Records and sections with a text of choice in every place that takes one.

use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{
    Axis, Bar, Bars, Cost, Figure, Flame, FlamePart, Ladder, Lane, Mark, Picture, Plot, Point, SCHEMA, Section, Series,
    Source, Span, Spikes, Stack, StackPart, Statement, Table, Timeline, Unit, understand,
};
use serde_json::json;

pub const PLAIN: &str = "plain";
/// The text is short enough not to be shortened anywhere.
pub const EVIL: &str = "</script><img onerror='x()'>\" onload=\"&amp; \0\u{b}\u{1b}\u{9f}\u{202e}\r";

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

/// Returns every kind of picture that is not a plot with a kind of marks.
pub fn other_pictures(text: &str) -> [Picture; 4] {
    let Picture::Plot(locks) = plot(Mark::Line, text) else { unreachable!("it is one") };
    let Picture::Plot(spikes) = plot(Mark::Columns, text) else { unreachable!("it is one") };
    let part = |name: &str, share| StackPart { words: name.into(), cause: name.into(), share };
    let stack = Stack { name: text.to_owned(), parts: vec![part(text, 0.9), part("small", 0.01)] };
    let Picture::Plot(causes) = plot(Mark::Points, text) else { unreachable!("it is one") };
    [
        Picture::Locks(locks),
        Picture::Causes(causes),
        Picture::Spikes(Spikes {
            plot: spikes,
            lock: text.to_owned(),
            words: vec![text.to_owned()],
            details: vec![text.to_owned()],
        }),
        Picture::Stacks(vec![stack]),
    ]
}

pub fn bars(text: &str) -> Picture {
    let bar = Bar { name: text.to_owned(), value: Ok(2.0), interval: None, limit: Some((3.0, text.to_owned())) };
    Picture::Bars(Bars { unit: Unit::Times, logarithmic: false, bars: vec![bar] })
}

pub fn flame(text: &str) -> Picture {
    let part = |parts| FlamePart { name: text.to_owned(), value: 2.0, parts };
    Picture::Flame(Flame { unit: Unit::Ns, parts: vec![part(vec![part(vec![])])] })
}

pub fn timeline(text: &str) -> Picture {
    let span = Span { name: text.to_owned(), from_ns: 1.0, to_ns: 5.0, group: 1 };
    Picture::Timeline(Timeline { lanes: vec![Lane { name: text.to_owned(), spans: vec![span] }] })
}

/// Returns a section with a figure for every kind of picture.
pub fn section(experiment: &'static str, text: &str) -> Section {
    let marks = [Mark::Columns, Mark::Line, Mark::Points, Mark::Outline];
    let plots = marks.map(|mark| figure(plot(mark, text), 2, text));
    let drawn = [bars(text), flame(text), timeline(text)].map(|picture| figure(picture, 2, text));
    let secondary = Figure { secondary: true, ..figure(bars(text), 2, text) };
    Section {
        experiment,
        title: format!("section {text}"),
        findings: vec![Statement { words: text.to_owned(), about: None, is_repeated: false }],
        figures: plots
            .into_iter()
            .chain(other_pictures(text).map(|picture| figure(picture, 2, text)))
            .chain(drawn)
            .chain([secondary])
            .collect(),
        histograms: vec![],
    }
}

/// Returns a ladder whose cost has an interval, values of two years, and a lock.
pub fn ladder(text: &str) -> Option<Ladder> {
    let estimate = |ns: f64| Estimate::new(ns, Some(Interval::new(ns / 3.0, ns * 3.0)));
    let lock = Cost::new(text, text, estimate(20.0))
        .by_lock(text)
        .with_old_value(1998, Some(600.0))
        .with_old_value(2002, Some(150.0));
    Some(Ladder::of([Cost::new(format!("a gap {text}"), text, estimate(4e6)), lock]))
}
