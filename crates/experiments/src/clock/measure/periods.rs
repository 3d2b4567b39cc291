//! Which of the periods that were found is the kernel's tick, and what a fold says of it.

use crate::clock::record::{PeriodicLossRow, Row};
use instruments::period::{self, Gap, Period};

/// A period is the kernel's tick if it is within so much of 1/HZ.
const OFF_HZ_SHARE: f64 = 0.01;

/// Of several periods that are the tick's the one that takes most is the tick: what it has brought, and other timers of
/// the kernel's, come as often at moments of their own.
pub fn rows(found: &[Period], kernel_hz: Option<u32>, gaps: &[Gap]) -> Vec<Row> {
    let tick_ns = kernel_hz.map(|hz| 1e9 / f64::from(hz));
    let is_as_often = |found: &&Period| tick_ns.is_some_and(|tick| (tick / found.period_ns - 1.0).abs() < OFF_HZ_SHARE);
    let tick = found.iter().filter(is_as_often).max_by(|a, b| a.total_ns.total_cmp(&b.total_ns));
    let folded = tick_ns.and_then(|tick| period::fold(gaps, tick));
    let row = |found: &Period| {
        let is_kernel_tick = tick == Some(found);
        Row::PeriodicLoss(PeriodicLossRow {
            period_us: found.period_ns / 1e3,
            frequency_hz: 1e9 / found.period_ns,
            gaps: found.gaps,
            median_gap_us: found.median_gap_ns / 1e3,
            presence_share: found.presence,
            is_kernel_tick,
            folded_gap_us: folded.filter(|_| is_kernel_tick).map(|folded| folded.median_gap_ns / 1e3),
        })
    };
    found.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many gaps of so long, 4 ms from each other.
    fn comb(phase_ns: f64, gaps: usize, gap_ns: f64) -> (Period, Vec<Gap>) {
        let start_ns = |beat: usize| phase_ns + 4e6 * beat as f64;
        let all: Vec<Gap> = (0..gaps).map(|beat| Gap { start_ns: start_ns(beat), duration_ns: gap_ns }).collect();
        (period::find_among(&all, 2e9, &[])[0], all)
    }

    #[test]
    fn of_what_comes_as_often_as_the_tick_one_is_the_tick() {
        let ((echo, mut gaps), (tick, of_tick)) = (comb(1.5e6, 490, 1_700.0), comb(1e6, 500, 42_000.0));
        gaps.extend(of_tick);
        let found = rows(&[echo, tick], Some(250), &gaps);
        let ticks = found.iter().map(|row| match row {
            Row::PeriodicLoss(loss) => (loss.is_kernel_tick, loss.folded_gap_us.map(f64::round)),
            _ => unreachable!("all are periods"),
        });
        assert_eq!(ticks.collect::<Vec<_>>(), [(false, None), (true, Some(42.0))]);
    }
}
