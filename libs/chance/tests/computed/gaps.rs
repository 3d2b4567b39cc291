//! Recorded interruptions: the delay compared with a walk through every starting moment, and traces that cannot be
//! read.
use chance::{Chance, Continuous, Gap, Gaps, Simulation, SpanFrom};
use proptest::prelude::*;

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
fn walked(gaps: &[Gap], span_ns: u64, work_ns: u64, start: u64) -> f64 {
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
        let walks: Vec<f64> = (0..span_ns).map(|start| walked(&gaps, span_ns, work_ns, start)).collect();
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
