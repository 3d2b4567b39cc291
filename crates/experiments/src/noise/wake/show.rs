//! Wake-ups on a terminal: a line for each CPU and interval, the picture with its spikes, the causes, the latest.

use super::record::{LateWake, WakeRow, WakeSpike};
use crate::noise::by_us;
use crate::noise::cause_groups::{CauseGroup, CauseLine, groups, largest, lines};
use crate::noise::stops::{self, Delayed, Setup};
use crate::noise::timer::Timer;
use harness::label;
use harness::story_text;
use instruments::environment::Environment;
use instruments::evidence::{Cause, Kind};
use record::column::in_letters;
use record::{Column, Unit};
use terminal::{Bar, Histogram, Page, microseconds, nanoseconds, percent, shortened};

/// The number of rows above which there are no charts, which would take thousands of lines.
const MOST_DRAWN: usize = 4;
/// The letters of a cause.
const LONGEST: usize = 34;

/// Shows the rows of a record of this machine with this budget of time.
pub fn show(rows: &[WakeRow], machine: &Environment, budget_s: Option<f64>, page: &Page) -> String {
    let drawn =
        if rows.len() > MOST_DRAWN { String::new() } else { rows.iter().map(|row| of_row(row, page)).collect() };
    let stopped = rows.iter().filter_map(|row| Some((row, row.stopped.as_ref()?)));
    let stopped: String = stopped.map(|(row, late)| stopped_at(row, late, page)).collect();
    let name = |row: &WakeRow| format!("CPU {}, {}", row.cpu, microseconds(row.interval_us));
    let histogram = by_us::table(rows.iter().map(|row| (name(row), &row.late_by_us[..])), page);
    let causes = rows.iter().flat_map(|row| groups(&row.causes));
    let setup = Setup::new(Delayed::Waking, machine, rows.iter().map(|row| (row.cpu, row.irqs)));
    let stops = stops::lines(&setup, causes, page);
    [overview(rows, budget_s, page), drawn, stops, histogram, stopped].concat()
}

fn overview(rows: &[WakeRow], budget_s: Option<f64>, page: &Page) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let slack =
        if first.slack_us > 0.0 { format!(", timer slack {}", microseconds(first.slack_us)) } else { String::new() };
    let heading = format!(
        "Wake-up latency of a thread that sleeps until a given instant: policy {}, {}{slack}",
        first.policy,
        timer(first)
    );
    let heading = terminal::wrapped("", "  ", &heading, page);
    let table = page.cut_lines(&in_letters(&WAKE_UPS, rows, page));
    let skipped = rows.iter().filter(|row| row.skipped > 0).map(|row| {
        let times = terminal::counted(row.skipped as usize, "instant");
        format!(
            "CPU {}, every {}: {times} had passed before the thread slept again\n",
            row.cpu,
            microseconds(row.interval_us)
        )
    });
    heading + &table + &missing_tails(rows, budget_s, page) + &skipped.collect::<String>()
}

/// The columns of the wake-ups, for the terminal and the page.
pub const WAKE_UPS: [Column<WakeRow>; 10] = [
    Column::terminal("", cpu).with_page("CPU", |row| Some(row.cpu.to_string())),
    Column::new("every", |row| Some(microseconds(row.interval_us))),
    Column::new("wake-ups", |row| Some(terminal::count(row.count))),
    Column::terminal("p50", |row: &WakeRow| Some(microseconds(row.late_p50_us))).with_page("p50 (95 % CI)", |row| {
        let interval = row.late_p50_ci_us.map(|ends| ends.scaled(1e3));
        Some(Unit::Ns.words_with(row.late_p50_us * 1e3, interval))
    }),
    Column::new("p99", |row| Some(microseconds(row.late_p99_us))),
    Column::new("p99.9", |row| quantile(row.p999_us())),
    Column::new("p99.99", |row| quantile(row.late_p9999_us)),
    Column::new("max", |row| Some(microseconds(row.late_max_us))),
    Column::page("skipped", |row| Some(terminal::count(row.skipped))),
    Column::new("main cause", |row| Some(largest(&row.causes).map_or_else(String::new, |cause| short_group(&cause)))),
];

/// The columns of the causes, for the terminal and the page.
pub const CAUSES: [Column<CauseLine>; 5] = [
    Column::terminal("Causes", |line: &CauseLine| Some(format!("  {}", line.label)))
        .with_page("cause", |line: &CauseLine| Some(line.label.clone())),
    Column::new("share", |line: &CauseLine| Some(percent(line.share))),
    Column::new("wake-ups", |line: &CauseLine| Some(terminal::count(line.count))),
    Column::new("mean", |line: &CauseLine| Some(microseconds(line.total_us / line.count.max(1) as f64))),
    Column::new("longest", |line: &CauseLine| Some(microseconds(line.longest_us))),
];

fn cpu(row: &WakeRow) -> Option<String> {
    Some(format!("CPU {}", row.cpu))
}

fn quantile(value: Option<f64>) -> Option<String> {
    Some(value.map_or_else(|| "–".to_owned(), microseconds))
}

/// Explains the dashes of the table: the number of wake-ups that is missing, and the time in which they come.
fn missing_tails(rows: &[WakeRow], budget_s: Option<f64>, page: &Page) -> String {
    const MARGIN: f64 = 1.1;
    const WEEK_S: f64 = 7.0 * 24.0 * 3600.0;
    let needed = by_us::least_count(by_us::ABOVE_P9999);
    let Some(fewest) = rows.iter().map(|row| row.count).filter(|count| *count < needed).min() else {
        return String::new();
    };
    let needed_s = budget_s.map(|budget_s| (budget_s * needed as f64 / fewest as f64 * MARGIN).ceil());
    let longer = needed_s.filter(|seconds| *seconds <= WEEK_S);
    let longer = longer.map_or_else(String::new, |seconds| format!("; --seconds {seconds} is long enough here"));
    terminal::wrapped("", "  ", &(by_us::legend_of_tails("wake-ups") + &longer), page)
}

fn timer(row: &WakeRow) -> &'static str {
    match row.timer {
        Timer::ClockNanosleep => "clock_nanosleep",
        Timer::Timerfd => "timerfd",
        Timer::Futex => "futex",
    }
}

fn of_row(row: &WakeRow, page: &Page) -> String {
    let title = format!("CPU {}, every {}", row.cpu, microseconds(row.interval_us));
    let letter = |bin: &record::Bin| {
        let inside = |spike: &&WakeSpike| spike.from_us * 1e3 < bin.to_ns && bin.from_ns <= spike.to_us * 1e3;
        row.spikes.iter().filter(inside).max_by_key(|spike| spike.count).and_then(|spike| spike.label.chars().next())
    };
    let bar = |bin: &record::Bin| Bar {
        at_ns: (bin.from_ns + bin.to_ns) / 2.0,
        count: bin.count,
        letter: letter(bin).unwrap_or('#'),
    };
    let bars: Vec<Bar> = row.histogram.iter().map(bar).collect();
    let picture = Histogram { title: &title, bars: &bars, resolution_ns: 100.0 }.draw(page);
    ["\n".to_owned(), picture, spikes(row, page), causes(row, page), latest(row, page), ledger(row, page)].concat()
}

fn spikes(row: &WakeRow, page: &Page) -> String {
    let lines = row.spikes.iter().map(|spike| {
        let cause = spike.cause.as_ref().zip(spike.cause_share);
        vec![
            format!("  ({})", spike.label),
            percent(spike.share),
            microseconds(spike.median_us),
            format!("{}–{}", microseconds(spike.from_us), microseconds(spike.to_us)),
            cause.map_or_else(String::new, |(cause, share)| {
                format!("{} {}", percent(share), shortened(&words(cause), LONGEST))
            }),
        ]
    });
    let table = terminal::table(&["", "share", "median", "range", "main cause"], lines);
    page.cut_lines(&table)
}

/// Returns the meaning of a cause for a thread that waits for its wake-up, and so has not run yet.
fn words(cause: &Cause) -> String {
    match cause.kind {
        Kind::Idle => "exit from idle state".into(),
        Kind::Own => "return to user space".into(),
        Kind::Task => format!("CPU busy: {}", label(cause)),
        Kind::SwitchedOut => "CPU busy: unknown task".into(),
        _ => label(cause),
    }
}

/// Returns the meaning of a group of causes for such a thread.
pub fn of_group(group: &CauseGroup) -> String {
    let (words, processes) = parts_of(group);
    words + &processes
}

/// Returns the meaning of a group, and its number of processes if there are several.
fn parts_of(group: &CauseGroup) -> (String, String) {
    let words = words(&group.row.cause());
    match group.processes_words() {
        // The name of the command is enough, and leaves room.
        Some(processes) => (words.replacen("task ", "", 1), format!(" {processes}")),
        None => (words, String::new()),
    }
}

/// Returns the words of a group with its number of processes, for which the name is shortened.
fn short_group(group: &CauseGroup) -> String {
    let (words, processes) = parts_of(group);
    shortened(&words, LONGEST - processes.chars().count()) + &processes
}

/// The maximum number of causes; further ones are added up.
const MOST_CAUSES: usize = 8;

fn causes(row: &WakeRow, page: &Page) -> String {
    if row.causes.is_empty() {
        return String::new();
    }
    in_letters(&CAUSES, &lines(&row.causes, MOST_CAUSES, short_group), page)
}

/// The number of late wake-ups that are printed.
const LATEST: usize = 3;

fn latest(row: &WakeRow, page: &Page) -> String {
    let wake_words = |late: &LateWake| {
        let words = format!(
            "at {:.3} s, latency {}: {} {}",
            late.start_s,
            microseconds(late.late_us),
            microseconds(late.cause_us),
            words(&late.cause)
        );
        terminal::wrapped(" ", "   ", &words, page)
    };
    "Longest latencies\n".to_owned() + &row.latest.iter().take(LATEST).map(wake_words).collect::<String>()
}

fn ledger(row: &WakeRow, page: &Page) -> String {
    let Some(ledger) = &row.ledger else { return String::new() };
    let words = format!(
        "explained: {}; {} events, {} lost, no data for {}",
        row.explained_share.map_or_else(|| "nothing".into(), percent),
        terminal::count(ledger.events),
        terminal::count(ledger.lost_events),
        nanoseconds(ledger.blind_ns)
    );
    terminal::wrapped(" ", " ", &words, page)
}

/// Draws the wake-up that ended the measurement, and the threads that ran in the meantime.
fn stopped_at(row: &WakeRow, late: &LateWake, page: &Page) -> String {
    let words = format!(
        "Stopped at {:.3} s: CPU {}, every {}, latency {}; main cause: {}.",
        late.start_s,
        row.cpu,
        microseconds(row.interval_us),
        microseconds(late.late_us),
        words(&late.cause)
    );
    "\n".to_owned() + &terminal::wrapped("", "", &words, page) + &story_text(&late.story, page)
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use crate::noise::record::CauseRow;
    use crate::noise::sample::environment;

    fn shown(rows: &[WakeRow], budget_s: Option<f64>) -> String {
        show(rows, &environment(), budget_s, &Page::plain())
    }

    #[test]
    fn causes_of_latency_have_the_setting_that_stops_them() {
        let text = shown(&[row(10_000)], Some(20.0));
        assert!(text.contains("to stop them (CPUS: the CPUs of the threads that wake up):"), "{text}");
        for setting in ["- timer slack: use a real-time policy", "- exit from idle state: hold", "- other tasks: boot"]
        {
            assert!(text.contains(setting), "{setting} is missing in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    /// Each of a compiler's processes once had a line, and the shares of the lines added up to less than the whole.
    #[test]
    fn causes_of_one_command_share_a_line_and_add_up() {
        let first = row(10_000);
        let task = |(pid, name, share): (u32, &str, f64)| CauseRow {
            kind: Kind::Task,
            name: Some(name.into()),
            pid: Some(pid),
            share,
            total_us: share * 1e3,
            ..first.causes[0].clone()
        };
        let compilers = (0..12).map(|pid| (pid, "rustc", 0.05));
        let others =
            (20..30).map(|pid| (pid, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][pid as usize - 20], 0.04));
        let many = WakeRow { causes: compilers.chain(others).map(task).collect(), ..first };
        let text = shown(&[many], None);
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Causes")).skip(1).take(9).collect();
        assert!(lines[0].starts_with("  CPU busy: rustc (12 processes) 60.0 %"), "{text}");
        assert!(lines[8].starts_with("  3 others ") && lines[8].contains("12.0 %"), "{text}");
        let share =
            |line: &&str| -> f64 { line.split(" %").next().unwrap().rsplit(' ').next().unwrap().parse().unwrap() };
        assert!((lines.iter().map(share).sum::<f64>() - 100.0).abs() < 0.1, "{text}");
        assert!(text.lines().any(|line| line.starts_with("CPU 1") && line.contains("CPU busy: rustc ")), "{text}");
    }

    /// A thread that has not run yet cannot be descheduled.
    #[test]
    fn waiting_thread_finds_its_cpu_busy() {
        let text = shown(&[row(10_000)], None);
        assert!(text.contains("  CPU busy: task rustfmt") && !text.contains("descheduled"), "{text}");
        assert_eq!(words(&Cause::unnamed(Kind::SwitchedOut)), "CPU busy: unknown task");
    }

    #[test]
    fn missing_quantile_has_the_number_of_wake_ups_that_it_needs() {
        let text = shown(&[row(10_000), row(5_000)], Some(20.0));
        let footnote = "–: fewer than 1,000 wake-ups for p99.9, or 10,000 for p99.99; --seconds 44 is";
        assert!(text.contains(footnote), "{text}");
        assert!(!shown(&[row(10_000)], Some(20.0)).contains("–: fewer"));
        let few = shown(&[row(999)], None);
        let line = few.lines().find(|line| line.starts_with("CPU 1")).unwrap();
        assert!(line.matches('–').count() == 2 && !few.contains("--seconds"), "{few}");
    }
}
