//! The preempted holders of a run, by the names of the locks and of the call sites that acquired them.

use crate::trace::aggregate::{Sum, Window};
use blame::names::Names;
use blame::places::{lock_name, site_label};
use blame::preempted::{Preempted, Sums};
use blame::switches::Switches;
use blame::time::{Ticks, Time};
use blame::waits::lock_of;
use interpose::{Kind, Region};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// A lock, and the call site of its holder.
pub type Key = (String, String);

/// The preemptions of a run, and the parts of the run that they are shares of.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub sums: BTreeMap<Key, Sums>,
    /// Medians of the timed holds, in ns.
    pub hold_p50_ns: BTreeMap<Key, f64>,
    /// Time for which the switches are known.
    pub known_s: f64,
    pub elapsed_s: f64,
    /// Time that all threads waited for locks.
    pub waited_s: f64,
    /// Holds that were long enough for a preemption, and those of them whose threads' switches are known.
    pub holds: [u64; 2],
    /// Whether threads of other programs are seen.
    pub sees_competitors: bool,
}

impl Counted {
    /// Adds up the pairs.
    pub fn of(
        (region, window): (&Region, Window<'_>),
        names: &mut Names,
        preempted: &Preempted,
        switches: Option<&Switches>,
        time: &Time,
        elapsed_s: f64,
    ) -> Self {
        let mut counted = Self {
            elapsed_s,
            known_s: switches.map_or(0.0, |switches| (switches.open_ns(time.now()) / 1e9).min(elapsed_s)),
            holds: [preempted.holds, preempted.known],
            sees_competitors: switches.is_some_and(|switches| switches.sees_competitors),
            ..Self::default()
        };
        let mut places: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
        for (&pair, sums) in &preempted.by_pair {
            let key = (lock_name(region, names, lock_of(region, pair)), site_label(region, names, pair));
            counted.sums.entry(key.clone()).or_default().merge(sums);
            places.entry(key).or_default().push(pair);
        }
        for (key, places) in places {
            let hold = Sum::of(region, window, &places).holds.quantile_ns(0.5, time);
            counted.hold_p50_ns.extend(hold.map(|ns| (key, ns)));
        }
        let excludes = |kind: u32| Kind::of(kind).is_some_and(Kind::excludes);
        let waited = region.pairs().filter(|(_, pair)| excludes(pair.kind.load(Relaxed)));
        let ticks = waited.map(|(place, _)| region.waits[place as usize].ticks.load(Relaxed));
        counted.waited_s = time.span_ns(ticks.fold(0, u64::saturating_add)) / 1e9;
        counted
    }
}
