//! The comparable values of a record (those of `contend compare`), in base units.

use super::samples::Samples;
use record::{Metric, Naming, Unit};
use serde_json::Value;

/// The maximum number of values of one record: more are not useful on a dashboard.
const MOST: usize = 1_000;

const VALUE: &str = "A value of the last run, named as in contend compare";
const LOW: &str = "Lower end of its 95 % confidence interval";
const HIGH: &str = "Upper end of its 95 % confidence interval";

pub fn add(samples: &mut Samples, host: &str, experiment: &str, rows: &[Value]) {
    // Findings of a survey have no values, and neither has a record of a newer contend.
    let Some(entry) = experiments::named(experiment) else { return };
    let rows: Vec<(usize, &Value)> = rows.iter().enumerate().collect();
    let Ok(metrics) = entry.read(&rows).map(|rows| rows.metrics()) else { return };
    let naming = Naming::across(&metrics);
    for metric in metrics.iter().take(MOST) {
        let (unit, factor) = base(metric.unit);
        let labels = [
            ("host", host.to_owned()),
            ("experiment", experiment.to_owned()),
            ("cell", name(&naming, metric)),
            ("figure", metric.figure.to_owned()),
        ];
        let ends = metric.interval.map(|interval| [("_low", LOW, interval.low), ("_high", HIGH, interval.high)]);
        for (end, help, value) in [("", VALUE, metric.value)].into_iter().chain(ends.into_iter().flatten()) {
            // The unit is the last word of a name, so the kinds of values are distinguished by the name and not by a
            // label.
            samples.gauge(&format!("contend_figure{end}"), help, Some(unit), &labels, value * factor);
        }
    }
}

fn name(naming: &Naming, metric: &Metric) -> String {
    let name = naming.name(metric);
    if metric.is_alone { format!("{name}, core exclusive") } else { name }
}

/// Returns the base unit of Prometheus, and the factor to it.
fn base(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Ns => ("seconds", 1e-9),
        Unit::Share | Unit::Times | Unit::Probability => ("ratio", 1.0),
        Unit::Mhz => ("hertz", 1e6),
        Unit::Cycles => ("cycles", 1.0),
        Unit::PerS => ("per_second", 1.0),
        Unit::Number => ("number", 1.0),
    }
}
