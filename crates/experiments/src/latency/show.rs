//! The rows on a terminal: the ranking; for each configuration the picture of locking, its spikes, and the agreement of
//! its threads; and the effect of the SMT sibling.

use super::measure::UNEXPLAINED;
use super::plan::{StoppedWait, conditions};
use super::ranking::{FreePairs, PAIR, WAIT, ranking};
use super::record::{LatencyRecord, Operation, Row, SpikeRow};
use super::section::{SpikeLine, spike_columns};
use harness::story_text;
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Comparison, Estimate, RunToRun, compare};
use record::ranking::{self, Rank, contests, table};
use record::{column, distinct};
use terminal::{self, Bar, Histogram, Page, nanoseconds, percent};

/// The number of configurations above which there are no histograms unless requested: thousands of lines are not read.
const MOST_DRAWN: usize = 4;

/// Draws the ranking; then every configuration, if they are few or were requested.
pub fn show(record: &LatencyRecord<'_>, page: &Page) -> String {
    let cells = cells(record.results);
    let ranking = rankings(record, page);
    let parameters = &record.parameters;
    let many = parameters.locks.len() * parameters.threads.len() * parameters.competitors.len() > MOST_DRAWN;
    if many && !parameters.histogram {
        return ranking + HINT + "\n" + &recording(record.results) + &apart(&cells, page);
    }
    let shown: Vec<String> = cells.iter().map(|cell| of_cell(cell, page, |_| true)).collect();
    ranking
        + "\n"
        + &shown.join("\n")
        + "\n"
        + &overview(&cells)
        + COLUMNS
        + &neighbours(&cells)
        + &recording(record.results)
        + &apart(&cells, page)
}

const HINT: &str = "--histogram prints histograms; the record and its HTML report always have them.\n";

/// Draws the configurations.
///
/// As in 1998, unlocking is drawn for one thread only, since it never waits; with competitors only the tables are
/// shown.
pub fn sections(rows: &[Row], page: &Page) -> String {
    let cells = cells(rows);
    let drawn = |row: &Row| row.competitors == 0 && (row.operation == Operation::Lock || row.threads == 1);
    let shown: Vec<String> = cells.iter().map(|cell| of_cell(cell, page, drawn)).collect();
    let after = neighbours(&cells) + &recording(rows) + &apart(&cells, page);
    shown.join("\n") + "\n" + &overview(&cells) + COLUMNS + &after
}

/// Returns the rows of each configuration, in order of appearance.
fn cells(rows: &[Row]) -> Vec<Vec<&Row>> {
    distinct(rows, Row::cell).iter().map(|cell| rows.iter().filter(|row| row.cell() == *cell).collect()).collect()
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
        text.push_str(&spike_table(row, page));
        text.push_str(&known(row));
    }
    text + &agreement(cell) + &ledger(cell[0])
}

/// Returns the coverage of the kernel events; nothing where there are none.
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

fn spike_table(row: &Row, page: &Page) -> String {
    let lines: Vec<SpikeLine<'_>> = row.spikes.iter().map(|spike| SpikeLine { row, spike }).collect();
    let mut text = column::in_letters(&spike_columns(row.operation), &lines, page);
    if row.leftover_share > 0.0 {
        text.push_str(&format!("  (#) {:>8}  scattered, outside spikes\n", percent(row.leftover_share)));
    }
    text + &causes(row)
}

/// Returns a line for each spike; nothing where no evidence was recorded.
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

/// Writes the number of iterations, and the precision of the median and the tail.
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

/// Compares the largest spikes of the first two threads, as 1998 did.
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

/// Returns the other thread's spike whose range overlaps and whose median is nearest.
fn nearest<'a>(spike: &SpikeRow, others: &'a [SpikeRow]) -> Option<&'a SpikeRow> {
    let median = |spike: &SpikeRow| spike.median_ns.unwrap_or(0.0) + 1.0;
    let distance = |other: &&SpikeRow| (median(other) / median(spike)).ln().abs();
    let overlapping = others.iter().filter(|other| other.from_ns <= spike.to_ns && spike.from_ns <= other.to_ns);
    overlapping.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// Draws one line for each cell.
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

/// Writes the value that the measurement reads where the answer is zero; nothing in older records.
fn residue(rows: &[Row]) -> String {
    let of = |operation| rows.iter().find(|row| row.operation == operation);
    let words = |row: &Row| {
        Some(format!(
            "{} for {} (accuracy {})",
            nanoseconds(row.residue_ns?),
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

/// Writes the value that the measurement reads where the answer is known and is not zero.
fn control(row: &Row) -> Option<String> {
    let (read, known) = (row.control_ns?, row.control_known_ns?);
    let [known, read] = [known, read].map(nanoseconds);
    Some(format!("Check: multiplications of {known}, timed like a lock, read as {read}.\n"))
}

/// Draws a table for each number of threads and competitors, by the value that decides.
fn rankings(record: &LatencyRecord<'_>, page: &Page) -> String {
    // A stored ranking may be of an older revision; the rows give the ranking of today.
    let ranks = ranking(record.results);
    // A single lock has no competitor.
    let decides = |ranks: &&[Rank]| ranks.len() > 1 && [PAIR, WAIT].contains(&ranks[0].figure.as_str());
    let deciding: Vec<&[Rank]> = contests(&ranks).filter(decides).collect();
    let tables: Vec<String> = deciding.iter().map(|ranks| of_contest(ranks, record.results, page)).collect();
    if tables.is_empty() { String::new() } else { tables.join("\n") + &ranking_legend(record, &deciding.concat()) }
}

const FREE: &str = "lock and unlock, uncontended";

fn of_contest(ranks: &[Rank], rows: &[Row], page: &Page) -> String {
    let (header, operation): (&[&str], _) = match ranks[0].figure.as_str() {
        PAIR => (&["99.9 %", "max"], FREE),
        _ => (&["median", "99.9 %", "max"], "the wait of the unluckiest thread"),
    };
    let more = |rank: &Rank| {
        let worst = |of: fn(&Row) -> Option<f64>| unluckiest(rank, rows, of);
        let all = [worst(|row| row.p50_ns), worst(|row| row.p999_ns), worst(|row| row.max_ns)];
        all.into_iter().skip(3 - header.len()).collect()
    };
    let table = page.cut_lines(&table(ranks, (header, more)));
    let basis = match ranks[0].figure.as_str() {
        PAIR => format!(" ({})", FreePairs::of(rows).words()),
        _ => String::new(),
    };
    format!("{}: {operation}, best first{basis}\n{table}", ranks[0].among)
}

/// Returns a value of the thread for which it is worst.
fn unluckiest(rank: &Rank, rows: &[Row], of: fn(&Row) -> Option<f64>) -> String {
    let is_of = |row: &&Row| row.lock == rank.lock && row.operation == Operation::Lock && row.contest() == rank.among;
    let row = rows.iter().filter(is_of).max_by(|a, b| of(a).unwrap_or(0.0).total_cmp(&of(b).unwrap_or(0.0)));
    row.map_or_else(String::new, |row| row.words(of(row)))
}

fn ranking_legend(record: &LatencyRecord<'_>, ranks: &[Rank]) -> String {
    let mut text = ranking::legend(ranks);
    if ranks.iter().any(|rank| rank.figure == PAIR) {
        text += "\n99.9 % and max: time to lock alone.";
    }
    text.push('\n');
    if ranks.iter().any(|rank| rank.value.is_some() && rank.rank.is_none()) {
        text += "Longer runs (--seconds) narrow the confidence intervals.\n";
    }
    if let Some(calls) = record.parameters.object_calls_ns {
        text += &format!("Calls into a shared object go through pointers: {} of its pair.\n", nanoseconds(calls));
    }
    text
}

/// The share by which locking and unlocking, timed separately, have to differ from a pair in a loop: in both respects.
const FAR_SHARE: f64 = 0.15;
const FAR_NS: f64 = 0.7;

/// The maximum number that is listed.
const MOST_APART: usize = 3;

const APART: &str = "Timed separately, lock and unlock differ from a pair in a loop (see method):\n";

/// Draws a line for each uncontended lock that is far from its pair, the farthest first; nothing if there is none.
fn apart(cells: &[Vec<&Row>], page: &Page) -> String {
    let pairs = FreePairs::of(cells.iter().flatten().copied());
    let mut far: Vec<(f64, String)> = cells.iter().filter_map(|cell| pair_apart(cell, pairs, page)).collect();
    far.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let more = far.len().saturating_sub(MOST_APART);
    let lines: String = far.into_iter().take(MOST_APART).map(|(_, line)| line).collect();
    match (lines.is_empty(), more) {
        (true, _) => lines,
        (_, 0) => format!("{APART}{lines}"),
        _ => format!("{APART}{lines}  and {more} more\n"),
    }
}

/// Returns the difference from the pair as a share, and its line.
fn pair_apart(cell: &[&Row], pairs: FreePairs, page: &Page) -> Option<(f64, String)> {
    let of = |operation| cell.iter().find(|row| row.operation == operation && row.threads == 1 && row.competitors == 0);
    let (lock, unlock) = (of(Operation::Lock)?, of(Operation::Unlock)?);
    // On the basis of the pair: all with the core exclusive, or all of all windows.
    let apart = lock.undisturbed().on(pairs.basis)?.value + unlock.undisturbed().on(pairs.basis)?.value;
    let pair = pairs.of_row(lock)?.value;
    let fenced = lock.fenced_pair().on(pairs.basis);
    let fenced = fenced.map_or_else(String::new, |fenced| format!("{} fenced, ", nanoseconds(fenced.value)));
    let (excess, share) = (apart - pair, (apart - pair) / pair);
    let is_far = excess.abs() > FAR_NS && share.abs() > FAR_SHARE;
    let [apart, together] = [apart, pair].map(nanoseconds);
    let line = format!("{}: {apart} separately, {fenced}{together} as a pair ({:+.0} %)", lock.lock, 100.0 * share);
    is_far.then(|| (share.abs(), terminal::wrapped(" ", "   ", &line, page)))
}

/// Describes the time to lock while the core is exclusive and while it is shared; nothing where it was never seen
/// shared.
fn neighbours(cells: &[Vec<&Row>]) -> String {
    let lines: Vec<_> = cells.iter().filter_map(|cell| neighbour(cell)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let header = ["lock", "thr", "exclusive", "shared", "ratio (95 % CI)", "share of time shared"];
    let title = "\nTime to lock while the core is exclusive, and while an SMT sibling uses it\n";
    title.to_owned() + &terminal::table(&header, lines) + "\n"
}

fn neighbour(cell: &[&Row]) -> Option<Vec<String>> {
    let lock = cell.iter().find(|row| row.thread == 0 && row.operation == Operation::Lock)?;
    let share = lock.neighbour.core_shared_share.filter(|share| *share > 0.0)?;
    let [alone, shared] = sides(lock);
    let words = |side: Option<Estimate>| side.map_or_else(String::new, |side| nanoseconds(side.value));
    let times = alone.zip(shared).and_then(|(alone, shared)| times(&alone, &shared)).unwrap_or_default();
    Some(vec![lock.lock.clone(), lock.threads.to_string(), words(alone), words(shared), times, percent(share)])
}

/// Returns the mean of an uncontended lock, otherwise the median, which the clock rounds to its step.
fn sides(lock: &Row) -> [Option<Estimate>; 2] {
    let (times, resolution) =
        if lock.threads == 1 { (lock.undisturbed(), 0.0) } else { (lock.medians(), lock.resolution_ns) };
    [times.exclusive, times.shared].map(|side| side.map(|side| Estimate { resolution, ..side }))
}

/// Writes `1.13× (1.09–1.17)`; without an interval the values are not comparable.
fn times(alone: &Estimate, shared: &Estimate) -> Option<String> {
    let Comparison { ratio, interval, .. } = compare(alone, shared, RunToRun::NONE)?;
    let is_known = alone.interval.is_some() && shared.interval.is_some();
    is_known.then(|| format!("{} ({})", terminal::ratio(ratio), terminal::range(interval.low, interval.high)))
}

/// Shows the wait at which `--stop-above` ended the run: the threads that held the lock, and the tasks on the CPUs.
pub fn stopped(wait: &StoppedWait, page: &Page) -> String {
    let us = |us: f64| nanoseconds(us * 1e3);
    let words = format!(
        "Stopped at {:.3} s: with {} and {}, thread {} on CPU {} waited {} for the lock; main cause, for {}: {}.",
        wait.start_s,
        wait.lock,
        conditions(wait.threads, wait.competitors),
        wait.thread,
        wait.cpu,
        us(wait.wait_us),
        us(wait.cause_us),
        wait.cause
    );
    let mut text = "\n".to_owned() + &terminal::wrapped("", "", &words, page);
    for holder in &wait.holders {
        let sign = if holder.from_us < 0.0 { "-" } else { "+" };
        let from = format!("{sign}{}", us(holder.from_us.abs()));
        let (thread, cpu) = (holder.thread, holder.cpu);
        let line = format!("  {from:>10}  {:>8}  thread {thread} held the lock (CPU {cpu})", us(holder.length_us));
        text += &(page.cut(&line) + "\n");
    }
    for story in &wait.stories {
        text += &format!("CPU {}\n{}", story.cpu, story_text(&story.story, page));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::plan::{CpuStory, Holder};
    use super::super::sample::row;
    use super::*;
    use harness::StoryPart;
    use instruments::evidence::{Cause, Kind};

    #[test]
    fn ranking_fits_a_screen_with_a_line_per_lock() {
        let rows: Vec<Row> = (0..23)
            .map(|place| Row {
                bare_pair_ns: Some(10.0 * 1.3_f64.powi(place)),
                bare_pair_ci_ns: Some(Interval::new(9.9 * 1.3_f64.powi(place), 10.1 * 1.3_f64.powi(place))),
                ..row(&format!("a-lock-{place}"), 1, 0)
            })
            .collect();
        let ranks = ranking(&rows);
        let text = of_contest(&ranks, &rows, &Page::plain());
        assert_eq!(text.lines().count(), 25);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.lines().nth(2).unwrap().starts_with(" 1  a-lock-0 "), "{text}");
    }

    /// Returns a cell of a lock and an unlock that take these times separately; the pair takes 18 ns.
    fn parts(lock_ns: f64, unlock_ns: f64, threads: usize) -> Vec<Row> {
        let of = |operation, ns| Row {
            operation,
            undisturbed_mean_ns: Some(ns),
            accuracy_ns: Some(0.1),
            ..row("std", threads, 0)
        };
        vec![of(Operation::Lock, lock_ns), of(Operation::Unlock, unlock_ns)]
    }

    #[test]
    fn fenced_pair_is_shown_with_the_bare_pair() {
        let [mut lock, unlock] = <[Row; 2]>::try_from(parts(12.0, 12.0, 1)).unwrap();
        lock.fenced_pair_ns = Some(23.5);
        let text = apart_of(&[lock, unlock]);
        assert!(text.ends_with("  std: 24.0 ns separately, 23.5 ns fenced, 18.0 ns as a pair (+33 %)\n"), "{text}");
    }

    fn apart_of(cell: &[Row]) -> String {
        apart(&[cell.iter().collect()], &Page::plain())
    }

    #[test]
    fn only_locks_far_from_their_pair_are_listed() {
        let text = apart_of(&parts(12.0, 12.0, 1));
        assert!(
            text.starts_with(APART) && text.ends_with("  std: 24.0 ns separately, 18.0 ns as a pair (+33 %)\n"),
            "{text}"
        );
        assert!(apart_of(&parts(7.0, 7.0, 1)).contains("14.0 ns separately, 18.0 ns as a pair (-22 %)"));
        assert_eq!(apart_of(&parts(10.0, 10.0, 1)), "", "11 % above");
        assert_eq!(apart_of(&parts(12.0, 12.0, 2)), "", "they wait for each other");
    }

    #[test]
    fn farthest_locks_are_named_and_the_others_counted() {
        let cells: Vec<Vec<Row>> = [12.0, 15.0, 13.0, 2.0, 14.0].map(|ns| parts(ns, ns, 1)).to_vec();
        let text = apart(&cells.iter().map(|cell| cell.iter().collect()).collect::<Vec<_>>(), &Page::plain());
        let named: Vec<&str> =
            text.lines().skip(1).take(MOST_APART).filter_map(|line| line.split(' ').nth(3)).collect();
        assert_eq!(named, ["4.00", "30.0", "28.0"], "{text}");
        assert!(text.ends_with("\n  and 2 more\n"), "{text}");
    }

    #[test]
    fn a_long_name_and_long_times_stay_within_eighty_columns() {
        let mut cell = parts(1_234_567.0, 7_654_321.0, 1);
        cell.iter_mut().for_each(|row| row.lock = "a-lock-with-a-long-name".into());
        cell[0].fenced_pair_ns = Some(23.5e6);
        let text = apart_of(&cell);
        assert!(text.lines().count() > 2 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn stopped_wait_names_holders_and_tasks() {
        let part = |from_us, kind, name: &str| StoryPart {
            from_us,
            length_us: 12_000.0,
            who: Cause { kind, name: Some(name.into()), pid: Some(77) },
        };
        let wait = StoppedWait {
            lock: "std".into(),
            threads: 2,
            competitors: 0,
            thread: 1,
            cpu: 3,
            start_s: 1.5,
            wait_us: 12_100.0,
            cause: "switched out to culprit".into(),
            cause_us: 12_000.0,
            holders: vec![Holder { thread: 0, cpu: 3, from_us: -2.0, length_us: 12_101.0 }],
            stories: vec![CpuStory { cpu: 3, story: vec![part(1.0, Kind::Task, "culprit")] }],
        };
        let text = stopped(&wait, &Page::plain());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.starts_with("Stopped at 1.500 s: with std and 2 threads, thread 1 on CPU 3 waited 12.1 ms"),
            "{text}"
        );
        assert!(
            words.contains("-2.00 µs 12.1 ms thread 0 held the lock (CPU 3) CPU 3 +1.00 µs 12.0 ms task culprit (77)"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    fn sharing(threads: usize) -> String {
        let mut lock = Row { operation: Operation::Lock, thread: 0, resolution_ns: 0.2, ..row("std", threads, 0) };
        let known = &mut lock.neighbour;
        known.core_shared_share = Some(0.619);
        (known.undisturbed_mean_ns_alone, known.undisturbed_mean_ns_shared) = (Some(10.0), Some(11.0));
        (known.p50_ns_alone, known.p50_ns_shared) = (Some(10.0), Some(11.0));
        let (alone, shared) = (Some(Interval::new(9.9, 10.1)), Some(Interval::new(10.8, 11.2)));
        (known.undisturbed_mean_ci_ns_alone, known.undisturbed_mean_ci_ns_shared) = (alone, shared);
        (known.p50_ci_ns_alone, known.p50_ci_ns_shared) = (alone, shared);
        neighbours(&[vec![&lock]])
    }

    #[test]
    fn cost_of_sharing_has_an_interval() {
        assert!(sharing(1).contains("10.0 ns 11.0 ns 1.10× (1.08–1.12)"), "{}", sharing(1));
        assert!(sharing(2).contains("10.0 ns 11.0 ns 1.10× (1.06–1.14)"), "half a step of the clock: {}", sharing(2));
    }
}
