//! Which clusters are spikes, and what they are called.
use super::Spike;
use super::modes::Cluster;
use crate::statistics::order::quantile_interval;
use crate::statistics::summary::CONFIDENCE;
use crate::tally::Tally;

/// Fewer latencies than this are scatter, however close they are.
const FEWEST: u64 = 10;

/// A spike holds at least this part of the latencies, …
const LEAST_SHARE: f64 = 1e-4;

/// … or of the time that all latencies took: preemptions are rare and long.
const LEAST_TIME_SHARE: f64 = 1e-3;

/// The spikes hold at least this part of the latencies.
const COVERED: f64 = 0.99;

/// The spikes of `tally`, largest first, not yet searched for echoes.
pub(super) fn spikes(tally: &Tally, clusters: &[Cluster]) -> Vec<Spike> {
    let mut chosen: Vec<(Cluster, Tally)> = clusters
        .iter()
        .map(|&cluster| (cluster, tally.between(cluster.from..=cluster.to)))
        .filter(|(_, inside)| matters(inside, tally))
        .collect();
    cover(&mut chosen, tally);
    chosen.sort_by_key(|(cluster, inside)| (std::cmp::Reverse(inside.count()), cluster.from));
    let total = tally.count() as f64;
    chosen.iter().enumerate().filter_map(|(index, (cluster, inside))| spike(index, *cluster, inside, total)).collect()
}

fn matters(inside: &Tally, tally: &Tally) -> bool {
    let time = |tally: &Tally| tally.mean().unwrap_or(0.0) * tally.count() as f64;
    let share = inside.count() as f64 / tally.count() as f64;
    inside.count() >= FEWEST && (share >= LEAST_SHARE || time(inside) >= LEAST_TIME_SHARE * time(tally))
}

/// Accepts what lies between two spikes as one more, largest first, until enough is covered.
fn cover(chosen: &mut Vec<(Cluster, Tally)>, tally: &Tally) {
    let mut covered = chosen.iter().fold(0, |sum: u64, (_, inside)| sum.saturating_add(inside.count()));
    if is_enough(covered, tally) {
        return;
    }
    let mut between = gaps(chosen, tally);
    between.sort_by_key(|(cluster, inside)| (std::cmp::Reverse(inside.count()), cluster.from));
    for (cluster, inside) in between {
        if is_enough(covered, tally) {
            break;
        }
        covered = covered.saturating_add(inside.count());
        chosen.push((cluster, inside));
    }
}

fn is_enough(covered: u64, tally: &Tally) -> bool {
    covered as f64 >= COVERED * tally.count() as f64
}

/// What was seen before, between and after the chosen clusters, which are in order.
fn gaps(chosen: &[(Cluster, Tally)], tally: &Tally) -> Vec<(Cluster, Tally)> {
    let starts = std::iter::once(Some(0)).chain(chosen.iter().map(|(cluster, _)| cluster.to.checked_add(1)));
    let ends = chosen.iter().map(|(cluster, _)| cluster.from.checked_sub(1)).chain([Some(u64::MAX)]);
    let ranges = starts.zip(ends).filter_map(|(start, end)| Some(start?..=end?));
    ranges
        .filter_map(|range| {
            let inside = tally.between(range);
            Some((Cluster { from: inside.min()?, to: inside.max()? }, inside))
        })
        .collect()
}

fn spike(index: usize, cluster: Cluster, inside: &Tally, total: f64) -> Option<Spike> {
    Some(Spike {
        label: label(index),
        share: inside.count() as f64 / total,
        count: inside.count(),
        mean: inside.mean()?,
        median: inside.quantile(0.5)? as f64,
        median_ci: quantile_interval(inside, 0.5, CONFIDENCE),
        from: cluster.from as f64,
        to: cluster.to as f64,
        echo_of: None,
        delay: None,
    })
}

/// A to Z, then AA, AB and so on.
fn label(index: usize) -> String {
    let mut letters = Vec::new();
    let mut left = index + 1;
    while left > 0 {
        left -= 1;
        letters.push(char::from(b'A' + (left % 26) as u8));
        left /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn labels_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 701, 702].map(label), ["A", "Z", "AA", "AB", "ZZ", "AAA"]);
    }
}
