//! The record on a terminal.

use super::agreement::{Agreement, Comparison};
use super::record::{LocksRecord, Row, curves};
use record::{Column, column};
use terminal::{Page, Point, Scatter, nanoseconds, wrapped};

/// Returns the whole record: a table for each machine, a chart for each mix of work.
pub fn show(record: &LocksRecord<'_>, page: &Page) -> String {
    let parameters = &record.parameters;
    let mut text =
        "Modelled, not measured: locks on cores with these costs\n".to_owned() + &parameters.costs.words() + "\n";
    text += &wrapped("Known error:", " ", &parameters.known_error, page);
    for block in record.results.chunk_by(Row::is_comparable) {
        let first = &block[0];
        text += &format!("\n{}, {}\n", first.machine(), first.work());
        text += &column::in_letters(&columns(), block, page);
    }
    text.extend(curves(record.results).iter().map(|curve| chart(curve, page)));
    if let Some(agreement) = &parameters.agreement {
        text += &format!("\n{}", agrees(agreement));
    }
    text + "\n" + &terminal::items("Assumed", &parameters.assumptions, page)
}

fn whole(value: f64) -> String {
    terminal::count(value.round() as u64)
}

/// The columns of both views.
pub fn columns() -> [Column<Row>; 10] {
    [
        Column::terminal("", |row| Some(format!("  {}", row.lock))),
        Column::page("lock", |row| Some(row.lock.clone())),
        Column::page("threads, cores", |row| Some(row.machine())),
        Column::new("modelled/s", |row| Some(whole(row.modelled_per_s))),
        Column::new("measured/s", |row: &Row| Some(whole(row.measured.as_ref()?.throughput_per_s))).if_known(),
        Column::new("error", |row: &Row| row.comparison().as_ref().map(Comparison::error_ratio).map(terminal::ratio))
            .if_known(),
        Column::new("COV", |row| Some(format!("{:.2}", row.modelled_cov))),
        Column::new("wait p50", |row| row.modelled_wait_p50_ns.map(nanoseconds)),
        Column::new("wait p99", |row| row.modelled_wait_p99_ns.map(nanoseconds)),
        Column::new("longest", |row| Some(nanoseconds(row.modelled_wait_max_ns))),
    ]
}

/// Draws the throughput by cores, or by threads where the cores are those of a measurement.
fn chart(rows: &[&Row], page: &Page) -> String {
    let is_measured = rows[0].measured.is_some();
    let along = |row: &Row| if is_measured { row.threads } else { row.cores };
    let marks: Vec<(char, &str)> = rows.iter().fold(Vec::new(), |mut marks, row| {
        if !marks.iter().any(|(_, lock)| *lock == row.lock) {
            marks.push((char::from(b'A' + (marks.len() % 26) as u8), &row.lock));
        }
        marks
    });
    let mark = |lock: &str| marks.iter().find(|(_, name)| *name == lock).map_or('?', |(mark, _)| *mark);
    let points: Vec<Point> = rows
        .iter()
        .map(|row| Point { x_ns: along(row) as f64, y: row.modelled_per_s / 1e6, mark: mark(&row.lock) })
        .collect();
    if points.iter().all(|point| point.x_ns == points[0].x_ns) {
        return String::new();
    }
    let by = if is_measured { "threads" } else { "cores" };
    let names: Vec<String> = marks.iter().map(|(mark, lock)| format!("{mark} {lock}")).collect();
    let title = format!("Modelled, million iterations/s by {by}, {}", rows[0].work());
    let legend = terminal::folded(&names.join(", "), page);
    format!("\n{}{legend}\n", Scatter { title: &title, points: &points }.draw_over_counts(page))
}

/// States how far the model is from the measurement.
fn agrees(agreement: &Agreement) -> String {
    let Agreement { configurations, median_error_ratio, worst_error_ratio, inside, ordered_pairs, same_order } =
        *agreement;
    format!(
        "Modelled against measured, {}: off by a factor of {median_error_ratio:.2}\n  \
         in the median and of {worst_error_ratio:.2} at worst; {inside} inside the measured 95 % CI.\n  \
         Pairs of locks with disjoint intervals: {same_order} of {ordered_pairs} in the measured order.\n",
        terminal::counted(configurations, "configuration")
    )
}
