//! The record on a terminal: the longest waits, a block for each of the first locks, then possible deadlocks.

use super::columns::{self, WaitLine};
use super::parts::Part;
use super::record::{Row, RowKind, SeenBy, TimeSpike, TraceRecord, letter_of};
use super::words::{self, Matrix};
use super::{show_cycles, show_words};
use record::column::in_letters;
use record::{Bin, Table, Unit, optional};
use terminal::{Bar, Histogram, Page, count, counted, item, nanoseconds, percent, shortened};

/// The number of locks in the table, and of those with a block each.
const MOST_LINES: usize = 20;
const MOST_BLOCKS: usize = 3;
const MOST_SITES: usize = 6;
const MOST_WAITS: usize = 3;
/// The number of places outside of locks in the brief report.
const MOST_PLACES: usize = 3;
/// The kinds of rows that are or may become a deadlock, or that still wait.
const ENDINGS: [RowKind; 4] = [RowKind::Deadlock, RowKind::Order, RowKind::Inversion, RowKind::Hang];

pub fn show(record: &TraceRecord<'_>, page: &Page) -> String {
    if let Some(confirmation) = &record.parameters.confirmation {
        return show_cycles::show(record, confirmation, page);
    }
    let rows = &record.results;
    let of = |kind: RowKind| rows.iter().filter(move |row| row.kind == kind);
    let excluding: Vec<&Row> = of(RowKind::Lock).filter(|row| row.excludes()).collect();
    let signals: Vec<&Row> = of(RowKind::Lock).filter(|row| !row.excludes()).collect();
    let mut text = heading(record);
    if let Some(one) = record.parameters.part {
        text.push_str(&part(one, record.parameters.elapsed_s, rows, page));
    }
    let is_diagnosed = words::program(rows).is_some();
    if is_diagnosed {
        text.push_str(&diagnosis(record, page));
    } else {
        words::summary(rows).iter().for_each(|sentence| text.push_str(&said(sentence, page)));
    }
    text.push_str(&words_watched(rows, page));
    let has_all = record.parameters.all || !is_diagnosed;
    if !has_all {
        for kind in ENDINGS {
            of(kind)
                .filter(|row| words::is_brief(row))
                .filter_map(words::ending)
                .for_each(|sentence| text.push_str(&said(&sentence, page)));
        }
        return text + &places(rows, MOST_PLACES, page) + &longest(&excluding);
    }
    words::critical(rows).filter(|_| is_diagnosed).iter().for_each(|sentence| text.push_str(&said(sentence, page)));
    if let Some(share) = record.parameters.switches_share.filter(|share| *share < 0.95) {
        let known = format!(
            "Whether lock holders were running is unknown for {} of the run: context switches are recorded only part of \
             the time, to limit the overhead, or the kernel refused.",
            percent(1.0 - share)
        );
        text.push_str(&said(&known, page));
    }
    if record.parameters.switches_left_out > 0 {
        let threads = counted(record.parameters.switches_left_out as usize, "thread");
        let unknown = format!(
            "Context switches of {threads} were not recorded (too frequent, or too many threads): whether these \
             holders ran is unknown."
        );
        text.push_str(&said(&unknown, page));
    }
    for kind in ENDINGS {
        of(kind).filter_map(words::ending).for_each(|sentence| text.push_str(&said(&sentence, page)));
    }
    text.push_str(&titled(words::budget_table(rows)));
    text.push_str(&places(rows, rows.len(), page));
    text.push_str(&titled(words::label_table(rows)));
    text.push_str(&table("Locks", &excluding, page));
    text.push_str(&table("Condition variables, semaphores, barriers, joins (waits may be idle time)", &signals, page));
    text.push_str(&matrix(rows));
    for lock in excluding.iter().filter(|lock| lock.contended > 0).take(MOST_BLOCKS) {
        text.push_str(&block(lock, rows, page));
    }
    text
}

/// Returns the budget of the time, the verdict whether locks are the problem, and the findings.
fn diagnosis(record: &TraceRecord<'_>, page: &Page) -> String {
    let rows = &record.results;
    let whole = words::program(rows).filter(|whole| whole.lived_s > Some(0.0));
    let budget = whole.map(|whole| terminal::wrapped("", " ", &words::budget(whole), page));
    let reason = record.parameters.verdict_reason.iter().map(|reason| terminal::wrapped("", " ", reason, page));
    let labels = words::labels(rows).map(|sentence| terminal::wrapped("", " ", &sentence, page));
    let mut text: String = budget.into_iter().chain(reason).chain(labels).collect();
    for (place, row) in rows.iter().filter(|row| row.kind == RowKind::Finding).enumerate() {
        let code = row.rule.map_or_else(String::new, |rule| format!(" [{}]", rule.code()));
        text.push_str(&terminal::wrapped(&format!("{}", place + 1), " ", &(words::finding(row) + &code), page));
        if let Some(command) = &row.command {
            text.push_str(&format!("  Measure it: {command}\n"));
        }
    }
    text
}

/// Returns the places where the threads were when they did not wait for locks.
fn places(rows: &[Row], most: usize, page: &Page) -> String {
    const WIDEST: usize = 46;
    let table = words::places_table(rows, most);
    table.map_or_else(String::new, |mut table| {
        for line in &mut table.rows {
            // The function of the program says more than its caller, or the function that it called.
            if line[0].chars().count() > WIDEST {
                line[0] = shortened(line[0].split(", ").next().unwrap_or_default(), WIDEST);
            }
        }
        format!("\n{}", page.cut_lines(&terminal::table(&table.header, table.rows.into_iter())))
    })
}

/// Returns the locks that were waited for, in eighty columns.
fn longest(locks: &[&Row]) -> String {
    const MOST: usize = 5;
    const WIDEST: usize = 28;
    let mut waited: Vec<&&Row> = locks.iter().filter(|row| row.wait_total_s > 0.0).collect();
    waited.sort_by(|one, other| other.wait_total_s.total_cmp(&one.wait_total_s));
    let more = "--all prints all tables, call sites and histograms.\n";
    if waited.is_empty() {
        return more.into();
    }
    let line = |row: &&&Row| {
        let instances = if row.instances > 1 { format!(" ({})", count(row.instances.into())) } else { String::new() };
        let name = shortened(&row.lock, WIDEST - instances.chars().count());
        vec![
            name + &instances,
            row.lock_type.clone(),
            if row.seen_by == SeenBy::Call { count(row.contended) } else { "–".into() },
            nanoseconds(row.wait_total_s * 1e9),
            optional(words::wait_share(row), Unit::Share),
            optional(row.wait_p99_ns, Unit::Ns),
        ]
    };
    let header = ["lock (instances)", "type", "contended", "waited", words::wait_share_head(locks), "wait p99"];
    format!("\n{}{more}", terminal::table(&header, waited.iter().take(MOST).map(line)))
}

/// Returns the words that were watched by hardware watchpoints.
fn words_watched(rows: &[Row], page: &Page) -> String {
    let sentences = show_words::sentences(rows).into_iter().map(|sentence| said(&sentence, page));
    let tables = show_words::tables(rows);
    let tables = tables.into_iter().map(|table| page.cut_lines(&terminal::table(&table.header, table.rows)));
    sentences.chain(tables).collect()
}

/// Returns a table under its caption.
fn titled(table: Option<Table>) -> String {
    let text =
        |table: Table| format!("\n{}\n{}", table.caption, terminal::table(&table.header, table.rows.into_iter()));
    table.map_or_else(String::new, text)
}

fn said(sentence: &str, page: &Page) -> String {
    item(sentence.split(' '), page)
}

/// Returns the line of a record that covers a part of a trace.
fn part(part: Part, elapsed_s: f64, rows: &[Row], page: &Page) -> String {
    let [from, to, period] =
        [part.began_s, part.began_s + elapsed_s, part.period_s].map(|seconds| nanoseconds(seconds * 1e9));
    let partial =
        if part.is_partial { format!("; partial, since the trace ended within the {period}") } else { String::new() };
    let earlier = if has_earlier_waits(rows, elapsed_s) {
        "; a wait counts in the part in which it ends, so shares can include time before this part"
    } else {
        ""
    };
    let words = format!("part {} of the trace: from {from} to {to}{partial}{earlier}", part.number);
    terminal::wrapped("", "  ", &words, page)
}

/// Returns whether a wait is longer than the part in which it counts.
fn has_earlier_waits(rows: &[Row], elapsed_s: f64) -> bool {
    let locks = rows.iter().filter(|row| row.kind == RowKind::Lock);
    locks.filter_map(|row| row.wait_max_ns).any(|longest| longest > elapsed_s * 1e9)
}

fn heading(record: &TraceRecord<'_>) -> String {
    let parameters = &record.parameters;
    if let Some(pid) = parameters.attached_pid {
        let threads = terminal::counted(parameters.threads as usize, "thread");
        let others = parameters.attached_pids.iter().filter(|other| **other != pid).count();
        let processes = match others {
            0 => format!("process {pid}"),
            others => format!("process {pid} and {}", terminal::counted(others, "other")),
        };
        let watched = nanoseconds(parameters.elapsed_s * 1e9);
        return format!("{} ({processes}, {threads}): watched for {watched}\n", parameters.program.join(" "));
    }
    let end = match (parameters.exit_status, parameters.exit_signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "still running".to_owned(),
    };
    let program = parameters.program.join(" ");
    let elapsed = nanoseconds(parameters.elapsed_s * 1e9);
    if let Some(whole) = words::program(record.results) {
        return format!("{program}: {end} after {elapsed}; {}\n", threads(whole, parameters.threads));
    }
    let threads = terminal::counted(parameters.threads as usize, "thread");
    let thread_time = nanoseconds(parameters.thread_time_s * 1e9);
    format!("{program}: {end} after {elapsed}; {threads} used locks, {thread_time} of thread time in total\n")
}

/// Returns the number of threads that are known. On a busy machine, threads that used locks can end before the first sample;
/// those that did neither are missing.
fn threads(whole: &Row, used_locks: u32) -> String {
    terminal::counted(whole.threads.unwrap_or(0).max(used_locks) as usize, "thread")
}

fn table(title: &str, locks: &[&Row], page: &Page) -> String {
    if locks.is_empty() {
        return String::new();
    }
    let columns = columns::locks(words::wait_share_head(locks));
    let more = locks.len().saturating_sub(MOST_LINES);
    let more = if more > 0 { format!("and {more} more in the record\n") } else { String::new() };
    format!("\n{title}\n{}{more}", in_letters(&columns, locks.iter().copied().take(MOST_LINES), page))
}

fn block(lock: &Row, rows: &[Row], page: &Page) -> String {
    let mut text = format!("\n{} ({} at {})\n", lock.lock, kind(lock), lock.address);
    text.push_str(&histogram("wait time", &lock.waits, &lock.wait_spikes, page));
    text.push_str(&histogram("hold time", &lock.holds, &lock.hold_spikes, page));
    let here = |row: &&Row| {
        row.kind == RowKind::Site && row.process == lock.process && row.address == lock.address && row.lock == lock.lock
    };
    let sites: Vec<&Row> = rows.iter().filter(here).take(MOST_SITES).collect();
    text.push_str(&in_letters(&columns::sites(words::wait_share_head(&sites)), sites, page));
    if let Some(sentence) = words::wakes(lock) {
        text.push_str(&said(&sentence, page));
    }
    if !lock.blocked_by.is_empty() {
        text.push_str(&in_letters(&columns::holders(lock), &lock.blocked_by, page));
    }
    if !lock.longest.is_empty() {
        let lines: Vec<WaitLine<'_>> =
            lock.longest.iter().take(MOST_WAITS).map(|wait| WaitLine { lock, wait }).collect();
        text.push_str(&in_letters(&columns::waits(&lines), &lines, page));
    }
    text
}

/// Returns the picture with the letters of its spikes, and what they are.
fn histogram(title: &str, bins: &[Bin], spikes: &[TimeSpike], page: &Page) -> String {
    if bins.is_empty() {
        return String::new();
    }
    let letter = |bin: &Bin| letter_of(spikes, bin).unwrap_or('#');
    let bar = |bin: &Bin| Bar { at_ns: (bin.from_ns + bin.to_ns) / 2.0, count: bin.count, letter: letter(bin) };
    let bars: Vec<Bar> = bins.iter().map(bar).collect();
    let picture = Histogram { title, bars: &bars, resolution_ns: 10.0 }.draw(page);
    let sentences = words::spikes(spikes);
    let sentences = if sentences.is_empty() { String::new() } else { said(&sentences, page) };
    picture + &sentences
}

fn kind(lock: &Row) -> String {
    let words = std::iter::once(&lock.lock_type).chain(&lock.attributes).map(|word| word.replace('_', "-"));
    words.collect::<Vec<String>>().join(", ")
}

/// Returns the matrix and the meaning of its letters: a line for each call site that waited, a column for each whose
/// holds it waited for in the end; nothing without waits.
pub fn matrix(rows: &[Row]) -> String {
    let matrix = Matrix::of(rows);
    if matrix.causes.is_empty() {
        return String::new();
    }
    let letters: Vec<String> =
        (b'A'..=b'Z').take(matrix.causes.len()).map(|byte| char::from(byte).to_string()).collect();
    let header: Vec<&str> =
        ["waiting at"].into_iter().chain(letters.iter().map(String::as_str)).chain(["total"]).collect();
    let time = |seconds: f64| if seconds > 0.0 { nanoseconds(seconds * 1e9) } else { "·".to_owned() };
    let line = |(name, cells, all): &(String, Vec<f64>, f64)| {
        let cells = cells.iter().map(|cell| time(*cell));
        std::iter::once(name.clone()).chain(cells).chain([time(*all)]).collect()
    };
    let named = letters.iter().zip(&matrix.causes).map(|(letter, cause)| format!("  {letter}: {cause}\n"));
    format!(
        "\nWait time by waiting call site and root holder\n{}{}",
        terminal::table(&header, matrix.lines.iter().map(line)),
        named.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::watched_word::{WatchedWord, WordSite};

    #[test]
    fn threads_without_a_sample_are_counted_if_they_used_locks() {
        let whole = |sampled| Row { threads: sampled, ..Row::default() };
        assert_eq!(threads(&whole(Some(1)), 4), "4 threads");
        assert_eq!(threads(&whole(Some(5)), 4), "5 threads");
        assert_eq!(threads(&whole(None), 1), "1 thread");
    }

    #[test]
    fn longest_waits_keep_the_line_of_their_lock() {
        let row = Row {
            lock: "mutex of look_up_in_the_cache (cache.c:42)".into(),
            lock_type: "mutex".into(),
            instances: 12,
            wait_total_s: 1.0,
            ..Row::default()
        };
        let shown = longest(&[&row]);
        assert!(shown.contains("\nmutex of l…(cache.c:42) (12) mutex "), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }

    #[test]
    fn waits_longer_than_their_part_began_before_it() {
        let row = |kind, wait_max_ns| Row { kind, wait_max_ns, ..Row::default() };
        let part_s = 1.0;
        assert!(has_earlier_waits(&[row(RowKind::Lock, Some(2e8)), row(RowKind::Lock, Some(1.5e9))], part_s));
        for rows in
            [vec![], vec![row(RowKind::Lock, Some(9e8)), row(RowKind::Lock, None), row(RowKind::Hang, Some(3e9))]]
        {
            assert!(!has_earlier_waits(&rows, part_s), "{rows:?}");
        }
    }

    #[test]
    fn part_and_table_of_a_word_fit_the_page_whatever_their_values() {
        let part_of = Part { number: u32::MAX, began_s: 123_456.0, period_s: 123_456.0, is_partial: true };
        let longest = Row { kind: RowKind::Lock, wait_max_ns: Some(1e15), ..Row::default() };
        let text = part(part_of, 1.0, &[longest], &Page::plain());
        assert!(text.contains("partial, since") && text.contains("a wait counts"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let site = WordSite {
            site: "take_the_next_session_of_the_table_of_sessions_of_the_server (table.c:1042)".into(),
            ..WordSite::default()
        };
        let word = WatchedWord { sites: vec![site], ..WatchedWord::default() };
        let text = words_watched(&[Row { kind: RowKind::Word, word: Some(word), ..Row::default() }], &Page::plain());
        assert!(text.contains("\ntake_the_next") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
