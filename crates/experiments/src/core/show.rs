//! The record on a terminal: for each CPU a sentence, the run from left to right, stretches, and the loss of code.

use super::findings::sharing_words;
use super::record::{BesideRow, CoreRecord, Cost, PairRow, Row};
use instruments::statistics::Interval;
use record::{Column, Unit, column};
use terminal::{self, Bar, Histogram, Page, nanoseconds, percent};

/// Shows the whole record.
pub fn show(record: &CoreRecord<'_>, page: &Page) -> String {
    let cpus: Vec<String> = record.results.iter().map(|row| of_cpu(row, page)).collect();
    let probe = format!("One probe takes {:.1} µs.\n", record.parameters.probe_us);
    cpus.join("\n") + "\n" + &pairs(record.results) + &probe
}

fn of_cpu(row: &Row, page: &Page) -> String {
    let parts = [
        terminal::folded(&format!("{}.", sharing_words(row)), page),
        doubt(row, page),
        timeline(row),
        hours(row),
        stretches(row, page),
        sibling_words(row, page),
        kinds(row, page),
        known(row, page),
        memory(row, page),
    ];
    parts.concat()
}

fn doubt(row: &Row, page: &Page) -> String {
    let words = |reason: &String| {
        let meaning =
            "In that case the shares and the costs of sharing are too low; measure again at another time of day.";
        terminal::folded(&format!("The core may never have been exclusive: {reason}. {meaning}"), page)
    };
    row.doubt.as_ref().map_or_else(String::new, words)
}

/// The number of columns of the run.
const COLUMNS: usize = 60;

/// Draws the share in each piece of the run as the height of a block.
fn timeline(row: &Row) -> String {
    // A single piece is the share above, and has no length.
    let Some(last) = row.timeline.last().filter(|_| row.timeline.len() > 1) else { return String::new() };
    let pieces_a_column = row.timeline.len().div_ceil(COLUMNS);
    let columns = row.timeline.chunks(pieces_a_column).map(|pieces| {
        let known: Vec<f64> = pieces.iter().filter_map(|piece| piece.shared_share).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    });
    let end_s = last.from_s * row.timeline.len() as f64 / (row.timeline.len() - 1) as f64;
    format!("  0 s |{}| {end_s:.3} s\n", terminal::levels(columns))
}

/// Draws the hours of a day, where the run has more than one: two columns each.
fn hours(row: &Row) -> String {
    if row.hours.len() < 2 {
        return String::new();
    }
    let of = |hour: u8| row.hours.iter().find(|one| one.hour == hour).map(|one| one.shared_share);
    let columns = (0..24).flat_map(|hour| [of(hour), of(hour)]);
    format!("  0 h |{}| 24 h of the day, UTC\n", terminal::levels(columns))
}

fn stretches(row: &Row, page: &Page) -> String {
    let found = &row.stretches;
    let (Some(median), Some(longest)) = (found.median_ms, found.longest_ms) else { return String::new() };
    let bar = |bin: &record::Bin| Bar { at_ns: (bin.from_ns * bin.to_ns).sqrt(), count: bin.count, letter: '#' };
    let bars: Vec<Bar> = found.histogram.iter().map(bar).collect();
    let title = format!(
        "  {} stretches: median {}, maximum {}",
        terminal::count(found.count),
        nanoseconds(median * 1e6),
        nanoseconds(longest * 1e6)
    );
    let shortest = found.histogram.first().map_or(1.0, |bin| bin.from_ns / 16.0);
    Histogram { title: &title, bars: &bars, resolution_ns: shortest }.draw(page)
}

/// Shows the tasks on the core's other threads, on a machine to which these belong.
fn sibling_words(row: &Row, page: &Page) -> String {
    let named = |one: &BesideRow| format!("{} on CPU {} for {}", one.who, one.cpu, percent(one.shared_share));
    let named: Vec<String> = row.beside.iter().map(named).collect();
    if named.is_empty() {
        return String::new();
    }
    terminal::folded(&format!("Tasks on the SMT siblings while the core was shared: {}.", named.join("; ")), page)
}

/// Writes `1.56× (1.52–1.60)`.
fn times(ratio: f64, ends: Option<Interval>) -> String {
    let ends = ends.map_or_else(String::new, |ends| format!(" ({:.2}–{:.2})", ends.low, ends.high));
    format!("{ratio:.2}×{ends}")
}

fn kinds(row: &Row, page: &Page) -> String {
    let lines: Vec<CostLine<'_>> = row.costs.iter().map(|cost| CostLine { row, cost }).collect();
    column::in_letters(&cost_columns(), &lines, page)
}

/// A bottleneck of a CPU.
pub struct CostLine<'a> {
    pub row: &'a Row,
    pub cost: &'a Cost,
}

impl CostLine<'_> {
    /// Returns the name of the line among those of several CPUs.
    pub fn name(&self) -> String {
        format!("{}, CPU {}", self.cost.kind, self.row.cpu)
    }
}

type CostColumn<'a> = Column<CostLine<'a>>;

/// Returns the columns of the table of bottlenecks: on a terminal for one CPU, on the page for all of them.
pub fn cost_columns<'a>() -> [CostColumn<'a>; 4] {
    [
        CostColumn::terminal("  bottleneck", |line| Some(line.cost.kind.clone()))
            .with_page("bottleneck", |line| Some(line.name())),
        CostColumn::terminal("exclusive", |line| line.cost.alone_ns.map(nanoseconds))
            .with_page("core exclusive", |line| line.cost.alone_ns.map(nanoseconds)),
        CostColumn::terminal("shared", |line| line.cost.shared_ns.map(nanoseconds))
            .with_page("core shared", |line| line.cost.shared_ns.map(nanoseconds)),
        CostColumn::terminal("ratio (95 % CI)", |line| Some(times(line.cost.ratio?, line.cost.ratio_ci)))
            .with_page("ratio (95 % CI)", |line| Some(Unit::Times.words_with(line.cost.ratio?, line.cost.ratio_ci))),
    ]
}

fn known(row: &Row, page: &Page) -> String {
    let agreement = row.agreement_share.map_or_else(String::new, |share| {
        // Where either was undecided, there is nothing to compare.
        let (percent, checked) = (share * 100.0, terminal::count(row.checked));
        format!("; {percent:.2} % of {checked} conclusive probes ten times as long agree")
    });
    let best = row.best_cycles.zip(row.frequency_ghz).map_or_else(String::new, |(cycles, ghz)| {
        format!("; the throughput-bound loop takes {cycles:.2} cycles at best, at {ghz:.2} GHz")
    });
    let (steps, neither) = (terminal::count(row.steps), percent(row.neither_share));
    terminal::folded(
        &format!("{steps} windows, {neither} of them neither exclusive nor shared{agreement}{best}."),
        page,
    )
}

fn memory(row: &Row, page: &Page) -> String {
    let words = |memory: &super::record::Memory| {
        format!(
            "Memory: latency {} (p10 {}, p90 {}), read bandwidth {:.1} GB/s.",
            nanoseconds(memory.latency_p50_ns),
            nanoseconds(memory.latency_p10_ns),
            nanoseconds(memory.latency_p90_ns),
            memory.read_p50_gb_per_s
        )
    };
    row.memory.as_ref().map_or_else(String::new, |memory| terminal::folded(&words(memory), page))
}

fn pairs(rows: &[Row]) -> String {
    let line = |(cpu, pair): (usize, &PairRow)| {
        vec![
            format!("{cpu} and {}", pair.cpu),
            match pair.shares {
                Some(true) => "one core",
                Some(false) => "two cores",
                None => "unknown",
            }
            .to_owned(),
            times(pair.narrowing, pair.narrowing_ci),
            nanoseconds(pair.line_ns),
        ]
    };
    let each = rows.iter().flat_map(|row| row.pairs.iter().map(|pair| (row.cpu, pair)));
    let lines: Vec<Vec<String>> = each.filter(|(cpu, pair)| *cpu < pair.cpu).map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    terminal::table(&["CPUs", "cores", "slowdown if both run", "a cache line"], lines) + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::record::sample::row;
    use super::*;

    #[test]
    fn a_run_in_one_piece_has_no_timeline() {
        let whole = row(0, Some(0.34));
        assert!(timeline(&whole).ends_with("| 10.000 s\n"), "{}", timeline(&whole));
        let short = Row { timeline: whole.timeline[..1].to_vec(), ..whole };
        assert_eq!(timeline(&short), "", "it had been from 0 s to 0.000 s");
    }
}
