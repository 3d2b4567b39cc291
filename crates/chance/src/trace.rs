//! Reading recorded interruptions from text: one `start_ns,duration_ns` per line.
use crate::{Gap, Gaps, GapsError};

/// A trace that cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct TraceError {
    /// Line, counted from 1.
    pub line: usize,
    /// Character in that line, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// No gap in the whole text.
    #[error("the trace has no gaps")]
    Empty,
    /// A line without its comma.
    #[error("two numbers are needed, start_ns,duration_ns")]
    MissingField,
    /// More than two fields.
    #[error("only two numbers are allowed, start_ns,duration_ns")]
    ExtraField,
    /// A number below zero.
    #[error("{0} is negative")]
    Negative(String),
    /// Not a whole number of nanoseconds.
    #[error("{0:?} is not a whole number of nanoseconds")]
    NotANumber(String),
    /// A number read well that makes no sense where it is.
    #[error(transparent)]
    Gap(#[from] GapsError),
}

impl Gaps {
    /// Reads a trace of `span_ns` from text.
    ///
    /// Blank lines, lines that start with `#` and a first line `start_ns,duration_ns` are passed over.
    ///
    /// ```
    /// use chance::Gaps;
    /// let gaps = Gaps::parse("start_ns,duration_ns\n500,20\n700, 5\n", 1_000)?;
    /// assert_eq!(gaps.lost_ns(), 25);
    /// let error = Gaps::parse("500,20\n700,-5\n", 1_000).unwrap_err();
    /// assert_eq!(error.to_string(), "line 2, column 5: -5 is negative");
    /// # Ok::<(), chance::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// The first thing wrong, with its line and column.
    pub fn parse(text: &str, span_ns: u64) -> Result<Self, TraceError> {
        let mut gaps = Vec::new();
        let mut places = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let bare = content.trim();
            if bare.is_empty() || bare.starts_with('#') || (gaps.is_empty() && bare == "start_ns,duration_ns") {
                continue;
            }
            gaps.push(gap(line, content)?);
            places.push(line);
        }
        let end = text.lines().count().max(1);
        Self::new(gaps, span_ns).map_err(|error| match error.position() {
            Some(position) => TraceError { line: places[position], column: 1, problem: error.into() },
            None if error == GapsError::Empty => TraceError { line: end, column: 1, problem: Problem::Empty },
            None => TraceError { line: end, column: 1, problem: error.into() },
        })
    }
}

fn gap(line: usize, content: &str) -> Result<Gap, TraceError> {
    let at = |column: usize, problem: Problem| TraceError { line, column, problem };
    let column_of = |byte: usize| content[..byte].chars().count() + 1;
    let comma = content.find(',').ok_or_else(|| at(column_of(content.trim_end().len()), Problem::MissingField))?;
    if let Some(second) = content[comma + 1..].find(',') {
        return Err(at(column_of(comma + 1 + second), Problem::ExtraField));
    }
    let number = |from: usize, to: usize| {
        let field = &content[from..to];
        let column = column_of(from + field.len() - field.trim_start().len());
        nanoseconds(field.trim()).map_err(|problem| at(column, problem))
    };
    Ok(Gap { start_ns: number(0, comma)?, duration_ns: number(comma + 1, content.len())? })
}

fn nanoseconds(field: &str) -> Result<u64, Problem> {
    match field.parse() {
        Ok(number) => Ok(number),
        Err(_) if field.parse::<f64>().is_ok_and(|number| number < 0.0) => Err(Problem::Negative(field.into())),
        Err(_) => Err(Problem::NotANumber(field.into())),
    }
}
