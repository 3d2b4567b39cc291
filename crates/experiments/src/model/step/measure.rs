//! The computation: exact for any number of nodes, simulated for a barrier of a number of processes.

use super::flags::MOST_STEPS;
use super::plan::{Plan, StepPlan};
use super::record::{Method, Row};
use chance::{Barrier, Noise, Simulated};
use harness::{Progress, Session};
use instruments::statistics::bootstrap::ratio_of_means;
use instruments::statistics::order::sample_quantile;
use instruments::warning::{LeftOut, Warning};

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
