//! The record on a terminal.

use super::columns::{LONG_STEPS, NODES, RANKS, STEPS};
use ::lockstep::record::{LongStep, NodesRow, Parameters, RankRow, Row, StepsRow};
use record::RecordRef;
use record::column::indented;
use terminal::{self, Page, count, microseconds};

pub fn show(record: &RecordRef<'_, Parameters, Row>, page: &Page) -> String {
    let (mut steps, mut nodes, mut long, mut ranks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in record.results {
        match row {
            Row::Steps(row) => steps.push(row),
            Row::Nodes(row) => nodes.push(row),
            Row::LongStep(row) => long.push(row),
            Row::Rank(row) => ranks.push(&**row),
        }
    }
    let parts = [
        heading(record.parameters, page),
        steps_table(&steps, page),
        nodes_table(&nodes, page),
        ranks_table(&ranks, page),
        long_table(&long, page),
        terminal::items("Assumed", &record.parameters.assumptions, page),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn heading(parameters: &Parameters, page: &Page) -> String {
    let hosts = terminal::counted(parameters.hosts.len(), "machine");
    let injected = match parameters.injected_us.zip(parameters.injected_every_us) {
        Some((length, every)) => format!("; {} injected every {}", microseconds(length), microseconds(every)),
        None => String::new(),
    };
    let (ranks, step) = (count(parameters.ranks), microseconds(parameters.step_us));
    let words = format!(
        "Bulk-synchronous ranks on MPI: {ranks} on {hosts}, steps of {step}, then {}{injected}; {}",
        parameters.collective.name(),
        parameters.mpi
    );
    terminal::wrapped("", "  ", &words, page)
}

fn steps_table(rows: &[&StepsRow], page: &Page) -> String {
    let table = page.cut_lines(&indented(&STEPS, rows.iter().copied(), page));
    let shared = if rows.iter().any(|row| row.oversubscribed) { "  +: some ranks shared a CPU\n" } else { "" };
    let apart = "  separate: prediction as if the ranks shared no interruptions\n";
    format!("Measured slowdown, and its prediction from the ranks' traces\n{table}{apart}{shared}")
}

fn nodes_table(rows: &[&NodesRow], page: &Page) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let supported = count(first.supported_nodes);
    let words = format!(
        "* extrapolated: the traces are long enough for {supported} nodes; beyond that, the model assumes that no gap \
         is longer than the longest recorded one"
    );
    let note = if rows.iter().any(|row| !row.supported) {
        terminal::wrapped("  ", "    ", &words, page)
    } else {
        String::new()
    };
    format!(
        "Prediction for more nodes, in groups like these ranks\n{}{note}",
        indented(&NODES, rows.iter().copied(), page)
    )
}

fn ranks_table(rows: &[&RankRow], page: &Page) -> String {
    let table = page.cut_lines(&indented(&RANKS, rows.iter().copied(), page));
    format!("CPU time that each rank lost, and how often it was certainly the last\n{table}")
}

fn long_table(rows: &[&LongStep], page: &Page) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!("Longest steps\n{}", indented(&LONG_STEPS, rows.iter().copied(), page))
}
