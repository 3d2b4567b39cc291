//! What is said on stderr while the program runs: stdout is the program's.

use super::measure::Piece;
use super::record::{Row, RowKind};
use super::words;
use harness::output::eprint_line;
use harness::{Interruption, Observer};
use std::ops::ControlFlow;
use std::time::Instant;
use terminal::{nanoseconds, percent};

/// Lines.
pub struct Lines {
    pub interruption: Interruption,
    pub is_quiet: bool,
}

impl Observer<Piece> for Lines {
    fn note(&self, _: &str) {}

    fn piece(&mut self, piece: &Piece) -> ControlFlow<()> {
        match piece {
            Piece::Interval { at_s, span_s, waited_s, most } => {
                let most = most.as_ref().map(|(lock, s)| format!(", {} of it for {lock}", percent(s / waited_s)));
                let share = percent(waited_s / span_s);
                eprint_line(&format!(
                    "{at_s:>7.1} s  waited {}: {share} of a thread{}",
                    nanoseconds(waited_s * 1e9),
                    most.unwrap_or_default()
                ));
            }
            Piece::Hang(_) if self.is_quiet => {}
            Piece::Hang(rows) => rows.iter().for_each(say),
        }
        self.interruption.flow()
    }

    fn wait(&mut self, until: Instant) -> ControlFlow<()> {
        self.interruption.wait(until)
    }
}

fn say(row: &Row) {
    let what = if row.kind == RowKind::Deadlock { "deadlock" } else { "hang" };
    eprint_line(&format!("{what}: {}", words::hang(row)));
}
