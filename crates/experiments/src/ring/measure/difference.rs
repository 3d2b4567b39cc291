//! The time of a hop of a program, from runs with many hops and with fewer, so that starting and ending cancel.
//!
//! A program's start takes a millisecond or so and scatters by as much, and now and then another program delays it by as
//! long as all the hops take. The difference of one long run and its short one then shows a hop of a tenth of what the
//! kernel needs for a switch, if the short run was the delayed one. So each long run is compared with the short runs of
//! all turns, and the median of those differences counts: a delay of one short run changes no turn.

use instruments::neighbour::Probed;
use instruments::statistics::Interval;
use instruments::statistics::order::{median, sample_quantile_interval};
use instruments::statistics::summary::CONFIDENCE;

/// A turn: a run with many hops and one with fewer, and the probes around them.
#[derive(Clone, Copy, Debug)]
pub struct TwoRuns {
    pub hops: u64,
    pub long_ns: f64,
    pub fewer: u64,
    pub short_ns: f64,
    pub probed: Option<Probed>,
}

/// The time of a hop in ns, turn by turn.
pub fn per_hop(turns: &[TwoRuns]) -> Vec<f64> {
    let of_turn = |turn: &TwoRuns| {
        let against = |other: &TwoRuns| {
            let hops = turn.hops.checked_sub(other.fewer).filter(|hops| *hops > 0)?;
            Some((turn.long_ns - other.short_ns) / hops as f64)
        };
        median(&turns.iter().filter_map(against).collect::<Vec<_>>())
    };
    turns.iter().filter_map(of_turn).collect()
}

/// The 95 % interval of the median hop: that over the turns, wider by the uncertainty of the start, which all turns
/// share. `None` with too few turns.
pub fn interval(turns: &[TwoRuns]) -> Option<Interval> {
    let hops = per_hop(turns);
    let (hop, over_turns) = (median(&hops)?, sample_quantile_interval(&hops, 0.5, CONFIDENCE)?);
    let starts: Vec<f64> = turns.iter().map(|turn| turn.short_ns - hop * turn.fewer as f64).collect();
    let (start, ends) = (median(&starts)?, sample_quantile_interval(&starts, 0.5, CONFIDENCE)?);
    let counted: Vec<f64> = turns.iter().map(|turn| turn.hops.saturating_sub(turn.fewer) as f64).collect();
    let counted = median(&counted).filter(|counted| *counted > 0.0)?;
    let (later, sooner) = ((ends.high - start) / counted, (start - ends.low) / counted);
    Some(Interval::new((over_turns.low - later).max(0.0), over_turns.high + sooner))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOP_NS: f64 = 4_000.0;

    /// Turns of 12,000 hops and a fifth of them; every start is late by up to a millisecond, and some by 50 ms.
    fn turns(count: usize, delayed: f64, rng: &mut fastrand::Rng) -> Vec<TwoRuns> {
        let mut run = |hops: u64| {
            let delay = if rng.f64() < delayed { 50e6 } else { 0.0 };
            2e6 + 1e6 * rng.f64() + delay + hops as f64 * HOP_NS * (1.0 + 0.01 * (rng.f64() - 0.5))
        };
        (0..count)
            .map(|_| TwoRuns { hops: 12_000, long_ns: run(12_000), fewer: 2_400, short_ns: run(2_400), probed: None })
            .collect()
    }

    #[test]
    fn a_delayed_short_run_makes_no_hop_impossibly_short() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let turns = turns(8, 0.15, &mut rng);
            let alone = |turn: &TwoRuns| (turn.long_ns - turn.short_ns) / (turn.hops - turn.fewer) as f64;
            let (least_alone, least) = (
                turns.iter().map(alone).fold(f64::INFINITY, f64::min),
                per_hop(&turns).into_iter().fold(f64::INFINITY, f64::min),
            );
            let shorts_delayed = turns.iter().filter(|turn| turn.short_ns > 40e6).count();
            if shorts_delayed < turns.len() / 2 {
                assert!(least > 0.9 * HOP_NS, "{least} where one by one it is {least_alone}");
            }
        }
        // A turn by itself gives such a hop: the kernel needs more for a switch.
        let mut delayed = turns(8, 0.0, &mut rng);
        delayed[3].short_ns += 46e6;
        assert!((delayed[3].long_ns - delayed[3].short_ns) / 9_600.0 < 0.1 * HOP_NS);
        assert!(per_hop(&delayed).iter().all(|ns| *ns > 0.9 * HOP_NS));
        assert!(interval(&delayed).unwrap().low > 0.9 * HOP_NS, "{:?}", interval(&delayed));
    }

    #[test]
    fn the_interval_covers_the_hop() {
        let mut rng = fastrand::Rng::with_seed(2);
        let covers = |rng: &mut fastrand::Rng| interval(&turns(8, 0.05, rng)).unwrap().contains(HOP_NS);
        let covering = (0..400).filter(|_| covers(&mut rng)).count();
        assert!(covering >= 376, "{covering} of 400");
        assert!(interval(&turns(5, 0.0, &mut rng)).is_none(), "too few turns");
    }
}
