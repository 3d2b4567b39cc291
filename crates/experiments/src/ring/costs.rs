//! Switches among the costs, and what the machine itself takes for a step.

use super::record::Row;
use super::then::HOPS as HOPS_2008;
use loops::ring::Class;
use record::Cost;

/// Contestants that stand for a kind of thread.
const KINDS: [(&str, &str); 4] = [
    ("rust-fifo", "a switch, stackless threads"),
    ("tokio-notify", "a switch, tokio's tasks"),
    ("c-protothreads-optimum", "a switch, C protothreads"),
    ("c-pthread-mutex", "a switch, C and POSIX threads"),
];

/// Limits that people know by these words.
const LIMITS: [(&str, &str); 3] = [
    ("system-call", "a system call"),
    ("cache-line-across", "a cache line from another CPU"),
    ("futex-across", "waking a thread, another CPU"),
];

pub fn costs(rows: &[Row]) -> Vec<Cost> {
    let small = || rows.iter().filter(|row| row.pinned && !row.large);
    let named = |names: &'static [(&str, &str)]| {
        names.iter().filter_map(move |(name, words)| cost(small().find(|row| row.contestant == *name)?, words))
    };
    let ns = |row: &Row| row.hop().map_or(f64::INFINITY, |hop| hop.value);
    let of_kernel =
        small().filter(|row| row.class == Class::OsBlock).min_by(|one, other| ns(one).total_cmp(&ns(other)));
    let of_kernel = of_kernel.and_then(|row| cost(row, "a switch, kernel threads"));
    named(&KINDS).chain(of_kernel).chain(named(&LIMITS)).collect()
}

fn cost(row: &Row, words: &str) -> Option<Cost> {
    let whose = if row.class == Class::Limit { "limit" } else { "a hop" };
    let figure = format!("{}, {} threads: {whose}", row.contestant, row.threads);
    let then = row.then.first().map(|line| line.time_s * 1e9 / HOPS_2008);
    Some(Cost::new(words, figure, row.hop()?).beside(2008, then))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::super::then::beside;
    use super::*;

    #[test]
    fn kinds_of_threads_and_limits_have_words_of_their_own() {
        let futex = row("rust-futex", Class::OsBlock, 1_400.0);
        let slower = row("x", Class::OsBlock, 2e3);
        let found =
            costs(&[slower, futex, row("rust-fifo", Class::Mailbox, 2.0), row("system-call", Class::Limit, 90.0)]);
        let said: Vec<(&str, f64)> = found.iter().map(|cost| (cost.what.as_str(), cost.ns)).collect();
        let wanted =
            [("a switch, stackless threads", 2.0), ("a switch, kernel threads", 1_400.0), ("a system call", 90.0)];
        assert_eq!(said, wanted);
    }

    #[test]
    fn the_programs_of_2008_stand_beside_themselves() {
        let name = "c-pthread-mutex";
        let mutex = Row { then: beside(name, 503), ..row(name, Class::OsBlock, 2_750.0) };
        let found = costs(&[mutex]);
        assert!((found[0].then[0].ns - 2_870.0).abs() < 1e-6, "{found:?}");
    }
}
