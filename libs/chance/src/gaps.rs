//! Recorded interruptions as a random source: the time that a piece of work takes if it starts at a random moment.
//!
//! # Model
//!
//! - The recording repeats without end, and every instant of it is equally likely as the start of the work.
//! - The model keeps every gap and every interval between gaps as recorded. It contains no event that is rarer than
//!   the recording shows.

use crate::Delay;

/// An interval in which nothing ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The start of the gap, in nanoseconds from the start of the recording.
    pub start_ns: u64,
    /// The length of the gap, in nanoseconds.
    pub duration_ns: u64,
}

/// The reason for which gaps make no recording.
///
/// Positions count from 0 in the order given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GapsError {
    /// There are no gaps.
    #[error("there are no gaps")]
    Empty,
    /// A gap has no length.
    #[error("a gap of zero length")]
    Zero {
        /// The position of the gap.
        position: usize,
    },
    /// A gap begins before the previous gap has ended.
    #[error("the gap overlaps the one before, which ends at {ends_ns} ns")]
    Overlap {
        /// The position of the gap.
        position: usize,
        /// The end of the previous gap, in nanoseconds.
        ends_ns: u64,
    },
    /// A gap ends after the recording.
    #[error("the gap ends after the recording, which lasts {span_ns} ns")]
    Beyond {
        /// The position of the gap.
        position: usize,
        /// The length of the recording, in nanoseconds.
        span_ns: u64,
    },
    /// The gaps leave no running time.
    #[error("the gaps fill the whole recording: nothing ever ran")]
    NeverRuns,
    /// The work has no length, or its delay does not fit in 64 bits.
    #[error("work of {work_ns} ns: it must last at least 1 ns, and its delay fit 64 bits")]
    Work {
        /// The length of the work, in nanoseconds.
        work_ns: u64,
    },
}

impl GapsError {
    pub(crate) fn position(&self) -> Option<usize> {
        match self {
            Self::Zero { position } | Self::Overlap { position, .. } | Self::Beyond { position, .. } => Some(*position),
            Self::Empty | Self::NeverRuns | Self::Work { .. } => None,
        }
    }
}

/// A recording of interruptions.
///
/// # Examples
///
/// ```
/// use chance::{Gap, Gaps};
/// let gaps = Gaps::new([Gap { start_ns: 0, duration_ns: 1_000_000 }], 1_000_000_000)?;
/// let delay = gaps.delay(1_000_000)?;
/// assert!((delay.mean_ns() - 1_500.0).abs() < 1e-9);
/// # Ok::<(), chance::GapsError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gaps {
    /// For each gap: the running time before it, which is its place if the gaps are cut out, and its length. Strictly
    /// ascending.
    cuts: Vec<(u64, u64)>,
    running_ns: u64,
    lost_ns: u64,
}

impl Gaps {
    /// Creates a recording of `span_ns` from gaps in order of time.
    ///
    /// # Errors
    ///
    /// Returns the [`GapsError`] of the first invalid gap.
    pub fn new(gaps: impl IntoIterator<Item = Gap>, span_ns: u64) -> Result<Self, GapsError> {
        let mut cuts: Vec<(u64, u64)> = Vec::new();
        let (mut ends_ns, mut lost_ns) = (0, 0);
        for (position, gap) in gaps.into_iter().enumerate() {
            if gap.duration_ns == 0 {
                return Err(GapsError::Zero { position });
            }
            if gap.start_ns < ends_ns {
                return Err(GapsError::Overlap { position, ends_ns });
            }
            let end = gap.start_ns.checked_add(gap.duration_ns).filter(|end| *end <= span_ns);
            ends_ns = end.ok_or(GapsError::Beyond { position, span_ns })?;
            let at = gap.start_ns - lost_ns;
            match cuts.last_mut() {
                Some(touching) if touching.0 == at => touching.1 += gap.duration_ns,
                _ => cuts.push((at, gap.duration_ns)),
            }
            lost_ns += gap.duration_ns;
        }
        let running_ns = span_ns - lost_ns;
        match (cuts.len(), running_ns) {
            (0, _) => return Err(GapsError::Empty),
            (_, 0) => return Err(GapsError::NeverRuns),
            _ => {}
        }
        // The recording repeats: a gap at its very end touches a gap at its very beginning.
        if cuts.len() > 1 && cuts[0].0 == 0 && cuts[cuts.len() - 1].0 == running_ns {
            cuts[0].1 += cuts.pop().map_or(0, |last| last.1);
        }
        Ok(Self { cuts, running_ns, lost_ns })
    }

    /// Returns the length of the recording, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        self.running_ns + self.lost_ns
    }

    /// Returns the time lost in all gaps, in nanoseconds.
    pub fn lost_ns(&self) -> u64 {
        self.lost_ns
    }

    /// Returns the gaps in order of time; gaps that touch are joined.
    ///
    /// A gap at the end of the recording that touches a gap at its beginning is joined with it and comes first. Time
    /// then counts from the start of that gap.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Gap, Gaps};
    /// let gaps = Gaps::parse("0 5\n20 10\n30 5\n90 10", Some(100)).unwrap().gaps;
    /// let joined: Vec<(u64, u64)> = gaps.iter().map(|gap| (gap.start_ns, gap.duration_ns)).collect();
    /// assert_eq!(joined, [(0, 15), (30, 15)]);
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Gap> {
        let mut lost_ns = 0;
        self.cuts.iter().map(move |&(at, duration_ns)| {
            let start_ns = at + lost_ns;
            lost_ns += duration_ns;
            Gap { start_ns, duration_ns }
        })
    }

    /// Returns the length of the longest gap, in nanoseconds; gaps that touch are joined.
    pub fn longest_ns(&self) -> u64 {
        self.cuts.iter().map(|cut| cut.1).max().unwrap_or(0)
    }

    /// Returns the exact delay of `work_ns` of work that starts at a random moment of the endlessly repeated
    /// recording.
    ///
    /// With the gaps cut out, the work covers an interval of running time:
    ///
    /// - Work that starts while running is delayed by the gaps inside the interval. This delay is constant from the
    ///   moment a gap enters the interval until the next gap leaves it.
    /// - Work that starts in a gap is delayed by the rest of that gap, which is uniformly distributed, and by the
    ///   gaps that follow.
    ///
    /// # Errors
    ///
    /// Returns [`GapsError::Work`] if the work has no length or its delay does not fit in 64 bits.
    pub fn delay(&self, work_ns: u64) -> Result<Delay, GapsError> {
        self.check(work_ns)?;
        let sums = Sums::new(self);
        let evenly = self.cuts.iter().map(|&(at, length)| {
            let after = sums.before(at + work_ns) - sums.through(at);
            (after, after + length, length)
        });
        let constant = self.while_running(&sums, work_ns);
        Ok(Delay::new(evenly.chain(constant), work_ns))
    }

    /// Returns the delay of work that starts at a random moment outside all gaps, for example after other work.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`delay`](Self::delay).
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Gap, Gaps};
    /// let gaps = Gaps::new([Gap { start_ns: 0, duration_ns: 1_000_000 }], 1_000_000_000)?;
    /// // One start in 999 meets the gap, and waits for all of it.
    /// let delay = gaps.delay_while_running(1_000_000)?;
    /// assert!((delay.slowdown(1_000) - (2.0 - (998.0_f64 / 999.0).powi(1_000))).abs() < 1e-9);
    /// # Ok::<(), chance::GapsError>(())
    /// ```
    pub fn delay_while_running(&self, work_ns: u64) -> Result<Delay, GapsError> {
        self.check(work_ns)?;
        let sums = Sums::new(self);
        let constant = self.while_running(&sums, work_ns);
        Ok(Delay::new(constant, work_ns))
    }

    fn check(&self, work_ns: u64) -> Result<(), GapsError> {
        let laps = u128::from(work_ns / self.running_ns) + 2;
        let fits = work_ns > 0 && laps * u128::from(self.span_ns()) <= u128::from(u64::MAX);
        if fits { Ok(()) } else { Err(GapsError::Work { work_ns }) }
    }

    /// Returns the delays of starts in running time, and how much running time has each.
    fn while_running(&self, sums: &Sums<'_>, work_ns: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let mut boundaries: Vec<u64> = self.cuts.iter().map(|cut| cut.0 % self.running_ns).collect();
        let back = self.running_ns - work_ns % self.running_ns;
        boundaries.extend(self.cuts.iter().map(|cut| (cut.0 + back) % self.running_ns));
        boundaries.sort_unstable();
        boundaries.dedup();
        let ends = boundaries.iter().skip(1).copied().chain([boundaries[0] + self.running_ns]);
        boundaries
            .iter()
            .zip(ends)
            .map(|(&from, to)| {
                let inside = sums.through(from + work_ns) - sums.through(from);
                (inside, inside, to - from)
            })
            .collect::<Vec<_>>()
            .into_iter()
    }
}

/// The sums of the gaps' lengths along the running time, over any number of repetitions.
struct Sums<'a> {
    gaps: &'a Gaps,
    /// `upto[i]` is the length of the first `i` gaps.
    upto: Vec<u64>,
}

impl<'a> Sums<'a> {
    fn new(gaps: &'a Gaps) -> Self {
        let mut upto = vec![0];
        upto.extend(gaps.cuts.iter().scan(0, |sum, cut| {
            *sum += cut.1;
            Some(*sum)
        }));
        Self { gaps, upto }
    }

    /// Returns the sum of the gaps before `at`.
    fn before(&self, at: u64) -> u64 {
        self.sum(at, |cut, rest| cut < rest)
    }

    /// Returns the sum of the gaps before and at `at`.
    fn through(&self, at: u64) -> u64 {
        self.sum(at, |cut, rest| cut <= rest)
    }

    fn sum(&self, at: u64, counts: impl Fn(u64, u64) -> bool) -> u64 {
        let (laps, rest) = (at / self.gaps.running_ns, at % self.gaps.running_ns);
        laps * self.gaps.lost_ns + self.upto[self.gaps.cuts.partition_point(|cut| counts(cut.0, rest))]
    }
}

// Recorded interruptions as text: one `start_ns duration_ns` per line, separated by blanks or a comma.

/// A trace that cannot be read, with the position of its first problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct TraceError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in that line, counted from 1.
    pub column: usize,
    /// The problem there.
    pub problem: Problem,
}

/// A problem of a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text contains no gap.
    #[error("the trace has no gaps")]
    Empty,
    /// A line has one number only.
    #[error("two numbers are needed, start_ns duration_ns")]
    MissingField,
    /// A line has more than two fields.
    #[error("only two numbers are allowed, start_ns duration_ns")]
    ExtraField,
    /// A number is negative.
    #[error("{0} is negative")]
    Negative(String),
    /// A field is not a whole number of nanoseconds.
    #[error("{0:?} is not a whole number of nanoseconds")]
    NotANumber(String),
    /// The end of a gap does not fit in 64 bits.
    #[error("the gap ends beyond 2^64 ns")]
    TooLate,
    /// A number is readable, but not valid at its position.
    #[error(transparent)]
    Gap(#[from] GapsError),
}

/// The source of a recording's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanFrom {
    /// The argument of the caller.
    Caller,
    /// A line `# span_ns N`.
    Header,
    /// The end of the last gap, as there is no other source.
    LastGap,
}

/// A recording read from a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The gaps of the recording.
    pub gaps: Gaps,
    /// The source of the recording's length.
    pub span_from: SpanFrom,
}

impl Gaps {
    /// Reads a trace from text.
    ///
    /// The length of the recording is `span_ns`, else the value of a line `# span_ns N`, else the end of the last
    /// gap. Blank lines, other lines that start with `#`, and column names on the first line are ignored.
    ///
    /// # Errors
    ///
    /// Returns the first problem, with its line and column.
    ///
    /// # Examples
    ///
    /// ```
    /// use chance::{Gaps, SpanFrom};
    /// let trace = Gaps::parse("# span_ns 1000\nstart_ns,duration_ns\n500,20\n700 5\n", None)?;
    /// assert_eq!((trace.gaps.lost_ns(), trace.gaps.span_ns()), (25, 1_000));
    /// assert_eq!(trace.span_from, SpanFrom::Header);
    /// let error = Gaps::parse("500 20\n700 -5\n", None).unwrap_err();
    /// assert_eq!(error.to_string(), "line 2, column 5: -5 is negative");
    /// # Ok::<(), chance::TraceError>(())
    /// ```
    pub fn parse(text: &str, span_ns: Option<u64>) -> Result<Recording, TraceError> {
        let mut gaps: Vec<Gap> = Vec::new();
        let mut places = Vec::new();
        let mut header_ns = None;
        for (line, content) in (1..).zip(text.lines()) {
            let bare = content.trim();
            if bare.starts_with('#') {
                header_ns = span_in(line, content)?.or(header_ns);
                continue;
            }
            let names = gaps.is_empty() && bare.starts_with("start_ns");
            if !bare.is_empty() && !names {
                gaps.push(gap(line, content)?);
                places.push(line);
            }
        }
        let last_ns = gaps.last().map_or(0, |last| last.start_ns + last.duration_ns);
        let (span_ns, span_from) = match (span_ns, header_ns) {
            (Some(given), _) => (given, SpanFrom::Caller),
            (None, Some(header)) => (header, SpanFrom::Header),
            (None, None) => (last_ns, SpanFrom::LastGap),
        };
        let end = text.lines().count().max(1);
        let gaps = Self::new(gaps, span_ns).map_err(|error| match error.position() {
            Some(position) => TraceError { line: places[position], column: 1, problem: error.into() },
            None if error == GapsError::Empty => TraceError { line: end, column: 1, problem: Problem::Empty },
            None => TraceError { line: end, column: 1, problem: error.into() },
        })?;
        Ok(Recording { gaps, span_from })
    }
}

/// Returns the length of the recording, if this comment contains it.
fn span_in(line: usize, content: &str) -> Result<Option<u64>, TraceError> {
    let comment = content.trim_start_matches(|letter: char| letter == '#' || letter.is_whitespace());
    let Some(after) = comment.strip_prefix("span_ns") else { return Ok(None) };
    let value = after.trim_start_matches([':', '=', ' ', '\t']).trim_end();
    let column = content.trim_end().chars().count() - value.chars().count() + 1;
    nanoseconds(value).map(Some).map_err(|problem| TraceError { line, column, problem })
}

fn gap(line: usize, content: &str) -> Result<Gap, TraceError> {
    let at = |byte: usize, problem: Problem| {
        let column = content[..byte].chars().count() + 1;
        TraceError { line, column, problem }
    };
    let mut fields = fields(content);
    let mut number = || {
        let (byte, field) = fields.next().ok_or_else(|| at(content.trim_end().len(), Problem::MissingField))?;
        Ok((byte, nanoseconds(field).map_err(|problem| at(byte, problem))?))
    };
    let ((first, start_ns), (_, duration_ns)) = (number()?, number()?);
    if let Some((byte, _)) = fields.next() {
        return Err(at(byte, Problem::ExtraField));
    }
    if start_ns.checked_add(duration_ns).is_none() {
        return Err(at(first, Problem::TooLate));
    }
    Ok(Gap { start_ns, duration_ns })
}

/// Returns the fields of a line, each with the byte at which it begins, separated by blanks or by a comma with or
/// without blanks.
fn fields(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = content;
    let mut after_comma = false;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() && !after_comma {
            return None;
        }
        let start = content.len() - rest.len();
        let end = rest.find(|letter: char| letter == ',' || letter.is_whitespace()).unwrap_or(rest.len());
        let (field, beyond) = rest.split_at(end);
        let beyond = beyond.trim_start();
        after_comma = beyond.starts_with(',');
        rest = beyond.strip_prefix(',').unwrap_or(beyond);
        Some((start, field))
    })
}

fn nanoseconds(field: &str) -> Result<u64, Problem> {
    match field.parse() {
        Ok(number) => Ok(number),
        Err(_) if field.parse::<f64>().is_ok_and(|number| number < 0.0) => Err(Problem::Negative(field.into())),
        Err(_) => Err(Problem::NotANumber(field.into())),
    }
}
