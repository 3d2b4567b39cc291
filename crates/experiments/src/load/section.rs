//! How much of each CPU a process gets, over time.

use super::record::Row;
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct, optional};
use terminal::percent;

pub fn section(rows: &[Row]) -> Section {
    let totals: Vec<_> = rows.iter().filter_map(Row::total).collect();
    let intervals: Vec<_> = rows.iter().filter_map(Row::interval).collect();
    let findings = totals.iter().map(|total| {
        let stat = total.shares.proc_stat_share.map(|share| format!("; /proc/stat shows a load of {}", percent(share)));
        format!(
            "A process at {} would get {} of CPU {}, and could use {}{}.",
            total.priority,
            percent(total.shares.cputime_share),
            total.cpu,
            percent(total.shares.grind_share),
            stat.unwrap_or_default()
        )
    });
    let figures = distinct(&intervals, |row| row.cpu).into_iter().map(|cpu| {
        let chosen: Vec<_> = intervals.iter().filter(|row| row.cpu == cpu).collect();
        let series = |name: &str, value: fn(&super::record::Shares) -> Option<f64>| Series {
            name: name.to_owned(),
            mark: Mark::Line,
            points: chosen.iter().filter_map(|row| Some(Point::new(row.time_s * 1e9, value(&row.shares)?))).collect(),
        };
        let lines = chosen.iter().map(|row| {
            vec![
                format!("{:.1} s", row.time_s),
                percent(row.shares.load_share),
                percent(row.shares.cputime_share),
                percent(row.shares.grind_share),
                optional(row.shares.proc_stat_share, Unit::Share),
                optional(row.shares.exec_share, Unit::Share),
            ]
        });
        Figure {
            title: format!("The load of CPU {cpu}"),
            picture: Picture::Plot(Plot {
                x: Axis { label: "time", unit: Unit::Ns, logarithmic: false },
                y: Axis { label: "load", unit: Unit::Share, logarithmic: false },
                series: vec![
                    series("not got", |shares| Some(shares.load_share)),
                    series("/proc/stat", |shares| shares.proc_stat_share),
                    series("exact account", |shares| shares.exec_share),
                ],
            }),
            tables: vec![Table {
                caption: "Intervals".into(),
                header: vec!["end", "not got", "got", "could use", "/proc/stat", "exact account"],
                rows: lines.collect(),
            }],
            secondary: false,
        }
    });
    Section {
        experiment: "load",
        title: "How much CPU a process gets".into(),
        findings: findings.map(Statement::from).collect(),
        figures: figures.collect(),
        histograms: Vec::new(),
    }
}
