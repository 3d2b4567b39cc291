//! The computation: exact for any number of nodes, simulated for a barrier of a number of processes.

use super::flags::{Flags, MOST_STEPS};
use super::plan::{Parameters, Plan, StepPlan, Support, default_nodes, few_gaps};
use super::record::{Method, Row};
use crate::model::trace::{Description, RecordFile, Source};
use chance::{Barrier, Noise, Ranks, Simulated};
use harness::{Finished, Progress, Session, UsageError};
use instruments::statistics::bootstrap::ratio_of_means;
use instruments::statistics::order::sample_quantile;
use instruments::warning::{LeftOut, Warning};
use lockstep::prediction::{Groups, Job};
use lockstep::record::NAME;
use lockstep::traces::Traces;
use std::path::Path;
use std::time::Duration;

/// The results and the warnings.
pub struct Computed {
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// The slowdown at which half the time is lost.
const HALF: f64 = 2.0;
/// The runs of a simulation, each from new random moments.
const RUNS: u64 = 10;
/// The steps of all processes in a run, and the minimum number of its steps.
const PROCESS_STEPS: u64 = 1 << 20;
const FEWEST_STEPS: u64 = 20;

const CONFIDENCE: f64 = 0.95;

/// Computes the rows of every step; reports the current one.
pub fn compute(plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Computed> {
    let mut computed = Computed { rows: Vec::new(), warnings: plan.warnings.clone() };
    let noise = Noise::of(&plan.trace.gaps);
    let mut rng = fastrand::Rng::with_seed(plan.seed);
    for step in &plan.steps {
        let half_lost_nodes =
            step.delay.workers_for(HALF).filter(|nodes| plan.extrapolate || *nodes <= step.supported_nodes);
        computed.rows.extend(step.nodes.iter().map(|nodes| exact(plan, step, *nodes, half_lost_nodes)));
        for &processes in &step.processes {
            progress.note(&format!("simulating {processes} processes"));
            let steps = plan.steps_a_run.unwrap_or((PROCESS_STEPS / processes).clamp(FEWEST_STEPS, MOST_STEPS));
            let barrier = Barrier::of(plan.network, step.step_ns, processes, steps);
            let mut simulate =
                |barrier: Barrier| barrier.simulate(&noise, RUNS, &mut rng, &|| session.interruption.is_requested());
            let together = barrier.together(plan.steps_a_run.unwrap_or(MOST_STEPS));
            let Some((apart, together)) = simulate(barrier).zip(simulate(together)) else {
                let what = format!("the barrier of {processes} processes and all larger ones");
                computed.warnings.push(Warning::from(LeftOut { what, reason: "interrupted".into() }));
                return Ok(computed);
            };
            computed.rows.push(simulated(plan, step, processes, &apart, &together, half_lost_nodes));
        }
    }
    Ok(computed)
}

fn exact(plan: &Plan, step: &StepPlan, nodes: u64, half_lost_nodes: Option<u64>) -> Row {
    let work_us = step.step_ns as f64 / 1e3;
    let quantile_us = |p: f64| work_us + step.delay.slowest_quantile_ns(nodes, p) / 1e3;
    let supported_us = |p: f64| (plan.extrapolate || step.delay.supports(nodes, p)).then(|| quantile_us(p));
    let slowdown = step.delay.slowdown(nodes);
    Row {
        method: Method::Exact,
        nodes,
        step_us: work_us,
        quiet_us: work_us,
        mean_us: work_us * slowdown,
        p50_us: quantile_us(0.5),
        p90_us: supported_us(0.9),
        p99_us: supported_us(0.99),
        slowdown,
        running_slowdown: Some(step.delay_while_running.slowdown(nodes)),
        slowdown_ci: None,
        together_slowdown: step.delay.slowdown_together(),
        apart_slowdown: None,
        simulated_steps: None,
        supported_nodes: step.supported_nodes,
        half_lost_nodes,
    }
}

fn simulated(
    plan: &Plan,
    step: &StepPlan,
    processes: u64,
    apart: &Simulated,
    together: &Simulated,
    half_lost_nodes: Option<u64>,
) -> Row {
    let quiet_ns = apart.quiet_ns as f64;
    let mean_ns = apart.mean_ns();
    let quantile_us = |p: f64| sample_quantile(&apart.steps_ns, p).expect("a simulation has steps") / 1e3;
    let supported_us = |p: f64| (plan.extrapolate || step.delay.supports(processes, p)).then(|| quantile_us(p));
    let quiet = vec![quiet_ns; apart.run_means_ns.len()];
    // A separate generator, so that the simulation does not depend on its summary.
    let mut rng = fastrand::Rng::with_seed(plan.seed);
    let ratio = ratio_of_means(&apart.run_means_ns, &quiet, CONFIDENCE, &mut rng);
    Row {
        method: Method::Barrier,
        nodes: processes,
        step_us: step.step_ns as f64 / 1e3,
        quiet_us: quiet_ns / 1e3,
        mean_us: mean_ns / 1e3,
        p50_us: quantile_us(0.5),
        p90_us: supported_us(0.9),
        p99_us: supported_us(0.99),
        slowdown: mean_ns / quiet_ns,
        running_slowdown: None,
        slowdown_ci: ratio.map(|ratio| ratio.interval),
        together_slowdown: together.mean_ns() / quiet_ns,
        apart_slowdown: None,
        simulated_steps: Some(apart.steps_ns.len() as u64),
        supported_nodes: step.supported_nodes,
        half_lost_nodes,
    }
}

/// The number of shifts of the traces against each other.
const SHIFTS: usize = 5;

/// Computes from the record of a job: each node has its own trace, and interruptions of several at once stay together.
pub fn compute_ranks(path: &Path, flags: &Flags, session: &Session) -> anyhow::Result<Finished<Parameters, Row>> {
    let job = RecordFile::read("--ranks", path, NAME, "lockstep --output FILE")?;
    let traces = Traces::of_rows(&job.rows).map_err(|problem| job.unsuitable(problem))?;
    let description = described(&job.name, &traces);
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
