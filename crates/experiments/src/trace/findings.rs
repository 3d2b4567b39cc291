//! Statements about the rows, and the values that are compared with other records: those of locks that have a name.

use super::record::{CycleVerdict, Row, RowKind};
use super::words;
use harness::report_to;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Finding, Metric, Origin, Unit, VariationSource};

/// Returns the command that follows: the report. The measurement that a finding needs is in the finding itself.
pub fn next() -> Option<Vec<String>> {
    Some(report_to("trace.html"))
}

pub fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
    let all: Vec<Row> = rows.iter().map(|(_, row)| (*row).clone()).collect();
    let is_diagnosed = words::program(&all).is_some();
    let found = |what: &str, field: &str, (place, row): (usize, &Row), figure: (f64, Unit), said: String| {
        let source = Origin::of("trace", place, row.lock.clone(), field);
        Finding::new(what, said, figure.1, Estimate::new(figure.0, None), source)
    };
    let most = rows.iter().find(|(_, row)| row.kind == RowKind::Lock && row.excludes() && row.wait_total_s > 0.0);
    let most = most.zip(words::first(&all)).filter(|_| !is_diagnosed).map(|(&(place, row), said)| {
        let remedy = words::remedy(row).map_or_else(String::new, |remedy| format!(" {remedy}"));
        found("most_waited_for", "wait_total_s", (place, row), (row.wait_total_s * 1e9, Unit::Ns), said + &remedy)
    });
    let locks = rows.iter().filter(|(_, row)| row.kind == RowKind::Lock);
    let critical = locks.filter_map(|&(place, row)| Some((place, row, row.critical_share?)));
    let critical = critical.max_by(|one, other| one.2.total_cmp(&other.2)).zip(words::critical(&all));
    let critical = critical.map(|((place, row, share), said)| {
        found("critical_lock", "critical_share", (place, row), (share, Unit::Share), said)
    });
    let ended_badly = rows.iter().filter_map(|&(place, row)| {
        let (what, said) = match row.kind {
            RowKind::Deadlock => ("deadlock", format!("Deadlock {}.", words::hang(row))),
            RowKind::Inversion | RowKind::Order if row.verdict != Some(CycleVerdict::Excluded) => {
                ("possible_deadlock", words::cycle(row))
            }
            _ => return None,
        };
        Some(found(what, "steps", (place, row), (row.steps.len() as f64, Unit::Number), said))
    });
    let explained = rows.iter().filter(|(_, row)| row.kind == RowKind::Finding).map(|&(place, row)| {
        if let (Some(rule), Some(share)) = (row.rule, row.cpu_share) {
            return found(rule.code(), "cpu_share", (place, row), (share, Unit::Share), words::finding(row));
        }
        found("lock_waits", "wait_total_s", (place, row), (row.wait_total_s * 1e9, Unit::Ns), words::finding(row))
    });
    let explained: Vec<Finding> = explained.collect();
    most.into_iter().chain(explained).chain(critical).chain(ended_badly).collect()
}

/// The least share of a part of the time that is compared.
const LEAST_PART: f64 = 0.001;

/// Returns the parts of the program's time. Less is better for those that a change of its locks moves.
fn of_program(row: &Row) -> Vec<Metric> {
    let Some(lived_s) = row.lived_s.filter(|lived_s| *lived_s > 0.0) else { return Vec::new() };
    let cell = Cell::of(["all threads".to_owned()]);
    let part = |figure, part: Option<f64>, better, variation| {
        let share = part.map(|part| part / lived_s);
        share.map(|share| Metric { unit: Unit::Share, better, variation, ..Metric::time(&cell, figure, share, None) })
    };
    let moved = |figure, part_s| part(figure, part_s, Better::Less, VariationSource::Elapsed);
    // The variation of the other parts must not hide a difference of these two.
    let other = |figure, part_s: Option<f64>| {
        let is_part = |seconds: &f64| *seconds >= LEAST_PART * lived_s;
        part(figure, part_s.filter(is_part), Better::Neither, VariationSource::Others)
    };
    let parts = [
        moved("waiting for locks", row.lock_s),
        moved("ready without a CPU", row.ready_s),
        other("on a CPU", row.on_cpu_s),
        other("waiting for work", row.work_s),
        other("asleep", row.sleep_s),
        other("in I/O", row.io_s),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns the times of the requests of a label, and the part of them that was waiting for locks.
fn of_label(row: &Row) -> Vec<Metric> {
    let cell = Cell::of([format!("requests {}", row.name.as_deref().unwrap_or_default())]);
    let time = |figure, value: Option<f64>, variation| {
        value.map(|value| Metric { variation, ..Metric::time(&cell, figure, value, None) })
    };
    let share = row.share.map(|share| Metric {
        unit: Unit::Share,
        better: Better::Less,
        variation: VariationSource::Elapsed,
        ..Metric::time(&cell, "waiting for locks", share, None)
    });
    let p50 = time("request p50", row.request_p50_ns, VariationSource::Elapsed);
    let p99 = time("request p99", row.request_p99_ns, VariationSource::Rare);
    [p50, p99, share].into_iter().flatten().collect()
}

pub fn metrics(row: &Row) -> Vec<Metric> {
    if row.kind == RowKind::Label {
        return of_label(row);
    }
    if row.kind == RowKind::Budget && row.group.is_none() && row.thread.is_none() {
        return of_program(row);
    }
    if row.kind != RowKind::Lock || !row.excludes() {
        return Vec::new();
    }
    let cell = Cell::of([row.lock.clone()]);
    let time = |figure, value: Option<f64>, variation| {
        value.map(|value| Metric { variation, ..Metric::time(&cell, figure, value, None) })
    };
    let share = row.wait_share.map(|share| Metric {
        unit: Unit::Share,
        better: Better::Less,
        variation: VariationSource::Elapsed,
        ..Metric::time(&cell, "wait, share of thread time", share, None)
    });
    [
        time("wait p50", row.wait_p50_ns, VariationSource::Elapsed),
        time("wait p99", row.wait_p99_ns, VariationSource::Rare),
        time("hold p50", row.hold_p50_ns, VariationSource::Elapsed),
        share,
    ]
    .into_iter()
    .flatten()
    .collect()
}
