//! What of a record can be held against other records.

use anyhow::Context;
use record::{Metric, Source};

/// A survey's rows that only repeat figures of its other rows, or stand beside old ones.
const REPEATED: [&str; 2] = ["then_and_now", "findings"];

/// The figures of a record.
///
/// # Errors
/// An experiment that this program does not know, or a row that is not as this experiment writes it.
pub fn of(source: &Source) -> anyhow::Result<Vec<Metric>> {
    let mut all = Vec::new();
    for (experiment, rows) in source.parts.iter().filter(|(name, _)| !REPEATED.contains(&name.as_str())) {
        let entry = experiments::named(experiment)
            .with_context(|| format!("the experiment {experiment:?} is unknown to this version of contend"));
        let of_part = entry.and_then(|entry| entry.metrics(rows));
        let of_part = of_part.with_context(|| format!("cannot compare {}", source.name))?;
        all.extend(of_part.into_iter().map(|metric| Metric { experiment: experiment.clone(), ..metric }));
    }
    Ok(all)
}
