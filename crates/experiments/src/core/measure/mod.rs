//! The measurement: which CPUs share a core, and then all of them, simultaneously if they do not.

mod beside;
mod pairs;
mod row;
mod sharing;
mod watch;

use super::plan::{Parameters, Plan};
use super::record::Row;
use anyhow::Context;
use harness::{Progress, Session, Shown};
use instruments::clock::Clock;
use instruments::environment::{Cpu, ProbedPairs};
use instruments::evidence::Recorder;
use instruments::neighbour::{Probe, SocketProbe};
use instruments::team::on_cpu;
use instruments::warning::{NeverAlone, Warning};
use pairs::{groups, probed, try_pairs};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use watch::Observed;
use watch::Watch;

/// The results of the experiment.
pub struct Measured {
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
    /// The pairs of CPUs that share a core; `None` where none was tested.
    pub probed: Option<ProbedPairs>,
}

/// The length of a group's time slice: interference on a core changes over time.
const TURN: Duration = Duration::from_secs(1);

/// The common data of the repetitions of all CPUs.
struct Turns<'a> {
    plan: &'a Plan,
    session: &'a Session,
    progress: &'a Progress,
    began: Instant,
    watch: Watch,
    /// The machine with the probed topology of its cores.
    machine: Cpu,
    groups: Vec<Vec<usize>>,
}

/// Measures until the time is up.
pub fn run_plan(plan: &Plan, session: &Session, clock: Clock, progress: &Progress) -> anyhow::Result<Measured> {
    let began = Instant::now();
    let first = *plan.cpus.first().context("no CPU to measure on")?;
    let probe = on_cpu(first, || Probe::calibrate(clock))?;
    let probe = probe.with_context(|| format!("the core cannot be probed on {}", std::env::consts::ARCH))?;
    let mut warnings = Vec::new();
    let pairs = try_pairs(plan, session, clock, probe, progress, &mut warnings)?;
    let mut machine = session.environment.cpu.clone();
    let probed = probed(&pairs, session).map(|found| found.beside(machine.probed.as_ref()));
    machine.probed = probed.clone().or(machine.probed);
    let groups = groups(&plan.cpus, &machine);
    progress.note("building a pointer chain in memory");
    let socket = SocketProbe::new(clock);
    let eyes = plan.cpus.iter().enumerate();
    let mut observed: BTreeMap<usize, Observed> =
        eyes.map(|(thread, &cpu)| (cpu, Observed::new(socket.of_thread(thread)))).collect();
    let left = session.planned(plan.budget).map(|budget| budget.saturating_sub(began.elapsed()));
    let watch = Watch { clock, probe, left, began: clock.now() };
    let turns = Turns { plan, session, progress, began, watch, machine, groups };
    let began_unix_s = session.started_unix_s() + session.elapsed().as_secs();
    warnings.extend(turns.take(&mut observed)?);
    let watch = &turns.watch;
    let rows: Vec<Row> =
        observed.iter().filter_map(|(&cpu, seen)| row::row(cpu, seen, watch, &pairs, began_unix_s)).collect();
    let doubts = rows.iter().filter_map(|row| Some(NeverAlone { cpu: row.cpu as u16, reason: row.doubt.clone()? }));
    warnings.extend(doubts.map(Warning::from));
    let (budget_s, probe_us) = (plan.budget.as_secs_f64(), probe.cost_ns() / 1e3);
    let parameters = Parameters { budget_s, cpus: plan.cpus.clone(), probe_us, groups: turns.groups };
    Ok(Measured { parameters, rows, warnings, probed })
}

impl Turns<'_> {
    /// Runs one repetition of all groups; returns warnings about missing events.
    fn take(&self, observed: &mut BTreeMap<usize, Observed>) -> anyhow::Result<Vec<Warning>> {
        let (mut warnings, clock) = (Vec::new(), self.watch.clock);
        let recorder = |group: &Vec<usize>| beside::recorder(group, clock, &self.machine, &mut warnings);
        let mut recorders: Vec<Option<Recorder>> = self.groups.iter().map(recorder).collect();
        while !self.session.interruption.is_requested() {
            for (group, recorder) in self.groups.iter().zip(&mut recorders) {
                self.progress.note(&lately(group, observed));
                self.turn(group, recorder.as_mut(), observed)?;
            }
            self.progress.minute(|| lately(&self.plan.cpus, observed));
            if self.began.elapsed() >= self.plan.budget {
                break;
            }
        }
        Ok(warnings)
    }

    fn turn(
        &self,
        group: &[usize],
        mut recorder: Option<&mut Recorder>,
        observed: &mut BTreeMap<usize, Observed>,
    ) -> anyhow::Result<()> {
        let length = turn(self.plan, self.began, self.groups.len());
        recorder.as_mut().map_or(Ok(()), |recorder| recorder.start())?;
        self.watch.observe(group, length, observed, self.session)?;
        let beside = recorder.map(Recorder::stop).transpose()?;
        for (cpu, seen) in observed.iter_mut().filter(|(cpu, _)| group.contains(cpu)) {
            if let Some(timeline) = &beside {
                seen.look_beside(&beside::siblings_of(*cpu, timeline, &self.machine), timeline, self.watch.began);
            }
            seen.end_turn();
            let place = (format!("CPU {cpu}"), String::new());
            self.progress.show(place, || seen.turns.last().copied().map(Shown::Level));
        }
        Ok(())
    }
}

/// The number of repetitions that the progress shows at once.
const LATELY: usize = 12;

/// Returns, for the progress, the share of each core that was taken in the last repetitions.
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
