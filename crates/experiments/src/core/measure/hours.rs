//! At which hours of the day a core was shared.

use crate::core::record::Hour;
use instruments::neighbour::Sharing;

const HOUR_S: f64 = 3600.0;

/// Of steps, by their seconds since the run began, and of a run that began at this second since 1970.
pub fn hours(steps: &[(f64, Sharing)], began_unix_s: u64) -> Vec<Hour> {
    let mut counts = [(0_u64, 0_u64); 24];
    for (at_s, sharing) in steps {
        let hour = ((began_unix_s as f64 + at_s) / HOUR_S) as usize % counts.len();
        let (alone, shared) = &mut counts[hour];
        *alone += u64::from(*sharing == Sharing::Alone);
        *shared += u64::from(*sharing == Sharing::Shared);
    }
    // Steps of a run lie equally far apart.
    let apart_s = match steps {
        [(first, _), .., (last, _)] => (last - first) / (steps.len() - 1) as f64,
        _ => 0.0,
    };
    let hour = |(hour, &(alone, shared)): (usize, &(u64, u64))| {
        let steps = alone + shared;
        let (hour, seconds, shared_share) = (hour as u8, steps as f64 * apart_s, shared as f64 / steps as f64);
        (steps > 0).then_some(Hour { hour, steps, seconds, shared_share })
    };
    counts.iter().enumerate().filter_map(hour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Sharing::{Alone, Neither, Shared};

    #[test]
    fn a_night_over_midnight_is_told_by_its_hours() {
        // A step a minute from 22:30 on, for 26 hours: the half hour after 22:30 is seen twice.
        let began = 86_400 * 20_000 + 22 * 3_600 + 1_800;
        let of = |minute: usize| match ((minute + 30) / 60 + 22) % 24 {
            23 => Shared,
            0 => [Alone, Shared][minute % 2],
            5 => Neither,
            _ => Alone,
        };
        let steps: Vec<_> = (0..26 * 60).map(|minute| (minute as f64 * 60.0, of(minute))).collect();
        let found = hours(&steps, began);
        let at = |hour: u8| found.iter().find(|one| one.hour == hour).map(|one| (one.steps, one.shared_share));
        assert!(found.iter().all(|one| (one.seconds - 60.0 * one.steps as f64).abs() < 1e-6), "{found:?}");
        assert_eq!(found.len(), 23, "one hour was neither: {found:?}");
        assert_eq!(
            (at(22), at(23), at(0), at(1), at(5)),
            (Some((90, 0.0)), Some((120, 1.0)), Some((90, 0.5)), Some((60, 0.0)), None)
        );
    }
}
