//! Which lock? A free one by its pair; one that others want by the wait of its unluckiest thread.

use super::plan::CellPlan;
use super::record::{Operation, Row};
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::ranking::{Contender, Contest, Rank};
use record::{Unit, distinct};
use terminal::counted;

/// By so much the pairs of one lock may differ by where code and data lie: taken from a few runs, not a law.
const SCATTER_OF_PAIRS: f64 = 0.02;
/// The same of waits: a cautious guess.
const SCATTER_OF_WAITS: f64 = 0.05;
const SCATTER_OF_RARE_WAITS: f64 = 0.25;

/// Of a free lock.
pub const PAIR: &str = "lock and unlock";
/// Of a lock that others want, the first of [`WAITS`].
pub const WAIT: &str = "lock, 99 %";

type Quantile = fn(&Row) -> (Option<f64>, Option<Interval>);

const WAITS: [(&str, f64, Quantile); 3] = [
    (WAIT, SCATTER_OF_RARE_WAITS, |row| (row.p99_ns, row.p99_ci_ns)),
    ("lock, median", SCATTER_OF_WAITS, |row| (row.p50_ns, row.p50_ci_ns)),
    ("lock, 99.9 %", SCATTER_OF_RARE_WAITS, |row| (row.p999_ns, row.p999_ci_ns)),
];

/// For every number of threads and competitors; the figure that decides first.
pub fn ranking(rows: &[Row]) -> Vec<Rank> {
    distinct(rows, among).into_iter().flat_map(|words| within(&words, rows)).collect()
}

/// Under what a row was measured.
pub fn among(row: &Row) -> String {
    let mut words = counted(row.threads, "thread");
    if row.competitors > 0 {
        words += &format!(", {}", counted(row.competitors, "competitor"));
    }
    if row.threads + row.competitors > 1 {
        words += &format!(", {}", row.placement);
    }
    words
}

fn within(words: &str, rows: &[Row]) -> Vec<Rank> {
    let locking: Vec<&Row> =
        rows.iter().filter(|row| row.operation == Operation::Lock && among(row) == words).collect();
    let contest =
        |figure, scatter| Contest { among: words.to_owned(), figure, unit: Unit::Ns, more_is_better: false, scatter };
    if locking.iter().all(|row| row.threads == 1 && row.competitors == 0) {
        // Alone on the core if that is known of all: like with like.
        let all_alone = locking.iter().all(|row| row.neighbour.bare_pair_ns_alone.is_some());
        let pairs = locking.iter().filter_map(|row| {
            let whole = row.bare_pair_ns.map(|ns| Estimate::new(ns, row.bare_pair_ci_ns));
            let pair = if all_alone { row.bare_pair() } else { whole }?;
            Some(Contender {
                lock: row.lock.clone(),
                value: Some(pair.value),
                interval: pair.interval,
                resolution: 0.0,
            })
        });
        return contest(PAIR, SCATTER_OF_PAIRS).ranked(pairs.collect());
    }
    let cells = distinct(&locking, |row| row.cell());
    let of = |(figure, scatter, quantile): (&'static str, f64, Quantile)| {
        let waits = cells.iter().filter_map(|cell| unluckiest(cell, &locking, quantile));
        contest(figure, scatter).ranked(waits.collect())
    };
    WAITS.into_iter().flat_map(of).collect()
}

/// The thread of a cell for which the figure is worst.
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

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn free_locks_are_ranked_by_their_pair() {
        let slow =
            Row { bare_pair_ns: Some(54.0), bare_pair_ci_ns: Some(Interval::new(53.0, 55.0)), ..row("sysv", 1, 0) };
        let ranks = ranking(&[slow, row("std", 1, 0), row("usema", 1, 0)]);
        let places: Vec<_> = ranks.iter().map(|rank| (rank.rank, rank.lock.as_str(), rank.figure.as_str())).collect();
        assert_eq!(places, [(1, "std", PAIR), (1, "usema", PAIR), (3, "sysv", PAIR)]);
        assert_eq!((ranks[2].ratio, ranks[2].among.as_str()), (Some(3.0), "1 thread"));
    }

    #[test]
    fn locks_that_others_want_are_ranked_by_the_wait_of_the_unluckiest_thread() {
        let of = |lock: &str, thread, us: f64| Row {
            thread,
            p99_ns: Some(us * 1e3),
            p99_ci_ns: Some(Interval::new(us * 990.0, us * 1010.0)),
            ..row(lock, 2, 0)
        };
        let ranks = ranking(&[of("a", 0, 10.0), of("a", 1, 90.0), of("b", 0, 30.0), of("b", 1, 29.0)]);
        let places: Vec<_> =
            ranks.iter().filter(|rank| rank.figure == WAIT).map(|rank| (rank.rank, &*rank.lock)).collect();
        assert_eq!(places, [(1, "b"), (2, "a")]);
        assert_eq!(ranks[1].value, Some(90e3));
        assert_eq!(ranks.iter().filter(|rank| rank.among == "2 threads, one-cpu").count(), 6);
    }
}
