//! The files that the models read: a recorded trace of interruptions, and the records of other commands.

use anyhow::Context;
use chance::{Gap, Gaps, SpanFrom};
use harness::UsageError;
use record::{content, understand};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

/// A trace that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub gaps: Gaps,
    pub description: Description,
}

/// The description of a trace in a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Description {
    pub file: String,
    pub span_s: f64,
    /// The source of its length.
    pub span_from: Source,
    pub gaps: usize,
    pub lost_share: f64,
    pub longest_gap_us: f64,
}

/// The source of a recording's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The flag `--span`.
    Flag,
    /// The line `# span_ns N` of the trace.
    Header,
    /// Assumed: the end of the last gap.
    LastGap,
    /// Measured in the same run.
    Measured,
}

/// Reads a trace; `flag` is the flag that named it.
pub fn read(flag: &str, path: &Path, span: Option<Duration>) -> anyhow::Result<Trace> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("{flag} {file}: cannot read the file"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        UsageError(format!("{flag} {file}, line {line}: not UTF-8 text; {WANTED}"))
    })?;
    let recording = Gaps::parse(&text, span.map(|span| span.as_nanos() as u64))
        .map_err(|error| UsageError(format!("{flag} {file}, {error}; {WANTED}")))?;
    let span_from = match recording.span_from {
        SpanFrom::Caller => Source::Flag,
        SpanFrom::Header => Source::Header,
        SpanFrom::LastGap => Source::LastGap,
    };
    Ok(Trace::of(file, recording.gaps, span_from))
}

impl Trace {
    fn of(file: String, gaps: Gaps, span_from: Source) -> Self {
        let description = Description {
            file,
            span_s: gaps.span_ns() as f64 / 1e9,
            span_from,
            gaps: gaps.iter().len(),
            lost_share: gaps.lost_ns() as f64 / gaps.span_ns() as f64,
            longest_gap_us: gaps.longest_ns() as f64 / 1e3,
        };
        Self { gaps, description }
    }

    /// Creates a recording of the same run: starts and durations in nanoseconds, in order of time, and its length.
    pub fn measured(
        name: &str,
        gaps: impl IntoIterator<Item = (f64, f64)>,
        span_ns: f64,
    ) -> Result<Self, chance::GapsError> {
        // Both ends are rounded, so that a gap which begins at the end of another does so in whole ns too.
        let gaps = gaps.into_iter().map(|(start, duration)| {
            let start_ns = start.round() as u64;
            Gap { start_ns, duration_ns: (start + duration).round() as u64 - start_ns }
        });
        let gaps = Gaps::new(gaps, span_ns.ceil() as u64)?;
        Ok(Self::of(name.to_owned(), gaps, Source::Measured))
    }
}

const WANTED: &str = "a trace has one gap per line, `start_ns duration_ns`, in order of time; `contend noise --trace FILE` \
writes it";

impl Description {
    /// Assumptions about the recording, in addition to its content.
    pub fn assumptions(&self) -> Vec<String> {
        let ends = (self.span_from == Source::LastGap).then(|| {
            "the recording is assumed to end with its last gap: neither the trace nor --span states its length"
                .to_owned()
        });
        let repeats = "stationarity: the machine behaves as recorded; the recording repeats indefinitely".to_owned();
        std::iter::once(repeats).chain(ends).collect()
    }
}

/// A record that a flag names, with the rows of one experiment.
pub struct RecordFile {
    flag: &'static str,
    /// The command that writes such a record.
    writer: &'static str,
    pub name: String,
    pub record: record::Source,
    pub rows: Vec<Value>,
}

impl RecordFile {
    pub fn read(flag: &'static str, path: &Path, experiment: &str, writer: &'static str) -> anyhow::Result<Self> {
        let (name, bytes) = content(path)?;
        let wrong = |problem: &dyn Display| unsuitable(flag, &name, problem, writer);
        let mut record = understand(&name, &bytes).map_err(|error| wrong(&format_args!("{error:#}")))?;
        let part = record.parts.iter_mut().find(|(part, _)| part == experiment);
        let rows = part.map(|(_, rows)| std::mem::take(rows));
        let rows = rows.ok_or_else(|| wrong(&format_args!("the record is of {}", record.experiment)))?;
        Ok(Self { flag, writer, name, record, rows })
    }

    /// Returns the error of a record with this problem.
    pub fn unsuitable(&self, problem: impl Display) -> UsageError {
        unsuitable(self.flag, &self.name, &problem, self.writer)
    }
}

fn unsuitable(flag: &str, name: &str, problem: &dyn Display, writer: &str) -> UsageError {
    UsageError(format!("{flag} {name}: {problem}; `{writer}` writes such a record"))
}
