//! Causes of a rank's gaps.

use crate::record::CauseRow;
use crate::watched::Seen;
use instruments::clock::Clock;
use instruments::evidence::{Attribution, Cause, EntryExitOverhead, Kind, Stretch, Timeline, attribute};
use instruments::gaps::Gap;
use std::collections::BTreeMap;

/// The name of injected interruptions.
pub const INJECTED: &str = "injected";

/// Times and numbers, by cause.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    parts: BTreeMap<Cause, (u64, f64)>,
    overhead: EntryExitOverhead,
}

impl Causes {
    /// Adds the gaps of a repetition, with the kernel events where they were recorded; each gap counts for the cause
    /// that took most of it.
    pub fn add(
        &mut self,
        clock: Clock,
        seen: &[Seen],
        (start, end): (u64, u64),
        timeline: Option<&Timeline>,
    ) -> Vec<Cause> {
        let met = seen.iter().filter(|one| !one.injected);
        let gaps: Vec<Gap> = met.map(|one| Gap { start: one.start, length: one.length }).collect();
        let attribution = timeline.map(|timeline| self.attributed(timeline, &gaps, (start, end)));
        let mut number = 0;
        seen.iter().map(|one| self.one(clock, one, attribution.as_ref(), &mut number)).collect()
    }

    fn attributed(&mut self, timeline: &Timeline, gaps: &[Gap], (start, end): (u64, u64)) -> Attribution {
        let task = timeline.thread;
        let stretch = Stretch { timeline, task, start, end, gaps, usual: 0, preempted: &[], looks: &[] };
        self.overhead.learn(&stretch);
        attribute(&stretch, &self.overhead)
    }

    /// Returns the cause of one gap; `number` counts those that were not injected.
    fn one(&mut self, clock: Clock, seen: &Seen, attribution: Option<&Attribution>, number: &mut usize) -> Cause {
        let entire = |cause: Cause| vec![(cause, seen.length)];
        let parts: Vec<(Cause, u64)> = if seen.injected {
            entire(Cause { kind: Kind::Own, name: Some(INJECTED.to_owned()), pid: None })
        } else {
            *number += 1;
            match attribution {
                Some(found) => {
                    found.of_gap(*number - 1).into_iter().map(|(cause, ticks)| (cause.clone(), ticks)).collect()
                }
                None => entire(Cause::unnamed(Kind::Unexplained)),
            }
        };
        for (cause, ticks) in &parts {
            let part = self.parts.entry(cause.clone()).or_default();
            *part = (part.0 + 1, part.1 + clock.to_ns(*ticks));
        }
        parts.into_iter().next().map_or(Cause::unnamed(Kind::Unexplained), |(cause, _)| cause)
    }

    /// Returns the share of the lost time that has an explanation; `None` if nothing was lost.
    pub fn explained_share(&self) -> Option<f64> {
        let of = |wanted: fn(Kind) -> bool| {
            self.parts.iter().filter(|(cause, _)| wanted(cause.kind)).map(|(_, part)| part.1).sum::<f64>()
        };
        let all = of(|_| true);
        (all > 0.0).then(|| 1.0 - of(|kind| kind == Kind::Unexplained) / all)
    }

    /// Returns a row for each cause, the one that took most first.
    pub fn rows(&self) -> Vec<CauseRow> {
        let all_ns: f64 = self.parts.values().map(|part| part.1).sum();
        let row = |(cause, &(count, ns)): (&Cause, &(u64, f64))| CauseRow {
            cause: cause.clone(),
            count,
            total_us: ns / 1e3,
            share: ns / all_ns.max(f64::MIN_POSITIVE),
        };
        let mut rows: Vec<CauseRow> = self.parts.iter().map(row).collect();
        rows.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        rows
    }
}
