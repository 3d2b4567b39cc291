//! Records side by side: their common cells, judged as in `contend compare`.

use crate::commands::compare::{Judgement, Pair, PriorRuns, judged};
use archive::Catalogue;
use record::{Bar, Bars, Figure, Metric, Naming, Picture, Source, Table, Unit};
use report::header;

/// A value of a cell that at least two records have.
struct Shared<'a> {
    cell: String,
    /// The values by record; `None` where it was not measured.
    all: Vec<Option<&'a Metric>>,
}

/// Returns one figure for each experiment that at least two records have.
///
/// All values are judged together, the last record by the first, with the archive's scatter between runs of the same.
pub fn figures(
    sources: &[Source],
    records: &[Vec<Metric>],
    archive: Option<&Catalogue>,
) -> anyhow::Result<Vec<Figure>> {
    let [first, .., last] = sources else { return Ok(Vec::new()) };
    let naming = Naming::within(records);
    let prior_runs = PriorRuns::of(first, last, archive)?;
    let shared: Vec<Shared<'_>> =
        experiments(records).into_iter().flat_map(|name| shared(name, records, &naming)).collect();
    let pairs: Vec<Pair> = shared.iter().map(|cell| prior_runs.pair(cell.first(), cell.last(), &naming)).collect();
    let judged: Vec<(&Shared<'_>, Judgement)> = shared.iter().zip(judged(&pairs)).collect();
    let of_one = judged.chunk_by(|one, other| one.0.first().experiment == other.0.first().experiment);
    Ok(of_one.map(figure).collect())
}

/// Returns the experiments in order of appearance.
fn experiments(records: &[Vec<Metric>]) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for metric in records.iter().flatten() {
        if !found.contains(&metric.experiment.as_str()) {
            found.push(&metric.experiment);
        }
    }
    found
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

/// Returns the figure of the cells of one experiment.
fn figure(cells: &[(&Shared<'_>, Judgement)]) -> Figure {
    let (experiment, records) = (&cells[0].0.first().experiment, cells[0].0.all.len());
    let bars = cells.iter().filter_map(|(cell, judgement)| {
        let comparison = judgement.comparison?;
        let name = format!("{}: {}", cell.cell, cell.first().figure);
        let limit = Some((1.0, "no difference".into()));
        Some(Bar { name, value: comparison.ratio, interval: Some(comparison.interval), limit })
    });
    let bars = bars.filter(|bar| bar.interval.is_some_and(|ends| ends.low > 0.0 && ends.high.is_finite()));
    let bars: Vec<Bar> = bars.collect();
    let picture = if bars.is_empty() {
        Picture::None
    } else {
        Picture::Bars(Bars { unit: Unit::Times, logarithmic: true, bars })
    };
    Figure {
        title: format!("contend {experiment}: ratio of the last record to the first"),
        picture,
        tables: vec![Table {
            caption:
                "Values that at least two records have, with 95 % CIs. The ratio is last to first; its CI includes the \
                      variation between repeated runs"
                    .into(),
            header: header(&["configuration", "metric"], records, &["last/first (95 % CI)", "verdict on the last"]),
            rows: cells.iter().map(|(cell, judgement)| cell.line(judgement)).collect(),
        }],
        secondary: false,
    }
}

impl<'a> Shared<'a> {
    fn first(&self) -> &'a Metric {
        let mut measured = self.all.iter().flatten();
        measured.next().expect("at least two records have it")
    }

    fn last(&self) -> &'a Metric {
        self.all.iter().flatten().next_back().copied().unwrap_or(self.first())
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
