//! Finds periodic losses among the gaps in which a thread did not run: the kernel's tick, the host's tick.
//!
//! A regular cause leaves a *comb*: gaps at a constant distance, its *teeth*. Its frequency and the multiples of that
//! stand out in the Rayleigh spectrum of the gaps' start times; every such line, divided by 1, 2, 3, …, is a candidate
//! for the fundamental. Of all candidates the one wins whose comb explains the gaps best: at each tooth there is a gap
//! or there is none, and the likelihood of these answers, against that of gaps by chance, is highest at the
//! fundamental. Half the period doubles the misses, twice the period halves the hits. The gaps so explained are taken
//! out and the search is repeated, so that several combs are told apart.
//!
//! Long gaps are searched first. A tick of 40 µs is lost among tens of thousands of gaps of 0.2 µs that the host or the
//! core's other thread leaves, and there is nothing to be seen of it in a spectrum in which all gaps count alike. Each
//! tooth is given the longest gap within its reach, since a short one may be there by chance. A frequency that is known
//! to be likely, as the kernel's own, is a candidate whether it stands out or not.
use crate::statistics::order::{median, sorted};

mod comb;
mod fold;
mod found;

pub use comb::SEARCHED_HZ;
use comb::{Comb, Scene};
pub use fold::{Folded, fold};
pub use found::{Gap, Period};

/// Of searches among gaps without any rhythm, at most this part finds a period. It bounds each of two tests that a
/// comb has to pass, the spectrum's and the teeth's.
pub const FALSE_ALARMS: f64 = 0.01;

/// More combs than this in one place is not what a machine does.
const MOST_COMBS: usize = 8;

/// Gaps at least so long are searched, one length after the other. The kernel has no visit shorter than 1 µs.
const LENGTHS_NS: [f64; 3] = [10_000.0, 1_000.0, 0.0];

/// Finds the periods among `gaps` seen while observing for `span_ns`, those of most gaps first.
///
/// Gaps may come in any order; those outside the observation are ignored. Only significant periods are given, see
/// [`FALSE_ALARMS`]; for each of them the observation should span at least some ten teeth. Of an observation longer
/// than 100 s only the first 100 s are used.
///
/// ```
/// use instruments::period::{Gap, find};
///
/// let gaps: Vec<Gap> = (0..250).map(|i| Gap { start_ns: 1e6 + 4e6 * f64::from(i), duration_ns: 2_000.0 }).collect();
/// let periods = find(&gaps, 1e9);
/// assert_eq!(periods.len(), 1);
/// assert!((periods[0].period_ns - 4e6).abs() < 400.0);
/// assert_eq!(periods[0].presence, 1.0);
/// ```
pub fn find(gaps: &[Gap], span_ns: f64) -> Vec<Period> {
    find_among(gaps, span_ns, &[])
}

/// As [`find`], and tries the frequencies that are `likely`, in Hz, also where nothing in the spectrum points to them.
pub fn find_among(gaps: &[Gap], span_ns: f64, likely: &[f64]) -> Vec<Period> {
    if !span_ns.is_finite() {
        return Vec::new();
    }
    let span = span_ns.min(100e9);
    let mut open: Vec<Gap> = gaps.iter().copied().filter(|gap| (0.0..span).contains(&gap.start_ns)).collect();
    open.sort_by(|a, b| a.start_ns.total_cmp(&b.start_ns));
    let total = open.len();
    let mut explained: Vec<f64> = Vec::new();
    let mut periods: Vec<Period> = Vec::new();
    for _ in 0..MOST_COMBS {
        let Some((comb, least)) = strongest_of_the_longest(&open, &explained, span, likely) else { break };
        let taken = comb.longest_at_each_tooth(&open, least);
        // What begins at a tooth and outlasts the next is something else, as a preemption that the tick has brought.
        let durations = taken.iter().map(|&index| open[index].duration_ns).filter(|&length| length < comb.period);
        let durations: Vec<f64> = durations.collect();
        // What is left of a comb already found, gaps that missed their tooth, is no comb of its own.
        if !durations.is_empty() && !periods.iter().any(|found| comb.is_rest_of(found)) {
            periods.push(period(&comb, &durations, total));
        }
        explained = sorted(&[explained, taken.iter().map(|&index| open[index].start_ns).collect()].concat());
        let mut index = 0..;
        open.retain(|_| index.next().is_some_and(|index| taken.binary_search(&index).is_err()));
    }
    periods.sort_by_key(|period| std::cmp::Reverse(period.gaps));
    periods
}

/// The strongest comb among the longest gaps that have one, and the least length of a gap that it explains.
fn strongest_of_the_longest(open: &[Gap], explained: &[f64], span: f64, likely: &[f64]) -> Option<(Comb, f64)> {
    let longer = |least: f64| -> Vec<f64> {
        open.iter().filter(|gap| gap.duration_ns >= least).map(|gap| gap.start_ns).collect()
    };
    let rungs = LENGTHS_NS.map(|least| (least, longer(least)));
    let scene = |open| Scene { open, explained, span, likely, false_alarms: FALSE_ALARMS / LENGTHS_NS.len() as f64 };
    // Nothing new is there to be found where no gap is added.
    let is_new = |rung: usize| rung == 0 || rungs[rung].1.len() > rungs[rung - 1].1.len();
    let found = (0..rungs.len()).filter(|&rung| is_new(rung)).find_map(|rung| {
        let comb = scene(&rungs[rung].1).strongest()?;
        Some((rung, comb))
    });
    let (rung, mut comb) = found?;
    let mut least = LENGTHS_NS[rung];
    // Some of its gaps may be shorter: followed down for as long as that explains more.
    for (shorter, times) in &rungs[rung + 1..] {
        let further = comb.weighed(&scene(times));
        if further.evidence <= comb.evidence {
            break;
        }
        (comb, least) = (further, *shorter);
    }
    Some((comb, least))
}

fn period(comb: &Comb, durations: &[f64], total: usize) -> Period {
    Period {
        period_ns: comb.period,
        phase_ns: comb.phase.rem_euclid(comb.period),
        gaps: durations.len(),
        median_gap_ns: median(durations).unwrap_or(0.0),
        longest_gap_ns: durations.iter().copied().fold(0.0, f64::max),
        total_ns: durations.iter().sum(),
        share_of_gaps: durations.len() as f64 / total as f64,
        presence: comb.presence,
    }
}
