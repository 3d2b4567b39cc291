//! Recorded interruptions and workers, compared with walks through every starting moment and with closed forms; and traces
//! that cannot be read.

use chance::{Chance, Continuous, Delay, Gap, Gaps, Ranks, Simulation, SpanFrom};
use proptest::prelude::*;

// Recorded interruptions.

/// Gaps as lengths of alternately running and not running.
fn recordings() -> impl Strategy<Value = (Vec<Gap>, u64)> {
    (prop::collection::vec((0_u64..8, 1_u64..6), 1..6), 1_u64..8).prop_map(|(intervals, rest)| {
        let mut now = 0;
        let gap = |(running, duration_ns)| {
            let start_ns = now + running;
            now = start_ns + duration_ns;
            Gap { start_ns, duration_ns }
        };
        let gaps = intervals.into_iter().map(gap).collect();
        (gaps, now + rest)
    })
}

/// Returns the delay of work that starts in the middle of nanosecond `start`, in steps of half a nanosecond.
fn walked_delay(gaps: &[Gap], span_ns: u64, work_ns: u64, start: u64) -> f64 {
    let stopped = |ns: u64| gaps.iter().any(|gap| (gap.start_ns..gap.start_ns + gap.duration_ns).contains(&ns));
    let (mut half, mut remaining, mut late) = (2 * start + 1, 2 * work_ns, 0);
    while remaining > 0 {
        if stopped(half / 2 % span_ns) {
            late += 1
        } else {
            remaining -= 1
        }
        half += 1;
    }
    late as f64 / 2.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_delay_agrees_with_every_starting_moment((gaps, span_ns) in recordings(), work_ns in 1_u64..60) {
        let delay = Gaps::new(gaps.clone(), span_ns).unwrap().delay(work_ns).unwrap();
        let walks: Vec<f64> = (0..span_ns).map(|start| walked_delay(&gaps, span_ns, work_ns, start)).collect();
        let mean = walks.iter().sum::<f64>() / span_ns as f64;
        prop_assert!((delay.mean_ns() - mean).abs() < 1e-9, "{} {mean}", delay.mean_ns());
        let longest = walks.iter().copied().fold(0.0, f64::max) as u64 + 1;
        for limit in 0..=longest {
            // A start within a gap stands for delays up to half a nanosecond above and below it.
            let share = walks.iter().filter(|late| late.ceil() <= limit as f64).count() as f64 / span_ns as f64;
            let cdf = delay.cdf(limit as f64);
            prop_assert!((cdf - share).abs() < 1e-12, "at {limit}: {cdf} {share}");
        }
        let holds = |gap: &Gap, start: &u64| (gap.start_ns..gap.start_ns + gap.duration_ns).contains(start);
        let runs = |start: &u64| !gaps.iter().any(|gap| holds(gap, start));
        let running: Vec<f64> = (0..span_ns).filter(runs).map(|start| walks[start as usize]).collect();
        let mean = running.iter().sum::<f64>() / running.len() as f64;
        let delay = Gaps::new(gaps.clone(), span_ns).unwrap().delay_while_running(work_ns).unwrap();
        prop_assert!((delay.mean_ns() - mean).abs() < 1e-9, "{} {mean}", delay.mean_ns());
    }

    #[test]
    fn the_slowest_of_many_has_the_mean_of_its_quantiles((gaps, span_ns) in recordings(), workers in 1_u64..2_000) {
        let delay = Gaps::new(gaps, span_ns).unwrap().delay(7).unwrap();
        let points = 2_000;
        let quantile = |i: i32| delay.slowest_quantile_ns(workers, (f64::from(i) + 0.5) / f64::from(points));
        let mean = (0..points).map(quantile).sum::<f64>() / f64::from(points);
        prop_assert!((delay.slowest_mean_ns(workers) - mean).abs() < 0.05, "{} {mean}", delay.slowest_mean_ns(workers));
    }
}

#[test]
fn a_simulated_delay_has_the_exact_mean() {
    let gaps = Gaps::parse("100,50\n400,10\n700,200\n", Some(1_000)).unwrap().gaps;
    let delay = gaps.delay(250).unwrap();
    let slowest = |chance: &mut Chance| (0..8).map(|_| chance.sample(&delay) as u64).max().unwrap();
    let seen = Simulation::seeded(9).sample(&slowest, 20_000).unwrap();
    let mean = <chance::Exact as chance::Weight>::to_f64(&seen.mean());
    // Whole nanoseconds are truncated: by half of one on average where delays are uniform.
    assert!((mean - delay.slowest_mean_ns(8)).abs() < 2.0, "{mean} {}", delay.slowest_mean_ns(8));
    assert!((delay.binned(1).unwrap().mean() - delay.mean_ns()).abs() < 1.0);
}

#[test]
fn a_recording_supports_quantiles_within_its_length() {
    let delay = Gaps::parse("500,100", Some(1_000_000)).unwrap().gaps.delay(1_000).unwrap();
    assert!(delay.supports(1, 0.99) && delay.supports(600, 0.5));
    assert!(!delay.supports(1, 0.9999) && !delay.supports(1_000, 0.5));
}

#[test]
fn an_unreadable_trace_names_line_and_column() {
    let message = |text: &str| Gaps::parse(text, Some(1_000)).unwrap_err().to_string();
    assert_eq!(message(""), "line 1, column 1: the trace has no gaps");
    assert_eq!(message("start_ns,duration_ns\n# none\n"), "line 2, column 1: the trace has no gaps");
    assert_eq!(message("1,2\n30"), "line 2, column 3: two numbers are needed, start_ns duration_ns");
    assert_eq!(message("1,2,3"), "line 1, column 5: only two numbers are allowed, start_ns duration_ns");
    assert_eq!(message("1 2\n3 4 5"), "line 2, column 5: only two numbers are allowed, start_ns duration_ns");
    assert_eq!(message("1,"), "line 1, column 3: \"\" is not a whole number of nanoseconds");
    assert_eq!(message("1\t-2"), "line 1, column 3: -2 is negative");
    assert_eq!(message("18446744073709551615 1"), "line 1, column 1: the gap ends beyond 2^64 ns");
    assert_eq!(message("# span_ns x\n1 2"), "line 1, column 11: \"x\" is not a whole number of nanoseconds");
    assert_eq!(message("1, -2"), "line 1, column 4: -2 is negative");
    assert_eq!(message("1,2\n x1,2"), "line 2, column 2: \"x1\" is not a whole number of nanoseconds");
    assert_eq!(message("1.5,2"), "line 1, column 1: \"1.5\" is not a whole number of nanoseconds");
    assert_eq!(message("10,20\n\n25,5"), "line 3, column 1: the gap overlaps the one before, which ends at 30 ns");
    assert_eq!(message("990,20"), "line 1, column 1: the gap ends after the recording, which lasts 1000 ns");
    assert_eq!(message("10,0"), "line 1, column 1: a gap of zero length");
    assert_eq!(message("0,1000"), "line 1, column 1: the gaps fill the whole recording: nothing ever ran");
}

#[test]
fn a_recordings_length_comes_from_caller_header_or_last_gap() {
    let read = |text: &str, span_ns| {
        let trace = Gaps::parse(text, span_ns).unwrap();
        (trace.gaps.span_ns(), trace.span_from)
    };
    let own = "# threshold_ns 80\n#span_ns: 500\n10 20\n40 5\n";
    assert_eq!(read(own, Some(700)), (700, SpanFrom::Caller));
    assert_eq!(read(own, None), (500, SpanFrom::Header));
    assert_eq!(read("10 20\n40, 5\n", None), (45, SpanFrom::LastGap));
}

#[test]
fn work_of_no_length_is_rejected() {
    let gaps = Gaps::parse("10,20", Some(1_000)).unwrap().gaps;
    assert!(gaps.delay(0).is_err() && gaps.delay(u64::MAX).is_err());
}

// Workers recorded at the same time.

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
