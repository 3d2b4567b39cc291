//! The share of each CPU that a process gets, over time.

use super::record::{IntervalRow, Row, Shares, TotalRow};
use record::{Axis, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit, distinct, optional};
use terminal::percent;

pub fn section(rows: &[Row]) -> Section {
    let totals = rows.iter().filter_map(Row::total);
    let intervals: Vec<_> = rows.iter().filter_map(Row::interval).collect();
    let figures = distinct(&intervals, |row| row.cpu).into_iter().map(|cpu| {
        let of_cpu: Vec<&IntervalRow> = intervals.iter().copied().filter(|row| row.cpu == cpu).collect();
        figure(cpu, &of_cpu)
    });
    Section {
        experiment: "load",
        title: "CPU time that a process would get".into(),
        findings: totals.map(sentence).map(Statement::from).collect(),
        figures: figures.collect(),
        histograms: Vec::new(),
    }
}

fn sentence(total: &TotalRow) -> String {
    let width = total
        .width_lost_share
        .map(|lost| format!(", with {} of the core's issue width during that time", percent(1.0 - lost)));
    let stat = total.shares.proc_stat_share.map(|share| format!(". /proc/stat reports a load of {}", percent(share)));
    format!(
        "A process with priority {} would get {} of CPU {}{}; {} would be usable (not lost to interrupts or the hypervisor){}.",
        total.priority,
        percent(total.shares.cputime_share),
        total.cpu,
        width.unwrap_or_default(),
        percent(total.shares.grind_share),
        stat.unwrap_or_default()
    )
}

fn figure(cpu: usize, intervals: &[&IntervalRow]) -> Figure {
    let series = |name: &str, value: fn(&Shares) -> Option<f64>| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points: intervals.iter().filter_map(|row| Some(Point::new(row.time_s * 1e9, value(&row.shares)?))).collect(),
    };
    Figure {
        title: format!("Load of CPU {cpu}"),
        picture: Picture::Plot(Plot {
            x: Axis { label: "time", unit: Unit::Ns, logarithmic: false },
            y: Axis { label: "load", unit: Unit::Share, logarithmic: false },
            series: vec![
                series("load", |shares| Some(shares.load_share)),
                series("/proc/stat", |shares| shares.proc_stat_share),
                series("all other tasks", |shares| shares.exec_share),
            ],
        }),
        tables: vec![Table {
            caption: "Intervals".into(),
            header: vec!["end", "load", "spinner got", "usable", "/proc/stat", "all other tasks"],
            rows: intervals.iter().map(|row| line(row)).collect(),
        }],
        secondary: false,
    }
}

fn line(row: &IntervalRow) -> Vec<String> {
    vec![
        format!("{:.1} s", row.time_s),
        percent(row.shares.load_share),
        percent(row.shares.cputime_share),
        percent(row.shares.grind_share),
        optional(row.shares.proc_stat_share, Unit::Share),
        optional(row.shares.exec_share, Unit::Share),
    ]
}
