//! Records side by side: what their cells have in common, judged as `contend compare` judges, without an archive.

use crate::commands::compare::{Judgement, Pair, in_general, judged};
use crate::commands::metrics;
use record::{Bar, Bars, Figure, Metric, Naming, Picture, Source, Table, Unit};
use report::header;

/// A figure of a cell that at least two records have.
struct Shared<'a> {
    cell: String,
    /// By record; `None` where it was not measured.
    all: Vec<Option<&'a Metric>>,
}

/// One figure for each experiment that at least two records have.
///
/// # Errors
/// Rows that cannot be read.
pub fn figures(sources: &[Source]) -> anyhow::Result<Vec<Figure>> {
    let records: Vec<Vec<Metric>> = sources.iter().map(metrics::of).collect::<anyhow::Result<_>>()?;
    let naming = Naming::within(&records);
    let mut experiments: Vec<&str> = Vec::new();
    for metric in records.iter().flatten() {
        if !experiments.contains(&metric.experiment.as_str()) {
            experiments.push(&metric.experiment);
        }
    }
    let is_disturbed = sources.iter().any(Source::is_disturbed);
    Ok(experiments
        .into_iter()
        .filter_map(|name| figure(name, &shared(name, &records, &naming), is_disturbed))
        .collect())
}

fn shared<'a>(experiment: &str, records: &'a [Vec<Metric>], naming: &Naming) -> Vec<Shared<'a>> {
    let mut found: Vec<Shared<'a>> = Vec::new();
    for first in records.iter().flatten().filter(|metric| metric.experiment == experiment) {
        let cell = naming.name(first);
        let is_it = |other: &&Metric| {
            other.experiment == experiment && other.figure == first.figure && naming.name(other) == cell
        };
        if found.iter().any(|known| known.cell == cell && known.first().figure == first.figure) {
            continue;
        }
        let all: Vec<Option<&Metric>> = records.iter().map(|record| record.iter().find(is_it)).collect();
        if all.iter().flatten().count() > 1 {
            found.push(Shared { cell, all });
        }
    }
    found
}

fn figure(experiment: &str, cells: &[Shared<'_>], is_disturbed: bool) -> Option<Figure> {
    let records = cells.first()?.all.len();
    let pairs: Vec<Pair<'_>> = cells.iter().map(|cell| cell.ends(is_disturbed)).collect();
    let judgements = judged(&pairs);
    let bars = cells.iter().zip(&judgements).filter_map(|(cell, judgement)| {
        let comparison = judgement.comparison?;
        let name = format!("{}: {}", cell.cell, cell.first().figure);
        let limit = Some((1.0, "no difference".into()));
        Some(Bar { name, value: comparison.ratio, interval: Some(comparison.interval), limit })
    });
    let bars = bars.filter(|bar| bar.interval.is_some_and(|ends| ends.low > 0.0 && ends.high.is_finite()));
    Some(Figure {
        title: format!("contend {experiment}: the last by the first"),
        picture: Picture::Bars(Bars { unit: Unit::Times, logarithmic: true, bars: bars.collect() }),
        tables: vec![Table {
            caption:
                "Cells that at least two records have, with 95 % intervals; the ratio is of the last to the first, and \
                      its interval counts how much runs of the same differ in general"
                    .into(),
            header: header(&["cell", "figure"], records, &["last/first (95 %)", "the last is"]),
            rows: cells.iter().zip(&judgements).map(|(cell, judgement)| cell.line(judgement)).collect(),
        }],
        secondary: false,
    })
}

impl<'a> Shared<'a> {
    fn first(&self) -> &'a Metric {
        let mut measured = self.all.iter().flatten();
        measured.next().expect("at least two records have it")
    }

    fn ends(&self, is_disturbed: bool) -> Pair<'a> {
        let a = self.first();
        let b = self.all.iter().flatten().next_back().copied().unwrap_or(a);
        let (one, other) = (in_general(a.variation, is_disturbed), in_general(b.variation, is_disturbed));
        Pair { a, b, run_to_run: if one.deviation >= other.deviation { one } else { other }, other_runs: 0 }
    }

    fn line(&self, judgement: &Judgement) -> Vec<String> {
        let one = |metric: &Option<&Metric>| {
            metric.map_or_else(|| "not measured".into(), |found| found.unit.words_with(found.value, found.interval))
        };
        let times = judgement
            .comparison
            .map_or_else(|| "–".into(), |found| Unit::Times.words_with(found.ratio, Some(found.interval)));
        let names = [self.cell.clone(), self.first().figure.to_owned()];
        let verdict = judgement.reason.unwrap_or(judgement.verdict.label()).to_owned();
        names.into_iter().chain(self.all.iter().map(one)).chain([times, verdict]).collect()
    }
}
