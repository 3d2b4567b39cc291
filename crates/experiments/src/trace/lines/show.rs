//! The record on a terminal: the verdict, the findings, the lines and their words, and the parts that are not known.

use super::record::LinesRecord;
use crate::trace::sharing::record::{Row, RowKind, Word};
use crate::trace::sharing::rules;
use record::{Table, Unit, optional};
use terminal::{Page, shortened, wrapped};

const MOST_LINES: usize = 12;
const LEAST_SHARE: f64 = 0.01;
const MOST_PICTURES: usize = 3;
/// Words of a line in its picture.
const WORDS: usize = 8;

/// Draws the record.
pub fn show(record: &LinesRecord<'_>, page: &Page) -> String {
    let (rows, parameters) = (&record.results, &record.parameters);
    let mut text = wrapped("", " ", &rules::verdict(rows), page);
    let problems = rules::problems(rows);
    for (place, problem) in problems.iter().enumerate() {
        text.push_str(&wrapped(&format!("{}", place + 1), " ", &problem.sentence(), page));
    }
    let lines = lines(rows);
    if !lines.is_empty() {
        text.push('\n');
        text.push_str(&terminal::table(&LINES, lines.iter().take(MOST_LINES).map(|row| line(row))));
    }
    for problem in problems.iter().take(MOST_PICTURES) {
        text.push_str(&picture(&problem.row));
    }
    if let Some(total) = rows.iter().find(|row| row.kind == RowKind::Total) {
        text.push('\n');
        text.push_str(&wrapped("", " ", &seen(total, parameters.sampled_share), page));
    }
    text
}

fn lines(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.kind == RowKind::Line && row.cpu_share >= Some(LEAST_SHARE)).collect()
}

/// Returns the sentence about what the samples show.
pub fn seen(total: &Row, sampled_share: Option<f64>) -> String {
    let share = |share: Option<f64>| optional(share, Unit::Share);
    format!(
        "{} samples of {} of the CPU time; {} of that time is in the kernel, which is not sampled. Of the samples, {} have \
         an address ({} on the thread's own stack), {} follow an instruction without memory, {} a jump or a call, {} an \
         access that overwrote its address; {} follow unreadable code.",
        terminal::count(total.samples),
        share(sampled_share),
        share(total.kernel_share),
        share(total.addressed_share),
        share(total.own_stack_share),
        share(total.no_access_share),
        share(total.jumped_share),
        share(total.overwritten_share),
        share(total.not_decoded_share)
    )
}

const LINES: [&str; 5] = ["cache line", "CPU time", "95 %", "sharing", "used in"];

/// The letters of a name and of a place, with which a line has eighty.
const WIDEST: [usize; 2] = [19, 21];

fn line(row: &Row) -> Vec<String> {
    let ends = row.cpu_share_ci.map(|ends| format!("{:.0} to {:.0} %", 100.0 * ends.low, 100.0 * ends.high));
    vec![
        shortened(&row.object, WIDEST[0]),
        optional(row.cpu_share, Unit::Share),
        ends.unwrap_or_default(),
        row.sharing.words().to_owned(),
        row.places.first().map_or_else(String::new, |place| shortened(&place.site, WIDEST[1])),
    ]
}

/// Draws a line word by word: which thread writes and which one reads it.
fn picture(row: &Row) -> String {
    let mut threads: Vec<u32> =
        row.words.iter().flat_map(|word| word.writers.iter().chain(&word.readers)).copied().collect();
    threads.sort_unstable();
    threads.dedup();
    let header: Vec<String> =
        std::iter::once(row.address.clone()).chain((0..WORDS).map(|word| format!("+{}", 8 * word))).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let cell = |thread: u32, word: usize| {
        let is_here = |one: &&Word| (one.offset / 8..(one.offset + one.bytes).div_ceil(8)).contains(&(word as u32));
        let here = || row.words.iter().filter(is_here);
        let [writes, reads] =
            [here().any(|one| one.writers.contains(&thread)), here().any(|one| one.readers.contains(&thread))];
        if writes {
            "writes"
        } else if reads {
            "reads"
        } else {
            "·"
        }
        .to_owned()
    };
    const MOST: usize = 8;
    let lines = threads.iter().take(MOST).map(|thread| {
        std::iter::once(format!("thread {thread}")).chain((0..WORDS).map(|word| cell(*thread, word))).collect()
    });
    format!("\n{}", terminal::table(&header, lines))
}

/// Returns the tables of the HTML report.
pub fn tables(rows: &[Row]) -> Vec<Table> {
    let all = [Table {
        caption: "Cache lines by their part of the CPU time".into(),
        header: LINES.to_vec(),
        rows: lines(rows).into_iter().map(line).collect(),
    }];
    all.into_iter().filter(|table| !table.rows.is_empty()).collect()
}
