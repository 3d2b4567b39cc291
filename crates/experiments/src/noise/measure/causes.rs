//! The causes of a cell's gaps, from the kernel trace; and the periodic part of the rest.

use crate::noise::cause_sums::{CauseSums, Part};
use crate::noise::record::CauseRow;
use harness::Interruption;
use instruments::clock::Clock;
use instruments::evidence::{Attribution, EntryExitOverhead, Kind, Recall, Stretch, Timeline, attribute};
use instruments::gaps::Watch;
use instruments::period;

/// The time and the number of the gaps that each cause had a part in.
#[derive(Debug, Default)]
pub struct Causes {
    sums: CauseSums,
    pub recall: Recall,
    overhead: EntryExitOverhead,
    /// The unexplained gaps that are too short for the kernel, which stay unexplained.
    short: Part,
    /// The parts of gaps without a known cause: since `searched`, and not yet searched for a period.
    open: Vec<period::Gap>,
    /// The begin and the end of the search range, in ticks.
    searched: Option<(u64, u64)>,
    combs: Vec<Comb>,
}

/// The sums at one moment.
pub struct SoFar {
    sums: CauseSums,
    short: Part,
}

/// Periodic gaps, added up over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Comb {
    period_ns: f64,
    gaps: u64,
    total_ns: f64,
    longest_ns: f64,
}

/// The length below which the kernel has no visit: such a gap is caused by the core or the host, without evidence.
const SHORT_NS: f64 = 1_000.0;
/// The relative difference below which periods are equal.
const SAME_PERIOD: f64 = 0.005;
/// The number of gaps, or the time, that is searched for periods at once: more would take longer than the repetition.
const MOST_OPEN: usize = 20_000;
const MOST_COMBS: usize = 64;
const LONGEST_SEARCH_NS: f64 = 90e9;

impl Causes {
    /// Adds a piece of a repetition, and returns the cause of each of its gaps.
    pub fn add(
        &mut self,
        timeline: &Timeline,
        watch: &Watch,
        preempted: &[bool],
        interruption: &Interruption,
    ) -> Attribution {
        let stretch = Stretch { preempted, ..Stretch::of_watch(timeline, watch) };
        self.overhead.learn(&stretch);
        let attribution = attribute(&stretch, &self.overhead);
        self.recall.reported += attribution.recall.reported;
        self.recall.missed += attribution.recall.missed;
        let start = self.searched.map_or(watch.start, |(start, _)| start);
        self.searched = Some((start, watch.start + watch.span));
        let short = timeline.clock.to_ticks(SHORT_NS);
        for (number, gap) in watch.gaps.iter().enumerate() {
            let parts = attribution.of_gap(number);
            for &(cause, ticks) in &parts {
                self.sums.add(cause, ticks);
            }
            let open: u64 = parts.iter().filter(|(cause, _)| is_open(cause.kind)).map(|(_, ticks)| ticks).sum();
            if gap.length < short {
                let unexplained = attribution.unexplained(number);
                if unexplained > 0 {
                    self.short.add(unexplained);
                }
            } else if 2 * open > gap.length {
                // A gap that mostly has another cause is at that cause's moment.
                let (start_ns, duration_ns) = (timeline.clock.to_ns(gap.start - start), timeline.clock.to_ns(open));
                self.open.push(period::Gap { start_ns, duration_ns });
            }
        }
        let reach_ns = timeline.clock.to_ns(watch.start + watch.span - start);
        if self.open.len() > MOST_OPEN || reach_ns > LONGEST_SEARCH_NS {
            self.end_turn(timeline.clock, interruption);
        }
        attribution
    }

    /// Searches the rest for periods.
    ///
    /// After a signal it stays unexplained.
    pub fn end_turn(&mut self, clock: Clock, interruption: &Interruption) {
        let open = std::mem::take(&mut self.open);
        let Some((start, end)) = self.searched.take() else { return };
        let reach_ns = clock.to_ns(end - start);
        let found = interruption.unless_requested(None, move || period::find(&open, reach_ns));
        // If the system refuses a thread for the search, it stays unexplained too.
        for found in found.ok().flatten().unwrap_or_default() {
            let same = |comb: &&mut Comb| (comb.period_ns / found.period_ns - 1.0).abs() < SAME_PERIOD;
            let is_full = self.combs.len() >= MOST_COMBS;
            match self.combs.iter_mut().find(same) {
                Some(comb) => {
                    comb.gaps += found.gaps as u64;
                    comb.total_ns += found.total_ns;
                    comb.longest_ns = comb.longest_ns.max(found.longest_gap_ns);
                }
                // Beyond this number of periods, the rest stays unexplained.
                None if is_full => {}
                None => self.combs.push(Comb {
                    period_ns: found.period_ns,
                    gaps: found.gaps as u64,
                    total_ns: found.total_ns,
                    longest_ns: found.longest_gap_ns,
                }),
            }
        }
    }

    /// Returns the sums so far.
    pub fn so_far(&self) -> SoFar {
        SoFar { sums: self.sums.clone(), short: self.short }
    }

    /// Returns the sums since an earlier state.
    pub fn since(&self, earlier: &SoFar) -> Self {
        Self {
            sums: self.sums.since(&earlier.sums),
            short: Part {
                count: self.short.count - earlier.short.count,
                ticks: self.short.ticks - earlier.short.ticks,
                ..self.short
            },
            ..Self::default()
        }
    }

    /// Returns the share of the gaps' time that the kernel trace explains; `None` without gaps.
    pub fn explained_share(&self) -> Option<f64> {
        let total = self.sums.ticks();
        let open = self.sums.ticks_of(Kind::Unexplained);
        (total > 0).then(|| 1.0 - open as f64 / total as f64)
    }

    /// Returns the share, counting periodic unexplained time as explained.
    pub fn explained_or_periodic_share(&self, clock: Clock) -> Option<f64> {
        let total = self.sums.ticks();
        let rows = self.rows(clock, total);
        let open = rows.iter().filter(|row| row.kind == Kind::Unexplained && row.period_us.is_none());
        (total > 0).then(|| 1.0 - open.map(|row| row.share).sum::<f64>())
    }

    /// Returns a row for each cause, the greatest first; `total` is the time of all gaps, in ticks.
    pub fn rows(&self, clock: Clock, total: u64) -> Vec<CauseRow> {
        let total_us = clock.to_ns(total) / 1e3;
        let rows = self.sums.iter().map(|(cause, part)| CauseRow::of(cause, part, clock));
        let mut rows: Vec<CauseRow> = rows.collect();
        self.split_off_short(clock, &mut rows);
        self.split_off_combs(&mut rows);
        rows.iter_mut().for_each(|row| row.share = row.total_us / total_us.max(f64::MIN_POSITIVE));
        rows.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        rows
    }

    /// Separates the gaps that are too short for the kernel from those that it could have recorded.
    fn split_off_short(&self, clock: Clock, rows: &mut Vec<CauseRow>) {
        let Some(rest) = rows.iter_mut().find(|row| row.kind == Kind::Unexplained) else { return };
        let short = CauseRow {
            below_us: Some(SHORT_NS / 1e3),
            count: self.short.count,
            total_us: clock.to_ns(self.short.ticks) / 1e3,
            longest_us: clock.to_ns(self.short.longest) / 1e3,
            ..rest.clone()
        };
        rest.total_us -= short.total_us;
        rest.count -= short.count;
        let nothing_else = rest.count == 0;
        rows.retain(|row| row.kind != Kind::Unexplained || !nothing_else);
        rows.extend((short.count > 0).then_some(short));
    }

    /// Separates the periodic part from the rest: from unexplained time first, and the remainder from stolen time.
    fn split_off_combs(&self, rows: &mut Vec<CauseRow>) {
        let mut parted = Vec::new();
        for comb in &self.combs {
            let (mut gaps, mut left_us) = (comb.gaps, comb.total_ns / 1e3);
            for kind in [Kind::Unexplained, Kind::Steal] {
                let Some(rest) = rows.iter_mut().find(|row| row.kind == kind && row.below_us.is_none()) else {
                    continue;
                };
                let total_us = left_us.min(rest.total_us);
                let count = gaps.min(rest.count);
                left_us -= total_us;
                gaps -= count;
                rest.total_us -= total_us;
                rest.count -= count;
                let longest_us = comb.longest_ns / 1e3;
                let row =
                    CauseRow { period_us: Some(comb.period_ns / 1e3), count, total_us, longest_us, ..rest.clone() };
                parted.extend((total_us > 0.0).then_some(row));
            }
        }
        rows.extend(parted);
    }
}

/// Returns whether the moments of this kind are unknown.
fn is_open(kind: Kind) -> bool {
    matches!(kind, Kind::Unexplained | Kind::Steal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::evidence::Cause;
    use std::time::Duration;

    /// Returns causes; times in ns.
    fn causes(clock: Clock, parts: &[(Kind, u64, f64)], short: (u64, f64), combs: &[Comb]) -> Causes {
        let part = |count, ns| Part { count, ticks: clock.to_ticks(ns), longest: 0 };
        let sums = parts.iter().map(|&(kind, count, ns)| (Cause::unnamed(kind), part(count, ns))).collect();
        Causes { sums, short: part(short.0, short.1), combs: combs.to_vec(), ..Causes::default() }
    }

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(5)).clock
    }

    #[test]
    fn rest_is_divided_into_short_periodic_and_unknown() {
        let comb = Comb { period_ns: 1e7, gaps: 10, total_ns: 100_000.0, longest_ns: 0.0 };
        let clock = clock();
        let parts = [(Kind::Interrupt, 50, 6e5), (Kind::Unexplained, 130, 4e5)];
        let found = causes(clock, &parts, (100, 5e4), &[comb]);
        let rows = found.rows(clock, clock.to_ticks(1e6));
        let line = |row: &CauseRow| (row.label(), row.count, (row.share * 100.0).round());
        assert_eq!(
            rows.iter().map(line).collect::<Vec<_>>(),
            [
                ("interrupt".to_owned(), 50, 60.0),
                ("unexplained".to_owned(), 20, 25.0),
                ("unexplained, every 10.0 ms".to_owned(), 10, 10.0),
                ("unexplained, under 1.00 µs".to_owned(), 100, 5.0),
            ]
        );
        assert!((found.explained_share().unwrap() - 0.6).abs() < 1e-4);
        assert!((found.explained_or_periodic_share(clock).unwrap() - 0.7).abs() < 1e-4);
    }

    #[test]
    fn periodic_component_uses_unexplained_time_first() {
        let comb = Comb { period_ns: 1e7, gaps: 8, total_ns: 80_000.0, longest_ns: 0.0 };
        let clock = clock();
        let found = causes(clock, &[(Kind::Steal, 6, 7.5e4), (Kind::Unexplained, 2, 2.5e4)], (0, 0.0), &[comb]);
        let rows = found.rows(clock, clock.to_ticks(1e5));
        let of = |kind: Kind, periodic: bool| {
            let row = rows.iter().find(|row| row.kind == kind && row.period_us.is_some() == periodic);
            row.map(|row| (row.count, row.total_us.round())).unwrap()
        };
        assert_eq!((of(Kind::Unexplained, true), of(Kind::Unexplained, false)), ((2, 25.0), (0, 0.0)));
        assert_eq!((of(Kind::Steal, true), of(Kind::Steal, false)), ((6, 55.0), (0, 20.0)));
        assert!((rows.iter().map(|row| row.share).sum::<f64>() - 1.0).abs() < 1e-4);
    }

    #[test]
    fn run_without_gaps_has_no_share() {
        let none = Causes::default();
        let clock = clock();
        assert_eq!((none.explained_share(), none.explained_or_periodic_share(clock)), (None, None));
        assert!(none.rows(clock, 0).is_empty());
    }
}
