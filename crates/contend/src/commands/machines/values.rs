//! The values of a record in which machines are compared.

use crate::commands::reading::Reading;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{Aspect, Metric, Naming, Source, Unit, VariationSource};

/// A value of one record.
pub struct Value {
    pub aspect: Aspect,
    pub what: String,
    /// The setting that comparable values share; empty without one.
    pub condition: String,
    pub unit: Unit,
    pub variation: VariationSource,
    pub estimate: Estimate,
}

/// The work of which the CPU time is given.
const SECOND_NS: f64 = 1e9;
/// The largest share that counts: a thread that loses all of its time has no finite time for its work.
const MOST_LOST: f64 = 0.99;

/// Returns the values of a record: the costs of its ladder, and the CPU time that others take.
///
/// # Errors
/// The record is not in the format of its experiment.
pub fn values(source: &Source) -> anyhow::Result<Vec<Value>> {
    let reading = Reading::of(source)?;
    let costs = reading.ladder().map_or_else(Vec::new, |ladder| ladder.costs);
    let costs = costs.into_iter().filter_map(|cost| {
        Some(Value {
            aspect: cost.aspect?,
            what: cost.what,
            condition: cost.condition,
            unit: Unit::Ns,
            variation: cost.variation?,
            estimate: Estimate { value: cost.ns, interval: cost.ns_ci, resolution: cost.resolution },
        })
    });
    Ok(costs.chain(shares(&reading.metrics(source)?)).collect())
}

/// Returns the lost and the shared time, each as a share and as the time in which a second of work is done.
fn shares(metrics: &[Metric]) -> Vec<Value> {
    let naming = Naming::default();
    let mean_of = |experiment: &str, figure: &str, is_wanted: &dyn Fn(&str) -> bool| {
        let is_it =
            |one: &&Metric| one.experiment == experiment && one.figure == figure && is_wanted(&naming.name(one));
        mean(&metrics.iter().filter(is_it).map(Metric::estimate).collect::<Vec<_>>())
    };
    let value = |what: &str, unit, estimate| Value {
        aspect: Aspect::CpuTime,
        what: what.to_owned(),
        condition: String::new(),
        unit,
        variation: VariationSource::Others,
        estimate,
    };
    let mut found = Vec::new();
    if let Some(lost) = mean_of("noise", "taken", &|cell| cell == "quiet") {
        found.push(value("CPU time lost, quiet", Unit::Share, lost));
        found.push(value("1 s of work, quiet", Unit::Ns, mapped(lost, |share| SECOND_NS / (1.0 - share))));
    }
    if let Some(shared) = mean_of("core", "core shared", &|_| true) {
        found.push(value("time on a shared core", Unit::Share, shared));
        // The width of the core decides how much of that time is lost.
        if let Some(width) = mean_of("core", "shared over exclusive", &|cell| cell.ends_with(", width")) {
            let rate = move |share: f64| 1.0 - share + share / width.value.max(1.0);
            found.push(value(
                "1 s of work, core shared at times",
                Unit::Ns,
                mapped(shared, |share| SECOND_NS / rate(share)),
            ));
        }
    }
    found
}

/// Returns the mean over several CPUs, with an interval if each of them has one.
fn mean(all: &[Estimate]) -> Option<Estimate> {
    let count = all.len() as f64;
    let of = |part: &dyn Fn(&Estimate) -> Option<f64>| {
        all.iter().map(part).sum::<Option<f64>>().map(|sum| sum / count).filter(|mean| mean.is_finite())
    };
    let ends = of(&|one| Some(one.interval?.low)).zip(of(&|one| Some(one.interval?.high)));
    Some(Estimate::new(of(&|one| Some(one.value))?, ends.map(|(low, high)| Interval::new(low, high))))
}

/// Returns a rising function of a share.
fn mapped(share: Estimate, of: impl Fn(f64) -> f64) -> Estimate {
    let of = |share: f64| of(share.clamp(0.0, MOST_LOST));
    Estimate::new(of(share.value), share.interval.map(|ends| Interval::new(of(ends.low), of(ends.high))))
}
