//! The parts of a page that no experiment has: the findings of a survey, the values of the old documents, and the
//! tables that compare several records and their machines.

use crate::commands::compare::{Judgement, Pair, PriorRuns, judged};
use crate::commands::outliers::{self, Machines, Odd, readings};
use archive::Catalogue;
use instruments::statistics::comparison::Estimate;
use record::{
    Bar, Bars, Cost, Figure, Finding, Ladder, Metric, Naming, Picture, Section, Source, Statement, Table, ThenAndNow,
    Unit,
};
use report::header;
use terminal::{range, ratio};

/// Returns the findings of a survey, each sentence with the row that it comes from.
pub fn findings(rows: &[Finding]) -> Section {
    let line = |finding: &Finding| {
        let figure = Estimate::new(finding.value, finding.value_ci);
        let source = &finding.source;
        vec![
            finding.what.replace('_', " "),
            finding.unit.rounded_with(figure),
            format!("{}: {}", source.experiment, source.cell),
            format!("results[{}].{}", source.row, source.field),
        ]
    };
    let table = Table {
        caption: "Source of each value".into(),
        header: vec!["finding", "value (95 % CI)", "configuration", "field of the record"],
        rows: rows.iter().map(line).collect(),
    };
    Section {
        experiment: "survey",
        title: "Findings".into(),
        findings: rows.iter().map(statement).collect(),
        figures: vec![Figure {
            title: "Values of the findings".into(),
            picture: Picture::None,
            tables: vec![table],
            secondary: true,
        }],
        histograms: Vec::new(),
    }
}

fn statement(finding: &Finding) -> Statement {
    Statement {
        words: format!("{}.", finding.words),
        about: Some(finding.source.experiment.clone()),
        is_repeated: finding.repeated,
    }
}

/// Returns the old documents' values next to today's: times together, whose ratio is meaningful; all others separately.
pub fn then_and_now(rows: &[ThenAndNow]) -> Section {
    let (times, others): (Vec<&ThenAndNow>, Vec<&ThenAndNow>) = rows.iter().partition(|row| row.unit == Unit::Ns);
    let figures = [(!times.is_empty()).then(|| of_times(&times)), (!others.is_empty()).then(|| of_others(&others))];
    Section {
        experiment: "survey",
        title: "Then and now".into(),
        findings: Vec::new(),
        figures: figures.into_iter().flatten().collect(),
        histograms: Vec::new(),
    }
}

fn of_times(rows: &[&ThenAndNow]) -> Figure {
    let line = |row: &&ThenAndNow| {
        let times = [
            row.ratio.map_or_else(String::new, ratio),
            row.ratio_ci.map_or_else(String::new, |ends| range(ends.low, ends.high)),
        ];
        begin(row).into_iter().chain(times).collect()
    };
    let table = Table {
        caption: "Times of 1998 to 2008 and of today".into(),
        header: vec!["figure", "year", "then", "now (95 %)", "then/now", "95 %"],
        rows: rows.iter().map(line).collect(),
    };
    let picture = Picture::Ladder(drawn(rows));
    Figure { title: "Times, then and now".into(), picture, tables: vec![table], secondary: false }
}

/// Returns the times of both on one axis: one line for each time that was measured today too.
fn drawn(rows: &[&ThenAndNow]) -> Ladder {
    Ladder::of(rows.iter().filter_map(|row| {
        let today = Estimate::new(row.today?, row.today_ci);
        Some(Cost::new(row.figure.clone(), "", today).with_old_value(row.year, Some(row.then)))
    }))
}

/// Returns shares, rates and counts: each is meaningful by itself, but their ratios are not.
fn of_others(rows: &[&ThenAndNow]) -> Figure {
    let table = Table {
        caption: "Shares, rates and counts of 1998 to 2008 and of today".into(),
        header: vec!["figure", "year", "then", "now (95 %)"],
        rows: rows.iter().map(|row| begin(row).into()).collect(),
    };
    let title = "Other values, then and now".into();
    Figure { title, picture: Picture::None, tables: vec![table], secondary: true }
}

fn begin(row: &ThenAndNow) -> [String; 4] {
    let today = |value| row.unit.rounded_with(Estimate::new(value, row.today_ci));
    [
        row.figure.clone(),
        row.year.to_string(),
        row.unit.rounded(row.then),
        row.today.map_or_else(|| row.note.clone().unwrap_or_default(), today),
    ]
}

/// A value of a cell that at least two records have.
struct Shared<'a> {
    cell: String,
    /// The values by record; `None` where it was not measured.
    all: Vec<Option<&'a Metric>>,
}

/// Returns the records side by side, their common cells judged as in `contend compare`: one figure for each experiment
/// that at least two records have.
///
/// All values are judged together, the last record by the first, with the archive's scatter between runs of the same.
pub fn compared(
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
        Some(Bar { name, value: Ok(comparison.ratio), interval: Some(comparison.interval), limit })
    });
    let bars = bars.filter(|bar| bar.interval.is_some_and(|ends| ends.low > 0.0 && ends.high.is_finite()));
    let bars: Vec<Bar> = bars.collect();
    let picture = Picture::Bars(Bars { unit: Unit::Times, logarithmic: true, bars });
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
        let reason = judgement.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        let verdict = judgement.verdict.label().to_owned() + &reason;
        names.into_iter().chain(self.all.iter().map(one)).chain([times, verdict]).collect()
    }
}

/// Returns the records by machine, with the outlier; `None` where fewer than two machines are known.
pub fn machines(sources: &[Source], hosts: &[Option<String>], metrics: &[Vec<Metric>]) -> Option<Figure> {
    let records = sources.iter().zip(hosts).zip(metrics);
    let known =
        records.filter_map(|((source, host), metrics)| Some((host.clone()?, source.name.clone(), metrics.clone())));
    let machines = Machines::of(&readings(&known.collect::<Vec<_>>()))?;
    let mut tables = vec![outliers::table(&machines)];
    if !machines.odd.is_empty() {
        tables.push(Table {
            caption: "Outlying metrics".into(),
            header: vec![
                "machine and metric",
                "value",
                "median of the others",
                "lowest",
                "highest",
                "ratio to the others",
            ],
            rows: machines.odd.iter().map(outlying).collect(),
        });
    }
    Some(Figure { title: "Machines".into(), picture: Picture::None, tables, secondary: false })
}

fn outlying(odd: &Odd) -> Vec<String> {
    let words = |value: f64| odd.unit.words(value);
    let name = format!("{}: {}: {}: {}", odd.host, odd.experiment, odd.cell, odd.figure);
    let figures = [odd.value, odd.others, odd.others_from, odd.others_to].map(words);
    [name].into_iter().chain(figures).chain([ratio(odd.value / odd.others)]).collect()
}
