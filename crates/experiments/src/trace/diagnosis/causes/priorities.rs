//! Holders with a lower priority than the threads that wait for them.

use super::super::inner::function_in;
use super::super::objects::Object;
use super::super::{Cause, Measure};
use super::shares::Shares;
use crate::trace::rules::Rule;
use blame::sampling::priority::Priority;

impl Shares {
    /// Returns whether the holders had no CPU for most of the wait, and a lower priority than the waiters.
    pub(super) fn is_inverted(&self) -> bool {
        self.outranked > 0.5 * self.preempted && self.preempted > 0.5
    }

    /// Returns the words for holders with a lower priority than the waiters, if that is a part of the wait to name.
    pub(super) fn outranked_words(&self) -> String {
        let priorities = self.priorities.filter(|_| self.outranked >= 0.1);
        priorities.map_or_else(String::new, |[holder, waiter]| {
            let share = terminal::percent(self.outranked);
            format!("; for {share} it had no CPU and a lower priority ({holder}) than the waiters ({waiter})")
        })
    }
}

/// Returns the cause for holders that had no CPU and a lower priority than the waiters. `place` is where they acquired
/// the lock.
pub(super) fn inverted(object: &Object, shares: &Shares, place: String) -> Cause {
    let lock = &object.name;
    let names = shares.priorities.map(|priorities| priorities.map(|priority| priority.to_string()));
    let [holder, waiter] = names.unwrap_or_else(|| ["a lower priority", "a higher one"].map(str::to_owned));
    let function = function_in(&place);
    let is_for_real_time = matches!(shares.priorities, Some([_, Priority::RealTime(_)]));
    let inherits = if is_for_real_time { ", or create it with PTHREAD_PRIO_INHERIT" } else { "" };
    Cause {
        rule: Rule::PriorityInversion,
        object: lock.clone(),
        text: format!(
            "priority inversion: {} ({holder}) was ready without a CPU for {} of the wait of threads with a higher priority \
             ({waiter})",
            object.holder(),
            terminal::percent(shares.preempted)
        ),
        remedy: Some(format!("hold {lock} in {function} at the priority of the threads that wait for it{inherits}")),
        share: shares.preempted,
        measure: Measure::None,
        place,
    }
}
