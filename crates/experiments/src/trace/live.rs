//! The reports on stderr while the program runs, since stdout is the program's; and the diagnosis so far, for the
//! full-screen interface.

use super::measure::{Measured, Piece};
use super::record::{Row, RowKind};
use super::{story, words};
use harness::output::eprint_line;
use harness::{Interruption, Live, Observer, Session, SharedFlags, Shown};
use instruments::warning::WarningKind;
use std::ops::ControlFlow;
use std::time::Instant;
use terminal::{Page, escaped, nanoseconds, percent, without_error_numbers};

/// Delivers the record of a part of the trace.
pub type Deliver<'a> = &'a dyn Fn(Measured) -> anyhow::Result<()>;

/// Lines, snapshots of the diagnosis, and the records of parts.
pub struct Lines<'a> {
    interruption: Interruption,
    is_quiet: bool,
    live: Live,
    deliver: Deliver<'a>,
    /// The reason why the record of a part was not delivered.
    pub failure: Option<String>,
}

/// The most classes of a snapshot, which must fit into a pipe.
const MOST_CLASSES: usize = 24;

impl<'a> Lines<'a> {
    pub fn of(session: &Session, shared: &SharedFlags, deliver: Deliver<'a>) -> Self {
        let (interruption, live) = (session.interruption.clone(), session.live.clone());
        Self { interruption, is_quiet: shared.quiet, live, deliver, failure: None }
    }

    /// Reports the rows and the reason of the verdict, as they are now, to the full-screen interface.
    pub fn snapshot(&self, rows: &[Row], reason: Option<&str>) {
        if !self.live.is_open() {
            return;
        }
        let mut locks: Vec<&Row> = rows.iter().filter(|row| story::is_waited_for(row)).collect();
        locks.sort_by(|one, other| other.wait_total_s.total_cmp(&one.wait_total_s));
        for row in locks.into_iter().take(MOST_CLASSES) {
            let shown = Shown::Class {
                lock_type: row.lock_type.clone(),
                waited_s: row.wait_total_s,
                contended: (row.contended > 0).then_some(row.contended),
                wait_p99_ns: row.wait_p99_ns,
                story: story::of(row, rows),
            };
            self.live.tell("", (row.lock.clone(), format!("{} {}", row.process, row.address)), shown);
        }
        let sentences = story::whole(rows, reason);
        self.live.tell("", (String::new(), String::new()), Shown::Diagnosis { sentences });
    }
}

impl Observer<Piece> for Lines<'_> {
    fn note(&self, _: &str) {}

    fn piece(&mut self, piece: &Piece) -> ControlFlow<()> {
        match piece {
            Piece::Interval { at_s, span_s, waited_s, most, .. } => {
                let most = most.as_ref().map(|(lock, s)| (lock.as_str(), *s));
                let text = interval(*at_s, *span_s, *waited_s, most, &Page::of_stderr());
                text.lines().for_each(eprint_line);
            }
            Piece::Snapshot(evidence) if self.live.is_open() => {
                let diagnosis = evidence.diagnose();
                self.snapshot(&diagnosis.rows, diagnosis.reason.as_deref());
            }
            Piece::Snapshot(_) => {}
            Piece::Hang(_) | Piece::StandsStill(_) if self.is_quiet => {}
            Piece::StandsStill(found) => say(&hang::words::sentence(found)),
            Piece::Hang(rows) => rows.iter().for_each(|row| say(&hang(row))),
            Piece::Outlived(_) if self.is_quiet => {}
            Piece::Outlived(outlived) => say(&outlived.message()),
            Piece::Restarted(_) if self.is_quiet => {}
            Piece::Restarted(restarted) => say(&restarted.message()),
            Piece::Part(measured) => {
                // The trace goes on: a later record may find room.
                if let Err(error) = (self.deliver)((**measured).clone()) {
                    let failure = format!("{error:#}");
                    eprint_line(&format!("a record was not saved: {failure}"));
                    self.failure.get_or_insert(failure);
                }
            }
        }
        self.interruption.flow()
    }

    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        self.interruption.wait(until)
    }
}

/// Prints a text on stderr.
fn say(text: &str) {
    folded(text, &Page::of_stderr()).lines().for_each(eprint_line);
}

/// Returns a text as lines that fit the page, further ones set in.
fn folded(text: &str, page: &Page) -> String {
    terminal::wrapped("", "  ", &escaped(&without_error_numbers(text)), page)
}

fn hang(row: &Row) -> String {
    let what = if row.kind == RowKind::Deadlock { "deadlock" } else { "hang" };
    format!("{what} {}", words::hang(row))
}

/// Returns the waits of an interval that ended, and the lock with the longest ones: on a second line where one is too
/// short for its name.
fn interval(at_s: f64, span_s: f64, waited_s: f64, most: Option<(&str, f64)>, page: &Page) -> String {
    let (waited, share) = (nanoseconds(waited_s * 1e9), percent(waited_s / span_s));
    let mut text = format!("{at_s:>7.1} s  waited {waited} ({share} of one thread's time)");
    if let Some((lock, s)) = most {
        let of_it = format!("{} of it for {}", percent(s / waited_s), escaped(lock));
        let is_short = text.chars().count() + ", ".len() + of_it.chars().count() <= page.width;
        text += &if is_short { format!(", {of_it}") } else { format!(",\n{:11}{of_it}", "") };
    }
    page.cut_lines(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::record::Step;

    #[test]
    fn reports_fit_the_page_whatever_their_values() {
        let step = |thread: u32| Step {
            thread,
            holds: format!("mutex of session {thread}"),
            held_site: "put_into_the_table (table.c:1042)".into(),
            takes: "the mutex of the whole table".into(),
            taken_site: "get_from_the_table (table.c:2042)".into(),
        };
        let row = Row { steps: (4_194_300..4_194_304).map(step).collect(), ..Row::default() };
        let text = folded(&hang(&row), &Page::plain());
        assert!(text.starts_with("hang after 0.00 ns: thread 4194300 waits for"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let of = |lock| interval(99_999.9, 0.2, 123.0, Some((lock, 123.0)), &Page::plain());
        let long = of("std::unordered_map<std::string, session>::lock of take_the_next_session (table.c:42)");
        assert!(long.lines().all(|line| line.chars().count() <= 80) && long.ends_with("(table.c:42)\n"), "{long}");
        assert_eq!(of("a_lock").lines().nth(1), Some("           100.0 % of it for a_lock"));
        assert_eq!(interval(0.2, 0.2, 0.001, Some(("a", 0.001)), &Page::plain()).lines().count(), 1);
    }
}
