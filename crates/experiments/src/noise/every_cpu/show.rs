//! Several CPUs on a terminal: a line each, the best and the worst, what is common, and a map of CPU and time.

use crate::noise::record::Row;
use terminal::{Page, nanoseconds, percent};

pub fn show(rows: &[Row], page: &Page) -> String {
    [table(rows, page), extremes(rows), common(rows, page), causes(rows, page), map(rows, page)].concat()
}

fn table(rows: &[Row], page: &Page) -> String {
    let over = |count: Option<u64>| count.map_or_else(String::new, terminal::count);
    let lines = rows.iter().map(|row| {
        vec![
            format!("CPU {}", row.cpu),
            percent(row.lost_share),
            row.width_lost_share.map_or_else(String::new, percent),
            nanoseconds(row.longest_us * 1e3),
            over(row.over_1us),
            over(row.over_10us),
            over(row.over_100us),
            over(row.over_1ms),
            row.role.clone().unwrap_or_default(),
        ]
    });
    let header = ["", "lost", "width", "longest", ">1 µs", ">10 µs", ">100 µs", ">1 ms", "role"];
    terminal::table(&header, lines).lines().map(|line| page.cut(line) + "\n").collect()
}

fn extremes(rows: &[Row]) -> String {
    let by_loss = |a: &&Row, b: &&Row| a.lost_share.total_cmp(&b.lost_share);
    let (Some(best), Some(worst)) = (rows.iter().min_by(by_loss), rows.iter().max_by(by_loss)) else {
        return String::new();
    };
    let words = |row: &Row| format!("CPU {} ({})", row.cpu, percent(row.lost_share));
    format!("Best: {}; worst: {}.\n\n", words(best), words(worst))
}

/// What hits several at the same moment.
fn common(rows: &[Row], page: &Page) -> String {
    let found = rows.iter().filter_map(|row| Some((row.cpu, row.together.as_ref()?)));
    let (common, chance): (Vec<_>, Vec<_>) = found.partition(|(_, together)| together.is_common);
    let window = |us: f64| nanoseconds(us * 1e3);
    let mut text = String::new();
    for (cpu, together) in &common {
        let words = format!(
            "CPU {cpu}: {} of {} gaps began within {} of a gap on another CPU; expected by chance: {:.1}.",
            terminal::count(together.together as u64),
            terminal::count(together.gaps as u64),
            window(together.window_us),
            together.by_chance
        );
        text += &terminal::wrapped("", "  ", &words, page);
    }
    if let (true, Some((_, together))) = (common.is_empty(), chance.first()) {
        let window = window(together.window_us);
        let words = format!("The number of gaps that begin within {window} of each other is what chance predicts.");
        text += &terminal::wrapped("", "  ", &words, page);
    }
    text + "\n"
}

const CAUSES: usize = 3;

fn causes(rows: &[Row], page: &Page) -> String {
    let line = |row: &Row| {
        let named = row.causes.iter().take(CAUSES).map(|cause| format!("{} {}", cause.label(), percent(cause.share)));
        let words = format!("CPU {}: {}", row.cpu, named.collect::<Vec<String>>().join("; "));
        terminal::wrapped("", "  ", &words, page)
    };
    let lines: String = rows.iter().filter(|row| !row.causes.is_empty()).map(line).collect();
    lines + "\n"
}

/// From nothing to all, by powers of about three.
const SHADES: [(f64, char); 8] = [
    (0.000_3, ' '),
    (0.001, '.'),
    (0.003, ':'),
    (0.01, '-'),
    (0.03, '='),
    (0.1, '+'),
    (0.3, '#'),
    (f64::INFINITY, '@'),
];

fn map(rows: &[Row], page: &Page) -> String {
    let shade = |share: &f64| SHADES.iter().find(|(below, _)| share < below).map_or('@', |(_, letter)| *letter);
    let longest = rows.iter().map(|row| row.lost_by_time.len()).max().unwrap_or(0);
    if longest == 0 {
        return String::new();
    }
    let line = |row: &Row| {
        format!("CPU {:>3} |{:<longest$}|\n", row.cpu, row.lost_by_time.iter().map(shade).collect::<String>())
    };
    let lines: String = rows.iter().map(line).collect();
    let legend: Vec<String> = SHADES[1..]
        .iter()
        .zip(&SHADES)
        .map(|((_, letter), (from, _))| format!("{letter} {}", percent(*from)))
        .collect();
    let legend = format!("CPU time lost over the run, by main cause: {}", legend.join(", "));
    lines + &terminal::wrapped("", "  ", &legend, page)
}
