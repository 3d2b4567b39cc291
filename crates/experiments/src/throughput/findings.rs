//! Which lock, when several threads want it.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::{Finding, Origin, Unit};

type Placed<'a> = (usize, &'a Row);

/// Of the most children: the lock that they get the most of, and the one that they get the least of.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let most = rows.iter().map(|(_, row)| row.children).max().unwrap_or(0);
    let cells = || rows.iter().copied().filter(|(_, row)| row.children == most);
    let by_throughput = |a: &Placed<'_>, b: &Placed<'_>| a.1.throughput_per_s.total_cmp(&b.1.throughput_per_s);
    match (cells().max_by(by_throughput), cells().min_by(by_throughput)) {
        (Some(best), Some(least)) if best.0 != least.0 => vec![best_of(best, least), least_of(least)],
        (Some(only), _) => vec![finding("throughput", only, sentence(only.1))],
        _ => Vec::new(),
    }
}

fn figure(row: &Row) -> Estimate {
    Estimate::new(row.throughput_per_s, row.throughput_ci)
}

fn finding(what: &str, (place, row): Placed<'_>, words: String) -> Finding {
    let cell = format!("{}, {} threads, {}+{} µs", row.lock, row.children, row.nonhold_us, row.hold_us);
    Finding::new(what, words, Unit::PerS, figure(row), Origin::of("throughput", place, cell, "throughput_per_s"))
}

fn sentence(row: &Row) -> String {
    format!(
        "{} threads that hold a lock for {} and work {} without it manage {} with {}",
        row.children,
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.words(row.nonhold_us * 1e3),
        Unit::PerS.estimate(figure(row)),
        row.lock
    )
}

fn best_of(best: Placed<'_>, least: Placed<'_>) -> Finding {
    let overlap = best.1.throughput_ci.zip(least.1.throughput_ci).is_some_and(|(best, least)| best.low <= least.high);
    let rank = if overlap { "the most, but the intervals overlap" } else { "the most" };
    finding("best_throughput", best, format!("{}, {rank}", sentence(best.1))).repeated()
}

fn least_of((place, row): Placed<'_>) -> Finding {
    let words = format!("With {} they manage {}, the least", row.lock, Unit::PerS.estimate(figure(row)));
    finding("least_throughput", (place, row), words)
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn the_best_and_the_least_of_the_most_children() {
        let rows = [
            row("adaptive", 2, 300_000.0),
            row("adaptive", 4, 190_000.0),
            row("sysv", 4, 100_000.0),
            row("std", 4, 150_000.0),
        ];
        let placed: Vec<_> = rows.iter().enumerate().collect();
        let found = findings(&placed);
        assert_eq!((found[0].value, found[0].source.row), (190_000.0, 1));
        assert!(
            found[0]
                .words
                .starts_with("4 threads that hold a lock for 3.00 µs and work 7.00 µs without it manage 190,000/s")
        );
        assert!(found[0].words.ends_with("with adaptive, the most"), "{}", found[0].words);
        assert_eq!((found[1].value, found[1].source.row), (100_000.0, 2));
        assert_eq!(found[1].words, "With sysv they manage 100,000/s (99,000/s to 101,000/s), the least");
    }

    #[test]
    fn a_difference_within_the_intervals_is_called_one() {
        let rows = [row("adaptive", 4, 190_000.0), row("std", 4, 189_000.0)];
        let placed: Vec<_> = rows.iter().enumerate().collect();
        assert!(findings(&placed)[0].words.contains("the intervals overlap"));
        assert_eq!(findings(&placed[..1]).len(), 1);
        assert_eq!(findings(&[]), []);
    }
}
