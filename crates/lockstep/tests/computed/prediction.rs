//! Predictions of the model, compared with closed forms and with a walk through the steps.

use chance::{Gap, Ranks};
use lockstep::prediction::Job;
use lockstep::traces::{Traces, read, shortest_kept_ns, written};
use serde_json::json;

const MS: u64 = 1_000_000;

/// Returns 200 µs every 10 ms for ten seconds.
fn injected(phase_ns: u64) -> Vec<Gap> {
    (0..1_000).map(|n| Gap { start_ns: n * 10 * MS + phase_ns, duration_ns: 200_000 }).collect()
}

fn ranks(phases: &[u64]) -> Ranks {
    Ranks::new(phases.iter().map(|phase| (injected(*phase), MS)), 10_000 * MS).unwrap()
}

/// Steps of 1 ms fill the time between interruptions that never coincide: each rank takes 200 µs of every 10 ms.
#[test]
fn alternate_interruptions_of_ranks_add_up() {
    for (phases, lost) in [(vec![0], 1.0), (vec![0, 5 * MS], 2.0), (vec![0, 2 * MS, 5 * MS, 8 * MS], 4.0)] {
        let ranks = ranks(&phases);
        let predicted = Job { ranks: &ranks, barrier_ns: 0 }.as_recorded(phases.len(), 1);
        let wanted = 10.0 / (10.0 - 0.2 * lost);
        assert!((predicted.slowdown / wanted - 1.0).abs() < 2e-3, "{} {wanted}", predicted.slowdown);
    }
}

#[test]
fn common_interruptions_cost_once_and_more_if_apart() {
    let ranks = ranks(&[MS; 8]);
    let job = Job { ranks: &ranks, barrier_ns: 0 };
    let (together, one) = (job.as_recorded(8, 1).slowdown, job.as_recorded(1, 1).slowdown);
    assert!((together / one - 1.0).abs() < 1e-9, "{together} {one}");
    let apart = job.apart(8, 1);
    assert!(apart > 1.08 && together < 1.03, "{together} {apart}");
}

#[test]
fn step_includes_the_barrier_with_noise_and_without() {
    let ranks = ranks(&[0]);
    let job = Job { ranks: &ranks, barrier_ns: MS };
    assert_eq!(job.quiet_ns(1), 2e6);
    // Five steps fill a period: each interruption that is met delays them, until it always falls into a barrier.
    let slowdown = job.as_recorded(1, 1).slowdown;
    assert!((1.0..1.01).contains(&slowdown), "{slowdown}");
}

/// Groups of one rank are the nodes of the independent model, which has a closed form: a gap of g a second, steps of T.
#[test]
fn groups_of_one_are_independent_nodes() {
    let gap = vec![Gap { start_ns: 0, duration_ns: MS }];
    let ranks = Ranks::new([(gap, MS)], 1_000 * MS).unwrap();
    let groups = Job { ranks: &ranks, barrier_ns: 0 }.groups(1);
    for nodes in [1_u64, 10, 1_000, 100_000] {
        let n = nodes as f64 + 1.0;
        let wanted = 2.0 - (0.999_f64.powf(n) - 0.998_f64.powf(n)) / (0.001 * n);
        let found = groups.slowdown(nodes);
        assert!((found.slowdown - wanted).abs() < 1e-9, "{nodes}: {} {wanted}", found.slowdown);
        // The result depends on one gap, and the interval shows it.
        let ends = found.interval.unwrap();
        assert!(ends.contains(wanted) && (nodes < 100_000 || ends.low < 1.3), "{ends:?}");
    }
    assert_eq!((groups.together(), groups.supported_nodes()), (groups.slowdown(1).slowdown, 692));
}

#[test]
fn groups_with_common_noise_lose_less_than_independent_ones() {
    let (same, other) = (ranks(&[0, 0]), ranks(&[0, 5 * MS]));
    let at = |ranks: &Ranks, nodes| Job { ranks, barrier_ns: 0 }.groups(2).slowdown(nodes).slowdown;
    assert!(at(&same, 20) < at(&other, 20));
    // Ten groups that share are ten independent nodes.
    let single = ranks(&[0]);
    let ten = Job { ranks: &single, barrier_ns: 0 }.groups(1).slowdown(10).slowdown;
    assert!((at(&same, 20) - ten).abs() < 1e-9);
}

/// Returns two ranks that are interrupted at random, for a number of milliseconds.
fn at_random(random: &mut fastrand::Rng, span_ms: u64) -> Ranks {
    let mut gaps = || {
        let mut gaps = Vec::new();
        let mut at = random.u64(..20 * MS);
        while at + MS < span_ms * MS {
            let duration_ns = random.u64(50_000..600_000);
            gaps.push(Gap { start_ns: at, duration_ns });
            at += duration_ns + random.u64(1..40 * MS);
        }
        (gaps, MS)
    };
    Ranks::new([gaps(), gaps()], span_ms * MS).unwrap()
}

/// In each of 400 pairs of recordings of the same noise, one predicts and the other, half as long, is the measurement.
#[test]
fn prediction_interval_has_its_nominal_coverage() {
    let mut random = fastrand::Rng::with_seed(3);
    let (mut within, mut in_the_mean_s) = (0, 0);
    for seed in 0..400 {
        let (recorded, made) = (at_random(&mut random, 1_000), at_random(&mut random, 500));
        let predicted = Job { ranks: &recorded, barrier_ns: 1_000 }.as_recorded(2, seed);
        let measured = Job { ranks: &made, barrier_ns: 1_000 }.as_recorded(2, seed).slowdown;
        in_the_mean_s += usize::from(predicted.interval.unwrap().contains(measured));
        let of_steps = predicted.of_steps(500.0 * MS as f64, 1_000.0 * MS as f64);
        within += usize::from(of_steps.interval.unwrap().contains(measured));
    }
    println!("within: {within} of 400; in the interval of the mean: {in_the_mean_s}");
    assert!((368..=392).contains(&within), "{within}");
}

#[test]
fn a_trace_is_read_as_it_was_written() {
    let gaps = injected(5);
    assert_eq!(read(&written(&gaps, 10_000 * MS)), Ok((gaps, 10_000 * MS)));
    assert_eq!(read(&written(&[], 7)), Ok((Vec::new(), 7)));
    assert_eq!(read("# span_ns 7;1 x").unwrap_err(), "part 2 of its trace is not `start_ns duration_ns`");
    assert_eq!(read("1 2").unwrap_err(), "its trace does not state its length");
}

#[test]
fn traces_of_a_record_are_complete_and_equally_long() {
    let rank = |rank: u64, span: u64| json!({"figure": "rank", "rank": rank, "trace": format!("# span_ns {span};1 2")});
    let wrong = |rows: Vec<serde_json::Value>| Traces::of_rows(&rows).unwrap_err();
    let steps = || json!({"figure": "steps"});
    assert_eq!(Traces::of_rows(&[steps(), rank(1, 9), rank(0, 9)]).unwrap().gaps.len(), 2);
    assert_eq!(wrong(vec![steps()]), "the record has no ranks");
    assert_eq!(wrong(vec![rank(0, 9), rank(2, 9)]), "rank 1 is missing, or another rank occurs twice");
    assert_eq!(wrong(vec![rank(0, 9), rank(1, 8)]), "rank 1 was watched for 8 ns, and rank 0 for 9 ns");
}

#[test]
fn only_the_longest_of_too_many_gaps_are_kept() {
    let gaps: Vec<Gap> = [5, 1, 3, 3, 9].iter().map(|&duration_ns| Gap { start_ns: 0, duration_ns }).collect();
    let kept = |room| gaps.iter().filter(|gap| gap.duration_ns >= shortest_kept_ns(&gaps, room)).count();
    // Gaps as long as the first that does not fit are dropped with it.
    assert_eq!([5, 4, 3, 2, 1].map(kept), [5, 4, 2, 2, 1]);
}
