//! The requests of each label: sums and quantiles, which the library counts exactly, and the locks that they waited for.

use super::aggregate::Times;
use crate::trace::record::{Row, RowKind};
use blame::time::{Ticks, Time};
use blame::waits::{Labelled, Waits};
use interpose::{LABELS, Label, Region, Requests};
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

/// Returns the labels, the one with the longest time first.
pub fn of(region: &Region, time: &Time, waits: &Waits) -> Vec<Group> {
    let group = |(place, label): (usize, &Label)| {
        let row = row(label, name(place, label)?, time)?;
        let of_it = waits.labelled.iter().filter(|((label, _), _)| *label as usize == place);
        Some(Group { row, waits: of_it.map(|((_, pair), labelled)| (*pair, labelled.clone())).collect() })
    };
    let mut groups: Vec<Group> = region.labels.iter().enumerate().filter_map(group).collect();
    groups.sort_by(|one, other| other.row.total_s.unwrap_or(0.0).total_cmp(&one.row.total_s.unwrap_or(0.0)));
    groups
}

/// Returns the number of requests whose names had no room.
pub fn without_room(region: &Region) -> u64 {
    let sums = region.labels[LABELS].sums.iter();
    sums.fold(0, |sum: u64, one| sum.saturating_add(one.count.load(Relaxed)))
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

fn row(label: &Label, name: String, time: &Time) -> Option<Row> {
    let sum = |of: fn(&Requests) -> u64| label.sums.iter().fold(0, |sum: u64, one| sum.saturating_add(of(one)));
    let requests = sum(|one| one.count.load(Relaxed));
    if requests == 0 {
        return None;
    }
    let most = |of: fn(&Requests) -> u64| label.sums.iter().map(of).max().unwrap_or(0);
    let seconds = |ticks: u64| time.span_ns(ticks) / 1e9;
    let waited = sum(|one| one.waited.load(Relaxed)).min(requests);
    let (total_s, lock_s) =
        (seconds(sum(|one| one.ticks.load(Relaxed))), seconds(sum(|one| one.lock_ticks.load(Relaxed))));
    let (longest, longest_wait) = (most(|one| one.most.load(Relaxed)), most(|one| one.most_waited.load(Relaxed)));
    let (mut times, mut waits, mut rests) = (Times::up_to(longest), Times::up_to(longest_wait), Times::up_to(longest));
    for one in &label.sums {
        times.add_counts(&one.times);
        waits.add_counts(&one.waits);
        rests.add_counts(&one.rests);
    }
    waits.add_zeros(requests - waited);
    Some(Row {
        name: Some(name),
        requests: Some(requests),
        requests_waited: Some(waited),
        total_s: Some(total_s),
        lock_s: Some(lock_s),
        work_s: Some(seconds(sum(|one| one.signal_ticks.load(Relaxed)))),
        share: (total_s > 0.0).then(|| (lock_s / total_s).min(1.0)),
        request_p50_ns: times.quantile_ns(0.5, time),
        request_p99_ns: times.quantile_ns(0.99, time),
        request_max_ns: Some(time.span_ns(longest)),
        outside_p99_ns: rests.quantile_ns(0.99, time),
        wait_p50_ns: waits.quantile_ns(0.5, time),
        wait_p99_ns: waits.quantile_ns(0.99, time),
        wait_max_ns: Some(time.span_ns(longest_wait)),
        ..Row::new(RowKind::Label, 0, String::new())
    })
}
