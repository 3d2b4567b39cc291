//! The reports on stderr while the program runs, since stdout is the program's; and the values for the live charts.

use super::measure::{Measured, Piece};
use super::record::{Row, RowKind};
use super::words;
use harness::output::eprint_line;
use harness::{Interruption, Live, Observer, Session, SharedFlags, Shown};
use instruments::warning::WarningKind;
use record::Unit;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use terminal::{nanoseconds, percent};

/// Delivers the record of a part of the trace.
pub type Deliver<'a> = &'a dyn Fn(Measured) -> anyhow::Result<()>;

/// Lines, points of a picture, and the records of parts.
pub struct Lines<'a> {
    interruption: Interruption,
    is_quiet: bool,
    /// Whether the user wants lines with the waits.
    has_lines: bool,
    live: Live,
    deliver: Deliver<'a>,
    /// The reason why the record of a part was not delivered.
    pub failure: Option<String>,
}

impl<'a> Lines<'a> {
    pub fn of(session: &Session, shared: &SharedFlags, interval: Option<Duration>, deliver: Deliver<'a>) -> Self {
        let (interruption, live) = (session.interruption.clone(), session.live.clone());
        Self { interruption, is_quiet: shared.quiet, has_lines: interval.is_some(), live, deliver, failure: None }
    }

    /// Reports the average number of waiting threads, of all locks and of the lock that was waited for the most.
    fn draw(&self, span_s: f64, waited_s: f64, most: Option<&(String, f64)>) {
        let all = ("all locks".to_owned(), waited_s);
        for (lock, waited_s) in std::iter::once(&all).chain(most) {
            let value = waited_s / span_s;
            let place = (lock.clone(), "waiting, share of one thread".to_owned());
            self.live.tell("", place, Shown::Figure { value, unit: Unit::Share, more_is_better: false });
        }
    }
}

impl Observer<Piece> for Lines<'_> {
    fn note(&self, _: &str) {}

    fn piece(&mut self, piece: &Piece) -> ControlFlow<()> {
        match piece {
            Piece::Interval { at_s, span_s, waited_s, most } => {
                self.draw(*span_s, *waited_s, most.as_ref());
                if !self.has_lines {
                    return self.interruption.flow();
                }
                let most = most.as_ref().map(|(lock, s)| format!(", {} of it for {lock}", percent(s / waited_s)));
                let share = percent(waited_s / span_s);
                eprint_line(&format!(
                    "{at_s:>7.1} s  waited {} ({share} of one thread's time){}",
                    nanoseconds(waited_s * 1e9),
                    most.unwrap_or_default()
                ));
            }
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
