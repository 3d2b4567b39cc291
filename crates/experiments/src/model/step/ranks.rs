//! The model on the ranks of a job: each node with its own trace, and interruptions of several at once kept together.

use super::flags::Flags;
use super::plan::Support;
use super::plan::{Parameters, default_nodes, few_gaps};
use super::record::{Method, Row};
use crate::model::trace::{Description, Source};
use chance::Ranks;
use harness::{Finished, Session, UsageError};
use instruments::warning::{LeftOut, Warning};
use lockstep::prediction::{Groups, Job};
use lockstep::record::NAME;
use lockstep::traces::Traces;
use record::{content, understand};
use std::path::Path;
use std::time::Duration;

/// The number of shifts of the traces against each other.
const SHIFTS: usize = 5;

/// Computes from the record of a job.
pub fn compute(path: &Path, flags: &Flags, session: &Session) -> anyhow::Result<Finished<Parameters, Row>> {
    let (name, traces) = read(path)?;
    let description = described(&name, &traces);
    let mut warnings: Vec<Warning> = few_gaps(&description).into_iter().collect();
    let mut rows = Vec::new();
    for step in &flags.step {
        let model = Model::of(*step, flags, &traces, session.seed)?;
        let nodes = model.admitted(flags, &description, &mut warnings)?;
        for nodes in nodes {
            if session.interruption.is_requested() {
                let what = format!("{nodes} nodes and all larger numbers");
                warnings.push(LeftOut { what, reason: "interrupted".into() }.into());
                return Ok(Finished::computed(parameters(flags, &traces, description), rows, warnings));
            }
            rows.push(model.row(nodes));
        }
    }
    Ok(Finished::computed(parameters(flags, &traces, description), rows, warnings))
}

fn read(path: &Path) -> anyhow::Result<(String, Traces)> {
    let (name, bytes) = content(path)?;
    let wrong = |problem: String| {
        UsageError(format!("--ranks {name}: {problem}; `lockstep --output FILE` writes such a record"))
    };
    let source = understand(&name, &bytes).map_err(|error| wrong(format!("{error:#}")))?;
    let rows = source.parts.iter().find(|(experiment, _)| experiment == NAME).map(|(_, rows)| rows);
    let rows = rows.ok_or_else(|| wrong(format!("the record is of {}", source.experiment)))?;
    Ok((name.clone(), Traces::of_rows(rows).map_err(wrong)?))
}

/// Describes all ranks as one recording.
fn described(name: &str, traces: &Traces) -> Description {
    let gaps = || traces.gaps.iter().flatten().map(|gap| gap.duration_ns);
    Description {
        file: name.to_owned(),
        span_s: traces.span_ns as f64 / 1e9,
        span_from: Source::Header,
        gaps: gaps().count(),
        lost_share: gaps().map(|ns| ns as f64).sum::<f64>() / (traces.span_ns.max(1) as f64 * traces.gaps.len() as f64),
        longest_gap_us: gaps().max().unwrap_or(0) as f64 / 1e3,
    }
}

fn parameters(flags: &Flags, traces: &Traces, trace: Description) -> Parameters {
    let ranks = traces.gaps.len();
    let own = [
        format!("groups: nodes beyond the {ranks} recorded ranks come in groups of {ranks} that repeat the recorded interruptions"),
        "independence: groups are independent; interruptions that hit several ranks of a group at once stay simultaneous".into(),
        "a step begins at a random moment of the recording, the same for all nodes of a group".into(),
    ];
    let of_trace = trace.assumptions();
    Parameters {
        trace,
        ranks: Some(ranks as u64),
        step_us: flags.step.iter().map(|step| step.as_nanos() as f64 / 1e3).collect(),
        overhead_us: 0.0,
        latency_us: 0.0,
        extrapolate: flags.extrapolate,
        assumptions: own.into_iter().chain(of_trace).collect(),
    }
}

/// Steps of one length.
struct Model {
    step: Duration,
    ranks: Ranks,
    /// The ranks with each trace rotated by a random amount.
    apart: Vec<Ranks>,
    groups: Groups,
    extrapolate: bool,
}

impl Model {
    fn of(step: Duration, flags: &Flags, traces: &Traces, seed: u64) -> anyhow::Result<Self> {
        let refused = |error: chance::RanksError| UsageError(format!("--step {step:?}: {error}"));
        let ranks = traces.ranks(|_| step.as_nanos() as u64).map_err(refused)?;
        let mut rng = fastrand::Rng::with_seed(seed);
        let apart = (0..SHIFTS).map(|_| ranks.shifted(|| rng.u64(..traces.span_ns.max(1)))).collect();
        let groups = Job { ranks: &ranks, barrier_ns: 0 }.groups(ranks.workers());
        Ok(Self { step, ranks, apart, groups, extrapolate: flags.extrapolate })
    }

    fn admitted(
        &self,
        flags: &Flags,
        trace: &Description,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<u64>, UsageError> {
        let nodes = self.groups.supported_nodes();
        let support = Support { step: self.step, nodes, extrapolate: self.extrapolate, span_s: trace.span_s };
        if nodes == 0 && !self.extrapolate {
            return Err(support.refusal(&format!("--step {:?}", self.step), 1));
        }
        support.admit("--nodes", &flags.nodes, default_nodes(), warnings)
    }

    fn row(&self, nodes: u64) -> Row {
        let workers = self.ranks.workers().min(nodes as usize);
        let fewer = (workers < self.ranks.workers()).then(|| Job { ranks: &self.ranks, barrier_ns: 0 }.groups(workers));
        let groups = fewer.as_ref().unwrap_or(&self.groups);
        let (many, work_us) = (groups.of(nodes), self.step.as_nanos() as f64 / 1e3);
        let predicted = groups.slowdown(nodes);
        let delay = groups.delay();
        let quantile_us = |p: f64| work_us + delay.slowest_quantile_ns(many, p) / 1e3;
        let supported_us = |p: f64| (self.extrapolate || delay.supports(many, p)).then(|| quantile_us(p));
        let apart: f64 = self.apart.iter().map(|ranks| ranks.delay(workers).slowdown(many)).sum();
        let half = delay.workers_for(2.0).map(|many| many.saturating_mul(workers as u64));
        let supported_nodes = self.groups.supported_nodes();
        Row {
            method: Method::Ranks,
            nodes,
            step_us: work_us,
            quiet_us: work_us,
            mean_us: work_us * predicted.slowdown,
            p50_us: quantile_us(0.5),
            p90_us: supported_us(0.9),
            p99_us: supported_us(0.99),
            slowdown: predicted.slowdown,
            running_slowdown: None,
            slowdown_ci: predicted.interval,
            together_slowdown: groups.together(),
            apart_slowdown: Some(apart / SHIFTS as f64),
            simulated_steps: None,
            supported_nodes,
            half_lost_nodes: half.filter(|nodes| self.extrapolate || *nodes <= supported_nodes),
        }
    }
}
