//! The values of several machines: grouped by machine, and the outlier compared with the spread between them.

use super::parameters;
use super::reading::metrics;
use archive::{Catalogue, Entry};
use instruments::statistics::comparison::Estimate;
use instruments::statistics::order::median;
use instruments::statistics::outlier::{Figure, LEAST_MACHINES, Outliers};
use record::{Metric, Naming, Source, Table, Unit, VariationSource};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use terminal::{Page, escaped, percent, ratio};

/// A value of a record.
pub struct Reading {
    pub host: String,
    pub record: String,
    pub experiment: String,
    pub cell: String,
    pub figure: &'static str,
    pub unit: Unit,
    pub estimate: Estimate,
}

/// The maximum number of records that are read, the newest.
const NEWEST: usize = 200;

/// Returns all values of records, each with its name and machine.
///
/// Computed values are the same everywhere, and omitted.
pub fn readings(records: &[(String, String, Vec<Metric>)]) -> Vec<Reading> {
    let naming = Naming::across(records.iter().flat_map(|(_, _, metrics)| metrics));
    let mut found = Vec::new();
    for (host, record, metrics) in records {
        let measured = metrics.iter().filter(|metric| metric.variation != VariationSource::Computed);
        found.extend(measured.map(|metric| Reading {
            host: host.clone(),
            record: record.clone(),
            experiment: metric.experiment.clone(),
            cell: naming.name(metric),
            figure: metric.figure,
            unit: metric.unit,
            estimate: metric.estimate(),
        }));
    }
    found
}

/// Returns the values of complete records of the archive that have the same parameters as one of these.
pub fn of_archive(catalogue: &Catalogue, alike: [&Source; 2]) -> anyhow::Result<Vec<Reading>> {
    let is_candidate = |entry: &&Entry| {
        !entry.summary.interrupted && alike.iter().any(|source| source.experiment == entry.summary.experiment)
    };
    let entries: Vec<&Entry> = catalogue.entries.iter().rev().filter(is_candidate).take(NEWEST).collect();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut records = Vec::new();
    catalogue.archive.each(&ids, |place, found| {
        let Ok((content, _)) = found else { return };
        let Ok(source) = record::understand("", &content) else { return };
        if alike.iter().any(|one| parameters::are_same(one, &source))
            && let Ok(metrics) = metrics(&source)
        {
            records.push((entries[place].summary.host.clone(), entries[place].id.clone(), metrics));
        }
    })?;
    Ok(readings(&records))
}

/// The share of groups of equal machines in which any is called an outlier, over all their values.
const FALSE_ALARMS: f64 = 0.05;

/// Several machines, and their outlying values.
#[derive(Serialize)]
pub struct Machines {
    pub machines: Vec<Machine>,
    /// The number of values that enough machines have for one to be an outlier.
    pub judged: usize,
    /// The bound on false alarms.
    pub false_alarms: f64,
    pub odd: Vec<Odd>,
}

#[derive(Serialize)]
pub struct Machine {
    pub host: String,
    pub records: usize,
    /// The number of values in which it is an outlier.
    pub odd: usize,
}

/// A value of a machine that differs from the other machines'.
#[derive(Serialize)]
pub struct Odd {
    pub host: String,
    pub experiment: String,
    pub cell: String,
    pub figure: String,
    #[serde(rename = "unit")]
    pub unit_name: &'static str,
    /// The median of the machine's runs, …
    pub value: f64,
    /// … the median of the other machines' …
    pub others: f64,
    /// … their number, …
    pub machines: usize,
    /// … and the range from the least to the greatest of them.
    pub others_from: f64,
    pub others_to: f64,
    #[serde(skip)]
    pub unit: Unit,
}

/// A machine's value, over all its runs.
struct Value<'a> {
    host: &'a str,
    logarithm: f64,
    error: f64,
}

impl Machines {
    /// Judges the machines of these readings; `None` for a single machine.
    pub fn of(readings: &[Reading]) -> Option<Self> {
        let mut records: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for reading in readings {
            records.entry(&reading.host).or_default().insert(&reading.record);
        }
        if records.len() < 2 {
            return None;
        }
        let figures = figures(readings);
        let sets: Vec<Figure> = figures.iter().map(|(_, values)| set(values)).collect();
        let found = Outliers::with_chance(FALSE_ALARMS).among(&sets);
        let odd = figures
            .iter()
            .zip(&found)
            .flat_map(|((first, values), places)| places.iter().map(|place| Odd::of(first, values, *place)));
        let odd: Vec<Odd> = odd.collect();
        let machine = |(host, records): (&str, BTreeSet<&str>)| Machine {
            host: host.to_owned(),
            records: records.len(),
            odd: odd.iter().filter(|odd| odd.host == host).count(),
        };
        let machines = records.into_iter().map(machine).collect();
        let judged = sets.iter().filter(|set| set.logarithms.len() >= LEAST_MACHINES).count();
        Some(Self { machines, judged, false_alarms: FALSE_ALARMS, odd })
    }
}

/// Returns, for each kind of value, the median of each machine's runs.
///
/// A value that is not above 0 has no ratio to others.
fn figures(readings: &[Reading]) -> Vec<(&Reading, Vec<Value<'_>>)> {
    let mut runs: BTreeMap<(&str, &str, &str), BTreeMap<&str, Vec<&Reading>>> = BTreeMap::new();
    for reading in readings.iter().filter(|reading| reading.estimate.value > 0.0) {
        let figure = runs.entry((&reading.experiment, &reading.cell, reading.figure)).or_default();
        figure.entry(&reading.host).or_default().push(reading);
    }
    let mut found = Vec::new();
    for machines in runs.values() {
        let Some(first) = machines.values().flatten().next() else { continue };
        found.push((*first, machines.iter().filter_map(|(host, runs)| Value::of(host, runs)).collect()));
    }
    found
}

impl<'a> Value<'a> {
    fn of(host: &'a str, runs: &[&Reading]) -> Option<Self> {
        let all = |what: fn(&Reading) -> f64| median(&runs.iter().map(|run| what(run)).collect::<Vec<f64>>());
        let logarithm = all(|run| run.estimate.value.ln())?;
        Some(Self { host, logarithm, error: all(|run| run.estimate.error())? })
    }
}

/// Returns the values for the judgement; the uncertainty of each is a spread that equal machines have too.
fn set(values: &[Value<'_>]) -> Figure {
    let errors: Vec<f64> = values.iter().map(|value| value.error).collect();
    Figure {
        logarithms: values.iter().map(|value| value.logarithm).collect(),
        least_spread: median(&errors).unwrap_or(0.0),
    }
}

impl Odd {
    fn of(figure: &Reading, values: &[Value<'_>], place: usize) -> Self {
        let others = values.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<f64> = others.map(|(_, value)| value.logarithm.exp()).collect();
        Self {
            host: values[place].host.to_owned(),
            experiment: figure.experiment.clone(),
            cell: figure.cell.clone(),
            figure: figure.figure.to_owned(),
            unit_name: figure.unit.unit(),
            value: values[place].logarithm.exp(),
            others: median(&others).unwrap_or(f64::NAN),
            machines: others.len(),
            others_from: others.iter().copied().fold(f64::INFINITY, f64::min),
            others_to: others.iter().copied().fold(0.0, f64::max),
            unit: figure.unit,
        }
    }
}

/// The maximum number of outlying values of a machine that are printed; the trend of its cell contains each.
const SAID: usize = 5;

/// Shows a line for each machine, then the outliers.
pub fn text(machines: &Machines, page: &Page) -> String {
    let table = table(machines);
    let mut text = page.cut_lines(&terminal::table_of_words(&table.header, table.rows));
    for machine in machines.machines.iter().filter(|machine| machine.odd > 0) {
        let of_it: Vec<&Odd> = machines.odd.iter().filter(|odd| odd.host == machine.host).collect();
        text += &terminal::wrapped("outlier:", "  ", &escaped(&machine.host), page);
        for odd in of_it.iter().take(SAID) {
            text += &terminal::wrapped(" ", "   ", &escaped(&words(odd)), page);
        }
        if let Some(more @ 1..) = of_it.len().checked_sub(SAID) {
            text += &format!("  and {more} more metrics\n");
        }
    }
    text + &terminal::wrapped("", "", &bound(machines), page) + "\n"
}

/// Returns a table with a line for each machine.
pub fn table(machines: &Machines) -> Table {
    let row = |machine: &Machine| {
        let odd = if machine.odd == 0 { "–".to_owned() } else { machine.odd.to_string() };
        vec![escaped(&machine.host).into_owned(), machine.records.to_string(), odd]
    };
    Table {
        caption: bound(machines),
        header: vec!["machine", "records", "outlying metrics"],
        rows: machines.machines.iter().map(row).collect(),
    }
}

/// Writes an outlying value and those of the other machines.
fn words(odd: &Odd) -> String {
    let value = |value: f64| odd.unit.words(value);
    format!(
        "{}: {}: {}: {}, {} the median of the other machines, {} (range {}–{})",
        odd.experiment,
        odd.cell,
        odd.figure,
        value(odd.value),
        ratio(odd.value / odd.others),
        value(odd.others),
        value(odd.others_from),
        value(odd.others_to)
    )
}

/// Writes the claim, and its limits.
fn bound(machines: &Machines) -> String {
    if machines.judged == 0 {
        return format!("Outlier detection needs a metric that {LEAST_MACHINES} machines have in common.");
    }
    let (judged, chance) = (machines.judged, percent(machines.false_alarms));
    let found = if machines.odd.is_empty() {
        "No machine is an outlier"
    } else {
        "The machines above are outliers relative to the spread between machines"
    };
    format!(
        "{found} ({judged} metrics; a group of equal machines has any outlier with a probability of at most {chance})."
    )
}
