//! Records of several machines: grouped by machine, and which one is odd.

use crate::commands::machines::{Machines, Odd, readings, table};
use crate::commands::metrics;
use record::{Figure, Picture, Source, Table};
use terminal::ratio;

/// `None` where fewer than two machines are known.
///
/// # Errors
/// Rows that cannot be read.
pub fn figure(sources: &[Source], hosts: &[Option<String>]) -> anyhow::Result<Option<Figure>> {
    let known = sources.iter().zip(hosts).filter_map(|(source, host)| Some((source, host.as_ref()?)));
    let records = known.map(|(source, host)| Ok((host.clone(), source.name.clone(), metrics::of(source)?)));
    let records = records.collect::<anyhow::Result<Vec<_>>>()?;
    let Some(machines) = Machines::of(&readings(&records)) else { return Ok(None) };
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
    Ok(Some(Figure { title: "Machines".into(), picture: Picture::None, tables, secondary: false }))
}

fn row(odd: &Odd) -> Vec<String> {
    let words = |value: f64| odd.unit.words(value);
    let name = format!("{}: {}: {}: {}", odd.host, odd.experiment, odd.cell, odd.figure);
    let figures = [odd.value, odd.others, odd.others_from, odd.others_to].map(words);
    [name].into_iter().chain(figures).chain([ratio(odd.value / odd.others)]).collect()
}
