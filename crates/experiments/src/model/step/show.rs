//! The record on a terminal.

use super::record::{Method, Row, StepRecord};
use crate::model::show::{assumptions, trace};
use terminal::{self, Page, Point, Scatter, nanoseconds};

pub fn show(record: &StepRecord<'_>, page: &Page) -> String {
    let mut text = format!("Bulk-synchronous nodes, each with the noise of\n  {}\n", trace(&record.parameters.trace));
    for block in record.results.chunk_by(|a, b| a.step_us == b.step_us) {
        text.push('\n');
        text.push_str(&step(block, page));
    }
    text + "\n" + &assumptions(&record.parameters.assumptions, page)
}

fn step(block: &[Row], page: &Page) -> String {
    let of = |method: Method| block.iter().filter(|row| row.method == method).collect::<Vec<_>>();
    let (exact, barrier, ranks) = (of(Method::Exact), of(Method::Barrier), of(Method::Ranks));
    let mut text = String::new();
    if let Some(first) = exact.first() {
        text += &format!("Steps of {}, exact values\n", nanoseconds(first.step_us * 1e3));
        text += &exact_table(&exact);
        text += &summary(first, exact.iter().any(|row| row.nodes > row.supported_nodes));
    }
    if let Some(first) = ranks.first() {
        text += &format!("Steps of {}, in groups of the recorded ranks\n", nanoseconds(first.step_us * 1e3));
        text += &ranks_table(&ranks);
        text += &ranks_summary(&ranks);
    }
    if !barrier.is_empty() {
        text += "\nDissemination barrier, simulated step by step\n";
        text += &barrier_table(&barrier);
    }
    text + "\n" + &plot(block, page)
}

fn time(us: f64) -> String {
    nanoseconds(us * 1e3)
}

fn quantile_words(us: Option<f64>) -> String {
    us.map_or_else(|| "-".to_owned(), time)
}

fn factor(slowdown: f64) -> String {
    if slowdown < 100.0 { format!("{slowdown:.4}") } else { format!("{slowdown:.1}") }
}

fn interval(row: &Row) -> String {
    row.slowdown_ci.map_or_else(String::new, |ci| format!("{}-{}", factor(ci.low), factor(ci.high)))
}

/// Writes a number of nodes, with a star if the trace is too short for it.
fn nodes(row: &Row) -> String {
    format!("  {}{}", terminal::count(row.nodes), if row.nodes > row.supported_nodes { "*" } else { "" })
}

fn exact_table(rows: &[&Row]) -> String {
    let lines = rows.iter().map(|row| {
        vec![
            nodes(row),
            time(row.mean_us),
            time(row.p50_us),
            quantile_words(row.p90_us),
            quantile_words(row.p99_us),
            factor(row.slowdown),
            row.running_slowdown.map_or_else(String::new, factor),
        ]
    });
    terminal::table(&["  nodes", "mean", "p50", "p90", "p99", "slowdown", "running"], lines)
}

fn barrier_table(rows: &[&Row]) -> String {
    let lines = rows.iter().map(|row| {
        vec![
            nodes(row),
            time(row.quiet_us),
            time(row.mean_us),
            quantile_words(row.p99_us),
            factor(row.slowdown),
            interval(row),
            factor(row.together_slowdown),
        ]
    });
    terminal::table(&["  processes", "no noise", "mean", "p99", "slowdown", "95 % CI", "together"], lines)
}

fn ranks_table(rows: &[&Row]) -> String {
    let lines = rows.iter().map(|row| {
        vec![
            nodes(row),
            time(row.mean_us),
            time(row.p50_us),
            quantile_words(row.p99_us),
            factor(row.slowdown),
            interval(row),
            row.apart_slowdown.map_or_else(String::new, factor),
            factor(row.together_slowdown),
        ]
    });
    terminal::table(&["  nodes", "mean", "p50", "p99", "slowdown", "95 % CI", "separate", "together"], lines)
}

fn ranks_summary(rows: &[&Row]) -> String {
    let Some(most) = rows.iter().max_by_key(|row| row.nodes) else { return String::new() };
    let supported = terminal::count(most.supported_nodes);
    let star = match most.nodes > most.supported_nodes {
        true => format!("  * extrapolated: the traces are long enough for {supported} nodes\n"),
        false => "  -: the traces are too short for this quantile\n".to_owned(),
    };
    let half = most
        .half_lost_nodes
        .map(|nodes| format!("  half of the time is lost with {} or more nodes\n", terminal::count(nodes)));
    let apart = "  separate: as if the ranks of a group shared no interruptions\n";
    let together = "  together: all groups are interrupted at the same moments\n";
    format!("{star}{apart}{together}{}", half.unwrap_or_default())
}

fn summary(row: &Row, extrapolated: bool) -> String {
    let supported = terminal::count(row.supported_nodes);
    let half = match row.half_lost_nodes {
        Some(nodes) => format!("half of the time is lost with {} or more nodes", terminal::count(nodes)),
        None if extrapolated => "less than half of the time is lost even with 10,000,000 nodes".to_owned(),
        None => format!("less than half of the time is lost with all {supported} supported nodes"),
    };
    let star = if extrapolated {
        format!("  * extrapolated: the trace is long enough for {supported} nodes\n")
    } else {
        "  -: the trace is too short for this quantile\n".to_owned()
    };
    let running = "  running: slowdown if no step began in a gap\n";
    format!(
        "{star}{running}  all nodes interrupted together: slowdown {} for any number of nodes\n  {half}\n",
        factor(row.together_slowdown)
    )
}

fn plot(block: &[Row], page: &Page) -> String {
    let point = |row: &Row, y: f64, mark: char| Point { x_ns: row.nodes as f64, y, mark };
    let mark = |method: Method| if method == Method::Barrier { 'o' } else { '#' };
    let mut points: Vec<Point> = block.iter().map(|row| point(row, row.together_slowdown, '.')).collect();
    points.extend(block.iter().map(|row| point(row, row.slowdown, mark(row.method))));
    let title = "Slowdown by nodes: # exact, o simulated barrier, . all together";
    Scatter { title, points: &points }.draw_over_counts(page)
}
