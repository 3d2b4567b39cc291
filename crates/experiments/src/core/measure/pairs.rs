//! The relation of the CPUs to each other, and the groups that can be probed simultaneously.

use crate::core::plan::Plan;
use crate::core::record::PairRow;
use harness::{Progress, Session};
use instruments::clock::Clock;
use instruments::environment::{Cpu, ProbedPair, ProbedPairs};
use instruments::neighbour::{Pair, Probe, pair};
use instruments::warning::{LeftOut, Warning};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Two CPUs, the lower number first, and their relation.
pub type Pairs = BTreeMap<(usize, usize), Pair>;

/// The time of testing a pair, and the maximum share of the budget for all pairs.
const A_PAIR: Duration = Duration::from_millis(200);
/// The maximum time of a pair, where interference from other guests leaves it undecided.
const A_PAIR_AT_MOST: Duration = Duration::from_secs(1);
const PAIRS_SHARE: f64 = 0.25;
/// The maximum time for all pairs, also in a long run.
const PAIRS_AT_MOST: Duration = Duration::from_secs(600);

/// Tests all pairs of CPUs, as far as there is time.
pub fn try_pairs(
    plan: &Plan,
    session: &Session,
    clock: Clock,
    probe: Probe,
    progress: &Progress,
    warnings: &mut Vec<Warning>,
) -> anyhow::Result<Pairs> {
    let mut pairs = Pairs::new();
    if !plan.pairs {
        return Ok(pairs);
    }
    let until = Instant::now() + plan.budget.mul_f64(PAIRS_SHARE).min(PAIRS_AT_MOST);
    let each =
        plan.cpus.iter().enumerate().flat_map(|(place, &one)| plan.cpus[place + 1..].iter().map(move |&b| (one, b)));
    for (one, other) in each {
        if session.interruption.is_requested() {
            break;
        }
        if !pairs.is_empty() && Instant::now() + A_PAIR > until {
            let reason = "the time did not suffice; set a longer --seconds".to_owned();
            warnings.push(LeftOut { what: "whether other pairs of CPUs share a core".into(), reason }.into());
            break;
        }
        progress.note(&format!("whether CPU {one} and {other} share a core"));
        let enough = until.min(Instant::now() + A_PAIR_AT_MOST);
        let goes_on = || !session.interruption.is_requested() && Instant::now() + A_PAIR <= enough;
        if let Some(found) = pair(clock, probe, one, other, A_PAIR, goes_on)? {
            pairs.insert((one.min(other), one.max(other)), found);
        }
    }
    Ok(pairs)
}

/// Returns groups of CPUs that may be probed at the same time: no two of one core, which would disturb each other.
pub fn groups(cpus: &[usize], machine: &Cpu) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &cpu in cpus {
        match groups.iter_mut().find(|group| group.iter().all(|&other| !machine.share_a_core(cpu, other))) {
            Some(group) => group.push(cpu),
            None => groups.push(vec![cpu]),
        }
    }
    groups
}

/// Returns the result for the environment of the record; `None` where nothing could be decided.
pub fn probed(pairs: &Pairs, session: &Session) -> Option<ProbedPairs> {
    Some(shapes(pairs, session.started_unix_s())).filter(|shapes| !shapes.pairs.is_empty())
}

fn shapes(pairs: &Pairs, probed_unix_s: u64) -> ProbedPairs {
    let pair = |(&(one, other), found): (&(usize, usize), &Pair)| {
        Some(ProbedPair { cpus: [one, other], share_a_core: found.narrowing.shares_core()? })
    };
    ProbedPairs { probed_unix_s, pairs: pairs.iter().filter_map(pair).collect() }
}

/// Returns the relation of the other CPUs to one of them.
pub fn pairs_of(cpu: usize, pairs: &Pairs) -> Vec<PairRow> {
    let other = |(one, other): (usize, usize)| if one == cpu { other } else { one };
    let of_this = pairs.iter().filter(|((one, other), _)| *one == cpu || *other == cpu);
    let row = |(&cpus, pair): (&(usize, usize), &Pair)| PairRow {
        cpu: other(cpus),
        shares: pair.narrowing.shares_core(),
        narrowing: pair.narrowing.median,
        narrowing_ci: Some(pair.narrowing.interval),
        line_ns: pair.line_ns,
    };
    of_this.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::neighbour::Narrowing;
    use instruments::statistics::Interval;

    #[test]
    fn siblings_of_one_core_are_not_probed_simultaneously() {
        let pair = |median: f64| Pair {
            narrowing: Narrowing { median, interval: Interval::new(median - 0.01, median + 0.01) },
            line_ns: 60.0,
        };
        let pairs = Pairs::from([((0, 1), pair(1.7)), ((0, 2), pair(1.0)), ((1, 2), pair(1.01)), ((2, 3), pair(1.6))]);
        let mut machine = instruments::environment::Environment::probe_under(std::path::Path::new("/nowhere")).cpu;
        machine.probed = Some(shapes(&pairs, 0));
        assert_eq!(groups(&[0, 1, 2], &machine), [vec![0, 2], vec![1]]);
        assert_eq!(
            pairs_of(2, &pairs).iter().map(|row| (row.cpu, row.shares)).collect::<Vec<_>>(),
            [(0, Some(false)), (1, Some(false)), (3, Some(true))]
        );
    }
}
