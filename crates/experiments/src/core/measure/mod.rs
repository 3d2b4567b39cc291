//! The measurement: which CPUs share a core, and then all of them, side by side as far as they do not.

mod costs;
mod observed;
mod pairs;
mod row;
mod stretches;
mod watch;

use super::plan::{Parameters, Plan};
use super::record::Row;
use anyhow::Context;
use harness::{Progress, Session, Shown};
use instruments::clock::Clock;
use instruments::neighbour::{Probe, SocketProbe};
use instruments::team::on_cpu;
use instruments::warning::{NeverAlone, Warning};
use observed::Observed;
use pairs::{groups, try_pairs};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use watch::Watch;

/// What the experiment brought.
pub struct Measured {
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
}

/// What shared the core a while ago need not now: a group's turn.
const TURN: Duration = Duration::from_secs(1);

/// Measures until the time is up.
///
/// # Errors
/// An architecture without loops, a CPU that may not be used after all.
pub fn run_plan(plan: &Plan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<Measured> {
    let began = Instant::now();
    let first = *plan.cpus.first().context("no CPU to measure on")?;
    let probe = on_cpu(first, || Probe::calibrate(clock))?;
    let probe = probe.with_context(|| format!("the core cannot be probed on {}", std::env::consts::ARCH))?;
    let mut warnings = Vec::new();
    let pairs = try_pairs(plan, session, clock, probe, progress, &mut warnings)?;
    let groups = groups(&plan.cpus, &pairs);
    progress.note("laying a chain through memory");
    let socket = SocketProbe::new(clock);
    let eyes = plan.cpus.iter().enumerate();
    let mut observed: BTreeMap<usize, Observed> =
        eyes.map(|(thread, &cpu)| (cpu, Observed::new(socket.of_thread(thread)))).collect();
    let watch = Watch { clock, probe, left: plan.budget.saturating_sub(began.elapsed()), began: clock.now() };
    while !session.interruption.is_requested() {
        for group in &groups {
            progress.note(&lately(group, &observed));
            watch.observe(group, turn(plan, began, groups.len()), &mut observed, session)?;
            for (cpu, seen) in observed.iter_mut().filter(|(cpu, _)| group.contains(cpu)) {
                seen.end_turn();
                progress.show((format!("CPU {cpu}"), String::new()), || seen.turns.last().copied().map(Shown::Level));
            }
        }
        if began.elapsed() >= plan.budget {
            break;
        }
    }
    let rows: Vec<Row> = observed.iter().filter_map(|(&cpu, seen)| row::row(cpu, seen, &watch, &pairs)).collect();
    let doubts = rows.iter().filter_map(|row| Some(NeverAlone { cpu: row.cpu as u16, reason: row.doubt.clone()? }));
    warnings.extend(doubts.map(Warning::from));
    let parameters = Parameters {
        budget_s: plan.budget.as_secs_f64(),
        cpus: plan.cpus.clone(),
        probe_us: probe.cost_ns() / 1e3,
        groups,
    };
    Ok(Measured { parameters, rows, warnings })
}

/// Turns that a person sees at once.
const LATELY: usize = 12;

/// For a person at a terminal: how much of each core was taken in the last turns.
fn lately(cpus: &[usize], observed: &BTreeMap<usize, Observed>) -> String {
    let of = |cpu: &usize| {
        let turns = &observed[cpu].turns;
        let last = &turns[turns.len().saturating_sub(LATELY)..];
        format!("CPU {cpu} {}", terminal::levels(last.iter().map(|share| Some(*share))))
    };
    format!("shared: {}", cpus.iter().map(of).collect::<Vec<_>>().join("  "))
}

fn turn(plan: &Plan, began: Instant, groups: usize) -> Duration {
    let left = plan.budget.saturating_sub(began.elapsed());
    if groups == 1 { left.min(TURN) } else { TURN.min(left / groups as u32) }.max(Duration::from_millis(20))
}
