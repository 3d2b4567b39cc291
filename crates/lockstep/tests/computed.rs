//! Clocks, ranks, places and injected interruptions of a job.

use chance::{Gap, Ranks};
use instruments::clock::Clock;
use instruments::grind::Grind;
use instruments::statistics::Interval;
use lockstep::alignment::{Alignment, Exchange, Meeting};
use lockstep::greeting::{Allowed, Greeting, assigned, build, obstacle};
use lockstep::prediction::{Job, agree};
use lockstep::traces::{Traces, read, shortest_kept_ns, written};
use lockstep::watched::{Injection, Schedule, Watched};
use serde_json::json;
use std::time::{Duration, Instant};

// Aligned clocks: the true offset is within the stated error, on any network path.

/// A clock with an offset and a drift.
struct Other {
    off_ns: f64,
    drift: f64,
}

impl Other {
    fn reading_at(&self, reference_ns: f64) -> f64 {
        (reference_ns - self.off_ns) / (1.0 + self.drift)
    }

    fn meet(&self, from_ns: f64, ways: &mut impl FnMut() -> f64) -> Meeting {
        let mut now = from_ns;
        let exchanges: Vec<Exchange> = (0..100)
            .map(|_| {
                let asked_ns = now;
                let there = asked_ns + ways();
                now = there + ways();
                Exchange { asked_ns, there_ns: self.reading_at(there), answered_ns: now }
            })
            .collect();
        Meeting::of(&exchanges).unwrap()
    }
}

#[test]
fn moment_between_two_meetings_is_within_the_stated_error() {
    for seed in 0..200 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let other = Other { off_ns: 1e12 * (rng.f64() - 0.5), drift: 1e-4 * (rng.f64() - 0.5) };
        // One way may be much slower than the other, and some messages are delayed by a millisecond.
        let mut late = rng.fork();
        let mut ways = || if late.u8(..10) == 0 { 1e6 * late.f64() } else { 200.0 + 3_000.0 * late.f64() };
        let (before, after) = (other.meet(1e9, &mut ways), other.meet(3e9, &mut ways));
        let line = Alignment::through(before, after);
        for place in 0..=10 {
            let reference_ns = 1.001e9 + 1.999e9 * f64::from(place) / 10.0;
            let off = (line.reference_ns(other.reading_at(reference_ns)) - reference_ns).abs();
            // A meeting lasts as long as its exchange, in which the clock drifts a little.
            assert!(off <= line.error_ns() + 1.0, "seed {seed}: off by {off} ns, {} stated", line.error_ns());
        }
        // The share of the reference's time that its own clock loses.
        assert!((line.drift() - other.drift).abs() < 1e-5, "{} {}", line.drift(), other.drift);
    }
}

#[test]
fn offset_is_that_of_the_shortest_round_trip() {
    let exchange = |asked_ns, there_ns, answered_ns| Exchange { asked_ns, there_ns, answered_ns };
    let found = Meeting::of(&[exchange(0.0, 900.0, 1_000.0), exchange(2_000.0, 2_040.0, 2_100.0)]).unwrap();
    assert_eq!(found, Meeting { there_ns: 2_040.0, offset_ns: 10.0, error_ns: 50.0 });
    assert_eq!(Meeting::of(&[]), None);
}

// Ranks that were not started alike are detected, and the message names the rank and the difference.

fn text(version: &str, build: u64, flags: &str, problem: Option<&str>) -> String {
    let (version, flags, problem) = (version.to_owned(), flags.to_owned(), problem.map(str::to_owned));
    serde_json::to_string(&Greeting { version, build, flags, problem }).unwrap()
}

fn obstacle_of(texts: &[String]) -> String {
    obstacle(texts).unwrap_or_default()
}

#[test]
fn equal_ranks_have_no_obstacle() {
    assert_eq!(obstacle_of(&[text("1", 7, "--step 1ms", None), text("1", 7, "--step 1ms", None)]), "");
}

#[test]
fn different_rank_is_named_with_the_difference() {
    let first = || text("1", 7, "--step 1ms", None);
    let others = [
        (text("1", 7, "--step 2ms", None), "rank 1 was called with `--step 2ms`, and rank 0 with `--step 1ms`"),
        (text("2", 8, "--step 1ms", None), "rank 1 is lockstep 2, and rank 0 is lockstep 1"),
        (text("1", 8, "--step 1ms", None), "rank 1 is another build of lockstep than rank 0"),
        ("hello".to_owned(), "rank 1 runs another version of lockstep"),
        (text("1", 7, "", Some("no such flag")), "rank 1: no such flag"),
    ];
    for (other, wanted) in others {
        let obstacle = obstacle_of(&[first(), other]);
        assert!(obstacle.starts_with(wanted), "{obstacle}");
    }
}

#[test]
fn problem_of_all_ranks_names_no_single_rank() {
    let wrong = || text("1", 7, "", Some("no such flag"));
    assert_eq!(obstacle_of(&[wrong(), wrong()]), "no such flag");
}

#[test]
fn build_of_a_program_is_constant() {
    assert_eq!(build().unwrap(), build().unwrap());
}

// Ranks are spread over what their launcher lets them use.

fn allowed(host: &str, cpus: &[usize]) -> Allowed {
    Allowed { host: host.to_owned(), cpus: cpus.to_vec() }
}

fn of(ranks: &[Allowed]) -> Vec<usize> {
    assigned(ranks).into_iter().map(Option::unwrap).collect()
}

#[test]
fn unbound_ranks_are_spread_evenly_on_each_machine() {
    let ranks: Vec<Allowed> = (0..5).map(|_| allowed("a", &[0, 1])).chain([allowed("b", &[0, 1])]).collect();
    assert_eq!(of(&ranks), [0, 1, 0, 1, 0, 0]);
}

#[test]
fn bound_rank_stays_and_other_ranks_avoid_its_cpu() {
    assert_eq!(of(&[allowed("a", &[1]), allowed("a", &[0, 1]), allowed("a", &[1, 2])]), [1, 0, 2]);
    assert_eq!(assigned(&[allowed("a", &[])]), [None]);
}

// Interruptions of known form: their moments, and their effect on a rank at work.

#[test]
fn injection_is_parsed_and_invalid_text_is_refused() {
    let read = |text: &str| text.parse::<Injection>();
    assert_eq!(read("200us:10ms"), Ok(Injection { length_ns: 200_000, every_ns: 10_000_000 }));
    for (text, wanted) in [
        ("200us", "needs two times"),
        ("0:10ms", "longer than 0"),
        ("6ms:10ms", "twice the first"),
        ("200:10ms", "the unit is missing"),
    ] {
        assert!(read(text).unwrap_err().contains(wanted), "{text}");
    }
}

#[test]
fn phase_of_each_rank_differs_and_depends_on_the_seed() {
    let injection: Injection = "200us:10ms".parse().unwrap();
    let phases: Vec<u64> = (0..50).map(|rank| injection.phase_ns(3, rank)).collect();
    assert_eq!(phases, (0..50).map(|rank| injection.phase_ns(3, rank)).collect::<Vec<_>>());
    assert!(phases.iter().all(|phase| *phase < injection.every_ns));
    let mut different = phases.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), phases.len());
}

/// Compares every third moment with a list of all moments.
#[test]
fn moment_in_an_interruption_is_held_until_its_end() {
    let (first, length, every) = (17, 5, 20);
    let mut schedule = Schedule::of_ticks(first, length, every);
    for now in (0..400).step_by(3) {
        let inside = now >= first && (now - first) % every < length;
        let end = inside.then(|| now - (now - first) % every + length);
        assert_eq!(schedule.until(now), end, "at {now}");
    }
}

/// Under any disturbance, an interruption takes effect, lasts as long as it should or longer, and is recorded.
#[test]
fn injected_interruption_holds_the_work_and_is_recorded() {
    let clock = Clock::calibrate(Duration::from_millis(20)).clock;
    let grind = Grind { ns_per_load: 1.0, overhead_ns: 0.0, cycles_per_load: None, search: Vec::new() };
    let ticks = |us: f64| clock.to_ticks(us * 1e3);
    let begin = || {
        let due = clock.stamp() + ticks(3_000.0);
        let mut watched = Watched::new(clock, &grind, Some(Schedule::of_ticks(due, ticks(1_000.0), ticks(1e9))));
        watched.take_seen();
        (due, clock.stamp(), watched)
    };
    let first = Instant::now();
    loop {
        let (due, start, mut watched) = begin();
        // A thread that loses its CPU here begins the work after the interruption.
        if start < due {
            let ends = due + ticks(1_000.0);
            let (grinds, end) = watched.work_until(start, due + ticks(5_000.0));
            let seen = watched.take_seen();
            let injected: Vec<_> = seen.iter().filter(|seen| seen.injected).collect();
            // A thread without a CPU in that time meets none.
            let met = seen.iter().any(|one| one.length > ticks(900.0));
            assert!(met, "{seen:?}");
            assert!(injected.iter().all(|one| one.start + one.length >= ends), "{injected:?}");
            assert!(seen.windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start), "{seen:?}");
            let lost: u64 = seen.iter().map(|one| one.length).sum();
            assert!(lost <= end - start, "{lost} of {}", end - start);
            if grinds > 0 && !injected.is_empty() {
                return;
            }
        }
        assert!(first.elapsed() < Duration::from_secs(120), "it never had the CPU for some milliseconds");
    }
}

// Predictions of the model, compared with closed forms and with a walk through the steps.

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

fn normal(random: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
}

#[test]
fn equal_values_differ_in_one_of_twenty_pairs() {
    const PAIRS: usize = 4_000;
    let mut random = fastrand::Rng::with_seed(17);
    for error in [1.0, 2.0, 5.0] {
        let mut measured = |error: f64| {
            let value = 100.0 + error * normal(&mut random);
            (value, Interval::new(value - 1.96 * error, value + 1.96 * error))
        };
        let differ = (0..PAIRS).filter(|_| !agree(measured(1.0), measured(error))).count();
        assert!((140..=260).contains(&differ), "errors 1 and {error}: {differ} of {PAIRS}");
    }
}

#[test]
fn values_beyond_their_common_error_differ() {
    let value = |value: f64, half: f64| (value, Interval::new(value - half, value + half));
    // The intervals overlap, but neither contains the other value.
    assert!(agree(value(1.0304, 0.0010), value(1.0316, 0.0009)));
    assert!(!agree(value(1.0304, 0.0010), value(1.0320, 0.0009)));
}
