//! One worker's recording, in which every moment keeps its place.

use crate::{Gap, GapsError};

/// Gaps on an axis that all workers share.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Start and end of each gap, in order; touching ones are one.
    pub gaps: Vec<(u64, u64)>,
    /// The running time before each gap: where it sits if the gaps are cut out. Strictly ascending.
    cuts: Vec<u64>,
    /// The length of all gaps before each, and of all.
    lost: Vec<u64>,
    span_ns: u64,
    pub work_ns: u64,
}

/// Part of the recording whose starts have the same delay, or one that falls by a nanosecond each nanosecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    pub from_ns: u64,
    /// Of the very first start in it.
    pub delay_ns: u64,
    /// It lies in a gap: whoever starts later waits for less.
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

    /// The gaps' lengths before `at` of running time, over as many repetitions as asked; the gap at `at` itself counts
    /// if `through`.
    fn sum(&self, at: u64, through: bool) -> u64 {
        let (laps, rest) = (at / self.running_ns(), at % self.running_ns());
        let gaps = self.cuts.partition_point(|cut| if through { *cut <= rest } else { *cut < rest });
        // A gap at the very end of the recording sits where the next repetition begins.
        let ended = self.cuts.last().is_some_and(|cut| *cut == self.running_ns());
        let late = if ended && rest == 0 && laps > 0 && !through { self.length(self.gaps.len() - 1) } else { 0 };
        laps * self.lost_ns() + self.lost[gaps] - late
    }

    fn length(&self, gap: usize) -> u64 {
        self.gaps[gap].1 - self.gaps[gap].0
    }

    /// Gaps before this moment of the recording have ended; and whether the next has begun.
    fn at(&self, moment_ns: u64) -> (usize, bool) {
        let ended = self.gaps.partition_point(|gap| gap.1 <= moment_ns);
        (ended, self.gaps.get(ended).is_some_and(|gap| gap.0 <= moment_ns))
    }

    /// When work that begins at this moment is done; the recording repeats.
    pub fn done_ns(&self, moment_ns: u64) -> u64 {
        let (laps, rest) = (moment_ns / self.span_ns, moment_ns % self.span_ns);
        let (ended, inside) = self.at(rest);
        let running = if inside { self.cuts[ended] } else { rest - self.lost[ended] };
        let until = laps * self.running_ns() + running + self.work_ns;
        until + self.sum(until, false)
    }

    /// The pieces of the recording, in order; the first begins where it does.
    pub fn pieces(&self) -> Vec<Piece> {
        let running = self.running_ns();
        let back = running - self.work_ns % running;
        // Work from there on ends where a gap begins: a little later it meets the gap.
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
        // What a start a little after `from_ns` meets: not the gap that ends there, but one that its work ends at.
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

    /// Without a stretch of time; `None` if it would never run.
    pub fn without(&self, from_ns: u64, to_ns: u64, span_ns: u64) -> Option<Self> {
        let place = |moment: u64| if moment <= from_ns { moment } else { moment.max(to_ns) - (to_ns - from_ns) };
        let gaps = self.gaps.iter().map(|gap| (place(gap.0), place(gap.1))).filter(|gap| gap.0 < gap.1);
        let line = Self::of(joined(gaps.collect()), span_ns, self.work_ns);
        (line.running_ns() > 0).then_some(line)
    }
}

/// Touching gaps are one.
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
