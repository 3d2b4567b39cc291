//! Other runs of the same as A or B in the archive: how far they differ from each other is how far runs differ.

use super::judgement::{General, Pair, in_general};
use crate::commands::parameters;
use crate::commands::reading::metrics;
use archive::{Catalogue, Entry, Manifest};
use instruments::statistics::comparison::{Estimate, RunToRun, farthest_apart};
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
    /// The hashes of contend and of what it measured, which tell one build from the next.
    builds: Vec<(String, String)>,
    runs: Vec<Vec<Metric>>,
}

impl PriorRuns {
    /// Those in the archive. A record that cannot be read is left out, and a disturbed one where neither A nor B is.
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

    /// One set of these runs.
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
        let [one, other] = [&a, &b].map(|metric| self.scatter(metric, naming));
        let wider = if one.run_to_run.deviation >= other.run_to_run.deviation { one } else { other };
        let Scatter { run_to_run, other_runs, farthest_apart } = wider;
        Pair { a, b, run_to_run, other_runs, farthest_apart }
    }

    /// The scatter of a metric between these runs, and in general.
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

/// How far apart runs of the same come out in one figure.
struct Scatter {
    run_to_run: RunToRun,
    other_runs: usize,
    farthest_apart: f64,
}

/// A whole run of the same experiment, and not this one. The copy of a record is still the same run.
fn is_candidate(entry: &Entry, side: &Source) -> bool {
    let seed = side.environment.get("seed").and_then(serde_json::Value::as_u64);
    let summary = &entry.summary;
    !summary.interrupted && side.experiment == summary.experiment && seed != Some(summary.seed)
}

/// The same machine and parameters, perhaps of another build.
fn is_same(one: &Source, other: &Source) -> bool {
    record::environments(&[one, other]).is_empty() && parameters::are_same(one, other)
}
