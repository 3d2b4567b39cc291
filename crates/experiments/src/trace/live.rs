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
use terminal::{nanoseconds, percent};

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
            Piece::Interval { at_s, span_s, waited_s, most } => {
                let most = most.as_ref().map(|(lock, s)| format!(", {} of it for {lock}", percent(s / waited_s)));
                let share = percent(waited_s / span_s);
                eprint_line(&format!(
                    "{at_s:>7.1} s  waited {} ({share} of one thread's time){}",
                    nanoseconds(waited_s * 1e9),
                    most.unwrap_or_default()
                ));
            }
            Piece::Snapshot { rows, reason } => self.snapshot(rows, reason.as_deref()),
            Piece::Hang(_) if self.is_quiet => {}
            Piece::Hang(rows) => rows.iter().for_each(say),
            Piece::Outlived(_) if self.is_quiet => {}
            Piece::Outlived(outlived) => eprint_line(&outlived.message()),
            Piece::Restarted(_) if self.is_quiet => {}
            Piece::Restarted(restarted) => eprint_line(&restarted.message()),
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

fn say(row: &Row) {
    let what = if row.kind == RowKind::Deadlock { "deadlock" } else { "hang" };
    eprint_line(&format!("{what} {}", words::hang(row)));
}
