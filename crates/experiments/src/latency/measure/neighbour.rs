//! The figures of a row told apart by who was on the core.

use super::conditions::{BARE_LOOPS, Conditions, FENCED_LOOPS};
use super::offset_tally::OffsetTally;
use super::row::Accuracy;
use super::series::{LEAST_ALONE, Series};
use super::to_nanoseconds::ToNanoseconds;
use crate::latency::record::{Neighbour, Operation};
use instruments::neighbour::Split;
use instruments::statistics::Summary;
use instruments::statistics::comparison::Estimate;

/// Of one operation of one thread; the pairs are those of the cell, in ticks: bare and fenced.
pub fn figures(
    series: &Series,
    operation: Operation,
    [bare, fenced]: &[Split; 2],
    conditions: &Conditions,
    accuracy: Accuracy,
) -> Neighbour {
    let net = conditions.to_nanoseconds(accuracy.least);
    let [alone, shared] = [&series.alone, &series.shared].map(|known| known.of(operation));
    let [alone, shared] = [alone, shared].map(|known| Some(known).filter(|known| known.means.len() >= LEAST_ALONE));
    let [mean_alone, mean_shared] = [alone, shared].map(|known| mean(known?, &net));
    let at = |known: Option<&OffsetTally>, q| quantile(known?, q, &net, conditions);
    let [alone_p50, shared_p50] = [alone, shared].map(|known| at(known, 0.5));
    let (alone_p99, alone_p999) = (at(alone, 0.99), at(alone, 0.999));
    let core_correlation = bare.correlation;
    let [bare, fenced] =
        [(bare, BARE_LOOPS), (fenced, FENCED_LOOPS)].map(|(pair, loops)| pair.alone.map(|pair| net.pair(pair, loops)));
    let (value, ends) = (
        |known: Option<Estimate>| known.map(|known| known.value),
        |known: Option<Estimate>| known.and_then(|known| known.interval),
    );
    Neighbour {
        core_shared_share: series.shared_share(),
        core_correlation,
        undisturbed_mean_ns_alone: value(mean_alone),
        undisturbed_mean_ci_ns_alone: ends(mean_alone),
        undisturbed_mean_ns_shared: value(mean_shared),
        undisturbed_mean_ci_ns_shared: ends(mean_shared),
        p50_ns_alone: value(alone_p50),
        p50_ci_ns_alone: ends(alone_p50),
        p50_ns_shared: value(shared_p50),
        p50_ci_ns_shared: ends(shared_p50),
        p99_ns_alone: value(alone_p99),
        p99_ci_ns_alone: ends(alone_p99),
        p999_ns_alone: value(alone_p999),
        p999_ci_ns_alone: ends(alone_p999),
        bare_pair_ns_alone: value(bare),
        bare_pair_ci_ns_alone: ends(bare),
        fenced_pair_ns_alone: value(fenced),
        fenced_pair_ci_ns_alone: ends(fenced),
    }
}

fn mean(known: &OffsetTally, net: &ToNanoseconds) -> Option<Estimate> {
    let (mean, interval) = known.mean()?;
    net.is_known(mean).then(|| net.duration(Estimate::new(mean, interval)))
}

fn quantile(known: &OffsetTally, q: f64, net: &ToNanoseconds, conditions: &Conditions) -> Option<Estimate> {
    let summary = Summary::of(known.tally())?;
    let (ticks, interval) = match q {
        0.5 => (summary.p50, known.interval(q)),
        0.99 => (summary.p99, known.tail_interval(q, conditions.span)),
        _ => (summary.p999, known.tail_interval(q, conditions.span)),
    };
    let (value, interval) = net.quantile(ticks, interval);
    value.map(|value| Estimate::new(value, interval))
}
