//! The record on a terminal (a line for each interval, then the totals with the values of 1998) and on a page (the share
//! of each CPU over time).

use super::findings::TAKING_TURNS_SHARE;
use super::record::{AllCpusRow, IntervalRow, LoadRecord, Row, Shares, TotalRow};
use instruments::statistics::Interval;
use instruments::statistics::order::fewest_samples;
use instruments::statistics::summary::CONFIDENCE;
use record::{Axis, Column, Figure, Mark, Picture, Plot, Point, Section, Series, Statement, Unit, column, distinct};
use terminal::{self, Page, percent};

pub fn show(record: &LoadRecord<'_>, page: &Page) -> String {
    let intervals: Vec<&IntervalRow> = record.results.iter().filter_map(Row::interval).collect();
    let by_time = intervals.chunk_by(|one, other| one.time_s == other.time_s);
    let lines: String = by_time.map(|rows| line(rows, page) + "\n").collect();
    let totals: Vec<&TotalRow> = record.results.iter().filter_map(Row::total).collect();
    let lines = if lines.is_empty() { lines } else { heading() + "\n" + &lines + "\n" };
    let all_cpus = record.results.iter().find_map(Row::all_cpus);
    lines + &summary(&totals, all_cpus, page)
}

/// Returns the heading above the lines.
pub fn heading() -> String {
    "    time   load  tasks /proc/stat    got usable   lost  speed   load of each CPU".to_owned()
}

/// Draws one interval: the means of all CPUs, then the load of each CPU, as many as fit.
pub fn line(rows: &[&IntervalRow], page: &Page) -> String {
    let mean = |figure: fn(&Shares) -> Option<f64>| {
        let known: Vec<f64> = rows.iter().filter_map(|row| figure(&row.shares)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let load = mean(|shares| Some(shares.load_share));
    let mut text = format!("{:>6.1} s", rows.first().map_or(0.0, |row| row.time_s));
    for figure in [load, mean(|shares| shares.exec_share)] {
        text.push_str(&format!(" {:>6}", points(figure)));
    }
    text.push_str(&format!(" {:>10}", points(mean(|shares| shares.proc_stat_share))));
    let rest: [fn(&Shares) -> Option<f64>; 4] = [
        |shares| Some(shares.cputime_share),
        |shares| Some(shares.grind_share),
        |shares| Some(shares.lost_inside_share),
        |shares| shares.speed_share,
    ];
    rest.into_iter().for_each(|figure| text.push_str(&format!(" {:>6}", points(mean(figure)))));
    text.push(' ');
    for row in rows {
        let each = format!(" {:>5}", points(Some(row.shares.load_share)));
        if text.len() + each.len() + 2 > page.width {
            text.push_str(" …");
            break;
        }
        text.push_str(&each);
    }
    text
}

/// Writes a share in hundredths, without the per cent sign.
fn points(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", share * 100.0))
}

/// The columns of the whole run, for the terminal and the page.
const TOTALS: [Column<TotalRow>; 8] = [
    Column::new("CPU", |total| Some(total.cpu.to_string())),
    Column::new("load", |total| Some(percent(total.shares.load_share))),
    Column::terminal("all tasks", |total: &TotalRow| known(total.shares.exec_share))
        .with_page(OTHERS, |total| total.shares.exec_share.map(percent)),
    Column::terminal("/proc/stat", |total: &TotalRow| known(total.shares.proc_stat_share))
        .with_page("/proc/stat", |total| total.shares.proc_stat_share.map(percent)),
    Column::new("spinner got", |total| Some(percent(total.shares.cputime_share))),
    Column::new("usable", |total| Some(percent(total.shares.grind_share))),
    Column::new("lost inside", |total| Some(percent(total.shares.lost_inside_share))),
    Column::terminal("speed", |total: &TotalRow| known(total.shares.speed_share))
        .with_page("speed", |total| total.shares.speed_share.map(percent)),
];

/// The heading for the time of all tasks but the spinner.
const OTHERS: &str = "all other tasks";

fn known(share: Option<f64>) -> Option<String> {
    Some(share.map_or_else(|| "-".to_owned(), percent))
}

fn summary(totals: &[&TotalRow], all_cpus: Option<&AllCpusRow>, page: &Page) -> String {
    let Some(first) = totals.first() else { return String::new() };
    let of_intervals =
        if first.intervals == 1 { "1 interval".to_owned() } else { format!("{} intervals", first.intervals) };
    let mut text = format!("{:.1} s in {of_intervals}; priority of the spinner: {}\n", first.time_s, first.priority);
    text.push_str(&column::in_letters(&TOTALS, totals.iter().copied(), page));
    text.push_str(&match all_cpus {
        Some(all) => loss_words(all.taken_share, all.taken_ci, "all CPUs"),
        None => loss_words(first.taken_share, first.taken_ci, "the CPU"),
    });
    totals.iter().for_each(|total| text.push_str(&efficiency(total)));
    totals.iter().filter_map(|total| left(total)).for_each(|line| text.push_str(&line));
    text + &then(totals)
}

fn loss_words(share: Option<f64>, interval: Option<Interval>, of: &str) -> String {
    let Some(share) = share else { return String::new() };
    let interval = interval.map_or_else(
        || terminal::too_few("intervals for a CI", fewest_samples(0.5, CONFIDENCE) as usize),
        |ci| format!("95 % CI {:+.2} to {:+.2}", ci.low * 100.0, ci.high * 100.0),
    );
    // The spinner cannot give CPU time: a negative value means that the run was too short, or that the accounts differ.
    let untold =
        if share < 0.0 { "A negative value means that its effect is below the resolution of this run.\n" } else { "" };
    let words = format!("The spinner takes {:+.2} points of {of} ({interval}).", share * 100.0);
    terminal::wrapped("", "", &words, &Page::plain()) + untold
}

/// Returns the part of the CPU that was left over, or that a thread of the priority got, in time and in issue width.
fn left(total: &TotalRow) -> Option<String> {
    let (lost, shared) = (total.width_lost_share?, total.core_shared_share?);
    let interval = total
        .core_shared_share_ci
        .map_or_else(String::new, |ci| format!(" (95 % CI {} to {})", percent(ci.low), percent(ci.high)));
    Some(format!(
        "CPU {}: {}, with {} of the core's width:\n  the core was shared for {}{interval} of that time.\n",
        total.cpu,
        obtained(total),
        percent(1.0 - lost),
        percent(shared),
    ))
}

/// States the time that the spinner got, as its priority permits.
fn obtained(total: &TotalRow) -> String {
    let share = percent(total.shares.cputime_share);
    match total.is_idle() {
        true => format!("{share} of its time is left over"),
        false => format!("a thread of priority {} gets {share} of its time", total.priority),
    }
}

fn efficiency(total: &TotalRow) -> String {
    let Some(efficiency) = total.efficiency_share else { return String::new() };
    let interval = total
        .efficiency_ci
        .map_or_else(String::new, |ci| format!(" (95 % CI {:.2}–{:.2})", ci.low * 100.0, ci.high * 100.0));
    let percent = efficiency * 100.0;
    let then = TAKING_TURNS_SHARE * 100.0;
    format!("CPU {}, two spinners: {percent:.2} % of the work{interval}; 1998: {then:.2} %\n", total.cpu)
}

/// Compares with 1998, when one machine had two CPUs: 97 % for the meter when nothing else ran, 4 % when the CPUs were
/// swamped.
fn then(totals: &[&TotalRow]) -> String {
    let most = totals.iter().map(|total| total.cputime_most_share).fold(0.0, f64::max);
    let least = totals.iter().map(|total| total.cputime_least_share).fold(1.0, f64::min);
    format!(
        "In single intervals the spinner got {} to {}; in 1998,\n97 % with nothing else running, 4 % next to programs \
         that used all of the CPU.\n",
        percent(least),
        percent(most)
    )
}

pub fn section(rows: &[Row]) -> Section {
    let totals: Vec<&TotalRow> = rows.iter().filter_map(Row::total).collect();
    let whole = Figure {
        title: "The whole run".into(),
        picture: Picture::None,
        tables: vec![column::on_page("Means of the whole run", &TOTALS, totals.iter().copied())],
        secondary: false,
    };
    let intervals: Vec<_> = rows.iter().filter_map(Row::interval).collect();
    let figures = distinct(&intervals, |row| row.cpu).into_iter().map(|cpu| {
        let of_cpu: Vec<&IntervalRow> = intervals.iter().copied().filter(|row| row.cpu == cpu).collect();
        figure(cpu, &of_cpu)
    });
    Section {
        experiment: "load",
        title: "CPU time that is left over".into(),
        findings: totals.iter().map(|total| Statement::from(sentence(total))).collect(),
        figures: std::iter::once(whole).filter(|_| !totals.is_empty()).chain(figures).collect(),
        histograms: Vec::new(),
    }
}

fn sentence(total: &TotalRow) -> String {
    let width = total
        .width_lost_share
        .map(|lost| format!(", with {} of the core's issue width during that time", percent(1.0 - lost)));
    let stat = total.shares.proc_stat_share.map(|share| format!(". /proc/stat reports a load of {}", percent(share)));
    format!(
        "CPU {}: {}{}; {} is usable (not lost to interrupts or the hypervisor){}.",
        total.cpu,
        obtained(total),
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
                series(OTHERS, |shares| shares.exec_share),
            ],
        }),
        tables: vec![column::on_page("Intervals", &INTERVALS, intervals.iter().copied())],
        secondary: false,
    }
}

/// The columns of the intervals of a CPU on the page; on the terminal a line has the means of all CPUs.
const INTERVALS: [Column<IntervalRow>; 6] = [
    Column::page("end", |row| Some(format!("{:.1} s", row.time_s))),
    Column::page("load", |row| Some(percent(row.shares.load_share))),
    Column::page(OTHERS, |row| row.shares.exec_share.map(percent)),
    Column::page("/proc/stat", |row| row.shares.proc_stat_share.map(percent)),
    Column::page("spinner got", |row| Some(percent(row.shares.cputime_share))),
    Column::page("usable", |row| Some(percent(row.shares.grind_share))),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cpu: usize, load_share: f64) -> IntervalRow {
        let shares = Shares {
            load_share,
            cputime_share: 1.0 - load_share,
            grind_share: 0.9 - load_share,
            lost_inside_share: 0.1,
            proc_stat_share: Some(0.0),
            exec_share: None,
            speed_share: Some(1.0),
        };
        IntervalRow { time_s: 1.0, cpu, shares, resting_exec_share: None, efficiency_share: None }
    }

    #[test]
    fn a_line_fits_its_page_however_many_cpus_there_are() {
        let rows: Vec<IntervalRow> = (0..200).map(|cpu| row(cpu, 0.25)).collect();
        let rows: Vec<&IntervalRow> = rows.iter().collect();
        for width in [80, 120] {
            let line = line(&rows, &Page { width, colour: false });
            assert!(line.chars().count() <= width && line.ends_with('…'), "{line}");
        }
        assert!(heading().chars().count() <= 80);
    }

    #[test]
    fn line_has_means_of_all_cpus_and_dashes_for_unknown_values() {
        let rows = [row(0, 0.2), row(1, 0.4)];
        let line = line(&rows.iter().collect::<Vec<_>>(), &Page::plain());
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["1.0", "s", "30.0", "-", "0.0", "70.0", "60.0", "10.0", "100.0", "20.0", "40.0"]);
    }
}
