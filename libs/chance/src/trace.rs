//! Recorded interruptions as text: one `start_ns duration_ns` per line, separated by blanks or a comma.
use crate::{Gap, Gaps, GapsError};

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
