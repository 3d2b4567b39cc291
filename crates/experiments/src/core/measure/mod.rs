//! The measurement: which CPUs share a core, and then all of them, simultaneously if they do not.

mod row;
mod watch;

use super::plan::{Parameters, Plan};
use super::record::{PairRow, ProbesDisagree, Row};
use anyhow::Context;
use harness::{Progress, Session, Shown};
use instruments::clock::Clock;
use instruments::environment::{Cpu, ProbedPair, ProbedPairs};
use instruments::evidence::Recorder;
use instruments::neighbour::{Pair, Probe, SocketProbe, pair};
use instruments::team::on_cpu;
use instruments::warning::{LeftOut, NeverAlone, Warning};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use watch::{Observed, Watch};

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
    let rows: Vec<Row> = observed
        .iter()
        .filter_map(|(&cpu, seen)| row::row(cpu, seen, watch, pairs_of(cpu, &pairs), began_unix_s))
        .collect();
    let doubts = rows.iter().filter_map(|row| Some(NeverAlone { cpu: row.cpu as u16, reason: row.doubt.clone()? }));
    warnings.extend(doubts.map(Warning::from));
    let unconfirmed = rows.iter().filter(|row| !row.is_confirmed());
    let unconfirmed = unconfirmed.filter_map(|row| Some((row.cpu, row.agreement_share?)));
    warnings.extend(unconfirmed.map(|(cpu, agreement_share)| ProbesDisagree { cpu, agreement_share }.into()));
    let rows = rows.into_iter().map(Row::with_confirmed_sharing).collect();
    let (budget_s, probe_us) = (plan.budget.as_secs_f64(), probe.cost_ns() / 1e3);
    let parameters = Parameters { budget_s, cpus: plan.cpus.clone(), probe_us, groups: turns.groups };
    Ok(Measured { parameters, rows, warnings, probed })
}

impl Turns<'_> {
    /// Runs one repetition of all groups; returns warnings about missing events.
    fn take(&self, observed: &mut BTreeMap<usize, Observed>) -> anyhow::Result<Vec<Warning>> {
        let (mut warnings, clock) = (Vec::new(), self.watch.clock);
        let recorder = |group: &Vec<usize>| watch::recorder(group, clock, &self.machine, &mut warnings);
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
                seen.look_beside(&watch::siblings_of(*cpu, timeline, &self.machine), timeline, self.watch.began);
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

/// Two CPUs, the lower number first, and their relation.
type Pairs = BTreeMap<(usize, usize), Pair>;

/// The time of testing a pair, and the maximum share of the budget for all pairs.
const A_PAIR: Duration = Duration::from_millis(200);
/// The maximum time of a pair, where interference from other guests leaves it undecided.
const A_PAIR_AT_MOST: Duration = Duration::from_secs(1);
const PAIRS_SHARE: f64 = 0.25;
/// The maximum time for all pairs, also in a long run.
const PAIRS_AT_MOST: Duration = Duration::from_secs(600);

/// Tests all pairs of CPUs, as far as there is time.
fn try_pairs(
    plan: &Plan,
    session: &Session,
    clock: Clock,
    probe: Probe,
    progress: &Progress,
    warnings: &mut Vec<Warning>,
) -> anyhow::Result<Pairs> {
    let mut pairs = Pairs::new();
    if !plan.pairs {
        return Ok(pairs);
    }
    let until = Instant::now() + plan.budget.mul_f64(PAIRS_SHARE).min(PAIRS_AT_MOST);
    let each =
        plan.cpus.iter().enumerate().flat_map(|(place, &one)| plan.cpus[place + 1..].iter().map(move |&b| (one, b)));
    for (one, other) in each {
        if session.interruption.is_requested() {
            break;
        }
        if !pairs.is_empty() && Instant::now() + A_PAIR > until {
            let reason = "the time did not suffice; set a longer --seconds".to_owned();
            warnings.push(LeftOut { what: "whether other pairs of CPUs share a core".into(), reason }.into());
            break;
        }
        progress.note(&format!("whether CPU {one} and {other} share a core"));
        let enough = until.min(Instant::now() + A_PAIR_AT_MOST);
        let goes_on = || !session.interruption.is_requested() && Instant::now() + A_PAIR <= enough;
        if let Some(found) = pair(clock, probe, one, other, A_PAIR, goes_on)? {
            pairs.insert((one.min(other), one.max(other)), found);
        }
    }
    Ok(pairs)
}

/// Returns groups of CPUs that may be probed at the same time: no two of one core, which would disturb each other.
fn groups(cpus: &[usize], machine: &Cpu) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &cpu in cpus {
        match groups.iter_mut().find(|group| group.iter().all(|&other| !machine.share_a_core(cpu, other))) {
            Some(group) => group.push(cpu),
            None => groups.push(vec![cpu]),
        }
    }
    groups
}

/// Returns the result for the environment of the record; `None` where nothing could be decided.
fn probed(pairs: &Pairs, session: &Session) -> Option<ProbedPairs> {
    Some(shapes(pairs, session.started_unix_s())).filter(|shapes| !shapes.pairs.is_empty())
}

fn shapes(pairs: &Pairs, probed_unix_s: u64) -> ProbedPairs {
    let pair = |(&(one, other), found): (&(usize, usize), &Pair)| {
        let share_a_core = found.narrowing.shares_core()?;
        Some(ProbedPair { cpus: [one, other], share_a_core, probed_unix_s: Some(probed_unix_s) })
    };
    ProbedPairs { probed_unix_s, pairs: pairs.iter().filter_map(pair).collect() }
}

/// Returns the relation of the other CPUs to one of them.
fn pairs_of(cpu: usize, pairs: &Pairs) -> Vec<PairRow> {
    let other = |(one, other): (usize, usize)| if one == cpu { other } else { one };
    let of_this = pairs.iter().filter(|((one, other), _)| *one == cpu || *other == cpu);
    let row = |(&cpus, pair): (&(usize, usize), &Pair)| PairRow {
        cpu: other(cpus),
        shares: pair.narrowing.shares_core(),
        narrowing: pair.narrowing.median,
        narrowing_ci: Some(pair.narrowing.interval),
        line_ns: pair.line_ns,
    };
    of_this.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::neighbour::Narrowing;
    use instruments::statistics::Interval;

    #[test]
    fn siblings_of_one_core_are_not_probed_simultaneously() {
        let pair = |median: f64| Pair {
            narrowing: Narrowing { median, interval: Interval::new(median - 0.01, median + 0.01) },
            line_ns: 60.0,
        };
        let pairs = Pairs::from([((0, 1), pair(1.7)), ((0, 2), pair(1.0)), ((1, 2), pair(1.01)), ((2, 3), pair(1.6))]);
        let mut machine = instruments::environment::Environment::probe_under(std::path::Path::new("/nowhere")).cpu;
        machine.probed = Some(shapes(&pairs, 0));
        assert_eq!(groups(&[0, 1, 2], &machine), [vec![0, 2], vec![1]]);
        assert_eq!(
            pairs_of(2, &pairs).iter().map(|row| (row.cpu, row.shares)).collect::<Vec<_>>(),
            [(0, Some(false)), (1, Some(false)), (3, Some(true))]
        );
    }
}
