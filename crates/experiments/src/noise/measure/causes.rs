//! What took a cell's gaps, from the kernel's record; and of the rest, what recurs.

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
    /// The parts of gaps that nobody is known to have taken, nor when: since `searched`, and in which no rhythm has
    /// been looked for.
    open: Vec<period::Gap>,
    /// From when on, and until when, in ticks.
    searched: Option<(u64, u64)>,
    combs: Vec<Comb>,
}

/// The sums of a moment.
pub struct SoFar {
    sums: CauseSums,
    short: Part,
}

/// Gaps that recur, added up over the turns.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Comb {
    period_ns: f64,
    gaps: u64,
    total_ns: f64,
    longest_ns: f64,
}

/// The kernel has no visit that is shorter: what else it is, the core or the host, nobody tells.
const SHORT_NS: f64 = 1_000.0;
/// Periods that differ by less, relatively, are one.
const SAME_PERIOD: f64 = 0.005;
/// A rhythm is looked for in so many gaps, or so long a time, at once: in more it would take longer than the turn.
const MOST_OPEN: usize = 20_000;
const MOST_COMBS: usize = 64;
const LONGEST_SEARCH_NS: f64 = 90e9;

impl Causes {
    /// Adds a piece of a turn, and tells whose each of its gaps was.
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
                // A gap that is mostly something else's lies where that put it.
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

    /// Looks for rhythms in what is still to be searched. Once a signal has come it is left unexplained.
    pub fn end_turn(&mut self, clock: Clock, interruption: &Interruption) {
        let open = std::mem::take(&mut self.open);
        let Some((start, end)) = self.searched.take() else { return };
        let reach_ns = clock.to_ns(end - start);
        let found = interruption.unless_requested(move || period::find(&open, reach_ns));
        // A system that refuses a thread for it leaves it unexplained too.
        for found in found.ok().flatten().unwrap_or_default() {
            let same = |comb: &&mut Comb| (comb.period_ns / found.period_ns - 1.0).abs() < SAME_PERIOD;
            let is_full = self.combs.len() >= MOST_COMBS;
            match self.combs.iter_mut().find(same) {
                Some(comb) => {
                    comb.gaps += found.gaps as u64;
                    comb.total_ns += found.total_ns;
                    comb.longest_ns = comb.longest_ns.max(found.longest_gap_ns);
                }
                // Of more rhythms than these, the rest stays unexplained.
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

    /// The sums so far.
    pub fn so_far(&self) -> SoFar {
        SoFar { sums: self.sums.clone(), short: self.short }
    }

    /// What was added since an earlier state.
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

    /// The share of the gaps' time that the kernel's record explains; `None` without gaps.
    pub fn explained_share(&self) -> Option<f64> {
        let total = self.sums.ticks();
        let open = self.sums.ticks_of(Kind::Unexplained);
        (total > 0).then(|| 1.0 - open as f64 / total as f64)
    }

    /// The same, counting unexplained time that recurs.
    pub fn explained_or_periodic_share(&self, clock: Clock) -> Option<f64> {
        let total = self.sums.ticks();
        let rows = self.rows(clock, total);
        let open = rows.iter().filter(|row| row.kind == Kind::Unexplained && row.period_us.is_none());
        (total > 0).then(|| 1.0 - open.map(|row| row.share).sum::<f64>())
    }

    /// A row for each cause, the greatest first; `total` is the time of all gaps, in ticks.
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

    /// Parts what is too short for the kernel from what it could have seen.
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

    /// Parts what recurs from the rest: from unexplained time first, and what is more from stolen time.
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

/// Whether nothing is known of when this kind took the time.
fn is_open(kind: Kind) -> bool {
    matches!(kind, Kind::Unexplained | Kind::Steal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::evidence::Cause;
    use std::time::Duration;

    /// Times in ns.
    fn causes(clock: Clock, parts: &[(Kind, u64, f64)], short: (u64, f64), combs: &[Comb]) -> Causes {
        let part = |count, ns| Part { count, ticks: clock.to_ticks(ns), longest: 0 };
        let sums = parts.iter().map(|&(kind, count, ns)| (Cause::unnamed(kind), part(count, ns))).collect();
        Causes { sums, short: part(short.0, short.1), combs: combs.to_vec(), ..Causes::default() }
    }

    fn clock() -> Clock {
        Clock::calibrate(Duration::from_millis(5)).clock
    }

    #[test]
    fn the_rest_is_parted_into_short_periodic_and_unknown() {
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
    fn a_comb_takes_stolen_time_only_where_unexplained_time_does_not_reach() {
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
    fn no_gaps_have_no_share() {
        let none = Causes::default();
        let clock = clock();
        assert_eq!((none.explained_share(), none.explained_or_periodic_share(clock)), (None, None));
        assert!(none.rows(clock, 0).is_empty());
    }
}
