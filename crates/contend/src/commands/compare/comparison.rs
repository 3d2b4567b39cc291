//! The result of a comparison: types to be written as JSON, and their computation.

use super::judgement::{Judgement, Pair, PriorRuns, Verdict, judged};
use super::operand::{Operand, Title};
use crate::commands::outliers::{Machines, of_archive};
use crate::commands::parameters as settings;
use crate::commands::reading::metrics;
use anyhow::ensure;
use archive::{Catalogue, Manifest};
use instruments::statistics::Interval;
use record::{Better, Difference, Metric, Naming, Source, Unit};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;
use terminal::{number, percent, ratio};

#[derive(Serialize)]
pub struct Comparison {
    pub a: Title,
    pub b: Title,
    /// Warnings that apply to the whole comparison.
    pub cautions: Vec<String>,
    pub environment: Vec<Difference>,
    pub parameters: Vec<Difference>,
    pub cells: Vec<Line>,
    /// All machines with records of the same in the archive, where A and B come from different ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Machines>,
    /// The values beyond a limit of `--fail-if`.
    pub exceeded: Vec<String>,
    /// The limits of `--fail-if` by which no value could be judged, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
}

/// A value of a cell.
///
/// A value that was not measured is `null`.
#[derive(Serialize)]
pub struct Line {
    pub experiment: String,
    pub cell: String,
    pub figure: &'static str,
    /// Whether A and B are both values with the core exclusive.
    pub alone: bool,
    #[serde(rename = "unit")]
    pub unit_name: &'static str,
    pub a: Option<f64>,
    pub a_ci: Option<Interval>,
    pub b: Option<f64>,
    pub b_ci: Option<Interval>,
    /// The ratio of B to A.
    pub ratio: Option<f64>,
    /// The interval of the ratio; an unknown end is `null`.
    pub ratio_ci: Option<Interval>,
    /// The probability that two runs of the same differ at least as much.
    pub chance: Option<f64>,
    pub verdict: Verdict,
    pub reason: Option<String>,
    /// The factor of a change for the worse that nine of ten such comparisons would have found; `null` for none.
    pub could_have_found: Option<f64>,
    /// The assumed standard deviation of the logarithm from run to run, …
    pub run_to_run_deviation: Option<f64>,
    /// … and the number of other runs from which it is known, in addition to the general scatter.
    pub other_runs: usize,
    #[serde(skip)]
    pub unit: Unit,
    #[serde(skip)]
    pub better: Better,
}

impl Comparison {
    /// Compares A and B.
    ///
    /// # Errors
    /// Rows cannot be read, no cell is in both, or the archive cannot be read.
    pub fn of(a: &Operand, b: &Operand, archive: Option<&Catalogue>, limits: &[Limit]) -> anyhow::Result<Self> {
        let metrics = [metrics(&a.source)?, metrics(&b.source)?];
        let naming = Naming::within(&metrics);
        let lines = lines(&metrics, &naming, &PriorRuns::of(&a.source, &b.source, archive)?);
        let is_compared = |line: &&Line| line.a.is_some() && line.b.is_some();
        ensure!(
            lines.iter().any(|line| is_compared(&line)),
            "{a} and {b}: no configuration in common; {a} has {}; {b} has {}; only equal configurations \
             are compared: measure both with the same options, or two locks or policies in one run",
            cells_of(&metrics[0], &naming),
            cells_of(&metrics[1], &naming),
            a = a.source.name,
            b = b.source.name,
        );
        Ok(Self {
            a: a.title(),
            b: b.title(),
            cautions: cautions(a, b),
            environment: environment_differences([&a.source, &b.source], [a, b].map(|side| side.manifest.as_ref())),
            parameters: parameter_differences(a, b, &metrics, &naming),
            exceeded: exceeded(&lines, limits),
            not_judged: limits.iter().filter_map(|limit| not_judged(&lines, limit)).collect(),
            cells: lines,
            machines: machines(a, b, archive)?,
        })
    }
}

impl Comparison {
    /// Returns a note on the values that were compared with no limit, or could not have shown one, if there are any.
    pub fn partly_judged(&self, limits: &[Limit]) -> Option<String> {
        let count = |verdict| self.cells.iter().filter(|line| line.verdict == verdict).count();
        let (not_judged, not_in_b) = (count(Verdict::NotJudged), count(Verdict::NotInB));
        let compared = self.cells.iter().filter(|line| line.a.is_some() && line.b.is_some());
        let could_not = |limit: &Limit, line: &Line| limit.applies_to(line.better) && !limit.could_be_exceeded(line);
        let too_small = compared.filter(|line| line.verdict != Verdict::NotJudged);
        let too_small = too_small.filter(|line| limits.iter().any(|limit| could_not(limit, line))).count();
        (not_judged + not_in_b + too_small > 0).then(|| {
            let all = self.cells.iter().filter(|line| line.a.is_some()).count();
            format!(
                "note: --fail-if: {not_judged} of {all} values of A could not be judged, and {not_in_b} are missing in \
                 B; {too_small} could have shown larger changes only"
            )
        })
    }
}

fn machines(a: &Operand, b: &Operand, archive: Option<&Catalogue>) -> anyhow::Result<Option<Machines>> {
    let host = |side: &Operand| side.manifest.as_ref().map(|manifest| manifest.host.clone());
    match (host(a).zip(host(b)), archive) {
        (Some((one, other)), Some(archive)) if one != other => {
            Ok(Machines::of(&of_archive(archive, [&a.source, &b.source])?))
        }
        _ => Ok(None),
    }
}

/// Returns the first cells of a record, as text.
fn cells_of(metrics: &[Metric], naming: &Naming) -> String {
    let mut names: Vec<String> = metrics.iter().map(|metric| naming.name(metric).to_string()).collect();
    names.dedup();
    match names.len() {
        0 => "no values that compare judges".to_owned(),
        1..=3 => names.join("; "),
        _ => format!("{}; …", names[..3].join("; ")),
    }
}

/// Returns the lines of the comparison.
///
/// Pairs are judged together; values of only one side come after them. An experiment that only one side has is omitted.
fn lines(metrics: &[Vec<Metric>; 2], naming: &Naming, prior_runs: &PriorRuns) -> Vec<Line> {
    let [of_a, of_b] = metrics;
    let is_it = |one: &Metric, other: &Metric| {
        one.experiment == other.experiment && one.figure == other.figure && naming.name(one) == naming.name(other)
    };
    let pair = |a: &'_ Metric| of_b.iter().find(|b| is_it(a, b));
    let pairs: Vec<Pair> = of_a.iter().filter_map(|a| Some(prior_runs.pair(a, pair(a)?, naming))).collect();
    let both = pairs.iter().zip(judged(&pairs)).map(|(pair, judgement)| Line::of_pair(pair, &judgement, naming));
    let is_shared =
        |metric: &&Metric, other: &[Metric]| other.iter().any(|other| other.experiment == metric.experiment);
    let only_a = of_a.iter().filter(|a| pair(a).is_none() && is_shared(a, of_b));
    let only_b = of_b.iter().filter(|b| !of_a.iter().any(|a| is_it(a, b)) && is_shared(b, of_a));
    let only_a = only_a.map(|a| Line::of_one(a, Verdict::NotInB, naming));
    let only_b = only_b.map(|b| Line::of_one(b, Verdict::NotInA, naming));
    both.chain(only_a).chain(only_b).collect()
}

impl Line {
    fn of_pair(pair: &Pair, judgement: &Judgement, naming: &Naming) -> Self {
        let comparison = judgement.comparison;
        Self {
            b: Some(pair.b.value),
            b_ci: pair.b.interval,
            ratio: (pair.a.value > 0.0).then(|| pair.b.value / pair.a.value),
            ratio_ci: comparison.map(|comparison| comparison.interval),
            chance: comparison.map(|comparison| comparison.p),
            reason: judgement.reason.clone(),
            could_have_found: judgement.could_have_found,
            run_to_run_deviation: comparison.map(|_| pair.run_to_run.deviation),
            other_runs: pair.other_runs,
            ..Self::of_one(&pair.a, judgement.verdict, naming)
        }
    }

    fn of_one(metric: &Metric, verdict: Verdict, naming: &Naming) -> Self {
        let is_b = verdict == Verdict::NotInA;
        let on = |side: bool| (side == is_b).then_some(metric.value);
        let interval_on = |side: bool| metric.interval.filter(|_| side == is_b);
        Self {
            experiment: metric.experiment.clone(),
            cell: naming.name(metric),
            figure: metric.figure,
            alone: metric.is_alone,
            unit_name: metric.unit.unit(),
            a: on(false),
            a_ci: interval_on(false),
            b: on(true),
            b_ci: interval_on(true),
            ratio: None,
            ratio_ci: None,
            chance: None,
            verdict,
            reason: None,
            could_have_found: None,
            run_to_run_deviation: None,
            other_runs: 0,
            unit: metric.unit,
            better: metric.better,
        }
    }
}

fn cautions(a: &Operand, b: &Operand) -> Vec<String> {
    let mut cautions: Vec<String> = [a, b].iter().filter_map(|side| side.caution.clone()).collect();
    let machine = |side: &Operand| {
        let model = side.source.environment.get("cpu").map(|cpu| cpu["model"].clone());
        (side.manifest.as_ref().map(|manifest| manifest.host.clone()), model)
    };
    let ((host_a, model_a), (host_b, model_b)) = (machine(a), machine(b));
    if model_a != model_b || host_a.zip(host_b).is_some_and(|(one, other)| one != other) {
        cautions.push("A and B come from different machines, which may explain their differences".into());
    }
    cautions.extend(other_frequency(a.source.core_ghz(), b.source.core_ghz()));
    for side in [a, b] {
        let name = &side.source.name;
        if side.source.is_disturbed() {
            let share = percent(side.source.taken_by_others());
            cautions.push(format!(
                "other processes took {share} of the CPU time during {name}; only large differences between rates can \
                 be detected"
            ));
        }
        if side.source.environment.get("interrupted").and_then(Value::as_bool) == Some(true) {
            cautions.push(format!("{name} was interrupted before its end"));
        }
    }
    cautions
}

/// Returns the effect of the frequency alone on compared times, where it is large enough to matter.
fn other_frequency(a_ghz: Option<f64>, b_ghz: Option<f64>) -> Option<String> {
    const MATTERS: f64 = 0.02;
    let (a, b) = a_ghz.zip(b_ghz)?;
    ((a / b).ln().abs() > MATTERS).then(|| {
        let times = number(a / b);
        format!(
            "the core ran at {} GHz in A and at {} GHz in B; this alone makes durations {times} times as long, \
             and leaves cycle counts unchanged",
            number(a),
            number(b)
        )
    })
}

fn exceeded(lines: &[Line], limits: &[Limit]) -> Vec<String> {
    let of_limit = |limit: &Limit| {
        let beyond = lines.iter().filter(|line| limit.is_exceeded(line.verdict, line.ratio_ci));
        beyond.map(|line| format!("{limit}: {}: {}", line.cell, line.figure)).collect::<Vec<String>>()
    };
    limits.iter().flat_map(of_limit).collect()
}

/// Returns the reason why no value could exceed a limit, if none could: then a result within the limit is meaningless.
///
/// A single value that could is enough, since each comparison has values that only a change of several times shows.
fn not_judged(lines: &[Line], limit: &Limit) -> Option<String> {
    let common = || lines.iter().filter(|line| line.a.is_some() && line.b.is_some());
    let (applicable, neither): (Vec<&Line>, Vec<&Line>) = common().partition(|line| limit.applies_to(line.better));
    let judged: Vec<&&Line> = applicable.iter().filter(|line| line.verdict != Verdict::NotJudged).collect();
    if judged.iter().any(|line| limit.could_be_exceeded(line)) {
        return None;
    }
    if !judged.is_empty() {
        let least = judged.iter().filter_map(|line| line.could_have_found).reduce(f64::min);
        let found = least.map_or_else(|| "no change".to_owned(), |least| format!("no change below {}", ratio(least)));
        return Some(format!("{limit}: none of {} values could have shown it: {found} could be found", judged.len()));
    }
    let mut reasons: Vec<&str> = applicable.iter().filter_map(|line| line.reason.as_deref()).collect();
    if !neither.is_empty() {
        reasons.push("neither direction is better, so only differs: applies");
    }
    reasons.sort_unstable();
    reasons.dedup();
    Some(format!("{limit}: none of {} values could be judged: {}", common().count(), reasons.join("; ")))
}

/// Returns the differences in the machine and its settings, the program and its build, and the warnings.
///
/// A field of the manifests counts only if both have it.
pub fn environment_differences(sources: [&Source; 2], manifests: [Option<&Manifest>; 2]) -> Vec<Difference> {
    let mut differences = record::environments(&sources);
    if let [Some(one), Some(other)] = manifests {
        differences.extend(record::between(&[noted(one), noted(other)]));
    }
    let codes = sources.map(|source| {
        let codes: Vec<&str> = source.warnings.iter().filter_map(|warning| warning["code"].as_str()).collect();
        if codes.is_empty() { "none".to_owned() } else { codes.join(" ") }
    });
    if codes[0] != codes[1] {
        differences.push(Difference { name: "warnings".into(), values: codes.into() });
    }
    differences
}

/// Returns the fields of a manifest that the record itself lacks.
fn noted(manifest: &Manifest) -> Map<String, Value> {
    let Ok(Value::Object(mut all)) = serde_json::to_value(manifest) else { return Map::new() };
    let wanted = ["host", "kernel_command_line", "settings", "cgroup_limits", "packages", "build"];
    let mut noted: Map<String, Value> = wanted.iter().filter_map(|name| all.remove_entry(*name)).collect();
    let hash = manifest.program.as_ref().and_then(|program| program.hash.clone());
    noted.insert("program".into(), hash.map_or(Value::Null, Value::from));
    noted
}

/// Returns the differences in the parameters, and in the settings of the work that are in no cell's name.
fn parameter_differences(a: &Operand, b: &Operand, metrics: &[Vec<Metric>; 2], naming: &Naming) -> Vec<Difference> {
    // The parameters of a survey have other names than those of its experiments.
    let is_alike = a.source.experiment == b.source.experiment;
    let mut differences = if is_alike { settings::differences([&a.source, &b.source]) } else { Vec::new() };
    for metric in &metrics[0] {
        for (field, words) in metric.cell.work().iter().filter(|(field, _)| !naming.has(metric, field)) {
            let is_known = differences.iter().any(|known| known.name.rsplit('.').next() == Some(field));
            let of_b = metrics[1].iter().filter(|other| other.experiment == metric.experiment);
            let other = of_b.flat_map(|other| other.cell.work()).find(|(name, _)| name == field);
            if let Some((_, other)) = other.filter(|(_, other)| other != words && !is_known) {
                differences.push(Difference { name: (*field).to_owned(), values: vec![words.clone(), other.clone()] });
            }
        }
    }
    differences
}

/// A limit that makes the command fail, as in `--fail-if slower:5%`: a verdict and a percentage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    verdict: Verdict,
    percent: f64,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "allowed: a verdict and a percentage, such as slower:5%, faster:5% or differs:5%".to_owned();
        let (word, percent) = text.split_once(':').ok_or_else(wrong)?;
        let known = [Verdict::Slower, Verdict::Faster, Verdict::Differs];
        let verdict = known.into_iter().find(|verdict| verdict.label() == word).ok_or_else(wrong)?;
        let percent: f64 = percent.strip_suffix('%').and_then(|number| number.trim().parse().ok()).ok_or_else(wrong)?;
        if !(0.0..=1e6).contains(&percent) {
            return Err("the percentage must be 0 or more".into());
        }
        Ok(Self { verdict, percent })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}%", self.verdict.label(), self.percent)
    }
}

impl Limit {
    /// Returns whether a value of this kind can have the verdict at all.
    pub fn applies_to(&self, better: Better) -> bool {
        self.verdict == Verdict::Differs || better != Better::Neither
    }

    /// Returns whether a change as large as the limit would have been found in this value, or is excluded by its interval.
    ///
    /// A limit of 0 names no size: it is exceeded by any difference that is found.
    fn could_be_exceeded(&self, line: &Line) -> bool {
        let largest = 1.0 + self.percent / 100.0;
        let is_found = line.could_have_found.is_some_and(|factor| factor <= largest);
        let is_below = |ends: Interval| ends.high < largest;
        let is_above = |ends: Interval| ends.low > 1.0 / largest;
        let less_is_better = line.better != Better::More;
        let is_excluded = |ends: Interval| match self.verdict {
            Verdict::Slower if less_is_better => is_below(ends),
            Verdict::Faster if !less_is_better => is_below(ends),
            Verdict::Slower | Verdict::Faster => is_above(ends),
            _ => is_below(ends) && is_above(ends),
        };
        self.percent == 0.0
            || is_found
            || line.ratio_ci.is_some_and(is_excluded)
            || line.verdict != Verdict::NoDifference
    }

    /// Returns whether the whole interval is beyond the limit: the verdict is this one, and the near end of the
    /// interval exceeds it.
    pub fn is_exceeded(&self, found: Verdict, ratio: Option<Interval>) -> bool {
        let called = match self.verdict {
            Verdict::Differs => [Verdict::Slower, Verdict::Faster, Verdict::Differs].contains(&found),
            wanted => found == wanted,
        };
        called && ratio.is_some_and(|ratio| least_factor(ratio) > 1.0 + self.percent / 100.0)
    }
}

/// Returns the least distance of the ratio from 1 as a factor, upwards or downwards: twice as much and half as much are
/// both 2.
fn least_factor(ratio: Interval) -> f64 {
    if ratio.low > 1.0 { ratio.low } else { 1.0 / ratio.high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_parsed_as_verdict_and_percentage() {
        assert_eq!("slower:5%".parse::<Limit>().unwrap().to_string(), "slower:5%");
        assert_eq!("differs:0.5%".parse::<Limit>().unwrap(), Limit { verdict: Verdict::Differs, percent: 0.5 });
        for wrong in ["", "slower", "slower:5", "slower:-1%", "slower:nan%", "worse:5%", "slower:5%%"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
