//! What a switch costs.

use super::record::Row;
use loops::ring::Class;
use record::{Finding, Origin, Unit};

type Placed<'a> = (usize, &'a Row);

/// In our stackless threads, in coroutines and tasks, and in kernel threads.
pub fn findings(rows: &[Placed<'_>]) -> Vec<Finding> {
    let named = |name: &str| rows.iter().copied().find(|(_, row)| row.contestant == name && row.ns_per_hop.is_some());
    let stackless = named("rust-fifo").and_then(|placed| switch("stackless_switch", "stackless threads", placed, None));
    let base = stackless.as_ref().map(|finding| finding.value);
    let task = named("tokio-notify").and_then(|placed| switch("task_switch", "tokio's tasks", placed, base));
    let kernel = fastest_of_kernel(rows);
    let kernel = kernel.and_then(|placed| switch("kernel_switch", "kernel threads", placed, base));
    [stackless, task, kernel.map(Finding::repeated)].into_iter().flatten().collect()
}

fn fastest_of_kernel<'a>(rows: &[Placed<'a>]) -> Option<Placed<'a>> {
    let timed = rows.iter().filter_map(|(place, row)| Some((*place, *row, row.hop()?.value)));
    let of_kernel = timed.filter(|(_, row, _)| row.class == Class::OsBlock);
    of_kernel.min_by(|a, b| a.2.total_cmp(&b.2)).map(|(place, row, _)| (place, row))
}

fn switch(what: &str, between: &str, (place, row): Placed<'_>, base_ns: Option<f64>) -> Option<Finding> {
    let figure = row.hop()?;
    let field = if row.ns_per_hop_alone.is_some() { "ns_per_hop_alone" } else { "ns_per_hop" };
    let times =
        base_ns.map(|base| format!(", {} the cost between stackless threads", Unit::Times.words(figure.value / base)));
    let words = format!("A switch between {between} costs {}{}", Unit::Ns.estimate(figure), times.unwrap_or_default());
    let cell = format!("{}, {} threads", row.contestant, row.threads);
    Some(Finding::new(what, words, Unit::Ns, figure, Origin::of("ring", place, cell, field)))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    #[test]
    fn a_switch_of_the_kernel_is_so_many_of_ours() {
        let fifo = row("rust-fifo", Class::Mailbox, 2.0);
        let (futex, mutex) = (row("rust-futex", Class::OsBlock, 1_400.0), row("x", Class::OsBlock, 2e3));
        let found = findings(&[(1, &mutex), (2, &futex), (5, &fifo)]);
        assert_eq!(
            found[0].to_string(),
            "A switch between stackless threads costs 2.00 ns (95 % CI 1.80–2.20 ns) [ring: rust-fifo, 503 threads]"
        );
        assert!(
            found[1].words.ends_with(", 700× the cost between stackless threads") && found[1].source.row == 2,
            "{found:?}"
        );
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn one_that_failed_is_not_found() {
        let failed = Row { ns_per_hop: None, ..row("rust-fifo", Class::Mailbox, 2.0) };
        assert_eq!(findings(&[(0, &failed)]), []);
    }
}
