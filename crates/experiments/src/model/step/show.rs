//! The record on a terminal and on a page.

use super::record::{Method, Row, StepRecord};
use crate::estimates::slowdown_with;
use crate::model::show::trace;
use crate::model::trace::Description;
use record::column::{indented, on_page};
use record::{Axis, Column, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Table, Unit};
use terminal::{self, Page, Scatter, count, microseconds, ratio, slowdown};

pub fn show(record: &StepRecord<'_>, page: &Page) -> String {
    let mut text = heading(&record.parameters.trace, page);
    for block in record.results.chunk_by(|a, b| a.step_us == b.step_us) {
        text.push('\n');
        text.push_str(&step(block, page));
    }
    text + "\n" + &terminal::items("Assumed", &record.parameters.assumptions, page)
}

fn heading(noise: &Description, page: &Page) -> String {
    let noise = terminal::wrapped(" ", "   ", &trace(noise), page);
    format!("Bulk-synchronous nodes, each with the noise of\n{noise}")
}

fn step(block: &[Row], page: &Page) -> String {
    let of = |method: Method| block.iter().filter(|row| row.method == method).collect::<Vec<_>>();
    let (exact, barrier, ranks) = (of(Method::Exact), of(Method::Barrier), of(Method::Ranks));
    let mut text = String::new();
    if let Some(first) = exact.first() {
        text += &format!("Steps of {}, exact values\n", microseconds(first.step_us));
        text += &table(Method::Exact, &exact, page);
        text += &summary(first, exact.iter().any(|row| row.nodes > row.supported_nodes));
    }
    if let Some(first) = ranks.first() {
        text += &format!("Steps of {}, in groups of the recorded ranks\n", microseconds(first.step_us));
        text += &table(Method::Ranks, &ranks, page);
        text += &ranks_summary(&ranks);
    }
    if !barrier.is_empty() {
        text += "\nDissemination barrier, simulated step by step\n";
        text += &table(Method::Barrier, &barrier, page);
    }
    text + "\n" + &plot(block, page)
}

/// Returns the columns of the rows of a method, for the terminal and the page.
fn columns(method: Method) -> Vec<Column<Row>> {
    let mean = Column::new("mean", |row: &Row| Some(microseconds(row.mean_us)));
    let p50 = Column::new("p50", |row: &Row| Some(microseconds(row.p50_us)));
    let p90 = Column::new("p90", |row: &Row| Some(quantile_words(row.p90_us)));
    let p99 = Column::new("p99", |row: &Row| Some(quantile_words(row.p99_us)));
    let slowed = Column::terminal("slowdown", |row: &Row| Some(slowdown(row.slowdown)))
        .with_page("slowdown (95 % CI)", |row| Some(slowdown_with(row.slowdown, row.slowdown_ci)));
    let interval = Column::terminal("95 % CI", |row: &Row| Some(interval(row)));
    let together = Column::new("together", |row: &Row| Some(slowdown(row.together_slowdown)));
    match method {
        Method::Exact => {
            let running = Column::new("running", |row: &Row| row.running_slowdown.map(slowdown));
            vec![Column::new("nodes", nodes), mean, p50, p90, p99, slowed, running]
        }
        Method::Barrier => {
            let quiet = Column::new("no noise", |row: &Row| Some(microseconds(row.quiet_us)));
            vec![Column::new("processes", nodes), quiet, mean, p99, slowed, interval, together]
        }
        Method::Ranks => {
            let separate = Column::new("separate", |row: &Row| row.apart_slowdown.map(slowdown));
            vec![Column::new("nodes", nodes), mean, p50, p99, slowed, interval, separate, together]
        }
    }
}

fn quantile_words(us: Option<f64>) -> String {
    us.map_or_else(|| "-".to_owned(), microseconds)
}

fn interval(row: &Row) -> String {
    row.slowdown_ci.map_or_else(String::new, |ci| format!("{}-{}", slowdown(ci.low), slowdown(ci.high)))
}

/// Writes a number of nodes, with a star if the trace is too short for it.
fn nodes(row: &Row) -> Option<String> {
    Some(format!("{}{}", count(row.nodes), if row.nodes > row.supported_nodes { "*" } else { "" }))
}

fn table(method: Method, rows: &[&Row], page: &Page) -> String {
    indented(&columns(method), rows.iter().copied(), page)
}

fn ranks_summary(rows: &[&Row]) -> String {
    let Some(most) = rows.iter().max_by_key(|row| row.nodes) else { return String::new() };
    let supported = count(most.supported_nodes);
    let star = match most.nodes > most.supported_nodes {
        true => format!("  * extrapolated: the traces are long enough for {supported} nodes\n"),
        false => "  -: the traces are too short for this quantile\n".to_owned(),
    };
    let half =
        most.half_lost_nodes.map(|nodes| format!("  half of the time is lost with {} or more nodes\n", count(nodes)));
    let apart = "  separate: as if the ranks of a group shared no interruptions\n";
    let together = "  together: all groups are interrupted at the same moments\n";
    format!("{star}{apart}{together}{}", half.unwrap_or_default())
}

fn summary(row: &Row, extrapolated: bool) -> String {
    let supported = count(row.supported_nodes);
    let half = match row.half_lost_nodes {
        Some(nodes) => format!("half of the time is lost with {} or more nodes", count(nodes)),
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
        slowdown(row.together_slowdown)
    )
}

fn plot(block: &[Row], page: &Page) -> String {
    let point = |row: &Row, y: f64, mark: char| terminal::Point { x_ns: row.nodes as f64, y, mark };
    let mark = |method: Method| if method == Method::Barrier { 'o' } else { '#' };
    let mut points: Vec<terminal::Point> = block.iter().map(|row| point(row, row.together_slowdown, '.')).collect();
    points.extend(block.iter().map(|row| point(row, row.slowdown, mark(row.method))));
    let title = "Slowdown by nodes: # exact, o simulated barrier, . all together";
    Scatter { title, points: &points }.draw_over_counts(page)
}

pub fn section(rows: &[Row]) -> Section {
    Section {
        experiment: "model",
        title: "Bulk-synchronous nodes (model)".into(),
        findings: statements(rows).into_iter().map(Statement::from).collect(),
        figures: vec![figure(rows)],
        histograms: Vec::new(),
    }
}

fn statements(rows: &[Row]) -> Vec<String> {
    let exact = || rows.iter().filter(|row| row.method != Method::Barrier);
    let most = exact().max_by_key(|row| row.nodes).map(|row| {
        format!(
            "On {} nodes with this noise, a step of {} takes {} as long as without noise.",
            count(row.nodes),
            microseconds(row.step_us),
            ratio(row.slowdown)
        )
    });
    let half = exact().find_map(|row| row.half_lost_nodes);
    let half = half.map(|nodes| format!("With {} or more nodes, half of the time is lost.", count(nodes)));
    most.into_iter().chain(half).collect()
}

fn figure(rows: &[Row]) -> Figure {
    let of = |wanted: Method| rows.iter().filter(move |row| row.method == wanted);
    let series = |name: &str, points: Vec<Point>| Series { name: name.to_owned(), mark: Mark::Line, points };
    let slowed = |row: &Row| Point::with_interval(row.nodes as f64, row.slowdown, row.slowdown_ci);
    let running = of(Method::Exact).filter_map(|row| Some(Point::new(row.nodes as f64, row.running_slowdown?)));
    Figure {
        title: "Slowdown by number of nodes".into(),
        picture: Picture::Plot(Plot {
            x: Axis { label: "nodes", unit: Unit::Number, logarithmic: true },
            y: Axis { label: "slowdown", unit: Unit::Times, logarithmic: false },
            series: match of(Method::Ranks).next() {
                Some(_) => vec![series("ranks", of(Method::Ranks).map(slowed).collect())],
                None => vec![
                    series("exact", of(Method::Exact).map(slowed).collect()),
                    series("running", running.collect()),
                    series("barrier", of(Method::Barrier).map(slowed).collect()),
                ],
            },
        }),
        tables: tables(rows),
        secondary: false,
    }
}

/// Returns a table for each method.
fn tables(rows: &[Row]) -> Vec<Table> {
    let captions = [
        (Method::Exact, "Exact values (running: if no step began in a gap; *: extrapolated)"),
        (
            Method::Ranks,
            "In groups of the recorded ranks (separate: as if they shared no interruptions; *: extrapolated)",
        ),
        (
            Method::Barrier,
            "Dissemination barrier, simulated step by step (together: all interrupted at once; *: extrapolated)",
        ),
    ];
    let table = |(method, caption)| {
        let of: Vec<&Row> = rows.iter().filter(|row| row.method == method).collect();
        (!of.is_empty()).then(|| on_page(caption, &columns(method), of))
    };
    captions.into_iter().filter_map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::trace::Source;

    #[test]
    fn heading_fits_the_page_whatever_its_values() {
        let noise = Description {
            file: "traces/a-node-of-the-cluster.trace".into(),
            span_s: 123_456.7,
            span_from: Source::Flag,
            gaps: usize::MAX,
            lost_share: 0.123,
            longest_gap_us: 1e9,
        };
        let text = heading(&noise, &Page::plain());
        assert!(text.contains("\n  traces/") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
