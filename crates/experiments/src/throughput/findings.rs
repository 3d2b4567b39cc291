//! Which lock, when several threads want it.

use super::ranking::{Loops, among, contest, ranking};
use super::record::Row;
use record::ranking::{best, worst};
use record::{Finding, Origin, Unit};

type Placed<'a> = (usize, &'a Row);

/// With the most children: the lock with the highest throughput, and the one with the lowest.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let all = || rows.iter().map(|(_, row)| *row).filter(|row| row.lock != locks::NONE);
    let most = all().map(|row| row.children).max().unwrap_or(0);
    let Some(words) = all().find(|row| row.children == most).map(among) else { return Vec::new() };
    let loops = Loops::of(rows.iter().map(|(_, row)| *row));
    let ranking = ranking(all());
    let ranks = contest(&ranking, &words);
    let placed = |lock: &str| rows.iter().copied().find(|(_, row)| row.lock == lock && among(row) == words);
    let ends = ranks.first().zip(ranks.last()).and_then(|(one, other)| placed(&one.lock).zip(placed(&other.lock)));
    let Some((top, bottom)) = ends else { return Vec::new() };
    if ranks.len() == 1 {
        return vec![finding("throughput", top, &loops, "has a throughput of", "")];
    }
    let of_best = match best(ranks) {
        Some(_) => finding("best_throughput", top, &loops, "has the highest throughput:", ""),
        None => finding("best_throughput", top, &loops, "has a throughput of", ", not shown to be above all others"),
    };
    let of_worst = match worst(ranks) {
        Some(_) => finding("least_throughput", bottom, &loops, "has the lowest throughput:", ""),
        None => {
            finding("least_throughput", bottom, &loops, "has a throughput of", ", not shown to be below all others")
        }
    };
    vec![of_best.repeated(), of_worst]
}

fn finding(what: &str, (place, row): Placed<'_>, loops: &Loops, verb: &str, comparison: &str) -> Finding {
    let value = loops.of_row(row);
    let words = format!(
        "With {} threads ({} in the critical section, {} outside), {} {verb} {}, {}{}{comparison}",
        row.children,
        Unit::Ns.words(row.hold_us * 1e3),
        Unit::Ns.words(row.nonhold_us * 1e3),
        row.lock,
        Unit::PerS.estimate(value),
        loops.basis(row),
        two_levels(row),
    );
    let cell = format!("{}, {} threads, {}+{} µs", row.lock, row.children, row.nonhold_us, row.hold_us);
    let origin = Origin::of("throughput", place, cell, loops.field(row));
    Finding::new(what, words, Unit::PerS, value, origin)
}

/// Where the runs have two levels, both of them: no one value stands for the lock then.
fn two_levels(row: &Row) -> String {
    let Some(levels) = row.levels_per_s else { return String::new() };
    let [lower, upper] = [levels.lower, levels.upper].map(|loops| Unit::PerS.rounded(loops));
    format!("; single runs are at {lower} or at {upper}")
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use instruments::statistics::Interval;

    fn words(rows: &[Row]) -> Vec<String> {
        let placed: Vec<_> = rows.iter().enumerate().collect();
        findings(&placed).into_iter().map(|finding| finding.words).collect()
    }

    #[test]
    fn the_highest_and_the_lowest_of_the_most_children_are_named() {
        let rows = [
            row("adaptive", 2, 300_000.0),
            row("adaptive", 4, 230_000.0),
            row("sysv", 4, 100_000.0),
            row("std", 4, 150_000.0),
        ];
        let placed: Vec<_> = rows.iter().enumerate().collect();
        let found = findings(&placed);
        assert_eq!((found[0].value, found[0].source.row), (230_000.0, 1));
        assert_eq!(
            found[0].words,
            "With 4 threads (3.00 µs in the critical section, 7.00 µs outside), adaptive has the highest throughput: \
             230,000/s (95 % CI 227,700–232,300/s), all runs"
        );
        assert_eq!((found[1].value, found[1].source.row), (100_000.0, 2));
        assert!(found[1].words.contains("sysv has the lowest throughput: 100,000/s"), "{}", found[1].words);
    }

    /// A survey once said "174,112/s with adaptive, the most", where std had 169,913/s (160,600 to 175,700).
    #[test]
    fn the_highest_is_said_only_where_it_differs_from_the_second() {
        let with = |ends, row: Row| Row { throughput_ci: Some(ends), ..row };
        let rows = [
            with(Interval::new(163_714.0, 186_630.0), row("adaptive", 4, 174_112.0)),
            with(Interval::new(160_600.0, 175_700.0), row("std", 4, 169_913.0)),
            with(Interval::new(60_000.0, 70_000.0), row("usema", 4, 63_000.0)),
            with(Interval::new(58_000.0, 66_000.0), row("sysv", 4, 62_000.0)),
        ];
        let said = words(&rows);
        assert!(said.iter().all(|words| !words.contains("highest") && !words.contains("lowest")), "{said:?}");
        assert!(
            said[0].contains("adaptive has a throughput of 174,112/s") && said[0].contains("not shown"),
            "{said:?}"
        );
        assert!(said[1].contains("sysv has a throughput of 62,000/s") && said[1].contains("not shown"), "{said:?}");
    }

    #[test]
    fn one_lock_is_compared_with_none() {
        assert_eq!(words(&[row("adaptive", 4, 190_000.0)]).len(), 1);
        assert_eq!(words(&[]), [""; 0]);
    }
}
