//! Interleaving of cells that are compared: round after round in random order, until they are known precisely enough or
//! the time is up.
//!
//! All experiments use this loop, so that precise enough, out of time and interrupted mean the same everywhere:
//!
//! - the first round is complete if the user set no time; else cells that have not begun shortly after its end are
//!   omitted, apart from those that the others need; a further round begins only if one as long as the last still fits
//!   the budget;
//! - a cell ends when each of its values is as precise as wanted, or when it has had all its repetitions;
//! - a cell with longer repetitions has fewer of them: no cell has a second one before the others have had as much
//!   time;
//! - a cell without a result when the time is up has a few repetitions more, until then: on a busy CPU a short
//!   repetition can fail;
//! - a signal ends the loop between two repetitions; a repetition that can be long checks for signals itself;
//! - a repetition during which CPUs of the run were taken away is the last, and an error of that repetition does not
//!   fail the run. The repetitions before it remain valid.

use crate::live::Shown;
use crate::observer::Progress;
use crate::session::Session;
use instruments::statistics::comparison::Estimate;
use instruments::statistics::{EndedBy, Interleaving};
use instruments::warning::{LeftOut, NotConverged, Warning};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// A configuration whose repetitions are interleaved with those of others.
pub trait Cell {
    /// Returns its title, for people.
    fn title(&self) -> String;

    /// Returns its present result, for a line of a long run.
    fn so_far(&self) -> String {
        terminal::counted(self.turns() as usize, "turn")
    }

    /// Returns its place in a table of all cells: a row, and a column if there are several.
    fn place(&self) -> (String, String) {
        (self.title(), String::new())
    }

    /// Returns its present result, for a program that draws it.
    fn shown(&self) -> Option<Shown> {
        None
    }

    /// Returns the number of its repetitions so far.
    fn turns(&self) -> u64;

    /// Returns the values that decide whether it is known precisely enough; without any, it never is.
    fn figures(&self) -> Vec<Estimate> {
        Vec::new()
    }

    /// Returns whether it has a result yet.
    fn has_result(&self) -> bool {
        self.turns() > 0
    }

    /// Returns the time that its repetitions took; zero where all take the same time.
    fn spent(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns whether a repetition is useful now.
    fn is_due(&self) -> bool {
        true
    }

    /// Returns whether it has ended by itself, for example because it failed.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns whether the results of the others mean nothing without its own: then it has a repetition whatever the
    /// time.
    fn is_needed(&self) -> bool {
        false
    }

    /// Ends the cell after its last repetition.
    fn retire(&mut self) {}
}

/// The rules that end the loop.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The begin of the time for the loop, and its length; `None` is without end.
    pub began: Instant,
    pub budget: Option<Duration>,
    /// The width of an interval, as a share of its value, that is precise enough; `None` if precision ends nothing.
    pub precision: Option<f64>,
    /// The minimum number of repetitions before a cell is known precisely enough, and the maximum of a cell.
    pub at_least: u64,
    pub at_most: u64,
}

/// The course of the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Turns {
    /// The reason for the end of each cell.
    pub ended: Vec<EndedBy>,
    /// The order of the repetitions, by cell number, round by round; the first thousand rounds of a long run.
    pub order: Vec<Vec<usize>>,
    /// The titles of the cells that had no repetition when the time was up, and how many there were.
    pub left_out: Vec<String>,
    pub cells: usize,
}

/// The maximum number of rounds whose order the record keeps.
const ROUNDS: usize = 1_000;
/// The maximum number of further rounds for cells without a result when the time is up.
const MOST_EXTRA_ROUNDS: u32 = 10;
/// Left out configurations that are named.
const MOST_NAMED: usize = 3;

/// Interleaves the repetitions of the cells; `visit` runs one, and may end the loop.
///
/// # Errors
/// Those of a repetition, which ends the loop.
pub fn take_turns<C: Cell>(
    cells: &mut [C],
    rules: &Rules,
    session: &Session,
    progress: &Progress,
    visit: impl FnMut(&mut C) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<Turns> {
    let loops = Loop {
        ended: vec![EndedBy::Budget; cells.len()],
        order: Vec::new(),
        left_out: Vec::new(),
        turns: Interleaving::new(cells.len(), session.seed),
        cells,
        rules,
        session,
        progress,
        visit,
    };
    loops.run()
}

struct Loop<'a, C, V> {
    cells: &'a mut [C],
    rules: &'a Rules,
    session: &'a Session,
    progress: &'a Progress,
    visit: V,
    turns: Interleaving,
    ended: Vec<EndedBy>,
    order: Vec<Vec<usize>>,
    left_out: Vec<usize>,
}

impl<C: Cell, V: FnMut(&mut C) -> anyhow::Result<ControlFlow<()>>> Loop<'_, C, V> {
    fn run(mut self) -> anyhow::Result<Turns> {
        (0..self.cells.len()).for_each(|place| self.close_if_over(place));
        let (mut last_round, mut extra_rounds, mut is_first) = (Duration::ZERO, 0, true);
        while let Some(round) = self.turns.next() {
            let is_spent = !is_first && self.is_spent_after(last_round);
            let due = self.due(round, is_spent);
            let is_late = is_spent && self.is_past_overtime(last_round);
            if due.is_empty() || is_late || extra_rounds == MOST_EXTRA_ROUNDS {
                break;
            }
            extra_rounds += u32::from(is_spent);
            if self.order.len() < ROUNDS {
                self.order.push(due.clone());
            }
            let began = Instant::now();
            if self.round(&due, is_first)?.is_break() {
                break;
            }
            is_first = false;
            last_round = began.elapsed();
        }
        let out = self.left_out.iter().filter(|&&place| self.cells[place].turns() == 0);
        let left_out = out.map(|&place| self.cells[place].title()).collect();
        Ok(Turns { ended: self.ended, order: self.order, left_out, cells: self.cells.len() })
    }

    /// Returns whether a round that takes as long as the last would end too late.
    fn is_spent_after(&self, last_round: Duration) -> bool {
        self.rules.budget.is_some_and(|budget| self.rules.began.elapsed() + last_round > budget)
    }

    /// Returns whether a round of this length would end after [`Session::last_moment`].
    fn is_past_overtime(&self, last_round: Duration) -> bool {
        self.session.last_moment().is_some_and(|last| Instant::now() + last_round > last)
    }

    fn due(&self, round: Vec<usize>, is_spent: bool) -> Vec<usize> {
        let mean = round.iter().map(|&place| self.cells[place].spent()).sum::<Duration>() / round.len() as u32;
        let is_due = |cell: &C| match is_spent {
            true => !cell.has_result(),
            false => cell.spent() <= mean && cell.is_due(),
        };
        round.into_iter().filter(|&place| is_due(&self.cells[place])).collect()
    }

    fn round(&mut self, due: &[usize], is_first: bool) -> anyhow::Result<ControlFlow<()>> {
        for (count, &place) in due.iter().enumerate() {
            // One at least, or nothing was measured.
            if is_first && count > 0 && !self.cells[place].is_needed() && self.is_past_overtime(Duration::ZERO) {
                self.left_out.push(place);
                continue;
            }
            if self.session.check_cpus().is_break() {
                return Ok(self.end_all());
            }
            let cell = &mut self.cells[place];
            self.progress.note(&cell.title());
            self.progress.show(cell.place(), || Some(Shown::Begun(())));
            let visited = (self.visit)(cell);
            // The loss of a CPU is checked first, since it explains an error; it also ends the loop above.
            let _ = self.session.check_cpus();
            let flow = match visited {
                Err(_) if self.session.interruption.cpus_taken().is_some() => ControlFlow::Break(()),
                visited => visited?,
            };
            self.progress.show(cell.place(), || cell.shown());
            if flow.is_break() {
                return Ok(self.end_all());
            }
            self.progress.minute(|| format!("{}: {}", self.cells[place].title(), self.cells[place].so_far()));
            self.close_if_over(place);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end_all(&mut self) -> ControlFlow<()> {
        let open = self.turns.open();
        match self.session.interruption.is_out_of_time() {
            true => self.left_out.extend_from_slice(open),
            false => open.iter().for_each(|&cell| self.ended[cell] = EndedBy::Interrupted),
        }
        ControlFlow::Break(())
    }

    fn close_if_over(&mut self, place: usize) {
        let cell = &mut self.cells[place];
        let is_known = self.rules.is_known(cell);
        if !is_known && !cell.is_over() && cell.turns() < self.rules.at_most {
            return;
        }
        self.ended[place] = if is_known { EndedBy::Converged } else { EndedBy::Budget };
        cell.retire();
        self.turns.close(place);
    }
}

impl Rules {
    /// Returns whether all values of a cell are known precisely enough.
    fn is_known(&self, cell: &impl Cell) -> bool {
        let Some(precision) = self.precision.filter(|_| cell.turns() >= self.at_least) else { return false };
        let figures = cell.figures();
        !figures.is_empty() && figures.iter().all(|figure| figure.relative_width() <= precision)
    }

    /// Returns one warning for all cells whose time was up first: it names the widest.
    pub fn not_converged<C: Cell>(&self, cells: &[C], turns: &Turns, what: &str) -> Option<Warning> {
        let open = cells
            .iter()
            .zip(&turns.ended)
            .filter(|(cell, ended_by)| **ended_by == EndedBy::Budget && !cell.figures().is_empty() && !cell.is_over());
        let width = |cell: &C| {
            let widths = cell.figures().into_iter().map(|figure| figure.relative_width());
            widths.map(|width| if width.is_finite() { width } else { f64::INFINITY }).fold(0.0, f64::max)
        };
        let widths: Vec<(f64, &C)> = open.map(|(cell, _)| (width(cell), cell)).collect();
        let (relative_width, widest) = widths.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let title = [what, &widest.title()].concat();
        let no_intervals = widths.iter().filter(|(width, _)| width.is_infinite()).count();
        let what = match (no_intervals, widths.len()) {
            (1, _) | (0, 1) => title,
            (0, many) => format!("{title} (the widest of {many} such configurations)"),
            (many, _) => format!("{title} (one of {many} such configurations)"),
        };
        Some(Warning::from(NotConverged { what, relative_width: *relative_width, target: self.precision? }))
    }
}

impl Turns {
    /// Returns the warning that configurations were omitted because the user's time was up, if there are any.
    pub fn left_out(&self) -> Option<Warning> {
        let count = self.left_out.len();
        let named = self.left_out.iter().take(MOST_NAMED).cloned().collect::<Vec<String>>().join("; ");
        let more = if count > MOST_NAMED { "; …" } else { "" };
        let what = format!("{count} of {} ({named}{more})", terminal::counted(self.cells, "configuration"));
        let reason = "the time of --seconds was up before their first repetition".to_owned();
        (count > 0).then(|| LeftOut { what, reason }.into())
    }
}
