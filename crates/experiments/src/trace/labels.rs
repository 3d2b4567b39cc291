//! The requests of each label: sums and quantiles, which the library counts exactly, and the locks that they waited for.

use super::aggregate::Longest;
use crate::trace::record::{Row, RowKind};
use blame::durations::Times;
use blame::time::{Ticks, Time};
use blame::waits::{Labelled, Waits};
use interpose::{LABELS, Label, Region};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// The name of the row of all requests whose names had no room.
pub const OTHERS: &str = "other labels";

/// The requests of one label.
pub struct Group {
    /// The row without the locks.
    pub row: Row,
    /// The waits, by the pair that waited.
    pub waits: Vec<(u32, Labelled)>,
}

/// The sums of all labels at one time, by their places.
#[derive(Default)]
pub struct Snapshot(Vec<Sums>);

/// Sums over the requests of a label. Times are in ticks.
#[derive(Clone, Default)]
struct Sums {
    requests: u64,
    waited: u64,
    ticks: u64,
    lock_ticks: u64,
    signal_ticks: u64,
    /// The longest of the part.
    longest: u64,
    longest_wait: u64,
    /// Requests by their time, by their waits for locks, and by the rest of their time.
    times: Vec<u64>,
    waits: Vec<u64>,
    rests: Vec<u64>,
}

impl Snapshot {
    /// Reads the sums.
    pub fn now(region: &Region, longest: Longest) -> Self {
        Self(region.labels.iter().map(|label| Sums::now(label, longest)).collect())
    }

    /// Returns the number of requests whose names had no room, since an earlier time.
    pub fn without_room_since(&self, before: &Self) -> u64 {
        let requests = |snapshot: &Self| snapshot.0.get(LABELS).map_or(0, |sums| sums.requests);
        requests(self).saturating_sub(requests(before))
    }
}

impl Sums {
    fn now(label: &Label, longest: Longest) -> Self {
        // Where no request ended, the pages have not been written to; reading them would take memory.
        let mut all = Self::default();
        for one in label.sums.iter().filter(|one| one.count.load(Relaxed) > 0) {
            let add = |sum: &mut u64, more: &AtomicU64| *sum = sum.saturating_add(more.load(Relaxed));
            add(&mut all.requests, &one.count);
            add(&mut all.waited, &one.waited);
            add(&mut all.ticks, &one.ticks);
            add(&mut all.lock_ticks, &one.lock_ticks);
            add(&mut all.signal_ticks, &one.signal_ticks);
            all.longest = all.longest.max(longest.read(&one.most));
            all.longest_wait = all.longest_wait.max(longest.read(&one.most_waited));
            let buckets = [(&mut all.times, &one.times), (&mut all.waits, &one.waits), (&mut all.rests, &one.rests)];
            for (sums, counts) in buckets {
                sums.resize(counts.len(), 0);
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += u64::from(count.load(Relaxed)));
            }
        }
        all
    }

    fn since(&self, before: &Self) -> Self {
        let less = |now: &[u64], before: &[u64]| {
            let before = before.iter().copied().chain(std::iter::repeat(0));
            now.iter().zip(before).map(|(now, before)| now.saturating_sub(before)).collect()
        };
        Self {
            requests: self.requests.saturating_sub(before.requests),
            waited: self.waited.saturating_sub(before.waited),
            ticks: self.ticks.saturating_sub(before.ticks),
            lock_ticks: self.lock_ticks.saturating_sub(before.lock_ticks),
            signal_ticks: self.signal_ticks.saturating_sub(before.signal_ticks),
            longest: self.longest,
            longest_wait: self.longest_wait,
            times: less(&self.times, &before.times),
            waits: less(&self.waits, &before.waits),
            rests: less(&self.rests, &before.rests),
        }
    }
}

/// Returns the labels with requests between two times, the one with the longest time first.
pub fn of(region: &Region, before: &Snapshot, after: &Snapshot, time: &Time, waits: &Waits) -> Vec<Group> {
    let none = Sums::default();
    let group = |(place, (label, sums)): (usize, (&Label, &Sums))| {
        let row = row(&sums.since(before.0.get(place).unwrap_or(&none)), || name(place, label), time)?;
        let of_it = waits.labelled.iter().filter(|((label, _), _)| *label as usize == place);
        Some(Group { row, waits: of_it.map(|((_, pair), labelled)| (*pair, labelled.clone())).collect() })
    };
    let mut groups: Vec<Group> = region.labels.iter().zip(&after.0).enumerate().filter_map(group).collect();
    groups.sort_by(|one, other| other.row.total_s.unwrap_or(0.0).total_cmp(&one.row.total_s.unwrap_or(0.0)));
    groups
}

/// Returns the name of the label at a place.
pub fn name_at(region: &Region, place: u32) -> Option<String> {
    name(place as usize, region.labels.get(place as usize)?)
}

/// Returns a label's name without characters that a terminal or a table does not print; `None` if it is not written.
fn name(place: usize, label: &Label) -> Option<String> {
    if place == LABELS {
        return Some(OTHERS.into());
    }
    let length = label.length.load(Acquire);
    let bytes: Vec<u8> =
        label.name.iter().take((length & !Label::CUT) as usize).map(|byte| byte.load(Relaxed)).collect();
    let printed = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    let name: String = String::from_utf8_lossy(&bytes).chars().map(printed).collect();
    let end = if length & Label::CUT != 0 { "…" } else { "" };
    (!name.is_empty()).then(|| name + end)
}

fn row(sums: &Sums, name: impl FnOnce() -> Option<String>, time: &Time) -> Option<Row> {
    if sums.requests == 0 {
        return None;
    }
    let seconds = |ticks: u64| time.span_ns(ticks) / 1e9;
    let waited = sums.waited.min(sums.requests);
    let (total_s, lock_s) = (seconds(sums.ticks), seconds(sums.lock_ticks));
    let (mut times, mut waits, mut rests) =
        (Times::up_to(sums.longest), Times::up_to(sums.longest_wait), Times::up_to(sums.longest));
    times.add_counts(&sums.times);
    waits.add_counts(&sums.waits);
    rests.add_counts(&sums.rests);
    waits.add_zeros(sums.requests - waited);
    Some(Row {
        name: Some(name()?),
        requests: Some(sums.requests),
        requests_waited: Some(waited),
        total_s: Some(total_s),
        lock_s: Some(lock_s),
        work_s: Some(seconds(sums.signal_ticks)),
        share: (total_s > 0.0).then(|| (lock_s / total_s).min(1.0)),
        request_p50_ns: times.quantile_ns(0.5, time),
        request_p99_ns: times.quantile_ns(0.99, time),
        request_max_ns: Some(time.span_ns(sums.longest)),
        outside_p99_ns: rests.quantile_ns(0.99, time),
        wait_p50_ns: waits.quantile_ns(0.5, time),
        wait_p99_ns: waits.quantile_ns(0.99, time),
        wait_max_ns: Some(time.span_ns(sums.longest_wait)),
        ..Row::new(RowKind::Label, 0, String::new())
    })
}
