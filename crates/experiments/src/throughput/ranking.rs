//! Which lock, when several want it? By the loops of all together, within each number of children and mix of work.

use super::record::Row;
use instruments::statistics::comparison::Estimate;
use record::ranking::{Contender, Contest, Rank};
use record::{Unit, distinct};
use terminal::counted;

/// By so much the throughputs of one lock are taken to differ from cell to cell: a cautious guess.
const SCATTER: f64 = 0.03;

/// What decides.
pub const LOOPS: &str = "loops/s";

/// For every number of children and mix of work; a loop without a lock is in none.
pub fn ranking(rows: &[Row]) -> Vec<Rank> {
    let within = |words: String| {
        let contest =
            Contest { among: words.clone(), figure: LOOPS, unit: Unit::PerS, more_is_better: true, scatter: SCATTER };
        let chosen: Vec<&Row> = rows.iter().filter(|row| row.lock != locks::NONE && among(row) == words).collect();
        // Alone on their cores if that is known of all: like with like.
        let all_alone = chosen.iter().all(|row| row.throughput_per_s_alone.is_some());
        contest.ranked(chosen.iter().map(|row| contender(row, all_alone)).collect())
    };
    distinct(rows, among).into_iter().flat_map(within).collect()
}

fn contender(row: &Row, alone: bool) -> Contender {
    let loops = if alone { row.loops() } else { Estimate::new(row.throughput_per_s, row.throughput_ci) };
    Contender { lock: row.lock.clone(), value: Some(loops.value), interval: loops.interval, resolution: 0.0 }
}

/// Under what a row was measured.
pub fn among(row: &Row) -> String {
    let children = match (row.processes, row.children) {
        (true, 1) => "1 process".to_owned(),
        (true, many) => format!("{many} processes"),
        (false, number) => counted(number, "thread"),
    };
    let reading = if row.share > 0 { format!(", {} % reading", row.share) } else { String::new() };
    format!("{children}, {}, {}+{} µs{reading}", counted(row.locks, "lock"), row.nonhold_us, row.hold_us)
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn the_most_loops_come_first_and_no_lock_has_no_place() {
        let ranks = ranking(&[row("std", 2, 1e6), row("none", 2, 9e6), row("usema", 2, 2e6), row("std", 4, 3e6)]);
        let places: Vec<_> = ranks.iter().map(|rank| (rank.rank, &*rank.lock, &*rank.among)).collect();
        let two = "2 threads, 1 lock, 7+3 µs";
        assert_eq!(places, [(1, "usema", two), (2, "std", two), (1, "std", "4 threads, 1 lock, 7+3 µs")]);
        assert_eq!(ranks[1].ratio, Some(2.0));
    }
}
