//! Echoes: spikes that are another one plus a constant delay.
//!
//! An interruption that hits a few of the operations in one spike delays these by its own length, so they form a later
//! and smaller spike of the same shape, blurred a little by the interruption's jitter.
use super::Spike;
use crate::tally::Tally;

/// An echo holds at most this part of its parent: in 1998 interruptions hit 0.3 to 3 % of the operations. What happens
/// more often is a path of its own.
const LARGEST: f64 = 0.1;

/// How much wider than its parent an echo may be, as a part of the delay: the jitter of what caused it.
const JITTER: f64 = 0.25;

/// An echo narrower than this part of its parent cannot be a random part of it; some slack for few samples.
const NARROWEST: f64 = 0.5;

/// Two delays that differ by less than this part are the same delay.
const SAME_DELAY: f64 = 0.08;

/// A spike that may be the echo of another.
struct Pair {
    echo: usize,
    parent: usize,
    delay: f64,
}

/// Marks the echoes among `spikes`, largest first.
///
/// A parent is never itself an echo, so the echo of an echo goes to the root. Where several parents fit, a delay that
/// other spikes show as well decides, then the larger share.
pub(super) fn mark(spikes: &mut [Spike], tally: &Tally, resolution: f64) {
    let spreads: Vec<f64> = spikes.iter().map(|spike| spread(spike, tally)).collect();
    let fits = |parent: usize, echo: usize| {
        let delay = spikes[echo].median - spikes[parent].median;
        let slack = 2.0 * resolution;
        let small = spikes[echo].share <= LARGEST * spikes[parent].share;
        let narrow = spreads[echo] <= spreads[parent] + (JITTER * delay).max(slack);
        let wide = spreads[echo] + slack >= NARROWEST * spreads[parent];
        (delay > 0.0 && small && narrow && wide).then_some(Pair { echo, parent, delay })
    };
    let pairs: Vec<Pair> = (0..spikes.len())
        .flat_map(|echo| (0..echo).map(move |parent| (parent, echo)))
        .filter_map(|(parent, echo)| fits(parent, echo))
        .collect();
    for echo in 0..spikes.len() {
        let of_roots = pairs.iter().filter(|pair| pair.echo == echo && spikes[pair.parent].echo_of.is_none());
        // The parents come in order of share, and only a strictly better one replaces an earlier one.
        let best = of_roots.rev().max_by_key(|pair| is_shared(pair, &pairs, resolution));
        if let Some(pair) = best {
            spikes[echo].echo_of = Some(spikes[pair.parent].label.clone());
            spikes[echo].delay = Some(pair.delay);
        }
    }
}

/// The distance from the 10th to the 90th percentile.
fn spread(spike: &Spike, tally: &Tally) -> f64 {
    // The ends came from whole numbers; where they are too large for that to be exact, the spread is not needed
    // exactly.
    let inside = tally.between(spike.from as u64..=spike.to as u64);
    let at = |q| inside.quantile(q).unwrap_or(0) as f64;
    at(0.9) - at(0.1)
}

/// Whether another spike follows another parent after the same delay.
fn is_shared(pair: &Pair, pairs: &[Pair], resolution: f64) -> bool {
    let tolerance = SAME_DELAY * pair.delay + resolution;
    let other = |other: &&Pair| other.echo != pair.echo && other.parent != pair.parent;
    pairs.iter().filter(other).any(|other| (other.delay - pair.delay).abs() <= tolerance)
}
