//! The records of a perf ring, parsed from their bytes.
//!
//! The layout is that of `perf_event_open(2)` for events that sample `TID | TIME | RAW` and set `sample_id_all`:
//! every record except a sample ends with `u32 pid, tid; u64 time`.

/// The content of a record. Records of other types, and truncated ones, are `None` to the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub pid: u32,
    pub tid: u32,
    /// Time on `CLOCK_MONOTONIC_RAW`.
    pub time_ns: u64,
    pub content: Content<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// The task left the CPU.
    Out { next: Option<Peer>, preempted: bool },
    /// The task took the CPU.
    In { previous: Option<Peer> },
    /// A task has this name from now on.
    Named { task: Peer, name: &'a str },
    /// A task was created, or ended.
    Family { task: Peer, parent: u32 },
    /// This number of records did not fit.
    Lost { records: u64 },
    /// Data of a tracepoint.
    Sample { raw: &'a [u8] },
}

/// A process and a thread of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub pid: u32,
    pub tid: u32,
}

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;

const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Length of the fields that end every record except a sample.
const TRAILER: usize = 16;

/// Parses the bytes after a record's header.
pub(super) fn parse(kind: u32, misc: u16, body: &[u8]) -> Option<Record<'_>> {
    if kind == SAMPLE {
        let length = u32_at(body, TRAILER)? as usize;
        let raw = body.get(TRAILER + 4..)?.get(..length)?;
        return trailed(body, Content::Sample { raw });
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER)?)?;
    let content = match kind {
        SWITCH => switch(misc, None),
        SWITCH_CPU_WIDE => switch(misc, Some(peer_at(body, 0)?)),
        COMM => Content::Named { task: peer_at(body, 0)?, name: text(body.get(8..)?)? },
        FORK | EXIT => {
            Content::Family { task: Peer { pid: u32_at(body, 0)?, tid: u32_at(body, 8)? }, parent: u32_at(body, 12)? }
        }
        LOST => Content::Lost { records: u64_at(body, 8)? },
        LOST_SAMPLES => Content::Lost { records: u64_at(body, 0)? },
        _ => return None,
    };
    trailed(trailer, content)
}

fn trailed<'a>(trailer: &[u8], content: Content<'a>) -> Option<Record<'a>> {
    Some(Record { pid: u32_at(trailer, 0)?, tid: u32_at(trailer, 4)?, time_ns: u64_at(trailer, 8)?, content })
}

fn switch(misc: u16, other: Option<Peer>) -> Content<'static> {
    if misc & SWITCH_OUT == 0 {
        Content::In { previous: other }
    } else {
        Content::Out { next: other, preempted: misc & SWITCH_OUT_PREEMPT != 0 }
    }
}

fn peer_at(bytes: &[u8], at: usize) -> Option<Peer> {
    Some(Peer { pid: u32_at(bytes, at)?, tid: u32_at(bytes, at + 4)? })
}

/// Returns a text that ends in a NUL; `None` for a name that is not UTF-8.
fn text(bytes: &[u8]) -> Option<&str> {
    std::ffi::CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the fields of a record behind its header.
    fn body(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// pid 7, tid 8, at 2^32 + 9 ns (on a little-endian machine).
    const TRAILING: [u32; 4] = [7, 8, 9, 1];

    fn record(content: Content<'_>) -> Option<Record<'_>> {
        Some(Record { pid: 7, tid: 8, time_ns: u64::from_ne_bytes(*body(&[9, 1]).first_chunk().unwrap()), content })
    }

    #[test]
    fn switches_contain_both_tasks_and_the_preemption() {
        let bytes = body(&[&[3, 4], &TRAILING[..]].concat());
        let peer = Some(Peer { pid: 3, tid: 4 });
        let out = |preempted| record(Content::Out { next: peer, preempted });
        assert_eq!(parse(SWITCH_CPU_WIDE, SWITCH_OUT, &bytes), out(false));
        assert_eq!(parse(SWITCH_CPU_WIDE, SWITCH_OUT | SWITCH_OUT_PREEMPT, &bytes), out(true));
        assert_eq!(parse(SWITCH_CPU_WIDE, 0, &bytes), record(Content::In { previous: peer }));
        assert_eq!(parse(SWITCH, 0, &body(&TRAILING)), record(Content::In { previous: None }));
    }

    #[test]
    fn names_families_losses_and_samples() {
        let named = [&[3, 4, u32::from_ne_bytes(*b"spin"), 0], &TRAILING[..]].concat();
        let task = Peer { pid: 3, tid: 4 };
        assert_eq!(parse(COMM, 0, &body(&named)), record(Content::Named { task, name: "spin" }));
        let fork = [&[3, 5, 4, 6, 0, 0], &TRAILING[..]].concat();
        assert_eq!(parse(FORK, 0, &body(&fork)), record(Content::Family { task, parent: 6 }));
        let mut lost = 99_u64.to_ne_bytes().to_vec();
        lost.extend(5_u64.to_ne_bytes());
        lost.extend(body(&TRAILING));
        assert_eq!(parse(LOST, 0, &lost), record(Content::Lost { records: 5 }));
        let mut sample = body(&TRAILING);
        sample.extend(body(&[4, 17]));
        assert_eq!(parse(SAMPLE, 0, &sample), record(Content::Sample { raw: &17_u32.to_ne_bytes() }));
    }

    #[test]
    fn a_name_without_an_end_is_refused() {
        assert_eq!(parse(COMM, 0, &body(&[3, 4, u32::MAX, u32::MAX, 7, 8, 9, 1])), None);
    }

    proptest! {
        #[test]
        fn arbitrary_and_truncated_bytes_never_crash_the_parser(
            kind in 0_u32..25, misc: u16, bytes in prop::collection::vec(any::<u8>(), 0..80)
        ) {
            // A truncated record that is still understood refers only to its own bytes.
            for length in 0..bytes.len() {
                let parsed = parse(kind, misc, &bytes[..length]);
                prop_assert!(parsed.is_none() || length >= TRAILER);
                if let Some(Record { content: Content::Sample { raw }, .. }) = parsed {
                    prop_assert!(raw.len() + TRAILER + 4 <= length);
                }
            }
        }
    }
}
