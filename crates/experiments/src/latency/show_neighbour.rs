//! What a lock takes alone on the core and beside another hardware thread.

use super::record::{Operation, Row};
use instruments::statistics::Interval;
use instruments::statistics::comparison::{Comparison, Estimate, RunToRun, compare};
use terminal::{nanoseconds, percent};

/// Nothing where the core was never shared, or nobody looked.
pub fn neighbours(cells: &[Vec<&Row>]) -> String {
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

/// Of a lock that nobody else wants the mean, else the median, which the clock rounds to its step.
fn sides(lock: &Row) -> [Option<Estimate>; 2] {
    let known = &lock.neighbour;
    let (of, resolution) = if lock.threads == 1 {
        let alone = (known.undisturbed_mean_ns_alone, known.undisturbed_mean_ci_ns_alone);
        ([alone, (known.undisturbed_mean_ns_shared, known.undisturbed_mean_ci_ns_shared)], 0.0)
    } else {
        let alone = (known.p50_ns_alone, known.p50_ci_ns_alone);
        ([alone, (known.p50_ns_shared, known.p50_ci_ns_shared)], lock.resolution_ns)
    };
    of.map(|(ns, interval): (Option<f64>, Option<Interval>)| ns.map(|value| Estimate { value, interval, resolution }))
}

/// `1.13× (1.09–1.17)`; without an interval the figures say nothing of each other.
fn times(alone: &Estimate, shared: &Estimate) -> Option<String> {
    let Comparison { ratio, interval, .. } = compare(alone, shared, RunToRun::NONE)?;
    let is_known = alone.interval.is_some() && shared.interval.is_some();
    is_known.then(|| format!("{ratio:.2}× ({:.2}–{:.2})", interval.low, interval.high))
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;

    fn shown(threads: usize) -> String {
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
    fn what_sharing_costs_has_an_interval() {
        assert!(shown(1).contains("10.0 ns 11.0 ns 1.10× (1.08–1.12)"), "{}", shown(1));
        assert!(shown(2).contains("10.0 ns 11.0 ns 1.10× (1.06–1.14)"), "half a step of the clock: {}", shown(2));
    }
}
