//! The rate at which runs of the same are called different, and at which a change is found: in recorded runs, and in
//! simulated ones of known distributions. Nothing is measured here, and every random number is the same each time.

use super::judgement::{Judgement, Pair, PriorRuns, Verdict, judged};
use fastrand::Rng;
use instruments::statistics::Interval;
use instruments::statistics::comparison::Estimate;
use record::{Better, Cell, Metric, Naming, Unit, VariationSource};
use std::collections::HashSet;

/// The recorded runs: 24 of one second of each of five experiments, interleaved, on a 2-vCPU virtual machine (AMD EPYC,
/// Linux 6.18).
const RECORDED: &str = include_str!("recorded.tsv");
const EXPERIMENTS: [&str; 5] = ["latency", "throughput", "noise", "load", "ring"];

type Run = Vec<Metric>;

fn recorded(experiment: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for line in RECORDED.lines().filter(|line| line.starts_with(&format!("{experiment}\t"))) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |text: &str| text.parse::<f64>().ok();
        runs.resize(fields.len() - 6, Run::new());
        for (run, values) in runs.iter_mut().zip(&fields[6..]) {
            let values: Vec<Option<f64>> = values.split(',').map(number).collect();
            let at = |place: usize| values.get(place).copied().flatten();
            let ends = |place: usize| at(place).zip(at(place + 1)).map(|(low, high)| Interval::new(low, high));
            let Some(value) = at(0) else { continue };
            let figure: &'static str = fields[2].to_owned().leak();
            run.push(Metric {
                experiment: experiment.into(),
                resolution: number(fields[5]).unwrap_or(0.0),
                unit: if fields[4] == "cycles" { Unit::Cycles } else { Unit::Ns },
                better: if figure == "loops" { Better::More } else { Better::Less },
                variation: variation(fields[3]),
                alone: at(3).map(|value| Estimate::new(value, ends(4))),
                ..Metric::time(&Cell::of([fields[1].to_owned()]), figure, value, ends(1))
            });
        }
    }
    runs
}

fn variation(name: &str) -> VariationSource {
    let all = [
        VariationSource::CorrectedWork,
        VariationSource::Operation,
        VariationSource::SingleOperation,
        VariationSource::Elapsed,
        VariationSource::Limit,
        VariationSource::Rare,
        VariationSource::Others,
    ];
    all.into_iter().find(|source| format!("{source:?}") == name).unwrap()
}

/// Judges B by A, with these other runs.
fn judgements(a: &Run, b: &Run, others: Vec<Run>) -> Vec<(String, Judgement)> {
    let (prior_runs, naming) = (PriorRuns::of_runs(others), Naming::default());
    let name = |metric: &Metric| format!("{}: {}", naming.name(metric), metric.figure);
    let same = |a: &Metric| b.iter().find(|b| name(a) == name(b));
    let pairs: Vec<Pair> = a.iter().filter_map(|a| Some(prior_runs.pair(a, same(a)?, &naming))).collect();
    pairs.iter().map(|pair| name(&pair.a)).zip(judged(&pairs)).collect()
}

fn is_called(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Verdict::Slower | Verdict::Faster | Verdict::Differs)
}

/// Compares 60 pairs of recorded runs, B changed, with some of the other runs.
fn compared(experiment: &str, others: usize, change: impl Fn(&mut Run)) -> Vec<Vec<(String, Judgement)>> {
    let (mut runs, mut random) = (recorded(experiment), Rng::with_seed(9));
    let mut one = |_| {
        random.shuffle(&mut runs);
        let mut b = runs[1].clone();
        change(&mut b);
        judgements(&runs[0], &b, runs[2..2 + others].to_vec())
    };
    (0..60).map(&mut one).collect()
}

#[test]
fn equal_recorded_runs_differ_in_at_most_one_of_twenty() {
    for experiment in EXPERIMENTS {
        for others in [0, 5, 20] {
            let all = compared(experiment, others, |_| {});
            let called: Vec<&(String, Judgement)> = all.iter().flatten().filter(|one| is_called(&one.1)).collect();
            let comparisons = all.iter().filter(|lines| lines.iter().any(|one| is_called(&one.1))).count();
            assert!(comparisons <= 3, "{experiment}, {others} other runs: {comparisons} of 60, {called:?}");
        }
    }
}

/// Returns in how many of 60 comparisons a value that is this many times as large in B is called different.
fn found(experiment: &str, name: &str, times: f64, others: usize) -> usize {
    let change = |run: &mut Run| {
        let scaled = |value: &mut f64, interval: &mut Option<Interval>| {
            *value *= times;
            *interval = interval.map(|ends| ends.scaled(times));
        };
        for metric in
            run.iter_mut().filter(|metric| format!("{}: {}", Naming::default().name(metric), metric.figure) == name)
        {
            scaled(&mut metric.value, &mut metric.interval);
            // An iteration that is much longer than its hold time is no longer mostly work: the kind that its row has.
            if metric.variation == VariationSource::CorrectedWork && times > 1.25 {
                metric.variation = VariationSource::SingleOperation;
            }
            if let Some(alone) = &mut metric.alone {
                scaled(&mut alone.value, &mut alone.interval);
            }
        }
    };
    let all = compared(experiment, others, change);
    all.iter().flatten().filter(|(cell, judgement)| cell == name && is_called(judgement)).count()
}

#[test]
fn change_beyond_the_recorded_scatter_is_found() {
    let round_trip = "std, 1 thread: round trip, median";
    let pair = "std, 1 thread: lock and unlock";
    let loops = "adaptive, 2 threads, 1 lock: loops";
    // A round trip is known in general; a rate of contended iterations, only from runs of the same.
    for (experiment, name, times, others, least) in [
        ("latency", round_trip, 1.05, 0, 48),
        ("latency", round_trip, 1.05, 20, 54),
        ("latency", pair, 1.1, 20, 30),
        ("throughput", loops, 0.9, 20, 30),
    ] {
        let found = found(experiment, name, times, others);
        assert!(found >= least, "{name}, {times} times, {others} other runs: {found} of 60");
    }
    assert_eq!(found("throughput", loops, 0.9, 0), 0, "no single run tells how much contended loops scatter");
}

#[test]
fn larger_slowdown_is_found_at_least_as_often() {
    for others in [0, 5, 20] {
        let times = [1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0];
        let found = times.map(|times| found("latency", "std, 1 thread: round trip, median", times, others));
        assert!(found.is_sorted() && found[6] == 60, "{others} other runs: {found:?}");
    }
}

/// Returns a run whose first value is this many times as large.
fn first_scaled(mut run: Run, times: f64) -> Run {
    run[0].value *= times;
    run[0].interval = run[0].interval.map(|ends| ends.scaled(times));
    run
}

#[test]
fn stated_change_is_found_in_nine_of_ten() {
    let mut random = Rng::with_seed(21);
    for (variation, scatter, others) in [
        (VariationSource::CorrectedWork, 0.01, 0),
        (VariationSource::Elapsed, 0.02, 8),
        (VariationSource::Elapsed, 0.05, 20),
    ] {
        let mut run = || simulated(variation, || scatter * normal(&mut random));
        let mut share = |power: f64| {
            let found = (0..200).filter(|_| {
                let (a, b, others) = (run(), run(), (0..others).map(|_| run()).collect::<Vec<Run>>());
                let stated = judgements(&a, &b, others.clone())[0].1.could_have_found.expect("a change can be found");
                is_called(&judgements(&a, &first_scaled(b, stated.powf(power)), others)[0].1)
            });
            found.count()
        };
        let (stated, half) = (share(1.0), share(0.5));
        assert!(stated >= 165 && half <= 60, "{variation:?}, {others} other runs: {stated} and {half} of 200");
    }
}

const CELLS: usize = 6;

/// Returns a run of cells that are independent of each other.
fn simulated(variation: VariationSource, mut logarithm: impl FnMut() -> f64) -> Run {
    let metric = |place: usize, value: f64| Metric {
        experiment: "simulated".into(),
        variation,
        ..Metric::time(&Cell::of([place.to_string()]), "time", value, Some(Interval::new(value * 0.995, value * 1.005)))
    };
    (0..CELLS).map(|place| metric(place, 100.0 * logarithm().exp())).collect()
}

fn normal(random: &mut Rng) -> f64 {
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
}

/// Returns the share of comparisons of simulated runs in which any cell is called different.
fn share_called(variation: VariationSource, others: usize, mut logarithm: impl FnMut(&mut Rng) -> f64) -> f64 {
    const COMPARISONS: usize = 400;
    let mut random = Rng::with_seed(5);
    let mut run = || simulated(variation, || logarithm(&mut random));
    let called = (0..COMPARISONS).filter(|_| {
        let (a, b) = (run(), run());
        let others = (0..others).map(|_| run()).collect();
        judgements(&a, &b, others).iter().any(|(_, judgement)| is_called(judgement))
    });
    called.count() as f64 / COMPARISONS as f64
}

/// 5 %, and three standard deviations of a share of 400.
const AT_MOST: f64 = 0.083;

#[test]
fn equal_simulated_runs_differ_in_at_most_one_of_twenty() {
    let scatter = 0.02;
    let student = |random: &mut Rng| {
        let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
        scatter * normal(random) / (squares / 3.0).sqrt()
    };
    for others in [0, 5, 20] {
        let of_normal = share_called(VariationSource::Elapsed, others, |random| scatter * normal(random));
        let of_tails = share_called(VariationSource::Elapsed, others, student);
        // Two levels, as near to each other as runs in general are, met equally often.
        let of_levels = share_called(VariationSource::Elapsed, others, |random| {
            0.005 * normal(random) + if random.bool() { 0.1 } else { 0.0 }
        });
        // Two levels far apart, which only the machine's limits have.
        let of_limits = share_called(VariationSource::Limit, others, |random| {
            0.02 * normal(random) + if random.bool() { 18_f64.ln() } else { 0.0 }
        });
        for (name, share) in [("normal", of_normal), ("tails", of_tails), ("levels", of_levels), ("limits", of_limits)]
        {
            assert!(share <= AT_MOST, "{name}, {others} other runs: {share}");
        }
    }
}

#[test]
fn changed_cells_are_found_and_unchanged_cells_are_not() {
    let (mut random, mut right, mut wrong) = (Rng::with_seed(3), 0, 0);
    let mut run = || simulated(VariationSource::Elapsed, || 0.01 * normal(&mut random));
    for _ in 0..100 {
        let (a, mut b) = (run(), run());
        for metric in &mut b[..2] {
            metric.value *= 1.15;
            metric.interval = metric.interval.map(|ends| ends.scaled(1.15));
        }
        let found = judgements(&a, &b, (0..20).map(|_| run()).collect());
        let called: HashSet<usize> = (0..CELLS).filter(|place| is_called(&found[*place].1)).collect();
        right += called.iter().filter(|place| **place < 2).count();
        wrong += usize::from(called.iter().any(|place| *place >= 2));
    }
    assert!(right >= 180 && wrong <= 10, "{right} of 200, {wrong} of 100");
}

/// Returns a run in which the first value scatters by this much, and the others little.
fn uneven(random: &mut Rng, scatter: f64) -> Run {
    let mut place = 0;
    simulated(VariationSource::Others, || {
        place += 1;
        (if place == 1 { scatter } else { 0.05 }) * normal(random)
    })
}

#[test]
fn scatter_of_one_value_hides_no_change_of_another() {
    let mut random = Rng::with_seed(7);
    for scatter in [0.05, 2.0] {
        let mut found = 0;
        for _ in 0..50 {
            let (a, mut b) = (uneven(&mut random, scatter), uneven(&mut random, scatter));
            b[1].value *= 4.0;
            b[1].interval = b[1].interval.map(|ends| ends.scaled(4.0));
            let judged = judgements(&a, &b, (0..20).map(|_| uneven(&mut random, scatter)).collect());
            found += usize::from(is_called(&judged[1].1));
        }
        assert!(found >= 45, "another scatters by {scatter}: {found} of 50");
    }
}

#[test]
fn equal_simulated_runs_of_uneven_scatter_rarely_differ() {
    for others in [5, 9, 20] {
        let mut random = Rng::with_seed(5);
        let called = (0..400).filter(|_| {
            let (a, b) = (uneven(&mut random, 2.0), uneven(&mut random, 2.0));
            let others = (0..others).map(|_| uneven(&mut random, 2.0)).collect();
            judgements(&a, &b, others).iter().any(|(_, judgement)| is_called(judgement))
        });
        let share = called.count() as f64 / 400.0;
        assert!(share <= AT_MOST, "{others} other runs: {share}");
    }
}

/// A distribution of the logarithm of a value.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Normal,
    /// The tails of a value whose own tails fall like a power.
    Exponential,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// Two levels, met equally often.
    TwoLevels,
}

impl Shape {
    const ALL: [Self; 4] = [Self::Normal, Self::Exponential, Self::HeavyTails, Self::TwoLevels];

    fn draw(self, random: &mut Rng) -> f64 {
        match self {
            Self::Normal => normal(random),
            Self::Exponential => (1.0 - random.f64()).ln() * if random.bool() { 1.0 } else { -1.0 },
            Self::HeavyTails => {
                let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                normal(random) / (squares / 3.0).sqrt()
            }
            Self::TwoLevels => 0.05 * normal(random) + if random.bool() { 2.0 } else { 0.0 },
        }
    }
}

/// The kinds of values whose other runs decide: time of others, values without an interval, rare events.
const SCATTERING: [(VariationSource, bool); 4] = [
    (VariationSource::Others, true),
    (VariationSource::Others, false),
    (VariationSource::Elapsed, false),
    (VariationSource::Rare, false),
];

/// Returns a run of cells whose logarithms these numbers are.
fn run_of(variation: VariationSource, has_interval: bool, logarithm: impl FnMut() -> f64) -> Run {
    let mut run = simulated(variation, logarithm);
    if !has_interval {
        run.iter_mut().for_each(|metric| metric.interval = None);
    }
    run
}

/// One far run once hid every change: its distance was multiplied by seven.
#[test]
fn large_change_shows_although_one_of_nine_runs_is_far_out() {
    for (variation, has_interval) in SCATTERING {
        for (scatter, far) in [(0.1, 1.0), (0.1, 10.0), (0.1, 30.0), (0.3, 10.0)] {
            let (mut random, mut found) = (Rng::with_seed(12), 0);
            for _ in 0..20 {
                let mut run = || run_of(variation, has_interval, || scatter * normal(&mut random));
                let (a, mut b) = (run(), run());
                b[0].value *= 2_600.0;
                b[0].interval = b[0].interval.map(|ends| ends.scaled(2_600.0));
                let mut others: Vec<Run> = (0..9).map(|_| run()).collect();
                others[3][0].value *= far;
                found += usize::from(is_called(&judgements(&a, &b, others)[0].1));
            }
            assert!(found >= 19, "{variation:?}, {has_interval}, {scatter}, {far} times: {found} of 20");
        }
    }
}

#[test]
fn equal_scattering_runs_differ_in_at_most_one_of_twenty() {
    const COMPARISONS: usize = 100;
    for (variation, has_interval) in SCATTERING {
        for shape in Shape::ALL {
            for others in [9, 20] {
                let (mut random, mut called) = (Rng::with_seed(11), 0);
                for _ in 0..COMPARISONS {
                    let mut run = || run_of(variation, has_interval, || 0.5 * shape.draw(&mut random));
                    let (a, b) = (run(), run());
                    let others = (0..others).map(|_| run()).collect();
                    called += usize::from(judgements(&a, &b, others).iter().any(|one| is_called(&one.1)));
                }
                let share = called as f64 / COMPARISONS as f64;
                assert!(share <= 0.05, "{variation:?}, {has_interval}, {shape:?}, {others} other runs: {share}");
            }
        }
    }
}

/// The far run is one of nine in A, in B and in the others alike, and the others have met it.
#[test]
fn equal_runs_of_which_one_in_nine_is_far_out_rarely_differ() {
    for (variation, has_interval) in SCATTERING {
        let (mut random, mut called) = (Rng::with_seed(13), 0);
        for _ in 0..100 {
            let mut run = || {
                let far = if random.f64() < 1.0 / 9.0 { 1_000.0 } else { 1.0 };
                let mut run = run_of(variation, has_interval, || 0.1 * normal(&mut random));
                run[0].value *= far;
                run[0].interval = run[0].interval.map(|ends| ends.scaled(far));
                run
            };
            let (a, b) = (run(), run());
            let mut others: Vec<Run> = (0..9).map(|_| run()).collect();
            if others.iter().all(|other| other[0].value < 1e4) {
                others[0][0].value *= 1_000.0;
            }
            called += usize::from(judgements(&a, &b, others).iter().any(|one| is_called(&one.1)));
        }
        assert!(called <= 5, "{variation:?}, {has_interval}: {called} of 100");
    }
}

#[test]
fn unjudged_value_states_how_many_runs_it_needs() {
    let (mut random, needs) = (Rng::with_seed(3), |others: usize| others.to_string());
    for (variation, least) in [(VariationSource::Limit, 4), (VariationSource::Elapsed, 4), (VariationSource::Rare, 8)] {
        let mut run = || {
            let mut run = simulated(variation, || 0.01 * normal(&mut random));
            run.iter_mut().for_each(|metric| metric.interval = None);
            run
        };
        let (a, b) = (run(), run());
        let few = judgements(&a, &b, (1..least).map(|_| run()).collect());
        let enough = judgements(&a, &b, (0..least).map(|_| run()).collect());
        assert!(
            few.iter().all(|one| one.1.reason.as_ref().is_some_and(|reason| reason.contains(&needs(least)))),
            "{few:?}"
        );
        assert!(enough.iter().all(|one| one.1.verdict != Verdict::NotJudged), "{enough:?}");
    }
}
