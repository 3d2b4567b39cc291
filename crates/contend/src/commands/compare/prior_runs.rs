//! Other runs of the same as A or B in the archive: the differences between them show how much runs differ.

use super::judgement::{General, Pair, in_general};
use crate::commands::parameters;
use crate::commands::reading::metrics;
use archive::{Catalogue, Entry, Manifest};
use instruments::statistics::comparison::{Estimate, RunToRun, farthest_apart};
use record::{Metric, Naming, Source};

/// The maximum number of records that are read, the newest of their experiment: reading them must not take long.
const NEWEST: usize = 40;

/// Sets of runs of the same configuration; A and B are in none.
#[derive(Default)]
pub struct PriorRuns {
    sets: Vec<Set>,
    /// Whether A or B was disturbed.
    is_disturbed: bool,
}

struct Set {
    source: Source,
    /// The hashes of contend and of the measured program, which distinguish builds.
    builds: Vec<(String, String)>,
    runs: Vec<Vec<Metric>>,
}

impl PriorRuns {
    /// Finds the runs in the archive.
    ///
    /// An unreadable record is skipped, and so is a disturbed one if neither A nor B is.
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

    /// Creates one set of these runs.
    #[cfg(test)]
    pub fn of_runs(runs: Vec<Vec<Metric>>) -> Self {
        let source = Source {
            name: String::new(),
            experiment: String::new(),
            environment: serde_json::Map::new(),
            parameters: serde_json::Map::new(),
            warnings: Vec::new(),
            parts: Vec::new(),
        };
        Self { sets: vec![Set { source, builds: Vec::new(), runs }], is_disturbed: false }
    }

    fn add(&mut self, source: Source, manifest: &Manifest) {
        let Ok(run) = metrics(&source) else { return };
        let contend = manifest.program.as_ref().and_then(|program| program.hash.clone());
        let contend = contend.map(|hash| ("contend".to_owned(), hash));
        let builds: Vec<(String, String)> = contend.into_iter().chain(parameters::contents(&source)).collect();
        match self.sets.iter_mut().find(|set| set.builds == builds && is_same(&set.source, &source)) {
            Some(set) => set.runs.push(run),
            None => self.sets.push(Set { source, builds, runs: vec![run] }),
        }
    }

    /// Returns a value of A and of B, to be judged with the scatter of these runs.
    ///
    /// If both are known with the core exclusive, those are compared: how often the core was shared is not a difference
    /// between A and B.
    pub fn pair(&self, a: &Metric, b: &Metric, naming: &Naming) -> Pair {
        let [a, b] = match (a.alone(), b.alone()) {
            (Some(a), Some(b)) => [a, b],
            _ => [a, b].map(Metric::clone),
        };
        // They may differ in kind: a value may be mostly work on one side and not on the other.
        let [one, other] = [&a, &b].map(|metric| self.scatter(metric, naming));
        let wider = if one.run_to_run.deviation >= other.run_to_run.deviation { one } else { other };
        let Scatter { run_to_run, other_runs, farthest_apart } = wider;
        Pair { a, b, run_to_run, other_runs, farthest_apart }
    }

    /// Returns the scatter of a metric between these runs, and in general.
    fn scatter(&self, metric: &Metric, naming: &Naming) -> Scatter {
        let name = naming.name(metric);
        let is_it = |other: &&Metric| {
            other.experiment == metric.experiment && other.figure == metric.figure && naming.name(other) == name
        };
        let estimate = |other: &Metric| if metric.is_alone { other.alone } else { Some(other.estimate()) };
        let figure = |run: &Vec<Metric>| run.iter().find(is_it).and_then(estimate).filter(|run| run.value > 0.0);
        let sets: Vec<Vec<Estimate>> =
            self.sets.iter().map(|set| set.runs.iter().filter_map(figure).collect()).collect();
        let General { run_to_run, weight } = in_general(metric, self.is_disturbed);
        Scatter {
            run_to_run: run_to_run.learned(weight, &sets),
            other_runs: sets.iter().map(Vec::len).filter(|runs| *runs > 1).sum(),
            farthest_apart: farthest_apart(&sets),
        }
    }
}

/// The distance between runs of the same in one value.
struct Scatter {
    run_to_run: RunToRun,
    other_runs: usize,
    farthest_apart: f64,
}

/// Returns whether this is a complete run of the same experiment, and not the compared one.
///
/// The copy of a record is the same run.
fn is_candidate(entry: &Entry, side: &Source) -> bool {
    let seed = side.environment.get("seed").and_then(serde_json::Value::as_u64);
    let summary = &entry.summary;
    !summary.interrupted && side.experiment == summary.experiment && seed != Some(summary.seed)
}

/// Returns whether both have the same machine and parameters, perhaps of different builds.
fn is_same(one: &Source, other: &Source) -> bool {
    record::environments(&[one, other]).is_empty() && parameters::are_same(one, other)
}
