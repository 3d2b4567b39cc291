//! Tables whose cells are measured: locks by threads in one command, or experiments by CPUs in one command each.

use crate::feed::{Feed, Figure, Seen};
use crate::form::Forms;
use crate::machine::Machine;
use experiments::ALL;
use harness::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A command line, and the part of a table that it measures.
pub type CellCommand = (Target, Vec<String>);

/// The part of a table that a command measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub kind: Kind,
    /// The cell, if the command measures only one.
    pub cell: Option<(usize, usize)>,
}

/// The kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Latency,
    Throughput,
    Cpus,
}

/// A table, with its chosen and marked cells and the values measured so far.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub kind: Kind,
    pub rows: Vec<&'static str>,
    pub columns: Vec<usize>,
    /// Row and column.
    pub at: (usize, usize),
    pub marked: BTreeSet<(usize, usize)>,
    /// The values measured so far.
    pub known: BTreeMap<(usize, usize), Known>,
    /// The cell that is being measured, in a table with a command for each cell.
    pub measured: Option<(usize, usize)>,
}

/// The contents of a cell.
#[derive(Clone, Debug)]
pub struct Known {
    pub figure: Figure,
    pub seen: Seen,
    pub of: String,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Latency, Self::Throughput, Self::Cpus];

    pub fn title(self) -> &'static str {
        match self {
            Self::Latency => "latency: locks by threads",
            Self::Throughput => "throughput: locks by children",
            Self::Cpus => "experiments by CPUs",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Latency => "Lock latency: median and a small histogram",
            Self::Throughput => "Iterations per second: 7 µs outside the lock, 3 µs inside",
            Self::Cpus => "Measure one CPU after another",
        }
    }
}

/// The threads' work in the table of throughputs, without the lock and with it: one of the mixes of 2002.
const MIX: [&str; 2] = ["7us", "3us"];
/// The numbers of threads or children.
const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];

impl Matrix {
    /// Creates the table, with the rows of its registry.
    pub fn new(kind: Kind, machine: &Machine) -> Self {
        let (rows, columns): (Vec<&str>, Vec<usize>) = match kind {
            Kind::Cpus => (of_one_cpu().map(|entry| entry.name).collect(), machine.online.iter().collect()),
            _ => (locks::ENTRIES.iter().map(|entry| entry.name).collect(), THREADS.to_vec()),
        };
        Self { kind, rows, columns, at: (0, 0), marked: BTreeSet::new(), known: BTreeMap::new(), measured: None }
    }

    /// Returns a column's heading.
    pub fn heading(&self, column: usize) -> String {
        let number = self.columns[column];
        match self.kind {
            Kind::Latency => terminal::counted(number, "thread"),
            Kind::Throughput if number == 1 => "1 child".to_owned(),
            Kind::Throughput => format!("{number} children"),
            Kind::Cpus => format!("CPU {number}"),
        }
    }

    /// Returns the reason why a cell cannot be measured here.
    pub fn refusal(&self, (_, column): (usize, usize), machine: &Machine) -> Option<String> {
        (self.kind == Kind::Cpus).then(|| machine.refusal(self.columns[column])).flatten()
    }

    /// Marks the cell, or removes the mark.
    pub fn toggle(&mut self) {
        if !self.marked.remove(&self.at) {
            self.marked.insert(self.at);
        }
    }

    /// Returns the marked cells that can be measured, or else the chosen one.
    fn wanted(&self, machine: &Machine) -> Vec<(usize, usize)> {
        let all = if self.marked.is_empty() { BTreeSet::from([self.at]) } else { self.marked.clone() };
        all.into_iter().filter(|cell| self.refusal(*cell, machine).is_none()).collect()
    }

    /// Returns the command lines that measure the marked cells.
    ///
    /// Their time and CPUs are those of the forms. All other options have the values of the table or their defaults:
    /// values of the form could conflict with them, or give a cell several results.
    pub fn commands(&self, forms: &Forms, machine: &Machine) -> Vec<CellCommand> {
        let wanted = self.wanted(machine);
        if self.kind == Kind::Cpus {
            let target = |cell| Target { kind: self.kind, cell: Some(cell) };
            return wanted.into_iter().map(|cell| (target(cell), self.on_one_cpu(cell, forms))).collect();
        }
        if wanted.is_empty() {
            return Vec::new();
        }
        let rows: BTreeSet<usize> = wanted.iter().map(|(row, _)| *row).collect();
        let columns: BTreeSet<usize> = wanted.iter().map(|(_, column)| *column).collect();
        let locks: Vec<&str> = rows.into_iter().map(|row| self.rows[row]).collect();
        let numbers: Vec<String> = columns.into_iter().map(|column| self.columns[column].to_string()).collect();
        let (locks, numbers) = (locks.join(","), numbers.join(","));
        let words = match self.kind {
            Kind::Latency => {
                forms.command_with("latency", &[("lock", &locks), ("threads", &numbers), ("placement", "spread")])
            }
            _ => {
                let [nonhold, hold] = MIX;
                let values = [("lock", &*locks), ("children", &*numbers), ("nonhold", nonhold), ("hold", hold)];
                forms.command_with("throughput", &values)
            }
        };
        vec![(Target { kind: self.kind, cell: None }, words)]
    }

    /// Returns the command line of one cell, with the first lock of the experiment's form.
    fn on_one_cpu(&self, (row, column): (usize, usize), forms: &Forms) -> Vec<String> {
        let (name, cpu) = (self.rows[row], self.columns[column].to_string());
        let locks = forms.value(name, "lock");
        let lock = locks.split(',').next().filter(|lock| !["", "all", "list"].contains(lock)).unwrap_or("std");
        forms.command_with(name, &[("lock", lock), ("scenario", "quiet"), ("cpus", &cpu)])
    }

    /// Takes the values reported so far; `cell` is that of a command that measures only one.
    pub fn take(&mut self, feed: &Feed, cell: Option<(usize, usize)>) {
        if let Some(cell) = cell {
            if let Some((figure, of)) = feed.best() {
                let seen = feed.places().find(|place| place.row == of).or_else(|| feed.places().next());
                let seen = seen.map_or(Seen::Nothing, |place| place.seen.clone());
                self.known.insert(cell, Known { figure, seen, of });
            }
            return;
        }
        for place in feed.places() {
            let row = self.rows.iter().position(|row| *row == place.row);
            let column =
                (0..self.columns.len()).find(|&column| begins_with_number(&place.column, self.columns[column]));
            if let (Some(row), Some(column), Some(figure)) = (row, column, place.seen.figure()) {
                let of = format!("{}, {}", place.row, place.column);
                self.known.insert((row, column), Known { figure, seen: place.seen.clone(), of });
            }
        }
    }

    /// Returns the place of a cell's value among the locks of its column or the CPUs of its row, and the number of those.
    pub fn order(&self, (row, column): (usize, usize)) -> Option<(usize, usize)> {
        let own = self.known.get(&(row, column))?.figure;
        let is_peer = |cell: &(usize, usize)| if self.kind == Kind::Cpus { cell.0 == row } else { cell.1 == column };
        let peers: Vec<f64> =
            self.known.iter().filter(|(cell, _)| is_peer(cell)).map(|(_, known)| known.figure.value).collect();
        Some((crate::feed::order(own, &peers), peers.len()))
    }
}

/// Experiments that measure one CPU as well as several, and are short: those of the survey.
fn of_one_cpu() -> impl Iterator<Item = &'static Entry> {
    ALL.iter().filter(|entry| entry.takes("cpus") && entry.survey.is_some_and(|part| part.weight > 0))
}

fn begins_with_number(text: &str, number: usize) -> bool {
    text.split(' ').next() == Some(number.to_string().as_str())
}
