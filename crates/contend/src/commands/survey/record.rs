//! What came out: the rows of each experiment, the figures of the old documents beside today's, and what was found.

use super::findings::Finding;
use super::plan::{PartParameters, PartPlan, Plan};
use super::then_and_now::ThenAndNow;
use crate::experiments::{clock, latency, load, model, noise, ring, throughput};
use crate::record::Record;
use crate::terminal::{self, megahertz, nanoseconds, percent, ratio};
use instruments::statistics::Interval;
use serde::{Deserialize, Serialize};

/// A record of the survey.
pub type SurveyRecord = Record<Parameters, Row>;

/// What was asked for, and the parameters of each experiment that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    pub budget_s: f64,
    #[serde(default)]
    pub parts: Vec<PartParameters>,
    pub clock: Option<clock::Parameters>,
    pub latency: Option<latency::Parameters>,
    pub throughput: Option<throughput::Parameters>,
    pub noise: Option<noise::Parameters>,
    pub load: Option<load::Parameters>,
    pub ring: Option<ring::Parameters>,
    pub frames: Option<model::FramesParameters>,
    pub step: Option<model::StepParameters>,
}

impl Parameters {
    pub fn of(plan: &Plan) -> Self {
        let parts = plan.parts.iter().map(PartPlan::parameters).collect();
        Self { budget_s: plan.budget.as_secs_f64(), parts, ..Self::default() }
    }
}

/// A row, told from the others by its field `experiment`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "experiment", rename_all = "snake_case")]
pub enum Row {
    Clock(clock::Row),
    Latency(Box<latency::Row>),
    Throughput(Box<throughput::Row>),
    Noise(Box<noise::Row>),
    Load(load::Row),
    Ring(Box<ring::Row>),
    #[serde(rename = "model frames")]
    Frames(model::FramesRow),
    #[serde(rename = "model step")]
    Step(model::StepRow),
    ThenAndNow(ThenAndNow),
    #[serde(rename = "findings")]
    Finding(Finding),
}

/// The rows of one kind, each with its place among all results.
macro_rules! rows_of {
    ($($name:ident: $variant:ident => $row:ty),*) => {
        $(pub fn $name(rows: &[Row]) -> Vec<(usize, &$row)> {
            let mut placed: Vec<(usize, &$row)> = Vec::new();
            for (place, row) in rows.iter().enumerate() {
                if let Row::$variant(found) = row {
                    placed.push((place, found));
                }
            }
            placed
        })*
    };
}

rows_of! {
    clock_rows: Clock => clock::Row,
    latency_rows: Latency => latency::Row,
    throughput_rows: Throughput => throughput::Row,
    noise_rows: Noise => noise::Row,
    load_rows: Load => load::Row,
    ring_rows: Ring => ring::Row,
    frames_rows: Frames => model::FramesRow,
    step_rows: Step => model::StepRow,
    comparisons: ThenAndNow => ThenAndNow,
    findings: Finding => Finding
}

/// The rows without their places.
pub fn cloned<R: Clone>(placed: Vec<(usize, &R)>) -> Vec<R> {
    placed.into_iter().map(|(_, row)| row.clone()).collect()
}

/// A figure with its 95 % interval, where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    pub interval: Option<Interval>,
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self { value, interval: None }
    }
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Ns,
    Share,
    Times,
    Mhz,
    Cycles,
    PerS,
    /// A number of things.
    Number,
}

impl Unit {
    /// For people.
    pub fn words(self, value: f64) -> String {
        match self {
            Self::Ns => nanoseconds(value),
            Self::Share => percent(value),
            Self::Times => ratio(value),
            Self::Mhz => megahertz(value),
            Self::Cycles => format!("{value:.1} cycles"),
            Self::PerS => format!("{}/s", terminal::count(value.round() as u64)),
            Self::Number if value < 10.0 => format!("{value:.1}"),
            Self::Number => terminal::count(value.round() as u64),
        }
    }

    /// `value (low to high)`.
    pub fn words_with(self, figure: Figure) -> String {
        let ends = figure.interval.map(|ends| format!(" ({} to {})", self.words(ends.low), self.words(ends.high)));
        self.words(figure.value) + &ends.unwrap_or_default()
    }

    /// The same, and so much when an estimate has no interval.
    pub fn estimate(self, figure: Figure) -> String {
        match figure.interval {
            Some(_) => self.words_with(figure),
            None => format!("{} (too few repeats for an interval)", self.words(figure.value)),
        }
    }
}
