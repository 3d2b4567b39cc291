//! The record of a survey: the rows of each experiment, the values of the old documents next to today's, the findings,
//! and the experiments that failed. The survey writes it; the views of records read it.

use harness::{AnyRecord, Entry};
use instruments::warning::{Warning, WarningKind};
use record::{Finding, ThenAndNow, typed};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// The name of the command, and of its records.
pub const NAME: &str = "survey";
/// Its method, in Markdown.
pub const METHOD: &str = include_str!("survey/method.md");
/// The field that names the experiment of a row.
const EXPERIMENT: &str = "experiment";
/// The value of that field in the survey's own rows.
pub const FINDINGS: &str = "findings";
pub const THEN_AND_NOW: &str = "then_and_now";

/// The parameters of the survey, and those of each experiment that ran, by the last word of its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Parameters {
    pub budget_s: f64,
    /// The parts that began, in their order.
    #[serde(default)]
    pub parts: Vec<PartParameters>,
    #[serde(flatten)]
    pub experiments: Map<String, Value>,
}

/// The description of a part in the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PartParameters {
    pub experiment: String,
    /// The equivalent command of the part.
    pub command: String,
    pub budget_s: f64,
}

impl Parameters {
    /// Returns the parameters of a survey of which no experiment has run yet.
    pub fn new(budget: Duration) -> Self {
        let unknown = experiments::ALL.iter().map(|entry| (key(entry).to_owned(), Value::Null));
        Self { budget_s: budget.as_secs_f64(), parts: Vec::new(), experiments: unknown.collect() }
    }

    /// Adds a part that begins.
    pub fn add(&mut self, part: PartParameters) {
        self.parts.push(part);
    }

    /// Sets the parameters of an experiment.
    pub fn set(&mut self, entry: &Entry, parameters: Value) {
        self.experiments.insert(key(entry).to_owned(), parameters);
    }
}

/// Returns the name under which the parameters of an experiment are stored.
pub fn key(entry: &Entry) -> &'static str {
    entry.words().1.unwrap_or(entry.name)
}

/// Returns the row of an experiment in the form of a survey.
pub fn tagged<R: Serialize>(experiment: &str, row: R) -> serde_json::Result<Value> {
    let mut tagged = Map::from_iter([(EXPERIMENT.to_owned(), Value::from(experiment))]);
    match serde_json::to_value(row)? {
        Value::Object(fields) => tagged.extend(fields),
        other => drop(tagged.insert("value".to_owned(), other)),
    }
    Ok(Value::Object(tagged))
}

/// Returns a finding as a row.
pub fn finding(found: Finding) -> serde_json::Result<Value> {
    tagged(FINDINGS, found)
}

/// Returns an old value and today's as a row.
pub fn comparison(compared: ThenAndNow) -> serde_json::Result<Value> {
    tagged(THEN_AND_NOW, compared)
}

/// Returns the rows of an experiment, each with its index among all results.
pub fn placed<'a>(rows: &'a [Value], experiment: &str) -> Vec<(usize, &'a Value)> {
    rows.iter().enumerate().filter(|(_, row)| row[EXPERIMENT] == experiment).collect()
}

/// Returns an experiment with rows that this version does not know, if there is one.
pub fn unknown_experiment(rows: &[Value]) -> Option<&str> {
    let named = rows.iter().filter_map(|row| row[EXPERIMENT].as_str());
    let mut others = named.filter(|name| ![FINDINGS, THEN_AND_NOW].contains(name));
    others.find(|name| experiments::named(name).is_none())
}

/// Returns the old values with today's.
///
/// # Errors
/// A row is not a comparison.
pub fn comparisons(rows: &[Value]) -> anyhow::Result<Vec<ThenAndNow>> {
    typed(placed(rows, THEN_AND_NOW).into_iter().map(|(_, row)| row))
}

/// Returns the record of one experiment, without its rows, which are read separately; `None` where it did not run.
pub fn part(record: &AnyRecord, entry: &Entry) -> Option<AnyRecord> {
    let parameters = &record.parameters[key(entry)];
    (!parameters.is_null()).then(|| AnyRecord {
        schema: record.schema.clone(),
        experiment: entry.name.to_owned(),
        environment: record.environment.clone(),
        parameters: parameters.clone(),
        results: Vec::new(),
        ranking: Vec::new(),
        warnings: Vec::new(),
    })
}

/// The warning that one of several experiments failed; the others were measured anyway.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentFailed {
    /// The name of the experiment.
    pub experiment: String,
    /// The error message of the experiment.
    pub reason: String,
}

impl WarningKind for ExperimentFailed {
    const CODE: &'static str = "experiment_failed";

    fn message(&self) -> String {
        let Self { experiment, reason } = self;
        format!("the experiment {experiment} failed: {reason}")
    }

    fn remedy(&self) -> &'static str {
        "run it alone, as in `contend noise`, to see whether it fails again; the results of the other experiments are \
         valid"
    }
}

/// Returns the failures, in words.
pub fn failures(warnings: &[Warning]) -> Vec<String> {
    let failed = warnings.iter().filter(|warning| warning.is::<ExperimentFailed>());
    failed.map(|warning| warning.message().to_owned()).collect()
}
