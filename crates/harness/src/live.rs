//! Interim results of a measurement, for a program that draws them: `--live-to=FD`, a line of JSON for each piece.
//!
//! Lines are written to a pipe that the other program made. They are written between two pieces of a measurement, never
//! within one, and writing never blocks. A line that does not fit into the pipe is lost, and the next one has newer
//! values. No line is longer than the size that the system writes atomically.

use crate::exit::UsageError;
use instruments::tally::Tally;
use record::Unit;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

/// A line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveLine {
    /// The time since the stream was opened.
    pub at_s: f64,
    /// The experiment, where it is a part of a longer run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The row in a table: the lock, for example, …
    pub row: String,
    /// … and the column: the number of threads.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub column: String,
    #[serde(flatten)]
    pub shown: Shown,
}

/// The present value of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The cell is being measured now.
    Begun(()),
    /// Latencies so far: the position of each bin, in ns, and its hits.
    Histogram { median_ns: f64, step_ns: f64, bins: Vec<(f64, u64)> },
    /// A share from 0 to 1 of the piece that has just ended: of lost time, or of load.
    Level(f64),
    /// A value, as it is known so far.
    Figure { value: f64, unit: Unit, more_is_better: bool },
    /// The waits for a class of locks so far. The classes up to the next `Diagnosis` are one snapshot.
    Class { lock_type: String, waited_s: f64, contended: Option<u64>, wait_p99_ns: Option<f64>, story: Vec<String> },
    /// The sentences about the whole program so far, which complete a snapshot.
    Diagnosis { sentences: Vec<String> },
}

impl Shown {
    /// Returns a histogram of few bins from values in ticks, to each of which `offset` was added: each bin is at the
    /// mean of its values.
    pub fn histogram(tally: &Tally, ns_per_tick: f64, offset: u64, step_ns: f64) -> Self {
        let mut bins: BTreeMap<i32, (f64, u64)> = BTreeMap::new();
        for (ticks, count) in tally.iter() {
            let ns = (ticks as f64 - offset as f64) * ns_per_tick;
            let bin = bins.entry((ns.max(0.1).log2() * BINS_AN_OCTAVE).floor() as i32).or_default();
            *bin = (bin.0 + ns * count as f64, bin.1 + count);
        }
        let bins = bins.into_values().map(|(sum, count)| (rounded(sum / count as f64), count));
        let median = tally.quantile(0.5).map_or(0.0, |ticks| ticks as f64 - offset as f64);
        Self::Histogram { median_ns: rounded(median * ns_per_tick), step_ns: rounded(step_ns), bins: bins.collect() }
    }
}

const BINS_AN_OCTAVE: f64 = 3.0;

/// Rounds to as many digits as are drawn: more would make a line too long.
fn rounded(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

/// The stream; without one, reporting has no effect and no cost.
#[derive(Clone, Debug, Default)]
pub struct Live(Option<Arc<Stream>>);

#[derive(Debug)]
struct Stream {
    pipe: BorrowedFd<'static>,
    began: Instant,
}

/// `PIPE_BUF` of Linux: this many bytes are written atomically.
const LONGEST: usize = 4_096;

impl Live {
    /// Opens the stream that `--live-to` names.
    ///
    /// # Errors
    /// It is not a pipe of this process.
    pub fn open(descriptor: RawFd) -> Result<Self, UsageError> {
        let refuse = |why: &str| UsageError(format!("--live-to={descriptor}: {why}"));
        if descriptor < 3 {
            return Err(refuse("the descriptor must be 3 or above"));
        }
        // SAFETY: the descriptor is only queried, and used from here on if it is an open pipe. The parent process left
        // it open for this purpose, and nothing here closes a descriptor that it did not open.
        let pipe = unsafe { BorrowedFd::borrow_raw(descriptor) };
        let found = fstat(pipe).map_err(|error| refuse(&error.to_string()))?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Fifo {
            return Err(refuse("not a pipe"));
        }
        let flags = fcntl_getfl(pipe).map_err(|error| refuse(&error.to_string()))?;
        fcntl_setfl(pipe, flags | OFlags::NONBLOCK).map_err(|error| refuse(&error.to_string()))?;
        // Child processes must not write there.
        fcntl_setfd(pipe, FdFlags::CLOEXEC).map_err(|error| refuse(&error.to_string()))?;
        Ok(Self(Some(Arc::new(Stream { pipe, began: Instant::now() }))))
    }

    /// Returns whether there is a receiver.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Reports the present value of a cell.
    pub fn tell(&self, part: &str, (row, column): (String, String), shown: Shown) {
        let Some(stream) = &self.0 else { return };
        let at_s = stream.began.elapsed().as_secs_f64();
        let line = LiveLine { at_s, part: part.to_owned(), row, column, shown };
        let Ok(text) = serde_json::to_string(&line) else { return };
        if text.len() < LONGEST {
            // A full pipe or a closed reader must not affect the measurement.
            let _ = rustix::io::write(stream.pipe, (text + "\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_has_few_bins_at_the_mean_of_their_values() {
        let tally = Tally::from_counts([(1_100, 3), (1_101, 1), (5_000_000, 2)]);
        let Shown::Histogram { bins, median_ns, .. } = Shown::histogram(&tally, 0.5, 1_000, 10.0) else {
            panic!("it is one")
        };
        assert_eq!((bins.as_slice(), median_ns), ([(50.1, 4), (2_499_500.0, 2)].as_slice(), 50.0));
    }

    #[test]
    fn widest_possible_histogram_fits_a_line() {
        let all: Vec<(u64, u64)> =
            (0..48).flat_map(|power| (0..8).map(move |eighth| ((8 + eighth) << power, 7_654_321))).collect();
        let shown = Shown::histogram(&Tally::from_counts(all), 0.345, 0, 12.3);
        let line = LiveLine {
            at_s: 1.0 / 3.0,
            part: "latency".into(),
            row: "parking_lot-fair".into(),
            column: "16 threads".into(),
            shown,
        };
        assert!(serde_json::to_string(&line).unwrap().len() < LONGEST);
    }

    #[test]
    fn descriptor_that_is_not_a_pipe_is_refused() {
        assert!(Live::open(1).unwrap_err().0.contains("3 or above"));
        assert!(Live::open(987).unwrap_err().0.contains("--live-to=987"));
    }
}
