//! Ranks of locks: uncontended ones by their lock/unlock pair, contended ones by the wait of the unluckiest thread. And
//! the values that are compared with other records.

use super::exclusion::sound;
use super::flags::Placement;
use super::plan::CellPlan;
use super::record::{Operation, Row};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::ranking::{Contender, Contest, Rank};
use record::{Basis, Cell, MOSTLY, Metric, Unit, VariationSource, distinct};
use terminal::nanoseconds;

/// The variation of the pairs of one lock with the placement of code and data: observed in a few runs.
const SCATTER_OF_PAIRS: f64 = 0.02;
/// The variation of the waits for one lock: a cautious guess.
const SCATTER_OF_WAITS: f64 = 0.05;
const SCATTER_OF_RARE_WAITS: f64 = 0.25;

/// The difference of pairs that always counts.
///
/// A pair is the mean of many, so a coarser step of the clock averages out. A difference of less than one step of a
/// fine clock, about a cycle, comes from the placement of code and data.
const FINEST_STEP_NS: f64 = 0.5;

/// The value that ranks uncontended locks.
pub const PAIR: &str = "lock and unlock";
/// The value that ranks contended locks, the first of [`WAITS`].
pub const WAIT: &str = "lock, 99 %";

/// A quantile, as far as it is known, and its interval.
type Known = (Option<f64>, Option<Interval>);
type Quantile = fn(&Row) -> Known;

const WAITS: [(&str, f64, Quantile); 3] = [
    (WAIT, SCATTER_OF_RARE_WAITS, |row| (row.p99_ns, row.p99_ci_ns)),
    ("lock, median", SCATTER_OF_WAITS, |row| (row.p50_ns, row.p50_ci_ns)),
    ("lock, 99.9 %", SCATTER_OF_RARE_WAITS, |row| (row.p999_ns, row.p999_ci_ns)),
];

/// Returns the ranks for every number of threads and competitors; the value that decides first. A lock that does not
/// exclude has none.
pub fn ranking(rows: &[Row]) -> Vec<Rank> {
    let rows = sound(rows);
    distinct(&rows, Row::contest).into_iter().flat_map(|words| within(&words, &rows)).collect()
}

fn within(words: &str, rows: &[Row]) -> Vec<Rank> {
    let locking: Vec<&Row> =
        rows.iter().filter(|row| row.operation == Operation::Lock && row.contest() == words).collect();
    if locking.iter().all(|row| is_free(row)) {
        let pairs = FreePairs::of(rows);
        return contest(words, PAIR, SCATTER_OF_PAIRS).ranked(pairs.contenders(&locking));
    }
    let cells = distinct(&locking, |row| row.cell());
    let of = |(figure, scatter, quantile): (&'static str, f64, Quantile)| {
        let waits = cells.iter().filter_map(|cell| unluckiest(cell, &locking, quantile));
        contest(words, figure, scatter).ranked(waits.collect())
    };
    WAITS.into_iter().flat_map(of).collect()
}

fn contest(words: &str, figure: &'static str, scatter: f64) -> Contest {
    Contest { among: words.to_owned(), figure, unit: Unit::Ns, more_is_better: false, scatter }
}

fn is_free(row: &Row) -> bool {
    row.threads == 1 && row.competitors == 0
}

/// The lock/unlock pair of each uncontended lock in a bare loop, as every view shows it: on the same basis for all locks.
#[derive(Clone, Copy)]
pub struct FreePairs {
    pub basis: Basis,
}

impl FreePairs {
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        Self { basis: Basis::common(rows.into_iter().filter(|row| is_free(row)).map(Row::bare_pair)) }
    }

    pub fn of_row(self, row: &Row) -> Option<Estimate> {
        row.bare_pair().on(self.basis)
    }

    /// Returns the field of the row that has the value.
    pub fn field(self) -> &'static str {
        match self.basis {
            Basis::Exclusive => "bare_pair_ns_alone",
            Basis::All => "bare_pair_ns",
        }
    }

    /// Returns the words for the basis.
    pub fn words(self) -> &'static str {
        match self.basis {
            Basis::Exclusive => "exclusive core",
            Basis::All => "all windows",
        }
    }

    /// Returns all locks, unless none has a pair: older records have no such value.
    ///
    /// A lock whose pair was not measured in a short run is listed anyway.
    fn contenders(self, rows: &[&Row]) -> Vec<Contender> {
        let unknown = |row: &Row| Contender { lock: row.lock.clone(), value: None, interval: None, resolution: 0.0 };
        let contenders = rows.iter().map(|row| self.contender(row).unwrap_or_else(|| unknown(row))).collect();
        if rows.iter().any(|row| row.bare_pair_ns.is_some()) { contenders } else { Vec::new() }
    }

    fn contender(self, row: &Row) -> Option<Contender> {
        let pair = self.of_row(row)?;
        Some(Contender {
            lock: row.lock.clone(),
            value: Some(pair.value),
            interval: pair.interval,
            resolution: row.resolution_ns.min(FINEST_STEP_NS),
        })
    }

    /// Returns how many times as long the pair of the second takes, where it is shown to take longer.
    pub fn times_longer(self, row: &Row, other: &Row) -> Option<Interval> {
        let contest = contest(&row.contest(), PAIR, SCATTER_OF_PAIRS);
        let times = contest.times_worse(&self.contender(row)?, &self.contender(other)?)?;
        Some(times).filter(|ends| ends.low > 1.0)
    }
}

/// Returns the thread of a cell for which the value is worst.
fn unluckiest(cell: &CellPlan, locking: &[&Row], quantile: Quantile) -> Option<Contender> {
    let threads = locking.iter().filter(|row| row.cell() == *cell);
    let known = |row: &Row| row.known(quantile(row).0);
    let row = threads.max_by(|a, b| known(a).unwrap_or(0.0).total_cmp(&known(b).unwrap_or(0.0)))?;
    let (value, interval) = (known(row), quantile(row).1);
    Some(Contender {
        lock: row.lock.clone(),
        value,
        interval: interval.filter(|_| value.is_some()),
        resolution: row.least_ns(),
    })
}

/// Returns an uncontended pair, the wait, and the whole iteration.
pub fn metrics(row: &Row) -> Vec<Metric> {
    let cell = cell(row);
    let neighbour = &row.neighbour;
    let seen = |figure, [of_all, alone]: [Known; 2], variation| {
        let known = row.estimate(of_all.0, of_all.1)?;
        let metric = Metric::time(&cell, figure, known.value, known.interval);
        Some(Metric { resolution: known.resolution, variation, alone: row.estimate(alone.0, alone.1), ..metric })
    };
    let median = [(row.p50_ns, row.p50_ci_ns), (neighbour.p50_ns_alone, neighbour.p50_ci_ns_alone)];
    match row.operation {
        Operation::Lock => {
            let pair = row.bare_pair_ns.filter(|_| row.thread == 0);
            let alone = row.bare_pair().exclusive;
            let of_pair = |ns| Metric { alone, ..Metric::time(&cell, "lock and unlock", ns, row.bare_pair_ci_ns) };
            let pair = pair.map(of_pair);
            let median = seen("lock, median", median, variation(row));
            let tail = [(row.p999_ns, row.p999_ci_ns), (neighbour.p999_ns_alone, neighbour.p999_ci_ns_alone)];
            let rare = seen("lock, 99.9 %", tail, VariationSource::Rare);
            pair.into_iter().chain(median).chain(rare).collect()
        }
        Operation::RoundTrip => seen("round trip, median", median, variation(row)).into_iter().collect(),
        // The pair contains it, and it never waits.
        Operation::Unlock => Vec::new(),
    }
}

/// Returns the source of variation: a thread that waits for one on another CPU also waits for the other threads there.
fn variation(row: &Row) -> VariationSource {
    match row.operation {
        _ if row.threads > 1 && row.placement != Placement::OneCpu.to_string() => VariationSource::Elapsed,
        Operation::RoundTrip if row.hold_us * 1e3 >= MOSTLY * row.p50_ns.unwrap_or(f64::INFINITY) => {
            VariationSource::CorrectedWork
        }
        _ => VariationSource::SingleOperation,
    }
}

fn cell(row: &Row) -> Cell {
    let thread = if row.threads > 1 { format!("thread {}", row.thread) } else { String::new() };
    Cell::of([row.lock.clone(), row.contest(), thread])
        .with("hold_us", format!("hold {}", nanoseconds(row.hold_us * 1e3)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn uncontended_locks_are_ranked_by_their_pair() {
        let slow =
            Row { bare_pair_ns: Some(54.0), bare_pair_ci_ns: Some(Interval::new(53.0, 55.0)), ..row("sysv", 1, 0) };
        let ranks = ranking(&[slow, row("std", 1, 0), row("usema", 1, 0)]);
        let places: Vec<_> = ranks.iter().map(|rank| (rank.rank, rank.lock.as_str(), rank.figure.as_str())).collect();
        assert_eq!(places, [(Some(1), "std", PAIR), (Some(1), "usema", PAIR), (Some(3), "sysv", PAIR)]);
        assert_eq!((ranks[2].ratio, ranks[2].among.as_str()), (Some(3.0), "1 thread"));
    }

    /// Locks that differed by a part of a cycle once had different ranks.
    #[test]
    fn pairs_within_one_step_of_the_clock_share_a_rank() {
        let of = |lock: &str, ns: f64, resolution_ns: f64| Row {
            bare_pair_ns: Some(ns),
            bare_pair_ci_ns: Some(Interval::new(ns * 0.9999, ns * 1.0001)),
            resolution_ns,
            ..row(lock, 1, 0)
        };
        let ranks = |resolution_ns: f64, apart: f64| {
            let ranked = ranking(&[of("a", 4.0, resolution_ns), of("b", 4.0 + apart, resolution_ns)]);
            ranked.into_iter().map(|rank| rank.rank).collect::<Vec<_>>()
        };
        assert_eq!(ranks(0.48, 0.4), [Some(1), Some(1)]);
        // A coarse step is averaged over many pairs.
        assert_eq!(ranks(10.0, 1.0), [Some(1), Some(2)]);
        assert_eq!(ranks(0.1, 0.4), [Some(1), Some(2)]);
    }

    #[test]
    fn pairs_are_all_of_exclusive_cores_or_none_is() {
        let exclusive = |lock: &str| {
            let mut row = row(lock, 1, 0);
            row.neighbour.bare_pair_ns_alone = Some(16.0);
            row
        };
        let both = [exclusive("std"), exclusive("usema")];
        assert_eq!(FreePairs::of(&both).of_row(&both[0]).unwrap().value, 16.0);
        let one = [exclusive("std"), row("usema", 1, 0)];
        assert_eq!(FreePairs::of(&one).of_row(&one[0]).unwrap().value, 18.0);
        assert!(ranking(&one).iter().all(|rank| rank.value == Some(18.0)));
    }

    #[test]
    fn a_lock_without_a_value_is_listed_last() {
        let unknown = Row { bare_pair_ns: None, ..row("a", 1, 0) };
        let ranks = ranking(&[unknown, row("b", 1, 0)]);
        let shown: Vec<_> = ranks.iter().map(|rank| (rank.rank, &*rank.lock, rank.value_words())).collect();
        assert_eq!(shown, [(Some(1), "b", "18.0 ns".to_owned()), (None, "a", "unknown".to_owned())]);
    }

    #[test]
    fn contended_locks_are_ranked_by_the_worst_wait() {
        let of = |lock: &str, thread, us: f64| Row {
            thread,
            p99_ns: Some(us * 1e3),
            p99_ci_ns: Some(Interval::new(us * 990.0, us * 1010.0)),
            ..row(lock, 2, 0)
        };
        let ranks = ranking(&[of("a", 0, 10.0), of("a", 1, 90.0), of("b", 0, 30.0), of("b", 1, 29.0)]);
        let places: Vec<_> =
            ranks.iter().filter(|rank| rank.figure == WAIT).map(|rank| (rank.rank, &*rank.lock)).collect();
        assert_eq!(places, [(Some(1), "b"), (Some(2), "a")]);
        assert_eq!(ranks[1].value, Some(90e3));
        assert_eq!(ranks.iter().filter(|rank| rank.among == "2 threads, one-cpu").count(), 6);
    }
}
