//! How an interval is divided between soaking and resting, and between one soaker and several.

use std::time::Duration;

/// A part of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Soakers that grind on each CPU; with 0 they rest.
    pub active: usize,
    pub length: Duration,
}

/// A rest takes this part of an interval.
const REST: u32 = 16;
/// Stretches that are compared follow each other this closely, so that the machine's drift meets both.
const PAIR: Duration = Duration::from_millis(200);

/// The stretches of one interval, in an order and at times that nothing periodic can follow.
///
/// One soaker grinds all the time, but for a rest at a random moment. Several take turns with one alone, pair by pair,
/// each pair in random order.
pub fn stretches(interval: Duration, grinders: usize, rests: bool, rng: &mut fastrand::Rng) -> Vec<Stretch> {
    let rest = if rests { interval / REST } else { Duration::ZERO };
    let soaked = interval - rest;
    let mut parts = if grinders == 1 { around_a_moment(soaked, rng) } else { in_pairs(soaked, grinders, rng) };
    if rests {
        let place = if grinders == 1 { 1 } else { rng.usize(..=parts.len()) };
        parts.insert(place, Stretch { active: 0, length: rest });
    }
    parts
}

fn around_a_moment(soaked: Duration, rng: &mut fastrand::Rng) -> Vec<Stretch> {
    let before = soaked.mul_f64(rng.f64());
    [before, soaked - before].map(|length| Stretch { active: 1, length }).to_vec()
}

fn in_pairs(soaked: Duration, grinders: usize, rng: &mut fastrand::Rng) -> Vec<Stretch> {
    let pairs = (soaked.as_nanos() / PAIR.as_nanos()).max(1) as u32;
    let length = soaked / (2 * pairs);
    let mut parts = Vec::with_capacity(2 * pairs as usize + 1);
    for _ in 0..pairs {
        let mut pair = [1, grinders];
        rng.shuffle(&mut pair);
        parts.extend(pair.map(|active| Stretch { active, length }));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretches_fill_the_interval() {
        let mut rng = fastrand::Rng::with_seed(8);
        for _ in 0..1_000 {
            let (interval, grinders, rests) =
                (Duration::from_millis(rng.u64(100..60_000)), rng.usize(1..5), rng.bool());
            let parts = stretches(interval, grinders, rests, &mut rng);
            let sum: Duration = parts.iter().map(|part| part.length).sum();
            assert!(interval - sum < Duration::from_micros(1), "{interval:?} is not {sum:?}");
            let count = |active| parts.iter().filter(|part| part.active == active).count();
            assert_eq!(count(0), usize::from(rests));
            assert!(grinders == 1 || count(1) == count(grinders), "{parts:?}");
        }
    }
}
