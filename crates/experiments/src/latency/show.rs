//! The record on a terminal: for each cell the picture of locking, a table of spikes, and how far its threads agree.

use super::measure::UNEXPLAINED;
use super::ranking::FreePairs;
use super::record::{LatencyRecord, Operation, Row, SpikeRow};
use super::{show_apart, show_neighbour, show_ranking};
use instruments::statistics::Interval;
use terminal::{self, Bar, Histogram, Page, nanoseconds, percent};

/// More cells have no histograms unless they are asked for: nobody reads thousands of lines.
const MOST_DRAWN: usize = 4;

/// The ranking; then every cell, if they are few or were asked for.
pub fn show(record: &LatencyRecord, page: &Page) -> String {
    let cells = cells(&record.results);
    let ranking = show_ranking::show(record, page);
    let asked = &record.parameters;
    let many = asked.locks.len() * asked.threads.len() * asked.competitors.len() > MOST_DRAWN;
    if many && !asked.histogram {
        return ranking + HINT + "\n" + &recording(&record.results) + &show_apart::show(&cells);
    }
    let shown: Vec<String> = cells.iter().map(|cell| of_cell(cell, page, |_| true)).collect();
    ranking
        + "\n"
        + &shown.join("\n")
        + "\n"
        + &overview(&cells)
        + COLUMNS
        + &show_neighbour::neighbours(&cells)
        + &recording(&record.results)
        + &show_apart::show(&cells)
}

const HINT: &str = "--histogram prints histograms; the record and its HTML report always have them.\n";

/// As in 1998, unlocking is drawn for one thread only, since it never waits; with competitors only the tables are
/// shown.
pub fn sections(rows: &[Row], page: &Page) -> String {
    let cells = cells(rows);
    let drawn = |row: &Row| row.competitors == 0 && (row.operation == Operation::Lock || row.threads == 1);
    let shown: Vec<String> = cells.iter().map(|cell| of_cell(cell, page, drawn)).collect();
    let after = show_neighbour::neighbours(&cells) + &recording(rows) + &show_apart::show(&cells);
    shown.join("\n") + "\n" + &overview(&cells) + COLUMNS + &after
}

/// The rows of each cell, in order of appearance.
fn cells(rows: &[Row]) -> Vec<Vec<&Row>> {
    rows.iter().fold(Vec::new(), |mut cells: Vec<Vec<&Row>>, row| {
        match cells.iter_mut().find(|cell| same_cell(cell[0], row)) {
            Some(cell) => cell.push(row),
            None => cells.push(vec![row]),
        }
        cells
    })
}

fn same_cell(a: &Row, b: &Row) -> bool {
    (&a.lock, a.threads, a.competitors) == (&b.lock, b.threads, b.competitors)
}

fn of_cell(cell: &[&Row], page: &Page, drawn: impl Fn(&Row) -> bool) -> String {
    let mut text = String::new();
    for row in cell.iter().filter(|row| row.thread == 0 && row.operation != Operation::RoundTrip) {
        if drawn(row) {
            text.push_str(&picture(row, page));
        } else if row.operation == Operation::Lock {
            text.push_str(&title(row));
            text.push('\n');
        }
        text.push_str(&spike_table(row));
        text.push_str(&known(row));
    }
    text + &agreement(cell) + &ledger(cell[0])
}

/// What the evidence of a cell may lack; nothing where there is none.
fn ledger(row: &Row) -> String {
    row.ledger.as_ref().map_or_else(String::new, |ledger| {
        format!(
            "  kernel events from {} of {} windows: {}, {} lost, no data for {}\n",
            row.recorded_slices,
            row.recorded_slices + row.slices,
            terminal::count(ledger.events),
            terminal::count(ledger.lost_events),
            nanoseconds(ledger.blind_ns)
        )
    })
}

fn picture(row: &Row, page: &Page) -> String {
    let bar = |bin: &record::Bin| {
        let at_ns = if bin.from_ns == 0.0 { 0.0 } else { (bin.from_ns + bin.to_ns) / 2.0 };
        Bar { at_ns, count: bin.count, letter: row.letter_of(bin).unwrap_or('#') }
    };
    let bars: Vec<Bar> = row.histogram.iter().map(bar).collect();
    Histogram { title: &title(row), bars: &bars, resolution_ns: row.resolution_ns }.draw(page)
}

fn title(row: &Row) -> String {
    format!("{}, {}", row.cell(), row.operation.noun())
}

fn spike_table(row: &Row) -> String {
    let heading = format!("  {}", row.operation.noun());
    let lines = row.spikes.iter().map(|spike| {
        vec![
            format!("  ({})", spike.label),
            percent(spike.share),
            spike.mean_ns.map_or_else(|| row.words(None), nanoseconds),
            row.words(spike.median_ns),
            format!("{}–{}", nanoseconds(spike.from_ns), nanoseconds(spike.to_ns)),
            echo(spike),
        ]
    });
    let mut text = terminal::table(&[&heading, "share", "mean", "median", "range", ""], lines);
    if row.leftover_share > 0.0 {
        text.push_str(&format!("  (#) {:>8}  scattered, outside spikes\n", percent(row.leftover_share)));
    }
    text + &causes(row)
}

/// A line for each spike; nothing where no evidence was recorded.
fn causes(row: &Row) -> String {
    row.spikes.iter().filter_map(|spike| Some(cause(spike, spike.evidence_share?))).collect()
}

fn cause(spike: &SpikeRow, evidence_share: f64) -> String {
    let text = match spike.cause_share {
        Some(share) if spike.cause == UNEXPLAINED => {
            format!("  ({}) {UNEXPLAINED}: {} of its excess", spike.label, percent(share))
        }
        None => format!("  ({}) {}: {} of its iterations", spike.label, spike.cause, percent(evidence_share)),
        Some(share) => format!(
            "  ({}) {}: {} of its excess, {} of its iterations",
            spike.label,
            spike.cause,
            percent(share),
            percent(evidence_share)
        ),
    };
    // A task may have any name of 15 bytes.
    text.chars().take(80).collect::<String>() + "\n"
}

/// How many rounds there were, and how well the median and the tail are known.
fn known(row: &Row) -> String {
    let interval = |quantile, ci: Option<Interval>| match row.known(quantile) {
        Some(_) => ci.map_or_else(|| "?".to_owned(), |ci| format!("{}–{}", nanoseconds(ci.low), nanoseconds(ci.high))),
        None => row.words(None),
    };
    format!(
        "  {} iterations; 95 % CI: median {}, p99.9 {}\n",
        terminal::count(row.count),
        interval(row.p50_ns, row.p50_ci_ns),
        interval(row.p999_ns, row.p999_ci_ns)
    )
}

fn echo(spike: &SpikeRow) -> String {
    match (&spike.echo_of, spike.delay_ns) {
        (Some(parent), Some(delay)) => format!("echo of ({parent}), +{}", nanoseconds(delay)),
        _ => String::new(),
    }
}

/// The largest spikes of every thread beside the first one's, as 1998 compared its two threads.
fn agreement(cell: &[&Row]) -> String {
    let locking: Vec<&&Row> = cell.iter().filter(|row| row.operation == Operation::Lock).collect();
    let Some((first, others)) = locking.split_first() else { return String::new() };
    let line = |spike: &SpikeRow, other: &SpikeRow| {
        format!(
            "  ({}) {} ({}), other thread {} ({})\n",
            spike.label,
            first.words(spike.median_ns),
            percent(spike.share),
            first.words(other.median_ns),
            percent(other.share)
        )
    };
    let mut text = String::new();
    for other in others.iter().take(1) {
        text.push_str("  spikes of the first two threads\n");
        for spike in &first.spikes {
            match nearest(spike, &other.spikes) {
                Some(found) => text.push_str(&line(spike, found)),
                None => text.push_str(&format!("  ({}) has no counterpart\n", spike.label)),
            }
        }
    }
    text
}

/// The other thread's spike whose range overlaps and whose median is nearest.
fn nearest<'a>(spike: &SpikeRow, others: &'a [SpikeRow]) -> Option<&'a SpikeRow> {
    let median = |spike: &SpikeRow| spike.median_ns.unwrap_or(0.0) + 1.0;
    let distance = |other: &&SpikeRow| (median(other) / median(spike)).ln().abs();
    let overlapping = others.iter().filter(|other| other.from_ns <= spike.to_ns && spike.from_ns <= other.to_ns);
    overlapping.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// One line a cell.
fn overview(cells: &[Vec<&Row>]) -> String {
    let pairs = FreePairs::of(cells.iter().flatten().copied());
    let lines = cells.iter().filter_map(|cell| {
        let of = |operation| cell.iter().find(|row| row.thread == 0 && row.operation == operation);
        let (lock, unlock, trip) = (of(Operation::Lock)?, of(Operation::Unlock)?, of(Operation::RoundTrip)?);
        Some(vec![
            lock.lock.clone(),
            lock.threads.to_string(),
            lock.competitors.to_string(),
            if lock.threads == 1 { lock.words_of_mean() } else { lock.words(lock.p50_ns) },
            lock.words(lock.p999_ns),
            lock.words(lock.max_ns),
            unlock.words_of_mean(),
            pairs.of_row(lock).map_or_else(String::new, |pair| nanoseconds(pair.value)),
            trip.words(trip.p50_ns),
        ])
    });
    let header = ["lock", "thr", "cmp", "locking", "p99.9", "max", "unlock", "pair", "trip"];
    terminal::table(&header, lines)
}

const COLUMNS: &str = "\
locking, p99.9 and max: of the first thread; locking: its mean where it is the
only thread (exclusive core, where known), else the median; unlock: mean; pair:
lock and unlock in a bare loop; trip: median of a whole iteration.
";

fn recording(rows: &[Row]) -> String {
    let Some(row) = rows.first() else { return String::new() };
    format!(
        "Hold time {}.\n\
         Recording an iteration costs {} ({} per timestamp) and is subtracted.\n\
         The clock advances in steps of {}; < marks values below that resolution.\n",
        nanoseconds(row.hold_us * 1e3),
        nanoseconds(row.recording_ns),
        nanoseconds(row.clock_cost_ns),
        nanoseconds(row.resolution_ns)
    ) + &residue(rows)
}

/// What the measurement reads where the answer is zero; nothing in older records.
fn residue(rows: &[Row]) -> String {
    let of = |operation| rows.iter().find(|row| row.operation == operation);
    let words = |row: &Row| {
        Some(format!(
            "{:.2} ns for {} (accuracy {})",
            row.residue_ns?,
            row.operation.noun(),
            nanoseconds(row.accuracy_ns?)
        ))
    };
    let zero = match (of(Operation::Lock).and_then(words), of(Operation::Unlock).and_then(words)) {
        (Some(lock), Some(unlock)) => format!("Zero offset, measured without a lock: {lock}\nand {unlock}.\n"),
        _ => String::new(),
    };
    zero + &rows.first().and_then(control).unwrap_or_default()
}

/// What it reads where the answer is known and is not zero.
fn control(row: &Row) -> Option<String> {
    let (read, known) = (row.control_ns?, row.control_known_ns?);
    Some(format!("Check: multiplications of {known:.2} ns, timed like a lock, read as {read:.2} ns.\n"))
}
