//! Records of several machines: grouped by machine, and the outlier.

use crate::commands::outliers::{Machines, Odd, readings, table};
use record::{Figure, Metric, Picture, Source, Table};
use terminal::ratio;

/// Returns the figure; `None` where fewer than two machines are known.
pub fn figure(sources: &[Source], hosts: &[Option<String>], metrics: &[Vec<Metric>]) -> Option<Figure> {
    let records = sources.iter().zip(hosts).zip(metrics);
    let known =
        records.filter_map(|((source, host), metrics)| Some((host.clone()?, source.name.clone(), metrics.clone())));
    let machines = Machines::of(&readings(&known.collect::<Vec<_>>()))?;
    let mut tables = vec![table(&machines)];
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
            rows: machines.odd.iter().map(row).collect(),
        });
    }
    Some(Figure { title: "Machines".into(), picture: Picture::None, tables, secondary: false })
}

fn row(odd: &Odd) -> Vec<String> {
    let words = |value: f64| odd.unit.words(value);
    let name = format!("{}: {}: {}: {}", odd.host, odd.experiment, odd.cell, odd.figure);
    let figures = [odd.value, odd.others, odd.others_from, odd.others_to].map(words);
    [name].into_iter().chain(figures).chain([ratio(odd.value / odd.others)]).collect()
}
