//! Findings about cache lines: which of them are a problem, in words, and what helps.
//!
//! A line is a problem if it moves between CPUs and has at least a twentieth of the CPU time, by the lower end of its
//! interval: less is within the accuracy of samples, and hardly worth a change. The share is an upper bound of the gain: it
//! contains what the accesses cost a thread that has the line for itself.

use super::record::{Row, RowKind, Sharing, Word};
use crate::trace::words::whole_percent;
use serde::{Deserialize, Serialize};

/// The least part of the CPU time.
pub const LEAST_SHARE: f64 = 0.05;
const MOST_WORDS: usize = 4;
const MOST_THREADS: usize = 3;

/// A kind of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Threads use one word, and write it.
    LineShared,
    /// Threads use different words of a line, and write.
    LineFalseSharing,
    /// The word is a lock's, which is acquired without waiting.
    LockPrice,
}

/// Returns the kind of problem that a line is.
pub fn code(row: &Row) -> Option<Code> {
    let is_much = row.cpu_share_ci.is_some_and(|ends| ends.low >= LEAST_SHARE);
    if row.kind != RowKind::Line || !row.sharing.is_contended() || !is_much {
        return None;
    }
    Some(match row.sharing {
        Sharing::FalseSharing => Code::LineFalseSharing,
        _ if row.lock_type.is_some() => Code::LockPrice,
        _ => Code::LineShared,
    })
}

/// Returns the share of the CPU time with its interval.
pub fn share(row: &Row) -> String {
    let whole = whole_percent(row.cpu_share.unwrap_or(0.0));
    let ends = row.cpu_share_ci.map(|ends| format!(" (95 %: {:.0} to {:.0} %)", 100.0 * ends.low, 100.0 * ends.high));
    whole + &ends.unwrap_or_default()
}

/// Returns the cause: how much time goes to the line, and how threads share it.
pub fn cause(row: &Row) -> String {
    let threads = terminal::counted(row.threads as usize, "thread");
    let used = match code(row) {
        Some(Code::LineFalseSharing) => format!("{threads} use different words of it: false sharing ({})", words(row)),
        Some(Code::LockPrice) => {
            let kind = row.lock_type.as_deref().unwrap_or("lock");
            let times = terminal::counted(row.threads as usize, "thread");
            format!("the {kind}'s own word, which each acquisition writes, in {times}; that needs no wait")
        }
        _ => format!("{threads} use the same word ({})", words(row)),
    };
    format!("{} of the CPU time is spent at this cache line, which moves between CPUs: {used}", share(row))
}

/// Returns the words of a line, and what threads do there.
fn words(row: &Row) -> String {
    let threads = |threads: &[u32]| {
        let named = threads.iter().take(MOST_THREADS).map(u32::to_string).collect::<Vec<String>>().join(", ");
        if threads.len() > MOST_THREADS { format!("{} threads", threads.len()) } else { format!("thread {named}") }
    };
    let word = |word: &Word| {
        let place = format!("+{}", word.offset);
        let written = (!word.writers.is_empty()).then(|| format!("written by {}", threads(&word.writers)));
        let read = (!word.readers.is_empty()).then(|| format!("read by {}", threads(&word.readers)));
        let use_of = written.into_iter().chain(read).collect::<Vec<String>>().join(", ");
        match &word.variable {
            Some(variable) => format!("{place} {variable} {use_of}"),
            None => format!("{place} {use_of}"),
        }
    };
    let mut first: Vec<&Word> = row.words.iter().collect();
    first.sort_by(|one, other| other.share.total_cmp(&one.share));
    first.truncate(MOST_WORDS);
    first.sort_by_key(|word| word.offset);
    first.into_iter().map(word).collect::<Vec<String>>().join("; ")
}

/// Returns what helps, and under which condition.
pub fn remedy(row: &Row) -> Option<String> {
    let is_atomic = row.words.iter().any(|word| word.is_atomic);
    let only_reads = row.words.iter().any(|word| !word.readers.is_empty());
    let help = match code(row)? {
        Code::LineFalseSharing => {
            "give the words of each thread a cache line to themselves: align and pad them to 64 bytes, or to 128 where the CPU \
             fetches lines in pairs"
                .to_owned()
        }
        Code::LockPrice => match (&row.called, &row.caller, row.lock_type.as_deref()) {
            (Some(called), Some(caller), _) => format!(
                "in {caller}, call {called} less often: fetch once what the library looks up under this lock, and keep it, or \
                 give each thread its own"
            ),
            (.., Some("rwlock")) => {
                "if the readers' critical sections are short, a plain mutex or a copy of the data for each thread costs less: \
                 each reader writes the lock"
                    .to_owned()
            }
            (.., Some("allocator")) => "allocate less often, or use an allocator with caches for each thread".to_owned(),
            _ => "acquire it less often: divide the data among several locks, or collect work for one acquisition".to_owned(),
        },
        Code::LineShared if is_atomic => {
            "if it is a counter, count in a variable of each thread and add these up where the sum is read; if it counts \
             references, pass the object by reference instead of copying the pointer"
                .to_owned()
        }
        Code::LineShared if only_reads => {
            "write it less often, or let the readers keep a copy that they renew from time to time".to_owned()
        }
        Code::LineShared => "give each thread its own word, a cache line apart, and join these where they are read".to_owned(),
    };
    Some(format!("{help}; at most {} of the CPU time is saved", whole_percent(row.cpu_share.unwrap_or(0.0))))
}

/// Returns the place in the code where the line is used most.
pub fn place(row: &Row) -> String {
    row.places.first().map_or_else(|| "an unknown place".to_owned(), |place| place.site.clone())
}

/// Returns the sentence that answers whether threads fight for cache lines.
pub fn verdict(rows: &[Row]) -> String {
    let total = rows.iter().find(|row| row.kind == RowKind::Total);
    let samples = total.map_or(0, |total| total.samples);
    if samples == 0 {
        return "Undecided: no thread was seen on a CPU.".into();
    }
    let found: Vec<&Row> = rows.iter().filter(|row| code(row).is_some()).collect();
    let unknown = total.map_or(0.0, unknown);
    let unknown = if unknown >= 0.01 {
        format!(" The address is not known for {} of the samples.", whole_percent(unknown))
    } else {
        String::new()
    };
    match &found[..] {
        [] => format!(
            "No contention for cache lines: none that threads on several CPUs share and write has {} of the CPU time.{unknown}",
            whole_percent(LEAST_SHARE)
        ),
        [first, rest @ ..] => {
            let kind = match code(first) {
                Some(Code::LineFalseSharing) => "false sharing",
                Some(Code::LockPrice) => "the price of a lock",
                _ => "a shared word",
            };
            let more = if rest.is_empty() { String::new() } else { format!(" {} more below.", rest.len()) };
            format!(
                "Contention for cache lines: {} of the CPU time goes to {}, used in {}: {kind}.{more}{unknown}",
                share(first),
                first.object,
                place(first)
            )
        }
    }
}

/// Returns the part of the samples that may be accesses whose address is not known.
pub fn unknown(total: &Row) -> f64 {
    [total.jumped_share, total.overwritten_share, total.not_decoded_share].into_iter().flatten().sum()
}

/// Returns the sentence of a finding.
pub fn sentence(row: &Row) -> Option<String> {
    let remedy = remedy(row)?;
    Some(format!("{}, {}: {}. Remedy: {remedy}.", row.object, place(row), cause(row)))
}
