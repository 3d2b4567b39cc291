//! The record on a terminal.

use ::lockstep::record::{LongStep, NodesRow, Parameters, RankRow, Row, StepsRow};
use harness::label;
use instruments::statistics::Interval;
use record::RecordRef;
use terminal::{self, Page, microseconds, percent, slowdown};

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
        long_table(&long),
        terminal::items("Assumed", &record.parameters.assumptions, page),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn ends(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "-".to_owned(), |ends| format!("{}-{}", slowdown(ends.low), slowdown(ends.high)))
}

fn heading(parameters: &Parameters, page: &Page) -> String {
    let hosts = terminal::counted(parameters.hosts.len(), "machine");
    let injected = match parameters.injected_us.zip(parameters.injected_every_us) {
        Some((length, every)) => format!("; {} injected every {}", microseconds(length), microseconds(every)),
        None => String::new(),
    };
    let (ranks, step) = (terminal::count(parameters.ranks), microseconds(parameters.step_us));
    let words = format!(
        "Bulk-synchronous ranks on MPI: {ranks} on {hosts}, steps of {step}, then {}{injected}; {}",
        parameters.collective.name(),
        parameters.mpi
    );
    terminal::wrapped("", "  ", &words, page)
}

fn steps_table(rows: &[&StepsRow], page: &Page) -> String {
    let verdict = |row: &StepsRow| match row.agree {
        Some(true) => "agree",
        Some(false) => "differ",
        None => "-",
    };
    let lines = rows.iter().map(|row| {
        let shared = if row.oversubscribed { "+" } else { "" };
        vec![
            format!("  {}{shared}", terminal::count(row.ranks)),
            microseconds(row.mean_us),
            slowdown(row.slowdown),
            ends(row.slowdown_ci),
            slowdown(row.predicted_slowdown),
            ends(row.predicted_ci),
            slowdown(row.apart_slowdown),
            verdict(row).to_owned(),
        ]
    });
    let header = ["  ranks", "mean", "slowdown", "95 % CI", "predicted", "95 % CI", "separate", ""];
    let table = page.cut_lines(&terminal::table(&header, lines));
    let shared = if rows.iter().any(|row| row.oversubscribed) { "  +: some ranks shared a CPU\n" } else { "" };
    let apart = "  separate: prediction as if the ranks shared no interruptions\n";
    format!("Measured slowdown, and its prediction from the ranks' traces\n{table}{apart}{shared}")
}

fn nodes_table(rows: &[&NodesRow], page: &Page) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let star = |row: &NodesRow| if row.supported { "" } else { "*" };
    let lines = rows.iter().map(|row| {
        vec![
            format!("  {}{}", terminal::count(row.nodes), star(row)),
            slowdown(row.slowdown),
            ends(row.slowdown_ci),
            slowdown(row.together_slowdown),
        ]
    });
    let table = terminal::table(&["  nodes", "slowdown", "95 % CI", "together"], lines);
    let supported = terminal::count(first.supported_nodes);
    let words = format!(
        "* extrapolated: the traces are long enough for {supported} nodes; beyond that, the model assumes that no gap \
         is longer than the longest recorded one"
    );
    let note = if rows.iter().any(|row| !row.supported) {
        terminal::wrapped("  ", "    ", &words, page)
    } else {
        String::new()
    };
    format!("Prediction for more nodes, in groups like these ranks\n{table}{note}")
}

fn ranks_table(rows: &[&RankRow], page: &Page) -> String {
    let cause = |row: &RankRow| {
        let first = row.causes_in_steps.first().or(row.causes.first());
        first.map_or_else(|| "-".to_owned(), |cause| format!("{} {}", label(&cause.cause), percent(cause.share)))
    };
    let lines = rows.iter().map(|row| {
        vec![
            format!("  {}", row.rank),
            row.cpu.to_string(),
            percent(row.lost_share),
            percent(row.lost_in_steps_share),
            microseconds(row.longest_us),
            terminal::count(row.last_steps),
            format!("{}±{}", microseconds(row.clock_offset_us), microseconds(row.clock_error_us)),
            cause(row),
        ]
    });
    let header = ["  rank", "CPU", "lost", "in steps", "longest", "last", "clock", "main cause"];
    let table = page.cut_lines(&terminal::table(&header, lines));
    format!("CPU time that each rank lost, and how often it was certainly the last\n{table}")
}

fn long_table(rows: &[&LongStep]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let lines = rows.iter().map(|row| {
        let worst = row.lost_us.iter().copied().fold(0.0, f64::max);
        vec![
            format!("  {}", terminal::count(row.ranks)),
            microseconds(row.length_us),
            row.last.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
            microseconds(worst),
            row.cause.as_ref().map_or_else(|| "-".to_owned(), label),
        ]
    });
    let header = ["  ranks", "step", "last", "longest loss", "cause"];
    format!("Longest steps\n{}", terminal::table(&header, lines))
}
