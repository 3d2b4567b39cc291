//! Workers recorded at the same time, compared with a walk through every starting moment and with closed forms.
use chance::{Continuous, Delay, Gap, Ranks};
use proptest::prelude::*;

const SPAN: u64 = 40;

/// A worker's gaps in a recording of [`SPAN`], and its work.
fn workers() -> impl Strategy<Value = Vec<(Vec<Gap>, u64)>> {
    let gaps = prop::collection::vec(any::<bool>(), SPAN as usize).prop_map(|stopped| {
        let all_stopped = stopped.iter().all(|stop| *stop);
        let stops = stopped.iter().enumerate().filter(|(at, stop)| **stop && !(all_stopped && *at == 0));
        stops.map(|(at, _)| Gap { start_ns: at as u64, duration_ns: 1 }).collect::<Vec<_>>()
    });
    prop::collection::vec((gaps, 1_u64..90), 1..5)
}

/// Returns the end of the work that begins in the middle of nanosecond `start`, in half nanoseconds.
fn walked((gaps, work_ns): &(Vec<Gap>, u64), start: u64) -> u64 {
    let stopped = |ns: u64| gaps.iter().any(|gap| (gap.start_ns..gap.start_ns + gap.duration_ns).contains(&ns));
    let (mut half, mut remaining) = (2 * start + 1, 2 * work_ns);
    while remaining > 0 {
        remaining -= u64::from(!stopped(half / 2 % SPAN));
        half += 1;
    }
    half
}

/// Returns the delay of the slowest worker for each starting moment, in nanoseconds.
fn slowest(all: &[(Vec<Gap>, u64)]) -> Vec<f64> {
    let longest = all.iter().map(|worker| worker.1).max().unwrap();
    let late =
        |start: u64| all.iter().map(|worker| walked(worker, start)).max().unwrap() - (2 * start + 1 + 2 * longest);
    (0..SPAN).map(|start| late(start) as f64 / 2.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_slowest_delay_agrees_with_every_starting_moment(all in workers()) {
        let ranks = Ranks::new(all.clone(), SPAN).unwrap();
        for count in 1..=all.len() {
            let (delay, walks) = (ranks.delay(count), slowest(&all[..count]));
            let mean = walks.iter().sum::<f64>() / SPAN as f64;
            // Within a nanosecond, falling delays meet constant ones only at its ends, for any value at the middle.
            prop_assert!((delay.mean_ns() - mean).abs() < 1e-9, "{count}: {} {mean}", delay.mean_ns());
            for limit in 0..=200 {
                let share = walks.iter().filter(|late| late.ceil() <= f64::from(limit)).count() as f64 / SPAN as f64;
                prop_assert!((delay.cdf(f64::from(limit)) - share).abs() < 1e-12, "{count}: at {limit}");
            }
        }
    }

    #[test]
    fn consecutive_steps_end_with_the_slowest_worker(all in workers(), from in 0_u64..80, rest in 0_u64..3) {
        let ranks = Ranks::new(all.clone(), SPAN).unwrap();
        let mut playback = ranks.play(all.len(), from);
        for _ in 0..8 {
            let begin = playback.now_ns();
            let ends: Vec<u64> = all.iter().map(|worker| walked_from(worker, begin)).collect();
            let (length, last) = playback.step(rest);
            let end = *ends.iter().max().unwrap();
            prop_assert_eq!(length, end + rest - begin);
            prop_assert_eq!(last, ends.iter().position(|one| *one == end).unwrap());
        }
    }

    #[test]
    fn an_equal_shift_of_all_recordings_changes_nothing(all in workers(), by in 0_u64..SPAN) {
        let ranks = Ranks::new(all.clone(), SPAN).unwrap();
        let same = |one: &Delay, other: &Delay| (1..9).all(|many| {
            (one.slowest_mean_ns(many) - other.slowest_mean_ns(many)).abs() < 1e-9
        });
        prop_assert!(same(&ranks.delay(all.len()), &ranks.shifted(|| by).delay(all.len())));
    }

    #[test]
    fn a_removed_interval_has_no_effect(all in workers(), from in 0_u64..SPAN, length in 1_u64..SPAN) {
        let to = SPAN.min(from + length);
        let outside = |gap: &&Gap| gap.start_ns < from || gap.start_ns >= to;
        let moved = |gap: &Gap| Gap { start_ns: gap.start_ns - if gap.start_ns < from { 0 } else { to - from }, ..*gap };
        let remaining = |gaps: &[Gap]| gaps.iter().filter(outside).map(moved).collect::<Vec<_>>();
        let rest: Vec<(Vec<Gap>, u64)> = all.iter().map(|(gaps, work_ns)| (remaining(gaps), *work_ns)).collect();
        let ranks = Ranks::new(all.clone(), SPAN).unwrap();
        match (Ranks::new(rest, SPAN - (to - from)), ranks.without(from, to)) {
            (Ok(expected), Some(actual)) => prop_assert_eq!(expected.delay(all.len()), actual.delay(all.len())),
            (expected, actual) => prop_assert!(expected.is_err() && actual.is_none(), "{expected:?} {actual:?}"),
        }
    }
}

/// Returns the end of the work that begins with nanosecond `start`.
fn walked_from((gaps, work_ns): &(Vec<Gap>, u64), start: u64) -> u64 {
    let stopped = |ns: u64| gaps.iter().any(|gap| (gap.start_ns..gap.start_ns + gap.duration_ns).contains(&ns));
    let (mut now, mut remaining) = (start, *work_ns);
    while remaining > 0 {
        remaining -= u64::from(!stopped(now % SPAN));
        now += 1;
    }
    now
}

fn every_ms(phase_us: u64) -> Vec<Gap> {
    (0..1_000).map(|n| Gap { start_ns: n * 1_000_000 + phase_us * 1_000, duration_ns: 100_000 }).collect()
}

#[test]
fn separate_gaps_cost_twice_as_much_as_simultaneous_gaps() {
    let mean = |phases: [u64; 2], workers: usize| {
        let all = phases.map(|phase_us| (every_ms(phase_us), 10_000));
        Ranks::new(all, 1_000_000_000).unwrap().delay(workers).mean_ns()
    };
    // From a random moment: one time in ten in a gap, of which half the length is left on average; one time in a
    // hundred before a gap.
    let one = 0.1 * 50_000.0 + 0.01 * 100_000.0;
    assert!((mean([300, 300], 1) - one).abs() < 1e-6, "{}", mean([300, 300], 1));
    assert!((mean([300, 300], 2) - one).abs() < 1e-6);
    assert!((mean([300, 700], 2) - 2.0 * one).abs() < 1e-6);
}

/// Two workers with randomly shifted recordings are independent: the slowest has the square of the distribution of
/// one.
#[test]
fn shifted_recordings_are_independent_on_average() {
    let gaps = || vec![Gap { start_ns: 1_000, duration_ns: 20_000 }, Gap { start_ns: 50_000, duration_ns: 3_000 }];
    let ranks = Ranks::new([(gaps(), 5_000), (gaps(), 5_000)], 100_000).unwrap();
    let expected = ranks.delay(1).slowest_mean_ns(2);
    let mut next = 0;
    // Every shift of the second against the first, in steps of 100 ns.
    let means = (0..1_000).map(|place| {
        next = 0;
        let shifted = ranks.shifted(|| std::mem::replace(&mut next, 100 * place));
        shifted.delay(2).mean_ns()
    });
    let mean = means.sum::<f64>() / 1_000.0;
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} {expected}");
    assert!(ranks.delay(2).mean_ns() < 0.6 * expected);
}

#[test]
fn a_worker_with_less_work_is_ahead_by_the_difference() {
    let slow = (Vec::new(), 1_000);
    let quick = (vec![Gap { start_ns: 0, duration_ns: 500 }], 800);
    let ranks = Ranks::new([slow, quick], 10_000).unwrap();
    assert_eq!((ranks.work_ns(1), ranks.work_ns(2), ranks.delay(1).mean_ns()), (1_000, 1_000, 0.0));
    // It is late by the 300 ns of the gap that exceed its lead: all of them for 800 ns of starts before the gap, and
    // falling for 300 ns in it.
    assert!((ranks.delay(2).mean_ns() - (300.0 * 800.0 + 300.0 * 300.0 / 2.0) / 10_000.0).abs() < 1e-9);
}

#[test]
fn an_invalid_recording_error_names_its_worker() {
    let gap = |start_ns, duration_ns| vec![Gap { start_ns, duration_ns }];
    let refused = |second: (Vec<Gap>, u64)| Ranks::new([(gap(0, 1), 5), second], 100).unwrap_err().to_string();
    assert_eq!(refused((gap(90, 20), 5)), "worker 1: the gap ends after the recording, which lasts 100 ns");
    assert_eq!(refused((gap(0, 100), 5)), "worker 1: the gaps fill the whole recording: nothing ever ran");
    assert!(refused((Vec::new(), 0)).starts_with("worker 1: work of 0 ns"));
}
