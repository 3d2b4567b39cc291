//! The sums of the waits for locks, which decide whether locks are the problem.

use super::causes::{Shares, vain_share, waited};
use super::objects::Object;
use super::rows::Rows;
use super::{LOCKS_SHARE, Parts};
use crate::trace::evidence::Evidence;
use crate::trace::record::SeenBy;
use blame::frames::Kind;
use blame::sampling::budget::{Budget, Part};
use blame::sampling::waited::Wait;

/// The waits for locks, in seconds of all threads together, of the part of the time that the samples cover.
pub(super) struct LockWaits {
    /// Their sum, by the calls where these say more than the samples, with the waits of threads that were woken in vain.
    pub(super) waited_s: f64,
    /// The sum of the findings and the tables, which sentences state.
    pub(super) stated_s: f64,
    /// Their sum by the samples alone.
    pub(super) sampled_s: f64,
    /// The part of them on a CPU.
    pub(super) spun_s: f64,
    /// The waits of threads that a broadcast woke for nothing, on their way back.
    pub(super) vain_s: f64,
    /// The part of the sampled waits that are long because the holder or the woken waiter had no CPU.
    pub(super) for_cpus: f64,
    /// The part of the threads' time that the samples cover.
    pub(super) covered: f64,
}

impl Evidence {
    /// Sums up the waits for locks.
    pub(super) fn lock_waits(
        &self,
        objects: &[Object],
        rows: &Rows<'_>,
        parts: &Parts,
        (whole, covered): (&Budget, f64),
    ) -> LockWaits {
        let locks: Vec<&Object> = objects.iter().filter(|object| object.part == Part::Lock).collect();
        let sampled_s: f64 = locks.iter().map(|object| object.waited.seconds).sum();
        let for_cpus_s: f64 = locks.iter().map(|object| self.for_cpus_s(object, rows)).sum();
        let spinning = locks.iter().filter(|object| object.spins || object.is_polled());
        let spun_s: f64 = spinning.map(|object| object.waited.runnable_s).sum();
        let vain_s: f64 = objects.iter().map(|object| self.vain_s(object)).sum();
        // Calls say exactly what samples only estimate, and short waits are seen by calls alone.
        let is_lock = |slot: &u32| parts.get(&Wait::Lock(*slot)).is_none_or(|part| *part == Part::Lock);
        let counted =
            rows.slots.iter().zip(rows.rows).filter(|(slots, row)| row.excludes() && slots.iter().all(is_lock));
        // They are of all the time, and the samples of a part of it: that part of them is set against the samples.
        let counted_s = covered * counted.clone().map(|(_, row)| row.wait_total_s).sum::<f64>();
        let waited_s = counted_s.max(whole.lock_s + spun_s) + vain_s;
        let is_sampled = |slot: u32| locks.iter().any(|object| object.wait == Wait::Lock(slot));
        let unsampled = counted.filter(|(slots, _)| !is_sampled(slots[0])).map(|(_, row)| covered * row.wait_total_s);
        let of_objects = locks.iter().map(|object| stated_s(object, rows, covered));
        let stated_s = of_objects.chain(unsampled).sum::<f64>() + vain_s;
        // Few samples may have found a thread blocked, while the kernel's account says for how long they were.
        let least_s = LOCKS_SHARE * whole.busy_s();
        let stated_s = if stated_s < least_s && waited_s >= least_s { waited_s } else { stated_s };
        LockWaits {
            waited_s: waited_s.max(stated_s),
            stated_s,
            sampled_s,
            spun_s,
            vain_s,
            for_cpus: for_cpus_s / sampled_s.max(1e-9),
            covered,
        }
    }

    /// Returns the waits for an object of threads that a broadcast woke for nothing.
    fn vain_s(&self, object: &Object) -> f64 {
        let library = self.library.as_ref().filter(|_| object.waited.runnable_s > 0.0 && object.part == Part::Work);
        let slot = |wait: &(Wait, f64)| if let Wait::Lock(slot) = wait.0 { Some(slot) } else { None };
        let conditions: Vec<u32> = object.members.iter().filter_map(slot).collect();
        library.map_or(0.0, |library| vain_share(library, &conditions) * object.waited.runnable_s)
    }

    /// Returns the waits for a lock that are long because the holder or the woken waiter had no CPU.
    fn for_cpus_s(&self, object: &Object, rows: &Rows<'_>) -> f64 {
        // Threads that are woken all at once wait for a CPU because of that.
        if object.waited.after_condition.values().sum::<f64>() > 0.5 * object.waited.seconds {
            return 0.0;
        }
        // A library's sections are short: who waits there long is in a convoy, and each hand-over needs a CPU.
        let of_library = [Kind::Library, Kind::Allocator, Kind::Stream].map(Kind::name);
        if of_library.contains(&object.kind) {
            return 0.0;
        }
        let shares = Shares::of(self, &object.waited, rows.of(object.wait));
        // A holder with a lower priority than its waiters keeps them waiting on any number of CPUs that are in use.
        let for_cpus = |shares: Shares| shares.preempted - shares.outranked + shares.released;
        shares.map_or(0.0, |shares| object.waited.seconds * for_cpus(shares))
    }
}

/// Returns the waits for a lock as the tables have them, of the part of the time that the samples cover.
pub(super) fn stated_s(object: &Object, rows: &Rows<'_>, covered: f64) -> f64 {
    match waited(object.waited.seconds, rows.of(object.wait)) {
        (counted_s, SeenBy::Call) => covered * counted_s,
        (sampled_s, SeenBy::Sampling) => sampled_s,
    }
}
