//! Histograms of latencies with lettered spikes.

use super::exclusion::{sentences, sound};
use super::ranking::{FreePairs, PAIR, WAIT, ranking};
use super::record::{Operation, Row, SpikeRow};
use instruments::statistics::comparison::Estimate;
use record::ranking::timed_lock;
use record::ranking_figure::figures;
use record::{
    Axis, Figure, Histogram, Mark, Picture, Plot, Point, Section, Series, Spikes, Statement, Table, Unit, column,
    distinct,
};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use terminal::{count, nanoseconds, percent};

pub fn section(all: &[Row]) -> Section {
    let rows = &sound(all)[..];
    let (broken, clean) = sentences(all);
    Section {
        experiment: "latency",
        title: "Latency of locks".into(),
        findings: broken.into_iter().chain(findings(rows)).chain(clean).map(Statement::from).collect(),
        figures: figures(&ranking(rows), &[PAIR, WAIT])
            .into_iter()
            .chain(rows.iter().filter(|row| drawn(row)).map(figure))
            .collect(),
        histograms: locking(rows).map(cell_histogram).collect(),
    }
}

/// Returns whether the row is drawn: locking for every thread; unlocking and round trips are similar, so the first
/// thread represents all.
fn drawn(row: &Row) -> bool {
    row.thread == 0 || row.operation == Operation::Lock
}

fn locking(rows: &[Row]) -> impl Iterator<Item = &Row> {
    rows.iter().filter(|row| row.operation == Operation::Lock)
}

fn row_words(row: &Row) -> String {
    let thread = if row.threads > 1 { format!(", thread {}", row.thread) } else { String::new() };
    format!("{}{thread}", row.cell())
}

fn findings(rows: &[Row]) -> Vec<String> {
    let lone = |row: &&Row| row.threads == 1 && row.competitors == 0;
    let pairs = FreePairs::of(rows);
    let mut findings: Vec<String> = locking(rows).filter(lone).map(|row| uncontended(row, pairs)).collect();
    let cells = distinct(rows, Row::cell);
    for cell in cells.iter().filter(|cell| cell.threads > 1 || cell.competitors > 0) {
        let worst = locking(rows)
            .filter(|row| row.cell() == *cell)
            .max_by(|a, b| a.p999_ns.partial_cmp(&b.p999_ns).unwrap_or(Ordering::Equal));
        findings.extend(worst.map(contended));
    }
    findings
}

fn uncontended(row: &Row, pairs: FreePairs) -> String {
    match pairs.of_row(row) {
        Some(pair) => format!(
            "Locking and unlocking an uncontended {} takes {} ({}); the p99.9 of locking is {}.",
            timed_lock(&row.lock),
            Unit::Ns.estimate(pair),
            pairs.words(),
            row.words(row.p999_ns)
        ),
        None => format!("Locking an uncontended {} takes {} (median).", timed_lock(&row.lock), row.words(row.p50_ns)),
    }
}

fn contended(row: &Row) -> String {
    let slow = row
        .spikes
        .iter()
        .filter(|spike| spike.share < 0.5)
        .filter_map(|spike| Some((spike.share * spike.mean_ns?, spike)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let bump = slow.map(|(_, spike)| {
        let (label, share) = (&spike.label, percent(spike.share));
        format!(
            " The costliest spike is {label}, {share} of the locks at {}: {}.",
            row.words(spike.median_ns),
            spike.cause
        )
    });
    format!(
        "{}: the median time to lock is {}, the p99.9 {}.{}",
        row.cell(),
        row.words_with(row.p50_ns, row.p50_ci_ns),
        row.words(row.p999_ns),
        bump.unwrap_or_default()
    )
}

fn figure(row: &Row) -> Figure {
    let columns = columns(row);
    let series = series(&columns);
    Figure {
        title: format!("{}: {}", row_words(row), row.operation.noun()),
        picture: Picture::Spikes(Spikes {
            words: series.iter().map(|one| words(row, &one.name)).collect(),
            details: series.iter().map(|one| details(row, &one.name)).collect(),
            plot: Plot {
                x: Axis { label: "latency", unit: Unit::Ns, logarithmic: true },
                y: Axis { label: "count", unit: Unit::Number, logarithmic: true },
                series,
            },
            lock: row.lock.clone(),
        }),
        tables: vec![quantiles(row), spikes(row), histogram(&columns)],
        secondary: row.operation != Operation::Lock,
    }
}

/// Returns the label of a spike in the picture: letter, share and cause.
fn words(row: &Row, letter: &str) -> String {
    match row.spikes.iter().find(|spike| spike.label == letter) {
        Some(spike) => format!("{letter} {}, {}", percent(spike.share), spike.cause),
        None => format!("{letter} {}, scattered", percent(row.leftover_share)),
    }
}

/// Returns the iterations of a spike, its range, its evidence, and the spike that it repeats.
fn details(row: &Row, letter: &str) -> String {
    let Some(spike) = row.spikes.iter().find(|spike| spike.label == letter) else {
        return "Iterations outside of the spikes.".into();
    };
    let range = format!("{}–{}", nanoseconds(spike.from_ns), nanoseconds(spike.to_ns));
    let mut text = format!("{} iterations, {range}, median {}.", count(spike.count), row.words(spike.median_ns));
    if let Some(share) = spike.cause_share {
        text += &format!(" This cause has {} of the excess time.", percent(share));
    }
    if let Some(share) = spike.evidence_share {
        text += &format!(" Evidence for it: {} of the iterations that were traced.", percent(share));
    }
    if let Some((of, delay)) = spike.echo_of.as_ref().zip(spike.delay_ns) {
        text += &format!(" It repeats spike {of} after {}.", nanoseconds(delay));
    }
    text
}

/// Some adjacent bins.
struct Column {
    from_ns: f64,
    to_ns: f64,
    count: u64,
    letters: BTreeMap<char, u64>,
}

impl Column {
    /// Returns the letter of the spike that has most of its hits.
    fn letter(&self) -> char {
        self.letters.iter().max_by_key(|(_, count)| **count).map_or('#', |(letter, _)| *letter)
    }
}

/// The maximum ratio of the ends of a column: a quarter of an octave.
const WIDENING: f64 = 1.19;

/// Returns the columns.
///
/// Bins are as fine as the clock, which is finer than a picture can show.
fn columns(row: &Row) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for bin in row.histogram.iter().filter(|bin| bin.count > 0) {
        let letter = row.letter_of(bin).unwrap_or('#');
        let fits = |column: &&mut Column| bin.to_ns <= column.from_ns.max(0.0) * WIDENING && bin.to_ns >= column.to_ns;
        match columns.last_mut().filter(fits) {
            Some(column) => {
                column.to_ns = bin.to_ns;
                column.count = column.count.saturating_add(bin.count);
                let hits = column.letters.entry(letter).or_default();
                *hits = hits.saturating_add(bin.count);
            }
            None => columns.push(Column {
                from_ns: bin.from_ns,
                to_ns: bin.to_ns,
                count: bin.count,
                letters: [(letter, bin.count)].into(),
            }),
        }
    }
    columns
}

fn series(columns: &[Column]) -> Vec<Series> {
    let mut letters: Vec<char> = columns.iter().map(Column::letter).collect();
    letters.sort_unstable_by_key(|letter| (*letter == '#', *letter));
    letters.dedup();
    // A logarithmic axis has no zero: a time below the clock's step begins at half of it.
    let positive = columns.iter().map(|column| column.to_ns).filter(|to| *to > 0.0);
    let least = positive.fold(f64::INFINITY, f64::min) / 2.0;
    let point = |column: &Column| {
        let (from, to) = (column.from_ns.max(least), column.to_ns.max(least));
        Point { x: (from * to).sqrt(), y: column.count as f64, low: Some(from), high: Some(to) }
    };
    let of = |letter: char| columns.iter().filter(move |column| column.letter() == letter);
    letters
        .into_iter()
        .map(|letter| Series { name: letter.to_string(), mark: Mark::Columns, points: of(letter).map(point).collect() })
        .collect()
}

fn quantiles(row: &Row) -> Table {
    let line = |name: &str, value: String| vec![name.to_owned(), value];
    let mean = |known: Option<Estimate>| match known {
        Some(mean) => Unit::Ns.words_with(mean.value, mean.interval),
        None => format!("< {}", nanoseconds(row.accuracy_ns.unwrap_or(row.resolution_ns))),
    };
    Table {
        caption: format!("{} iterations{}", count(row.count), excluded(row)),
        header: vec!["quantile", "latency (95 % CI)"],
        rows: vec![
            line("minimum", row.words(row.min_ns)),
            line("median", row.words_with(row.p50_ns, row.p50_ci_ns)),
            line("p90", row.words_with(row.p90_ns, row.p90_ci_ns)),
            line("p99", row.words_with(row.p99_ns, row.p99_ci_ns)),
            line("p99.9", row.words_with(row.p999_ns, row.p999_ci_ns)),
            line("maximum", row.words(row.max_ns)),
            line(undisturbed_words(row), mean(row.undisturbed_mean())),
            line("mean", mean(row.mean_ns.map(Estimate::from))),
        ],
    }
}

fn excluded(row: &Row) -> String {
    match row.excluded_count {
        0 => String::new(),
        rounds => format!("; {} more, during another thread's probe, are excluded", count(rounds)),
    }
}

/// Names the iterations of the undisturbed mean.
fn undisturbed_words(row: &Row) -> &'static str {
    match row.undisturbed().exclusive {
        Some(_) => "mean of undisturbed iterations, core exclusive",
        None => "mean of undisturbed iterations",
    }
}

/// A spike with the row that it belongs to.
pub struct SpikeLine<'a> {
    pub row: &'a Row,
    pub spike: &'a SpikeRow,
}

/// Returns the columns of a table of spikes.
///
/// On a terminal the causes follow in separate lines.
pub fn spike_columns<'a>(operation: Operation) -> [SpikeColumn<'a>; 6] {
    let heading = match operation {
        Operation::Lock => "  locking",
        Operation::Unlock => "  unlocking",
        Operation::RoundTrip => "  round trip",
    };
    [
        SpikeColumn::terminal(heading, |line| Some(format!("  ({})", line.spike.label)))
            .with_page("spike", |line| Some(line.spike.label.clone())),
        SpikeColumn::new("share", |line| Some(percent(line.spike.share))),
        SpikeColumn::terminal("mean", |line| {
            Some(line.spike.mean_ns.map_or_else(|| line.row.words(None), nanoseconds))
        }),
        SpikeColumn::terminal("median", |line| Some(line.row.words(line.spike.median_ns)))
            .with_page("median (95 % CI)", |line| {
                Some(line.row.words_with(line.spike.median_ns, line.spike.median_ci_ns))
            }),
        SpikeColumn::new("range", |line| {
            Some(format!("{}–{}", nanoseconds(line.spike.from_ns), nanoseconds(line.spike.to_ns)))
        }),
        SpikeColumn::terminal("", |line| {
            let (parent, delay) = (line.spike.echo_of.as_ref()?, line.spike.delay_ns?);
            Some(format!("echo of ({parent}), +{}", nanoseconds(delay)))
        })
        .with_page("cause", |line| {
            let echo = line.spike.echo_of.as_ref().map_or_else(String::new, |of| format!("; echo of {of}"));
            Some(line.spike.cause.clone() + &echo)
        }),
    ]
}

type SpikeColumn<'a> = record::Column<SpikeLine<'a>>;

fn spikes(row: &Row) -> Table {
    let lines: Vec<SpikeLine<'_>> = row.spikes.iter().map(|spike| SpikeLine { row, spike }).collect();
    let mut table = column::on_page("Spikes", &spike_columns(row.operation), &lines);
    let scattered = ["#", &percent(row.leftover_share), "–", "–", "scattered, outside spikes"];
    table.rows.push(scattered.map(str::to_owned).to_vec());
    table
}

fn histogram(columns: &[Column]) -> Table {
    let line = |column: &Column| {
        vec![nanoseconds(column.from_ns), nanoseconds(column.to_ns), count(column.count), column.letter().to_string()]
    };
    Table {
        caption: "Histogram".into(),
        header: vec!["from", "to", "count", "spike"],
        rows: columns.iter().map(line).collect(),
    }
}

/// Returns the part that has to be the same in another record for a comparison.
fn compared(row: &Row) -> String {
    format!("{}, hold {}", row_words(row), nanoseconds(row.hold_us * 1e3))
}

fn cell_histogram(row: &Row) -> Histogram {
    Histogram { cell: compared(row), bins: row.histogram.clone() }
}
