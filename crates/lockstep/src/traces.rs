//! The losses of a job's ranks over time: in a record as one line of text. With a line break for each semicolon it is
//! the input of `contend model step --trace`.
//!
//! All ranks of a record have one time axis, that of rank 0's clock; its zero is the begin of the time in which all of
//! them were sampled. So a moment means the same in each.

use chance::{Gap, Ranks};
use serde_json::Value;
use std::fmt::Write;

/// The traces of all ranks, on one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// The gaps of each rank, in their order.
    pub gaps: Vec<Vec<Gap>>,
    /// The time for which all of them were sampled.
    pub span_ns: u64,
}

/// Writes a trace as text: its length, then the gaps, `start_ns duration_ns` each, separated by semicolons.
pub fn written(gaps: &[Gap], span_ns: u64) -> String {
    gaps.iter().fold(format!("# span_ns {span_ns}"), |mut text, gap| {
        write!(text, ";{} {}", gap.start_ns, gap.duration_ns).expect("a text takes what is written to it");
        text
    })
}

/// Returns the gaps and the length in such a text.
///
/// # Errors
/// A line is invalid, or the length is missing.
pub fn read(text: &str) -> Result<(Vec<Gap>, u64), String> {
    let (mut gaps, mut span_ns) = (Vec::new(), None);
    for (number, part) in text.split(';').enumerate() {
        let wrong = || format!("part {} of its trace is not `start_ns duration_ns`", number + 1);
        if let Some(comment) = part.strip_prefix('#') {
            let length = comment.trim().strip_prefix("span_ns ").map(|length| length.trim().parse());
            span_ns = length.transpose().map_err(|_| wrong())?.or(span_ns);
            continue;
        }
        let (start, duration) = part.split_once(' ').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        gaps.push(Gap { start_ns: number(start)?, duration_ns: number(duration)? });
    }
    Ok((gaps, span_ns.ok_or("its trace does not state its length")?))
}

impl Traces {
    /// Returns the traces in the rows of a record.
    ///
    /// # Errors
    /// There is none; a rank is missing or duplicated; traces are invalid, or not of the same length.
    pub fn of_rows(rows: &[Value]) -> Result<Self, String> {
        let mut all: Vec<(u64, Vec<Gap>, u64)> = Vec::new();
        for row in rows.iter().filter(|row| row["figure"] == "rank") {
            let rank = row["rank"].as_u64().ok_or("a rank without its number")?;
            let text = row["trace"].as_str().ok_or_else(|| format!("rank {rank} has no trace"))?;
            let (gaps, span_ns) = read(text).map_err(|problem| format!("rank {rank}: {problem}"))?;
            all.push((rank, gaps, span_ns));
        }
        all.sort_by_key(|one| one.0);
        let Some(&(_, _, span_ns)) = all.first() else { return Err("the record has no ranks".into()) };
        for (place, (rank, _, span)) in all.iter().enumerate() {
            if *rank != place as u64 {
                return Err(format!("rank {place} is missing, or another rank occurs twice"));
            }
            if *span != span_ns {
                return Err(format!("rank {rank} was watched for {span} ns, and rank 0 for {span_ns} ns"));
            }
        }
        Ok(Self { gaps: all.into_iter().map(|one| one.1).collect(), span_ns })
    }

    /// Returns the ranks at work, with this much work each.
    ///
    /// # Errors
    /// The gaps of a rank make no recording, or the work has no length.
    pub fn ranks(&self, work_ns: impl Fn(usize) -> u64) -> Result<Ranks, chance::RanksError> {
        let workers = self.gaps.iter().enumerate().map(|(rank, gaps)| (gaps.clone(), work_ns(rank)));
        Ranks::new(workers, self.span_ns)
    }
}

/// Returns the length from which on gaps are kept, so that they fit; 0 keeps all.
pub fn shortest_kept_ns(gaps: &[Gap], room: usize) -> u64 {
    if gaps.len() <= room {
        return 0;
    }
    let mut lengths: Vec<u64> = gaps.iter().map(|gap| gap.duration_ns).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    // Gaps as long as the first one that does not fit are dropped too.
    lengths[room] + 1
}
