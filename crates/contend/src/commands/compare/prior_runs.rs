//! Other runs of the same as A or B in the archive: how far they differ from each other is how far runs differ.

use super::judgement::{Pair, in_general};
use crate::commands::metrics;
use archive::{Catalogue, Entry, Manifest};
use instruments::statistics::comparison::{Estimate, RunToRun};
use record::{Metric, Naming, Source};

/// Records looked at, the newest of their experiment: reading them must not take long.
const NEWEST: usize = 40;

/// Sets of runs of the same thing; A and B are in none.
#[derive(Default)]
pub struct PriorRuns {
    sets: Vec<Set>,
    /// Whether A or B was disturbed.
    is_disturbed: bool,
}

struct Set {
    source: Source,
    program: Option<String>,
    runs: Vec<Vec<Metric>>,
}

impl PriorRuns {
    /// Those in the archive. A record that cannot be read is left out, and a disturbed one where neither A nor B is.
    ///
    /// # Errors
    /// An archive that cannot be read.
    pub fn of(a: &Source, b: &Source, archive: Option<&Catalogue>) -> anyhow::Result<Self> {
        let is_disturbed = a.is_disturbed() || b.is_disturbed();
        let mut prior_runs = Self { sets: Vec::new(), is_disturbed };
        let Some(Catalogue { archive, entries, .. }) = archive else { return Ok(prior_runs) };
        let candidates = entries.iter().rev().filter(|entry| [a, b].into_iter().all(|side| is_candidate(entry, side)));
        let ids: Vec<&str> = candidates.take(NEWEST).map(|entry| entry.id.as_str()).collect();
        archive.each(&ids, |_, found| {
            let Ok((content, manifest)) = found else { return };
            let Ok(source) = record::understand("", &content) else { return };
            let fits = [a, b].into_iter().any(|side| is_same(side, &source));
            if fits && (is_disturbed || !source.is_disturbed()) {
                prior_runs.add(source, &manifest);
            }
        })?;
        Ok(prior_runs)
    }

    fn add(&mut self, source: Source, manifest: &Manifest) {
        let Ok(run) = metrics::of(&source) else { return };
        let program = manifest.program.as_ref().and_then(|program| program.hash.clone());
        match self.sets.iter_mut().find(|set| set.program == program && is_same(&set.source, &source)) {
            Some(set) => set.runs.push(run),
            None => self.sets.push(Set { source, program, runs: vec![run] }),
        }
    }

    /// A figure of A and of B, to be judged with the scatter that they say it has.
    ///
    /// Where both are known for the time alone on the core, it is those that are compared: how often it was shared is
    /// no difference between A and B.
    pub fn pair(&self, a: &Metric, b: &Metric, naming: &Naming) -> Pair {
        let [a, b] = match (a.alone(), b.alone()) {
            (Some(a), Some(b)) => [a, b],
            _ => [a, b].map(Metric::clone),
        };
        // They may differ in kind: what is mostly work on one side need not be on the other.
        let (one, other) = (self.run_to_run(&a, naming), self.run_to_run(&b, naming));
        let (run_to_run, other_runs) = if one.0.deviation >= other.0.deviation { one } else { other };
        Pair { a, b, run_to_run, other_runs }
    }

    /// What they say of a metric's scatter, beside what is known in general; and how many they are.
    fn run_to_run(&self, metric: &Metric, naming: &Naming) -> (RunToRun, usize) {
        let name = naming.name(metric);
        let is_it = |other: &&Metric| {
            other.experiment == metric.experiment && other.figure == metric.figure && naming.name(other) == name
        };
        let estimate = |other: &Metric| if metric.is_alone { other.alone } else { Some(other.estimate()) };
        let figure = |run: &Vec<Metric>| run.iter().find(is_it).and_then(estimate).filter(|run| run.value > 0.0);
        let sets: Vec<Vec<Estimate>> =
            self.sets.iter().map(|set| set.runs.iter().filter_map(figure).collect()).collect();
        let runs = sets.iter().map(Vec::len).filter(|runs| *runs > 1).sum();
        (in_general(metric.variation, self.is_disturbed).learned(&sets), runs)
    }
}

/// A whole run of the same experiment, and not this one. The copy of a record is still the same run.
fn is_candidate(entry: &Entry, side: &Source) -> bool {
    let seed = side.environment.get("seed").and_then(serde_json::Value::as_u64);
    let summary = &entry.summary;
    !summary.interrupted && side.experiment == summary.experiment && seed != Some(summary.seed)
}

/// The same machine, set in the same way, and the same asked for.
fn is_same(one: &Source, other: &Source) -> bool {
    one.experiment == other.experiment
        && record::environments(&[one, other]).is_empty()
        && record::parameters(&[one, other]).is_empty()
}
