//! The comparison: the values of each machine over its records, and a score with its interval and rank.
//!
//! The score of a machine is the geometric mean of its costs, each divided by the geometric mean of that cost over all
//! machines; every aspect has the same weight. The interval of a cost includes the variation between runs, as in
//! `contend compare`; a cost that cannot be judged on each machine is not in the score. Costs of one aspect may all be off
//! in the same direction, so their intervals are averaged; those of different aspects are measured at different times, so
//! that their squares are added. The mean over all machines counts as certain: it has no effect on ratios and ranks.

use super::pooled::{Pooled, Run, farthest_apart, pooled};
use super::price::Price;
use super::sides::{NothingToCompare, Side};
use super::values::{self, Value};
use harness::UsageError;
use instruments::statistics::Interval;
use instruments::statistics::comparison::LEAST_RUNS;
use record::ranking::{Contender, Contest, Rank};
use record::{Aspect, Source, Unit, environments};
use serde::Serialize;
use std::collections::BTreeMap;

/// The machines, the best first, and their values.
#[derive(Serialize)]
pub struct Comparison {
    pub machines: Vec<Machine>,
    /// The aspects in the score, each with its number of values.
    pub aspects: Vec<AspectCount>,
    /// The limits of the score, in sentences.
    pub excluded: String,
    /// Sentences about records that may be of one machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_system: Vec<String>,
    pub values: Vec<Row>,
    #[serde(skip)]
    pub lines: Vec<Line>,
}

#[derive(Serialize)]
pub struct Machine {
    pub machine: String,
    /// The processor, the hypervisor and the kernel.
    pub system: String,
    pub records: usize,
    pub rank: Option<usize>,
    /// The score; less is better, and 1 is the geometric mean of all machines.
    pub score_times: f64,
    /// Its interval, in which that mean counts as certain.
    pub score_ci_times: Option<Interval>,
    /// The ratio of the score to the best one.
    pub over_best_times: Option<f64>,
    pub over_best_ci_times: Option<Interval>,
    pub price_per_h: Option<f64>,
    /// The score multiplied by the price, divided by the geometric mean of that over all machines with a price.
    pub score_price_times: Option<f64>,
    pub score_price_ci_times: Option<Interval>,
    pub score_price_rank: Option<usize>,
}

#[derive(Serialize)]
pub struct AspectCount {
    pub aspect: &'static str,
    pub values: usize,
}

/// One value of all machines, in the order of the machines.
pub struct Line {
    pub aspect: Aspect,
    /// The words, with the condition where several lines differ in it alone.
    pub what: String,
    pub unit: Unit,
    /// Whether it is of a kind that the score contains.
    can_be_in_score: bool,
    /// `None` for a machine without the value.
    pub values: Vec<Option<Pooled>>,
    /// The ranks in the order of the machines.
    pub ranks: Vec<Option<usize>>,
    /// The machine that is shown to be better than all others.
    pub best: Option<usize>,
}

/// A value, or a score, as a row.
#[derive(Serialize)]
pub struct Row {
    pub machine: String,
    pub aspect: &'static str,
    pub what: String,
    pub unit: &'static str,
    pub value: f64,
    pub value_ci: Option<Interval>,
    pub runs: usize,
    pub rank: Option<usize>,
    pub in_score: bool,
}

impl Comparison {
    /// Compares the machines.
    ///
    /// # Errors
    /// A record is invalid, a price is of no machine, or no cost is common to all machines.
    pub fn of(sides: &[Side], prices: &[Price]) -> anyhow::Result<Self> {
        let prices = priced(sides, prices)?;
        let mut lines = lines(sides)?;
        let judged: Vec<&Line> = lines.iter().filter(|line| line.is_in_score()).collect();
        let is_judged = !judged.is_empty();
        let common: Vec<&Line> =
            if is_judged { judged } else { lines.iter().filter(|line| line.is_common_time()).collect() };
        if common.is_empty() {
            let names = sides.iter().map(|side| side.name.as_str()).collect::<Vec<&str>>().join(", ");
            let words = format!("{names}: no cost is in the records of all machines; run `contend survey` on each");
            return Err(NothingToCompare(words).into());
        }
        let scores: Vec<Pooled> =
            (0..sides.len()).map(|side| score(&common, side, sides[side].records.len())).collect();
        let ranks = ranked(sides, &scores);
        let with_price = scores.iter().zip(&prices).map(|(score, price)| Some(score.scaled((*price)?)));
        let with_price = around_their_mean(with_price.collect());
        let price_ranks = contest().ranked(contenders(sides, &with_price));
        let mut machines: Vec<(usize, Machine)> = ranks
            .iter()
            .filter_map(|rank| {
                let side = sides.iter().position(|side| side.name == rank.lock)?;
                let price_rank = price_ranks.iter().find(|price| price.lock == rank.lock)?;
                Some((
                    side,
                    Machine::of(&sides[side], &scores[side], rank, (prices[side], with_price[side], price_rank)),
                ))
            })
            .collect();
        let order: Vec<usize> = machines.iter().map(|(side, _)| *side).collect();
        let (aspects, excluded) = (aspects(&common), excluded(&lines, &common, is_judged));
        for line in &mut lines {
            line.sort(&order, sides);
        }
        let machines: Vec<Machine> = machines.drain(..).map(|(_, machine)| machine).collect();
        let values = rows(&lines, &machines);
        Ok(Self { machines, aspects, excluded, same_system: same_system(sides), values, lines })
    }

    /// Returns the scores and all values as rows.
    pub fn rows(&self) -> Vec<Row> {
        let score = |machine: &Machine| Row {
            machine: machine.machine.clone(),
            aspect: "score",
            what: "score".to_owned(),
            unit: Unit::Times.unit(),
            value: machine.score_times,
            value_ci: machine.score_ci_times,
            runs: machine.records,
            rank: machine.rank,
            in_score: false,
        };
        self.machines.iter().map(score).chain(rows(&self.lines, &self.machines)).collect()
    }
}

impl Machine {
    fn of(side: &Side, score: &Pooled, rank: &Rank, price: (Option<f64>, Option<Pooled>, &Rank)) -> Self {
        let (price_per_h, with_price, price_rank) = price;
        // The newest record of an archive is the first, and later ones of other experiments describe the same machine.
        let system = side.records.first().map_or_else(String::new, |record| report::machine(&record.environment));
        Self {
            machine: side.name.clone(),
            system,
            records: side.records.len(),
            rank: rank.rank,
            score_times: score.value,
            score_ci_times: score.interval,
            over_best_times: rank.ratio,
            over_best_ci_times: rank.ratio_ci,
            price_per_h,
            score_price_times: with_price.map(|one| one.value),
            score_price_ci_times: with_price.and_then(|one| one.interval),
            score_price_rank: price_rank.rank,
        }
    }
}

/// Returns the price of each machine, where one is given.
fn priced(sides: &[Side], prices: &[Price]) -> Result<Vec<Option<f64>>, UsageError> {
    let names = || sides.iter().map(|side| side.name.as_str()).collect::<Vec<&str>>().join(", ");
    for (place, price) in prices.iter().enumerate() {
        let name = &price.machine;
        if !sides.iter().any(|side| side.name == *name) {
            return Err(UsageError(format!("--price {name}: not one of the compared machines; allowed: {}", names())));
        }
        if prices[..place].iter().any(|other| other.machine == *name) {
            return Err(UsageError(format!("--price {name}: given twice; name each machine once")));
        }
    }
    let of = |side: &Side| prices.iter().find(|price| price.machine == side.name).map(|price| price.per_h);
    Ok(sides.iter().map(of).collect())
}

/// The words that identify a line.
type Key = (Aspect, String, String);

/// Returns the lines of all machines, by aspect.
fn lines(sides: &[Side]) -> anyhow::Result<Vec<Line>> {
    let mut found: BTreeMap<Key, (Unit, usize, Vec<Vec<Run>>)> = BTreeMap::new();
    for (place, side) in sides.iter().enumerate() {
        let is_disturbed = side.records.iter().any(Source::is_disturbed);
        for source in &side.records {
            for Value { aspect, what, condition, unit, variation, estimate } in values::values(source)? {
                let next = found.len();
                let line = found
                    .entry((aspect, what, condition))
                    .or_insert_with(|| (unit, next, vec![Vec::new(); sides.len()]));
                line.2[place].push(Run { estimate, variation, is_disturbed });
            }
        }
    }
    let is_repeated =
        |what: &str, aspect: Aspect| found.keys().filter(|key| key.1 == what && key.0 == aspect).count() > 1;
    let variation = |runs: &[Vec<Run>]| runs.iter().flatten().map(|run| run.variation).next();
    let of_kind = |own: &[Vec<Run>]| {
        let alike = found.values().filter(|(_, _, runs)| variation(runs) == variation(own));
        alike.map(|(_, _, runs)| farthest_apart(runs).all).fold(0.0, f64::max)
    };
    let mut lines: Vec<((Aspect, usize), Line)> = found
        .iter()
        .map(|((aspect, what, condition), (unit, order, runs))| {
            let words = if is_repeated(what, *aspect) { format!("{what}, {condition}") } else { what.clone() };
            ((*aspect, *order), line(*aspect, words, *unit, runs, of_kind(runs)))
        })
        .collect();
    lines.sort_by_key(|(order, _)| *order);
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

fn line(aspect: Aspect, what: String, unit: Unit, runs: &[Vec<Run>], of_kind: f64) -> Line {
    let values = runs.iter().map(|own| pooled(unit, own, runs, of_kind)).collect();
    let can_be_in_score = unit == Unit::Ns && aspect != Aspect::Tail;
    Line { aspect, what, unit, can_be_in_score, values, ranks: Vec::new(), best: None }
}

/// Returns a sentence for each two sides that cannot be distinguished: a file does not have its machine's name.
fn same_system(sides: &[Side]) -> Vec<String> {
    let is_same = |one: &Side, other: &Side| {
        let first = one.records.first().zip(other.records.first());
        (one.is_file || other.is_file) && first.is_some_and(|(one, other)| environments(&[one, other]).is_empty())
    };
    let pairs =
        sides.iter().enumerate().flat_map(|(place, one)| sides[place + 1..].iter().map(move |other| (one, other)));
    let sentence = |(one, other): (&Side, &Side)| {
        let (one, other) = (&one.name, &other.name);
        format!(
            "{one} and {other} have the same processor, memory, kernel and settings. If they are one machine, name their \
             records alike: NAME=RECORD."
        )
    };
    pairs.filter(|(one, other)| is_same(one, other)).map(sentence).collect()
}

/// Returns the score of a machine; without an interval, if no value has one.
fn score(common: &[&Line], side: usize, runs: usize) -> Pooled {
    // The logarithm of each value, and how far it may be below and above; the latter only where all are judged.
    let mut aspects: BTreeMap<Aspect, Vec<[f64; 3]>> = BTreeMap::new();
    for line in common {
        let Some(own) = line.values[side] else { continue };
        let logarithms: Vec<f64> = line.values.iter().flatten().map(|value| value.value.ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        let reach = own.interval.map(|ends| [(own.value / ends.low).ln(), (ends.high / own.value).ln()]);
        let reach = reach.unwrap_or([f64::NAN; 2]);
        aspects.entry(line.aspect).or_default().push([own.value.ln() - mean, reach[0], reach[1]]);
    }
    let count = aspects.len() as f64;
    let mean =
        |lines: &Vec<[f64; 3]>, part: usize| lines.iter().map(|line| line[part]).sum::<f64>() / lines.len() as f64;
    let logarithm = aspects.values().map(|lines| mean(lines, 0)).sum::<f64>() / count;
    let reach = |part: usize| aspects.values().map(|lines| mean(lines, part).powi(2)).sum::<f64>().sqrt() / count;
    let (below, above) = (reach(1), reach(2));
    let is_known = below.is_finite() && above.is_finite();
    let interval = is_known.then(|| Interval::new((logarithm - below).exp(), (logarithm + above).exp()));
    Pooled { value: logarithm.exp(), interval, runs }
}

fn contest() -> Contest {
    Contest { among: String::new(), figure: "score", unit: Unit::Times, more_is_better: false, scatter: 0.0 }
}

fn contenders(sides: &[Side], values: &[Option<Pooled>]) -> Vec<Contender> {
    let contender = |(side, value): (&Side, &Option<Pooled>)| Contender {
        lock: side.name.clone(),
        value: value.map(|value| value.value),
        interval: value.and_then(|value| value.interval),
        resolution: 0.0,
    };
    sides.iter().zip(values).map(contender).collect()
}

fn ranked(sides: &[Side], scores: &[Pooled]) -> Vec<Rank> {
    contest().ranked(contenders(sides, &scores.iter().copied().map(Some).collect::<Vec<_>>()))
}

/// Divides the values by their geometric mean.
fn around_their_mean(values: Vec<Option<Pooled>>) -> Vec<Option<Pooled>> {
    let logarithms: Vec<f64> = values.iter().flatten().map(|value| value.value.ln()).collect();
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
    values.into_iter().map(|value| value.map(|value| value.scaled(1.0 / mean))).collect()
}

impl Line {
    /// Returns whether the score would contain it, if it could be judged.
    fn is_common(&self) -> bool {
        self.can_be_in_score && self.values.iter().all(Option::is_some)
    }

    /// Returns whether a score without an interval can contain it: a logarithm needs a value above 0.
    fn is_common_time(&self) -> bool {
        self.is_common() && self.values.iter().flatten().all(|value| value.value > 0.0)
    }

    fn is_in_score(&self) -> bool {
        self.is_common() && self.values.iter().flatten().all(|value| value.interval.is_some())
    }

    /// Puts the values in this order of the machines, and ranks them.
    fn sort(&mut self, order: &[usize], sides: &[Side]) {
        let ranks = Contest { unit: self.unit, ..contest() }.ranked(contenders(sides, &self.values));
        let rank = |side: &usize| ranks.iter().find(|rank| rank.lock == sides[*side].name)?.rank;
        self.ranks = order.iter().map(rank).collect();
        let best = record::ranking::best(&ranks).map(|best| best.lock.as_str());
        self.best = best.and_then(|best| order.iter().position(|side| sides[*side].name == best));
        self.values = order.iter().map(|side| self.values[*side]).collect();
    }
}

fn aspects(common: &[&Line]) -> Vec<AspectCount> {
    let mut counts: BTreeMap<Aspect, usize> = BTreeMap::new();
    common.iter().for_each(|line| *counts.entry(line.aspect).or_default() += 1);
    counts.into_iter().map(|(aspect, values)| AspectCount { aspect: aspect.label(), values }).collect()
}

/// Returns the remedy for values that cannot be judged.
fn needs() -> String {
    format!(
        "A value without a confidence interval, or that is a limit of the machine, needs {LEAST_RUNS} records of a machine."
    )
}

/// Returns the sentences about the values that the score does not contain.
fn excluded(lines: &[Line], common: &[&Line], is_judged: bool) -> String {
    let is_measured = |label: &str| lines.iter().any(|line| line.is_common() && line.aspect.label() == label);
    let mut partial: Vec<&str> =
        lines.iter().filter(|line| line.can_be_in_score).map(|line| line.aspect.label()).collect();
    partial.dedup();
    partial.retain(|label| !is_measured(label));
    let missing = if partial.is_empty() {
        String::new()
    } else {
        format!(" Not measured on all machines, and so not in the score: {}.", partial.join(", "))
    };
    let not_judged = match lines.iter().filter(|line| line.is_common()).count() - common.len() {
        0 if is_judged => String::new(),
        0 => format!(" Not judged: no machine has a rank, as the error of each value is unknown. {}", needs()),
        count => {
            let needs = needs();
            format!(" Not in the score, as the error is unknown: {count} of the values that all machines have. {needs}")
        }
    };
    format!(
        "The score excludes the longest gaps and other rare values, throughput with many threads, memory bandwidth, \
         disks and networks, and how often your program does each of these operations.{missing}{not_judged}"
    )
}

fn rows(lines: &[Line], machines: &[Machine]) -> Vec<Row> {
    let of_line = |line: &Line| {
        let of_machine = |(place, machine): (usize, &Machine)| {
            let found = line.values[place]?;
            Some(Row {
                machine: machine.machine.clone(),
                aspect: line.aspect.label(),
                what: line.what.clone(),
                unit: line.unit.unit(),
                value: found.value,
                value_ci: found.interval,
                runs: found.runs,
                rank: line.ranks.get(place).copied().flatten(),
                in_score: line.is_in_score(),
            })
        };
        machines.iter().enumerate().filter_map(of_machine).collect::<Vec<Row>>()
    };
    lines.iter().flat_map(of_line).collect()
}
