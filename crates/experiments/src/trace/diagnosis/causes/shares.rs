//! The parts of the whole wait for a lock, by the state of its holder.

use super::super::ENOUGH_S;
use crate::trace::evidence::Evidence;
use crate::trace::record::Row;
use blame::sampling::priority::Priority;
use blame::sampling::waited::{Holder, Peers, Waited};

/// The part of a wait that may be unknown before the samples are used instead for the holders' activity.
const MOST_UNKNOWN: f64 = 0.2;

/// Shares of the whole wait for a lock.
pub(in crate::trace::diagnosis) struct Shares {
    pub(in crate::trace::diagnosis) running: f64,
    pub(in crate::trace::diagnosis) preempted: f64,
    pub(in crate::trace::diagnosis) blocked: f64,
    pub(in crate::trace::diagnosis) released: f64,
    /// The part of `preempted` in which the holder had a lower priority than the waiter.
    pub(in crate::trace::diagnosis) outranked: f64,
    /// These two priorities, for most of that time.
    pub(super) priorities: Option<[Priority; 2]>,
}

impl Shares {
    /// Returns the parts by the kernel's record of the holders' switches where that covers the wait, else by the
    /// samples.
    pub(in crate::trace::diagnosis) fn of(evidence: &Evidence, waited: &Waited, row: Option<&Row>) -> Option<Self> {
        let sampled_s: f64 = waited.holders.values().sum();
        let part = |is: fn(&Holder) -> bool| {
            waited.holders.iter().filter(|(holder, _)| is(holder)).map(|(_, seconds)| seconds).sum::<f64>() / sampled_s
        };
        let outranked = part(|holder| matches!(holder, Holder::Outranked { .. }));
        let ready = outranked + part(|holder| *holder == Holder::Ready);
        let by_samples = || Self {
            running: part(|holder| *holder == Holder::Running),
            preempted: ready,
            blocked: part(|holder| matches!(holder, Holder::Blocked { .. } | Holder::Chained { .. })),
            released: part(|holder| *holder == Holder::None),
            outranked: 0.0,
            priorities: None,
        };
        // The record lacks waits that have not ended, and those to get a mutex back after a condition.
        let row = row.filter(|row| super::has_most(row, waited.seconds));
        let shares = row.and_then(Self::by_record).or_else(|| (sampled_s >= ENOUGH_S).then(by_samples))?;
        if waited.holders.is_empty() {
            return Some(shares.of_word(evidence, waited, row));
        }
        // Only samples know the priorities.
        let outranked = if ready > 0.0 { shares.preempted * outranked / ready } else { 0.0 };
        Some(Self { outranked, priorities: priorities(waited), ..shares })
    }

    /// Adds the priorities of those who held a word, which samples do not show: by the threads that ended the longest waits,
    /// or else by all threads that were ready.
    fn of_word(self, evidence: &Evidence, waited: &Waited, row: Option<&Row>) -> Self {
        let priority = |thread| evidence.samples.priority(thread);
        if let Some((share, priorities)) = row.and_then(|row| outranked_in_longest(row, priority)) {
            return Self { outranked: self.preempted * share, priorities, ..self };
        }
        let peers = |seconds: fn(&Peers) -> f64| waited.peers.values().map(seconds).sum::<f64>();
        let (outranked_s, ready_s) = (peers(|peers| peers.outranked_s), peers(|peers| peers.ready_s));
        let share = if ready_s > 0.0 { outranked_s / ready_s } else { 0.0 };
        Self { outranked: self.preempted * share, ..self }
    }

    /// Returns the parts by the kernel's record of the switches, if it covers the wait.
    pub(super) fn by_record(row: &Row) -> Option<Self> {
        let unknown = row.unknown_s? / row.wait_total_s;
        let share = |part: Option<f64>| Some(part? / row.wait_total_s);
        let shares = Self {
            running: share(row.held_running_s)?,
            preempted: share(row.held_preempted_s)?,
            blocked: share(row.held_blocked_s)?,
            released: share(row.released_s)?,
            outranked: 0.0,
            priorities: None,
        };
        (unknown <= MOST_UNKNOWN).then_some(shares)
    }

    /// Returns the part of the wait of which something is known.
    pub(super) fn known(&self) -> f64 {
        self.running + self.preempted + self.blocked + self.released
    }

    pub(super) fn is_mostly_blocked(&self) -> bool {
        self.blocked > 0.5
    }

    pub(super) fn words(&self) -> String {
        let named = [
            (self.running, "holder running"),
            (self.preempted, "holder preempted"),
            (self.blocked, "holder blocked"),
            (self.released, "released, waiter not yet running"),
            (1.0 - self.known(), "unknown"),
        ];
        let words = named.iter().filter(|(share, _)| *share >= 0.01);
        words.map(|(share, what)| format!("{what} {}", terminal::percent(*share))).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the part of the longest waits for a word whose holder has a lower priority than the waiter, with these two priorities
/// for the longest of them; `None` if the samples do not have them.
fn outranked_in_longest(row: &Row, priority: impl Fn(u32) -> Option<Priority>) -> Option<(f64, Option<[Priority; 2]>)> {
    let (mut known_ns, mut outranked_ns, mut first) = (0.0, 0.0, None);
    for wait in &row.longest {
        let holder = wait.holder_thread.and_then(&priority);
        let Some((holder, waiter)) = holder.zip(priority(wait.thread)) else { continue };
        known_ns += wait.wait_ns;
        if holder < waiter {
            outranked_ns += wait.wait_ns;
            first = first.or(Some([holder, waiter]));
        }
    }
    (known_ns > 0.0).then(|| (outranked_ns / known_ns, first))
}

/// Returns the priorities of holder and waiter that were seen for most of the time in which the holder had the lower one.
fn priorities(waited: &Waited) -> Option<[Priority; 2]> {
    let outranked = waited.holders.iter().filter_map(|(holder, seconds)| match holder {
        Holder::Outranked { holder, waiter } => Some(([*holder, *waiter], *seconds)),
        _ => None,
    });
    outranked.max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0))).map(|(priorities, _)| priorities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::record::LongWait;

    #[test]
    fn switch_record_counts_where_it_covers_the_wait() {
        let mut waited = Waited::default();
        waited.holders.insert(Holder::Running, 3.0);
        waited.holders.insert(Holder::Unknown, 1.0);
        let mut row = Row { wait_total_s: 4.0, ..Row::default() };
        (row.held_running_s, row.held_preempted_s, row.held_blocked_s) = (Some(0.5), Some(0.5), Some(2.5));
        (row.released_s, row.unknown_s) = (Some(0.0), Some(0.5));
        assert_eq!(Shares::of(&Evidence::default(), &waited, Some(&row)).unwrap().blocked, 0.625);
        // Of most of the wait there is no record.
        let long = Waited { seconds: 7.0, ..waited.clone() };
        assert_eq!(Shares::of(&Evidence::default(), &long, Some(&row)).unwrap().running, 0.75);
        row.unknown_s = Some(2.0);
        assert_eq!(Shares::of(&Evidence::default(), &waited, Some(&row)).unwrap().running, 0.75);
        assert!(Shares::of(&Evidence::default(), &Waited::default(), None).is_none());
    }

    /// The samples do not know who holds a word, but that all threads that were ready had a lower priority.
    #[test]
    fn priorities_of_the_ready_threads_are_those_of_a_holder() {
        let of = |outranked_s: f64| {
            let peers = Peers { seconds: 4.0, running_s: 0.0, ready_s: 3.0, outranked_s };
            let waited = Waited { seconds: 4.0, peers: [(Vec::new(), peers)].into(), ..Waited::default() };
            let mut row = Row { wait_total_s: 4.0, unknown_s: Some(0.0), released_s: Some(0.0), ..Row::default() };
            (row.held_running_s, row.held_preempted_s, row.held_blocked_s) = (Some(0.0), Some(4.0), Some(0.0));
            Shares::of(&Evidence::default(), &waited, Some(&row)).unwrap().outranked
        };
        assert_eq!([of(0.0), of(3.0)], [0.0, 1.0]);
    }

    #[test]
    fn priorities_are_those_that_the_samples_have() {
        let wait =
            |wait_ns, thread, holder| LongWait { wait_ns, thread, holder_thread: Some(holder), ..LongWait::default() };
        let row = Row { longest: vec![wait(3.0, 1, 2), wait(1.0, 2, 1)], ..Row::default() };
        let priority = |thread: u32| Some(Priority::Fair(if thread == 1 { 20 } else { 1 }));
        let (share, priorities) = outranked_in_longest(&row, priority).unwrap();
        assert_eq!((share, priorities), (0.75, Some([Priority::Fair(1), Priority::Fair(20)])));
        assert!(
            outranked_in_longest(&row, |_| None).is_none() && outranked_in_longest(&Row::default(), priority).is_none()
        );
    }
}
