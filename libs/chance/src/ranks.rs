//! Workers recorded at the same time: the delay of the slowest, with their interruptions as recorded.
//!
//! [`Gaps`](crate::Gaps) is the recording of one worker; many workers are then this worker, each from a separate
//! moment. Here each worker has its own recording, and all recordings have one time axis: interruptions that hit
//! several workers at the same moment stay simultaneous.

use crate::{Delay, Gap, GapsError};
use std::collections::BTreeMap;

/// The reason for which the recording of a worker is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("worker {worker}: {problem}")]
pub struct RanksError {
    /// The index of the worker, counted from 0.
    pub worker: usize,
    /// The problem.
    pub problem: GapsError,
}

/// Recordings of several workers on one time axis, repeated without end, and the work of each.
///
/// # Examples
///
/// ```
/// use chance::{Gap, Ranks};
/// // Two workers lose a tenth of the time each, alternately or at once.
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
    /// Creates the recordings from each worker's gaps, in order of time within `span_ns`, and the length of its work.
    ///
    /// A worker may have no gaps.
    ///
    /// # Errors
    ///
    /// Returns the first worker whose gaps are invalid as a recording, or whose work has no length.
    pub fn new(workers: impl IntoIterator<Item = (Vec<Gap>, u64)>, span_ns: u64) -> Result<Self, RanksError> {
        let line = |(worker, (gaps, work_ns)): (usize, (Vec<Gap>, u64))| {
            Line::new(&gaps, span_ns, work_ns).map_err(|problem| RanksError { worker, problem })
        };
        Ok(Self { lines: workers.into_iter().enumerate().map(line).collect::<Result<_, _>>()?, span_ns })
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.lines.len()
    }

    /// Returns the length of the recording, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// Returns the longest work of the first `workers`, which is the time of a step without interruptions, in
    /// nanoseconds.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0 or greater than the number of workers.
    pub fn work_ns(&self, workers: usize) -> u64 {
        self.lines[..workers].iter().map(|line| line.work_ns).max().expect("at least one worker")
    }

    /// Returns the exact delay of the slowest of the first `workers`, which all begin at the same random moment of
    /// the endlessly repeated recordings.
    ///
    /// The delay counts from the end of the longest work without gaps.
    ///
    /// The powers of this distribution are those of independent groups. `delay(k).slowdown(m)` is the slowdown of m·k
    /// workers in groups of k: each group is interrupted as these workers were, and independently of the other
    /// groups.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0 or greater than the number of workers.
    pub fn delay(&self, workers: usize) -> Delay {
        let work_ns = self.work_ns(workers);
        Delay::new(slowest(&self.lines[..workers], self.span_ns, work_ns).into_iter(), work_ns)
    }

    /// Plays consecutive steps from a moment of the recording on; in each step the first `workers` begin at once and
    /// wait for the slowest.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0 or greater than the number of workers.
    pub fn play(&self, workers: usize, from_ns: u64) -> Playback<'_> {
        assert!(workers > 0, "a step of zero workers does not exist");
        Playback::new(&self.lines[..workers], from_ns)
    }

    /// Returns the same workers with the recording of each rotated by a value of `shift`.
    ///
    /// The interruptions that the workers have in common lose their simultaneity; no worker loses an interruption.
    pub fn shifted(&self, mut shift: impl FnMut() -> u64) -> Self {
        let lines = self.lines.iter().map(|line| line.shifted(shift() % self.span_ns));
        Self { lines: lines.collect(), span_ns: self.span_ns }
    }

    /// Returns the same recordings without the interval from `from_ns` to `to_ns`, or `None` if no running time would
    /// be left.
    ///
    /// # Panics
    ///
    /// Panics if the interval is not in the recording.
    pub fn without(&self, from_ns: u64, to_ns: u64) -> Option<Self> {
        assert!(from_ns <= to_ns && to_ns <= self.span_ns, "the stretch is inside the recording");
        let span_ns = self.span_ns - (to_ns - from_ns);
        let lines = self.lines.iter().map(|line| line.without(from_ns, to_ns, span_ns));
        Some(Self { lines: lines.collect::<Option<_>>()?, span_ns })
    }
}

// The recording of one worker, in which every moment keeps its place.

/// Gaps on a time axis that all workers share.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The start and the end of each gap, in order; gaps that touch are joined.
    pub gaps: Vec<(u64, u64)>,
    /// The running time before each gap, which is its place if the gaps are cut out. Strictly ascending.
    cuts: Vec<u64>,
    /// The length of all gaps before each gap, and of all gaps.
    lost: Vec<u64>,
    span_ns: u64,
    pub work_ns: u64,
}

/// A part of the recording whose starts have the same delay, or a delay that falls by one nanosecond per nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    pub from_ns: u64,
    /// The delay of the first start in this piece, in nanoseconds.
    pub delay_ns: u64,
    /// True in a gap: work that starts later waits for less.
    pub falls: bool,
}

impl Line {
    pub fn new(gaps: &[Gap], span_ns: u64, work_ns: u64) -> Result<Self, GapsError> {
        let mut ends: Vec<(u64, u64)> = Vec::with_capacity(gaps.len());
        for (position, gap) in gaps.iter().enumerate() {
            let ends_ns = ends.last().map_or(0, |last| last.1);
            if gap.duration_ns == 0 {
                return Err(GapsError::Zero { position });
            }
            if gap.start_ns < ends_ns {
                return Err(GapsError::Overlap { position, ends_ns });
            }
            let end = gap.start_ns.checked_add(gap.duration_ns).filter(|end| *end <= span_ns);
            let end = end.ok_or(GapsError::Beyond { position, span_ns })?;
            match ends.last_mut() {
                Some(last) if last.1 == gap.start_ns => last.1 = end,
                _ => ends.push((gap.start_ns, end)),
            }
        }
        let line = Self::of(ends, span_ns, work_ns);
        let laps = u128::from(work_ns / line.running_ns().max(1)) + 2;
        match line.running_ns() {
            0 => Err(GapsError::NeverRuns),
            _ if work_ns == 0 || laps * u128::from(span_ns) > u128::from(u64::MAX / 4) => {
                Err(GapsError::Work { work_ns })
            }
            _ => Ok(line),
        }
    }

    fn of(gaps: Vec<(u64, u64)>, span_ns: u64, work_ns: u64) -> Self {
        let mut lost = vec![0];
        lost.extend(gaps.iter().scan(0, |sum, gap| {
            *sum += gap.1 - gap.0;
            Some(*sum)
        }));
        let cuts = gaps.iter().zip(&lost).map(|(gap, before)| gap.0 - before).collect();
        Self { gaps, cuts, lost, span_ns, work_ns }
    }

    fn lost_ns(&self) -> u64 {
        self.lost[self.gaps.len()]
    }

    fn running_ns(&self) -> u64 {
        self.span_ns - self.lost_ns()
    }

    /// Returns the sum of the gaps' lengths before `at` of running time, over any number of repetitions.
    ///
    /// The gap at `at` itself counts if `through`.
    fn sum(&self, at: u64, through: bool) -> u64 {
        let (laps, rest) = (at / self.running_ns(), at % self.running_ns());
        let gaps = self.cuts.partition_point(|cut| if through { *cut <= rest } else { *cut < rest });
        // A gap at the very end of the recording is placed where the next repetition begins.
        let ended = self.cuts.last().is_some_and(|cut| *cut == self.running_ns());
        let late = if ended && rest == 0 && laps > 0 && !through { self.length(self.gaps.len() - 1) } else { 0 };
        laps * self.lost_ns() + self.lost[gaps] - late
    }

    fn length(&self, gap: usize) -> u64 {
        self.gaps[gap].1 - self.gaps[gap].0
    }

    /// Returns the number of gaps that have ended before this moment, and whether the next has begun.
    fn at(&self, moment_ns: u64) -> (usize, bool) {
        let ended = self.gaps.partition_point(|gap| gap.1 <= moment_ns);
        (ended, self.gaps.get(ended).is_some_and(|gap| gap.0 <= moment_ns))
    }

    /// Returns the end of the work that begins at this moment, in nanoseconds; the recording repeats.
    pub fn done_ns(&self, moment_ns: u64) -> u64 {
        let (laps, rest) = (moment_ns / self.span_ns, moment_ns % self.span_ns);
        let (ended, inside) = self.at(rest);
        let running = if inside { self.cuts[ended] } else { rest - self.lost[ended] };
        let until = laps * self.running_ns() + running + self.work_ns;
        until + self.sum(until, false)
    }

    /// Returns the pieces of the recording, in order; the first begins at the start of the recording.
    pub fn pieces(&self) -> Vec<Piece> {
        let running = self.running_ns();
        let back = running - self.work_ns % running;
        // Work that starts there ends where a gap begins; work that starts a little later meets the gap.
        let met = self.cuts.iter().map(|cut| (cut + back) % running).map(|at| at + self.sum(at, true));
        let mut starts: Vec<u64> = met.chain([0]).chain(self.gaps.iter().flat_map(|gap| [gap.0, gap.1])).collect();
        starts.retain(|start| *start < self.span_ns);
        starts.sort_unstable();
        starts.dedup();
        starts.into_iter().map(|from_ns| self.piece(from_ns)).collect()
    }

    fn piece(&self, from_ns: u64) -> Piece {
        let (ended, inside) = self.at(from_ns);
        if inside {
            return Piece { from_ns, delay_ns: self.done_ns(from_ns) - from_ns - self.work_ns, falls: true };
        }
        let at = from_ns - self.lost[ended];
        // A start shortly after `from_ns` does not meet the gap that ends there, but meets a gap at which its work
        // ends.
        let delay_ns = self.sum(at + self.work_ns, true) - self.lost[ended];
        Piece { from_ns, delay_ns, falls: false }
    }

    pub fn shifted(&self, by_ns: u64) -> Self {
        let moved = |(start, end): &(u64, u64)| {
            let (start, end) = (start + by_ns, end + by_ns);
            let beyond = |moment: u64| moment - self.span_ns;
            match (start >= self.span_ns, end > self.span_ns) {
                (true, _) => vec![(beyond(start), beyond(end))],
                (false, true) => vec![(start, self.span_ns), (0, beyond(end))],
                (false, false) => vec![(start, end)],
            }
        };
        let mut gaps: Vec<(u64, u64)> = self.gaps.iter().flat_map(moved).collect();
        gaps.sort_unstable();
        Self::of(joined(gaps), self.span_ns, self.work_ns)
    }

    /// Returns the line without an interval of time, or `None` if no running time would be left.
    pub fn without(&self, from_ns: u64, to_ns: u64, span_ns: u64) -> Option<Self> {
        let place = |moment: u64| if moment <= from_ns { moment } else { moment.max(to_ns) - (to_ns - from_ns) };
        let gaps = self.gaps.iter().map(|gap| (place(gap.0), place(gap.1))).filter(|gap| gap.0 < gap.1);
        let line = Self::of(joined(gaps.collect()), span_ns, self.work_ns);
        (line.running_ns() > 0).then_some(line)
    }
}

/// Joins gaps that touch.
fn joined(gaps: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(gaps.len());
    for gap in gaps {
        match joined.last_mut() {
            Some(last) if last.1 == gap.0 => last.1 = gap.1,
            _ => joined.push(gap),
        }
    }
    joined
}

// Consecutive steps, as recorded: no worker begins before the slowest has ended.

/// An endless series of steps from one moment on.
#[derive(Debug, Clone)]
pub struct Playback<'a> {
    lines: &'a [Line],
    now_ns: u64,
}

impl<'a> Playback<'a> {
    fn new(lines: &'a [Line], now_ns: u64) -> Self {
        Self { lines, now_ns }
    }

    /// Returns the moment up to which the playback has advanced, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Plays one step, and a rest in which no worker works and interruptions cost nothing, such as a barrier.
    ///
    /// Returns the length of the step in nanoseconds and the index of the worker that was last; of several, the
    /// first.
    pub fn step(&mut self, rest_ns: u64) -> (u64, usize) {
        let begin = self.now_ns;
        let (mut last, mut end) = (0, 0);
        for (worker, line) in self.lines.iter().enumerate() {
            let done = line.done_ns(begin);
            if done > end {
                (last, end) = (worker, done);
            }
        }
        self.now_ns = end + rest_ns;
        (self.now_ns - begin, last)
    }
}

// The delay of the slowest worker at every starting moment, piece by piece.
//
// At each moment, a worker's delay is constant or falls by one nanosecond per nanosecond. The greatest delay is
// therefore the greater of the greatest constant one and the greatest falling one. Between two neighbouring moments
// at which some worker's piece begins, there are at most two pieces.

/// A multiset of values.
#[derive(Default)]
struct Multiset(BTreeMap<i128, usize>);

impl Multiset {
    fn add(&mut self, value: i128) {
        *self.0.entry(value).or_insert(0) += 1;
    }

    fn take(&mut self, value: i128) {
        if let Some(count) = self.0.get_mut(&value) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&value);
            }
        }
    }

    fn greatest(&self) -> Option<i128> {
        self.0.last_key_value().map(|(value, _)| *value)
    }
}

/// The start of a worker's piece, the index of the worker, its value there beyond the longest work, and whether it
/// falls.
type Begin = (u64, usize, i128, bool);

/// Returns pieces `(from, to, time)`, in which the delays are uniform between two bounds, or all equal.
pub fn slowest(lines: &[Line], span_ns: u64, work_ns: u64) -> Vec<(u64, u64, u64)> {
    let mut begins: Vec<Begin> = Vec::new();
    for (worker, line) in lines.iter().enumerate() {
        // A worker with less work is ahead by the difference.
        let ahead = i128::from(work_ns) - i128::from(line.work_ns);
        let value = |delay_ns: u64| i128::from(delay_ns) - ahead;
        let of = line.pieces().into_iter().map(|piece| (piece.from_ns, worker, value(piece.delay_ns), piece.falls));
        begins.extend(of);
    }
    begins.sort_unstable();
    let mut current: Vec<Option<(i128, bool)>> = vec![None; lines.len()];
    let (mut constant, mut falling) = (Multiset::default(), Multiset::default());
    let mut pieces = Vec::with_capacity(2 * begins.len());
    for (place, &(from, worker, value, falls)) in begins.iter().enumerate() {
        // A falling value is kept as the moment at which it would be zero, so that it stays constant.
        let invariant = if falls { value + i128::from(from) } else { value };
        if let Some((previous, fell)) = current[worker].replace((invariant, falls)) {
            if fell { falling.take(previous) } else { constant.take(previous) }
        }
        if falls {
            falling.add(invariant)
        } else {
            constant.add(invariant)
        }
        let to = begins.get(place + 1).map_or(span_ns, |next| next.0);
        if to > from {
            between(from, to, constant.greatest(), falling.greatest(), &mut pieces);
        }
    }
    pieces
}

/// Adds the greater of a constant and of a value that is zero at the moment `zero`, between two moments.
fn between(from: u64, to: u64, constant: Option<i128>, zero: Option<i128>, pieces: &mut Vec<(u64, u64, u64)>) {
    let floor = constant.unwrap_or(0).max(0);
    let crossing = zero.map_or(from, |zero| (zero - floor).clamp(i128::from(from), i128::from(to)) as u64);
    if let Some(zero) = zero.filter(|_| crossing > from) {
        let at = |moment: u64| (zero - i128::from(moment)) as u64;
        pieces.push((at(crossing), at(from), crossing - from));
    }
    if to > crossing {
        pieces.push((floor as u64, floor as u64, to - crossing));
    }
}
