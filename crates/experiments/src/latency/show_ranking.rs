//! The ranking on a terminal: a line a lock, best first.

use super::ranking::{FreePairs, PAIR, WAIT, among, ranking};
use super::record::{LatencyRecord, Operation, Row};
use record::ranking::{self, Rank, contests, table};
use terminal::{Page, nanoseconds};

/// A table for each number of threads and competitors, by the figure that decides.
pub fn show(record: &LatencyRecord, page: &Page) -> String {
    // A stored ranking may be of an older revision; the rows say the same as when they were measured.
    let ranks = ranking(&record.results);
    // One lock is compared with none.
    let decides = |ranks: &&[Rank]| ranks.len() > 1 && [PAIR, WAIT].contains(&ranks[0].figure.as_str());
    let deciding: Vec<&[Rank]> = contests(&ranks).filter(decides).collect();
    let tables: Vec<String> = deciding.iter().map(|ranks| of_contest(ranks, &record.results, page)).collect();
    if tables.is_empty() { String::new() } else { tables.join("\n") + &legend(record, &deciding.concat()) }
}

const FREE: &str = "lock and unlock, uncontended";

fn of_contest(ranks: &[Rank], rows: &[Row], page: &Page) -> String {
    let (header, operation): (&[&str], _) = match ranks[0].figure.as_str() {
        PAIR => (&["99.9 %", "max"], FREE),
        _ => (&["median", "99.9 %", "max"], "the wait of the unluckiest thread"),
    };
    let more = |rank: &Rank| {
        let worst = |of: fn(&Row) -> Option<f64>| worst(rank, rows, of);
        let all = [worst(|row| row.p50_ns), worst(|row| row.p999_ns), worst(|row| row.max_ns)];
        all.into_iter().skip(3 - header.len()).collect()
    };
    let text = table(ranks, (header, more));
    let cut: String = text.lines().map(|line| page.cut(line) + "\n").collect();
    let basis = match ranks[0].figure.as_str() {
        PAIR => format!(" ({})", FreePairs::of(rows).basis()),
        _ => String::new(),
    };
    format!("{}: {operation}, best first{basis}\n{cut}", ranks[0].among)
}

/// A figure of the thread for which it is worst.
fn worst(rank: &Rank, rows: &[Row], of: fn(&Row) -> Option<f64>) -> String {
    let is_of = |row: &&Row| row.lock == rank.lock && row.operation == Operation::Lock && among(row) == rank.among;
    let row = rows.iter().filter(is_of).max_by(|a, b| of(a).unwrap_or(0.0).total_cmp(&of(b).unwrap_or(0.0)));
    row.map_or_else(String::new, |row| row.words(of(row)))
}

fn legend(record: &LatencyRecord, ranks: &[Rank]) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use instruments::statistics::Interval;

    #[test]
    fn a_line_a_lock_fits_a_screen() {
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
}
