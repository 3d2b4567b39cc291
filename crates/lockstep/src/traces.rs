//! What the ranks of a job lost, and when: in a record as one line of text. With a line break for each semicolon it is
//! what `contend model step --trace` reads.
//!
//! All ranks of a record have one axis of time, that of rank 0's clock; its zero is where all of them were first
//! watched. So a moment means the same in each.

use chance::{Gap, Ranks};
use serde_json::Value;
use std::fmt::Write;

/// The traces of all ranks, on one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Traces {
    /// Of each rank, in their order.
    pub gaps: Vec<Vec<Gap>>,
    /// How long all of them were watched.
    pub span_ns: u64,
}

/// A trace as text: its length, then the gaps, `start_ns duration_ns` each, with semicolons between.
pub fn written(gaps: &[Gap], span_ns: u64) -> String {
    gaps.iter().fold(format!("# span_ns {span_ns}"), |mut text, gap| {
        write!(text, ";{} {}", gap.start_ns, gap.duration_ns).expect("a text takes what is written to it");
        text
    })
}

/// The gaps and the length that such a text has.
///
/// # Errors
/// The line that makes no sense; a text without its length.
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
    /// Those in the rows of a record.
    ///
    /// # Errors
    /// There is none; a rank is missing or twice there; traces that make no sense, or are not of the same length.
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

    /// The ranks at work: so much each.
    ///
    /// # Errors
    /// A rank whose gaps make no recording, or work that has no length.
    pub fn ranks(&self, work_ns: impl Fn(usize) -> u64) -> Result<Ranks, chance::RanksError> {
        let workers = self.gaps.iter().enumerate().map(|(rank, gaps)| (gaps.clone(), work_ns(rank)));
        Ranks::new(workers, self.span_ns)
    }
}

/// From which length on gaps are kept, so that there is room for them; 0 keeps all.
pub fn shortest_kept_ns(gaps: &[Gap], room: usize) -> u64 {
    if gaps.len() <= room {
        return 0;
    }
    let mut lengths: Vec<u64> = gaps.iter().map(|gap| gap.duration_ns).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    // What is as long as the first without room has none either.
    lengths[room] + 1
}
