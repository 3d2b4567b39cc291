//! A recorded trace of interruptions, as both models take it from the command line.

use crate::cli::Misuse;
use anyhow::Context;
use chance::{Gaps, SpanFrom};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// A trace as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    pub gaps: Gaps,
    pub description: Description,
}

/// What a record says of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    pub file: String,
    pub span_s: f64,
    /// How the length is known.
    pub span_from: Source,
    pub gaps: usize,
    pub lost_share: f64,
    pub longest_gap_us: f64,
}

/// Where the length of a recording comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The flag `--span`.
    Flag,
    /// The line `# span_ns N` of the trace.
    Header,
    /// Assumed: the end of the last gap.
    LastGap,
}

/// Reads a trace; `flag` is the flag that named it.
///
/// # Errors
/// A file that cannot be read, or a trace that makes no sense: its line and column.
pub fn read(flag: &str, path: &Path, span: Option<Duration>) -> anyhow::Result<Trace> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("{flag} {file} cannot be read"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Misuse(format!("{flag} {file}, line {line}: it is no text; {WANTED}"))
    })?;
    let recording = Gaps::parse(&text, span.map(|span| span.as_nanos() as u64))
        .map_err(|error| Misuse(format!("{flag} {file}, {error}; {WANTED}")))?;
    let gaps = recording.gaps;
    let description = Description {
        file,
        span_s: gaps.span_ns() as f64 / 1e9,
        span_from: match recording.span_from {
            SpanFrom::Caller => Source::Flag,
            SpanFrom::Header => Source::Header,
            SpanFrom::LastGap => Source::LastGap,
        },
        gaps: gaps.iter().len(),
        lost_share: gaps.lost_ns() as f64 / gaps.span_ns() as f64,
        longest_gap_us: gaps.longest_ns() as f64 / 1e3,
    };
    Ok(Trace { gaps, description })
}

const WANTED: &str = "a trace has a gap a line, `start_ns duration_ns`, in order of time; `contend noise --trace FILE` \
writes one";

impl Description {
    /// What is assumed of the recording beside what it says.
    pub fn assumptions(&self) -> Vec<String> {
        let ends = (self.span_from == Source::LastGap).then(|| {
            "the recording ends with its last gap: neither the trace nor --span says how long it is".to_owned()
        });
        let repeats = "stationarity: the machine goes on as recorded; the recording repeats for ever".to_owned();
        std::iter::once(repeats).chain(ends).collect()
    }
}
