//! Workers that were watched at the same time: how long does the slowest take, if their interruptions come as recorded?
//!
//! [`Gaps`](crate::Gaps) is one worker's recording, and many workers are that one, each from a moment of its own. Here
//! each worker has a recording of its own, and all of them lie on one axis: what hits several at the same moment stays
//! together, and so does what never does.

mod line;
mod playback;
mod sweep;

use crate::{Delay, Gap, GapsError};
use line::Line;
pub use playback::Playback;

/// What makes no recording of several workers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("worker {worker}: {problem}")]
pub struct RanksError {
    /// Whose, counted from 0.
    pub worker: usize,
    /// What is wrong.
    pub problem: GapsError,
}

/// Recordings of several workers on one axis of time, repeated for ever, and each one's work.
///
/// ```
/// use chance::{Gap, Ranks};
/// // Two workers lose a tenth of the time each, by turns or at once.
/// let gap = |start_ns| vec![Gap { start_ns, duration_ns: 1_000 }];
/// let mean = |other: u64| {
///     let ranks = Ranks::new([(gap(0), 1), (gap(other), 1)], 10_000)?;
///     Ok::<f64, chance::RanksError>(ranks.delay(2).mean_ns())
/// };
/// assert!(mean(5_000)? > 1.99 * mean(0)?);
/// # Ok::<(), chance::RanksError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ranks {
    lines: Vec<Line>,
    span_ns: u64,
}

impl Ranks {
    /// Each worker's gaps, in order of time, in a recording of `span_ns`, and the length of its work. A worker may have
    /// no gaps.
    ///
    /// # Errors
    /// The first worker whose gaps make no recording, or whose work has no length.
    pub fn new(workers: impl IntoIterator<Item = (Vec<Gap>, u64)>, span_ns: u64) -> Result<Self, RanksError> {
        let line = |(worker, (gaps, work_ns)): (usize, (Vec<Gap>, u64))| {
            Line::new(&gaps, span_ns, work_ns).map_err(|problem| RanksError { worker, problem })
        };
        Ok(Self { lines: workers.into_iter().enumerate().map(line).collect::<Result<_, _>>()?, span_ns })
    }

    /// How many workers.
    pub fn workers(&self) -> usize {
        self.lines.len()
    }

    /// The length of the recording.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// The longest work of the first `workers`: what a step takes that nothing interrupts.
    ///
    /// # Panics
    /// If there are not so many, or `workers` is 0.
    pub fn work_ns(&self, workers: usize) -> u64 {
        self.lines[..workers].iter().map(|line| line.work_ns).max().expect("at least one worker")
    }

    /// How late the slowest of the first `workers` is, who all begin at the same random moment: exact, for the
    /// recordings repeated for ever. Late is what is later than the longest work without gaps.
    ///
    /// Powers of it are those of independent groups: `delay(k).slowdown(m)` is that of m·k workers, of whom each k
    /// are interrupted as these were, and apart from the other groups.
    ///
    /// # Panics
    /// If there are not so many, or `workers` is 0.
    pub fn delay(&self, workers: usize) -> Delay {
        let work_ns = self.work_ns(workers);
        Delay::new(sweep::slowest(&self.lines[..workers], self.span_ns, work_ns).into_iter(), work_ns)
    }

    /// Steps one after another, from a moment of the recording on; in each the first `workers` begin at once, and wait
    /// for the slowest.
    ///
    /// # Panics
    /// If there are not so many, or `workers` is 0.
    pub fn play(&self, workers: usize, from_ns: u64) -> Playback<'_> {
        assert!(workers > 0, "a step of zero workers does not exist");
        Playback::new(&self.lines[..workers], from_ns)
    }

    /// The same workers, the recording of each turned by as much as `shift` says: what is common to them is no more,
    /// and each keeps all that is its own.
    pub fn shifted(&self, mut shift: impl FnMut() -> u64) -> Self {
        let lines = self.lines.iter().map(|line| line.shifted(shift() % self.span_ns));
        Self { lines: lines.collect(), span_ns: self.span_ns }
    }

    /// The same recordings without the stretch from `from_ns` to `to_ns`; `None` if nothing would be left.
    ///
    /// # Panics
    /// If the stretch does not lie in the recording.
    pub fn without(&self, from_ns: u64, to_ns: u64) -> Option<Self> {
        assert!(from_ns <= to_ns && to_ns <= self.span_ns, "the stretch is inside the recording");
        let span_ns = self.span_ns - (to_ns - from_ns);
        let lines = self.lines.iter().map(|line| line.without(from_ns, to_ns, span_ns));
        Some(Self { lines: lines.collect::<Option<_>>()?, span_ns })
    }
}
