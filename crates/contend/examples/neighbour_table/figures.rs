//! Figures of several runs, and the table that they make.

use anyhow::Context;
use instruments::statistics::Interval;
use instruments::statistics::order::median;
use record::{Metric, Naming, Unit};
use serde_json::Value;
use std::collections::BTreeMap;

/// The way a run was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Both,
    Ignored,
}

/// Values, by experiment, cell and metric.
#[derive(Default)]
pub struct Figures(BTreeMap<[String; 3], Figure>);

struct Figure {
    unit: Unit,
    /// Values of the runs that did not look.
    ignored: Way,
    /// Values of the runs that looked, from the time when the core was exclusive.
    alone: Way,
    shared_shares: Vec<f64>,
    correlations: Vec<f64>,
}

#[derive(Default)]
struct Way {
    values: Vec<f64>,
    /// Widths of the intervals, as shares of their figures.
    widths: Vec<f64>,
}

impl Figures {
    /// Adds a record's.
    pub fn add(&mut self, way: Seen, record: &Value) -> anyhow::Result<()> {
        let name = record["experiment"].as_str().unwrap_or_default();
        let entry = experiments::named(name).with_context(|| name.to_owned())?;
        for row in record["results"].as_array().into_iter().flatten() {
            for metric in entry.read(&[(0, row)])?.metrics() {
                self.add_metric(name, way, row, &metric);
            }
        }
        Ok(())
    }

    fn add_metric(&mut self, experiment: &str, way: Seen, row: &Value, metric: &Metric) {
        let cell = Naming::default().name(metric);
        let key = [experiment.to_owned(), cell, metric.figure.to_owned()];
        let figure = self.0.entry(key).or_insert_with(|| Figure {
            unit: metric.unit,
            ignored: Way::default(),
            alone: Way::default(),
            shared_shares: Vec::new(),
            correlations: Vec::new(),
        });
        match way {
            Seen::Ignored => figure.ignored.add(metric.value, metric.interval),
            Seen::Both => {
                figure.shared_shares.extend(row["core_shared_share"].as_f64());
                figure.correlations.extend(row["core_correlation"].as_f64());
                let alone = metric.alone.iter();
                alone.for_each(|alone| figure.alone.add(alone.value, alone.interval));
            }
        }
    }

    /// Returns a table in Markdown of the values that were distinguished.
    pub fn table(&self) -> String {
        let header = "| figure | not looked: median of the runs | interval in a run | from run to run | \
                      alone: median of the runs | interval in a run | from run to run | shared | correlation |\n\
                      |---|---|---|---|---|---|---|---|---|\n";
        let looked = self.0.iter().filter(|(_, figure)| !figure.alone.values.is_empty());
        let line = |([experiment, cell, name], figure): (&[String; 3], &Figure)| {
            let shares = range(&figure.shared_shares, percent);
            let correlation = range(&figure.correlations, |value| format!("{value:.2}"));
            let [ignored, alone] = [&figure.ignored, &figure.alone].map(|way| way.cells(figure.unit));
            format!("| {experiment}: {cell}: {name} | {ignored} | {alone} | {shares} | {correlation} |\n")
        };
        header.to_owned() + &looked.map(line).collect::<String>()
    }
}

impl Way {
    fn add(&mut self, value: f64, interval: Option<Interval>) {
        self.values.push(value);
        self.widths.extend(interval.map(|ends| (ends.high - ends.low) / value));
    }

    /// Returns the median, the median width of its interval, and the difference between the runs.
    fn cells(&self, unit: Unit) -> String {
        let Some(middle) = median(&self.values) else { return "– | – | –".to_owned() };
        let (least, most) = ends(&self.values);
        let width = median(&self.widths).map_or_else(|| "–".to_owned(), percent);
        format!("{} | {width} | {}", unit.words(middle), percent((most - least) / middle.abs()))
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(*value), most.max(*value)))
}

/// Returns the least and the largest value, as text.
fn range(values: &[f64], words: impl Fn(f64) -> String) -> String {
    let (least, most) = ends(values);
    if values.is_empty() { "–".to_owned() } else { format!("{} to {}", words(least), words(most)) }
}

/// Returns a share as a terminal prints it.
fn percent(share: f64) -> String {
    terminal::percent(share)
}
