//! The sampling of CPUs: a probe, a loop, a probe, and so on; the results are kept in memory that does not grow with
//! time.

use crate::core::record::BesideRow;
use harness::{Session, label};
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::environment::Cpu;
use instruments::evidence::{Recorder, Source, Timeline, ran};
use instruments::neighbour::{CoreWidth, KINDS, Memory, Probe, Probed, Sharing, SocketProbe, Split, Workspace};
use instruments::statistics::Thinned;
use instruments::team::{Member, StartGate, work_together};
use instruments::warning::{LeftOut, Warning};
use std::collections::BTreeMap;
use std::time::Duration;

/// The settings of the sampling.
pub struct Watch {
    pub clock: Clock,
    pub probe: Probe,
    /// The time for all CPUs; `None` until a signal.
    pub left: Option<Duration>,
    /// The begin of the run, in ticks.
    pub began: u64,
}

const LONGER: u32 = 10;
/// The minimum length of a step, below which the probes would dominate.
const SHORTEST_STEP: Duration = Duration::from_micros(20);
/// The maximum length of a step: a sibling comes and goes within milliseconds.
///
/// In the rest of a long run's time its threads rest.
const LONGEST_STEP: Duration = Duration::from_millis(1);
/// The time from one step to the next in a run without an end.
const ENDLESS: Duration = Duration::from_millis(10);
/// The shortest rest that is worth a sleep.
const SHORTEST_REST: Duration = Duration::from_micros(200);
/// The maximum number of halvings: a step every ten seconds.
const MOST_HALVINGS: u32 = 10;
const MEMORY_EVERY: Duration = Duration::from_millis(10);
/// The interval of checking for a signal.
const LOOK: Duration = Duration::from_millis(50);

impl Watch {
    /// Samples CPUs simultaneously, for this time.
    pub fn observe(
        &self,
        cpus: &[usize],
        turn: Duration,
        observed: &mut BTreeMap<usize, Observed>,
        session: &Session,
    ) -> anyhow::Result<()> {
        let members = observed.iter_mut().filter(|(cpu, _)| cpus.contains(cpu)).map(|(&cpu, seen)| Member {
            cpu: Some(cpu),
            job: Box::new(move |gate: &StartGate| self.watch(seen, gate, session)),
        });
        work_together(self.clock, turn, members.collect())?;
        Ok(())
    }

    fn watch(&self, seen: &mut Observed, gate: &StartGate, session: &Session) {
        if gate.ready().is_none() {
            return;
        }
        let (clock, apart) = (self.clock, self.apart(seen.halvings));
        let rests = apart.saturating_sub(LONGEST_STEP) >= SHORTEST_REST;
        let (step, apart) = (clock.ticks_in(if rests { LONGEST_STEP } else { apart }), clock.ticks_in(apart));
        if rests && !self.rest(seen.due, gate, session) {
            return;
        }
        let (mut memory_at, mut look_at) = (clock.now(), clock.now());
        let mut before = self.probe.take();
        while clock.now() < gate.stop() && seen.steps.len() < MOST_STEPS {
            let began = clock.now();
            let ran = self.run_one(seen.next_kind(), &mut seen.workspace);
            while clock.now() < began + step {
                std::hint::spin_loop();
            }
            let after = self.probe.take();
            let at_s = clock.to_ns(began - self.began) / 1e9;
            seen.push(Step { at_s, probed: Probed::between(before, after), ran });
            before = after;
            if began >= memory_at {
                seen.memory.push(seen.socket.take());
                memory_at = began + clock.ticks_in(MEMORY_EVERY);
                before = self.probe.take();
            }
            if rests {
                seen.due = began + apart;
                if !self.rest(seen.due, gate, session) {
                    return;
                }
                before = self.probe.take();
            }
            if began >= look_at {
                look_at = began + clock.ticks_in(LOOK);
                if session.interruption.is_requested() {
                    return;
                }
            }
        }
    }

    /// Rests until the next step is due, which may be in another repetition; returns `false` if this repetition or the
    /// run ends before.
    fn rest(&self, due: u64, gate: &StartGate, session: &Session) -> bool {
        loop {
            let now = self.clock.now();
            if now >= gate.stop() || session.interruption.is_requested() {
                return false;
            }
            if now >= due {
                return true;
            }
            let left_ns = self.clock.to_ns(due.min(gate.stop()) - now);
            std::thread::sleep(LOOK.min(Duration::from_nanos(left_ns as u64)));
        }
    }

    /// Returns the time from one step to the next: as short as the memory for all steps allows.
    fn apart(&self, halvings: u32) -> Duration {
        match self.left {
            Some(left) => (left / MOST_STEPS as u32).max(SHORTEST_STEP),
            None => ENDLESS * 2_u32.saturating_pow(halvings.min(MOST_HALVINGS)),
        }
    }

    fn run_one(&self, kind: Option<usize>, workspace: &mut Workspace) -> Ran {
        match kind {
            Some(kind) => {
                let ticks = KINDS[kind].ticks(self.clock, workspace);
                Ran::Kind(kind as u8, self.clock.to_ns(ticks) as f32)
            }
            None => Ran::LongProbe(Probed::at(self.probe.longer(LONGER).take())),
        }
    }
}

/// A stretch between two probes, and the code that ran in it.
#[derive(Clone, Copy)]
pub struct Step {
    /// The time since the start of the run.
    pub at_s: f64,
    pub probed: Probed,
    pub ran: Ran,
}

/// The code that ran between two probes.
#[derive(Clone, Copy)]
pub enum Ran {
    /// A loop of [`KINDS`], by its index, and its time in ns.
    Kind(u8, f32),
    /// A probe ten times as long.
    LongProbe(Probed),
}

/// The observations of a CPU.
pub struct Observed {
    pub steps: Vec<Step>,
    /// The memory of its thread.
    pub workspace: Workspace,
    pub socket: SocketProbe,
    pub memory: Thinned<Memory>,
    pub core_width: CoreWidth,
    /// The share of steps with the core shared in each repetition, as far as it was known by then.
    pub turns: Vec<f64>,
    /// The tasks on the core's other hardware threads.
    pub beside: SiblingActivity,
    /// The number of steps that `core_width` has learned from.
    learned: usize,
    /// The number of steps so far, whether they were kept or not.
    taken: usize,
    /// How often every second step was dropped, for lack of room.
    pub halvings: u32,
    /// The time of the next step, in ticks, where there are rests between them.
    pub due: u64,
}

/// The maximum number of steps of a CPU that are kept, at 32 bytes each.
pub const MOST_STEPS: usize = 400_000;
const MOST_TURNS: usize = 1_000;
/// The number of steps from one long probe to the next, which replaces a loop.
const LONG_EVERY: usize = 16;

impl Observed {
    /// Creates observations with memory for all steps.
    pub fn new(socket: SocketProbe) -> Self {
        Self {
            steps: Vec::with_capacity(MOST_STEPS),
            workspace: Workspace::new(),
            socket,
            memory: Thinned::default(),
            core_width: CoreWidth::default(),
            turns: Vec::new(),
            beside: SiblingActivity::default(),
            learned: 0,
            taken: 0,
            halvings: 0,
            due: 0,
        }
    }

    /// Learns from the steps of the last repetition.
    pub fn end_turn(&mut self) {
        let new = &self.steps[self.learned..];
        new.iter().for_each(|step| _ = self.core_width.learn(&step.probed));
        let shared_share =
            Split::of(new.iter().map(|step| (0.0, self.core_width.sharing(&[step.probed])))).shared_share;
        self.turns.extend(shared_share);
        if self.turns.len() > MOST_TURNS {
            self.turns.drain(..MOST_TURNS / 2);
        }
        // The next repetition has about as many.
        if 2 * self.steps.len() - self.learned > MOST_STEPS {
            self.halve();
        }
        self.learned = self.steps.len();
    }

    /// Notes the tasks on the core's other hardware threads in the last repetition; called before it is ended.
    pub fn look_beside(&mut self, siblings: &[usize], timeline: &Timeline, began: u64) {
        let new = &self.steps[self.learned..];
        let classified: Vec<_> = new.iter().map(|step| (step.at_s, self.core_width.sharing(&[step.probed]))).collect();
        self.beside.add(&classified, siblings, timeline, began);
    }

    /// Keeps every second step, equally many of each kind.
    fn halve(&mut self) {
        let mut place = 0;
        self.steps.retain(|_| {
            place += 1;
            // Every sixteenth step is a long probe: which of two is kept alternates from block to block.
            place % 2 == (place / LONG_EVERY) % 2
        });
        self.halvings += 1;
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
        self.taken += 1;
    }

    /// Returns the loop of the next step; `None` for a long probe.
    pub fn next_kind(&self) -> Option<usize> {
        let number = self.taken;
        let is_long = number % LONG_EVERY == LONG_EVERY - 1;
        (!is_long).then(|| (number - number / LONG_EVERY) % KINDS.len())
    }
}

/// The time in which a core was shared, by the tasks on its other hardware threads.
///
/// Only tasks of this system are known: the kernel events have their names.
#[derive(Default)]
pub struct SiblingActivity {
    /// The time by sibling and name, in nanoseconds.
    ran_ns: BTreeMap<(usize, String), f64>,
    shared_ns: f64,
}

/// The maximum number of rows of a CPU: the others are short.
const MOST: usize = 10;
/// The maximum number of names: in a night thousands of processes come and go, and each may have a different name.
const MOST_NAMES: usize = 1_000;
const OTHERS: &str = "others";
/// The maximum length of a step: it lasts until the next, and with rests between them no longer than that.
const LONGEST_STEP_S: f64 = 0.001;

/// Returns the recorder of the siblings of probed CPUs; `None` where they have none, or their events may not be read.
pub fn recorder(cpus: &[usize], clock: Clock, machine: &Cpu, warnings: &mut Vec<Warning>) -> Option<Recorder> {
    let siblings = siblings(cpus, machine);
    if siblings.is_empty() {
        return None;
    }
    let opened = Recorder::open_with(clock, &siblings, Source::CpuRecord);
    let what = || format!("the tasks on CPUs {siblings}, the SMT siblings");
    opened.map_err(|error| warnings.push(LeftOut { what: what(), reason: error.to_string() }.into())).ok()
}

/// Returns the CPUs that are on the cores of these and are none of them.
fn siblings(cpus: &[usize], machine: &Cpu) -> CpuSet {
    let others = machine.online.iter().flat_map(CpuSet::iter).filter(|other| !cpus.contains(other));
    others.filter(|&other| cpus.iter().any(|&cpu| machine.share_a_core(cpu, other))).collect()
}

/// Returns the recorded CPUs on the core of this one.
pub fn siblings_of(cpu: usize, timeline: &Timeline, machine: &Cpu) -> Vec<usize> {
    let recorded = timeline.tracks.iter().filter_map(|track| track.cpu);
    recorded.filter(|&other| machine.share_a_core(cpu, other)).collect()
}

impl SiblingActivity {
    /// Adds the steps of a repetition, with the kernel events of the siblings: seconds after `began`, and the sharing
    /// of the core.
    pub fn add(&mut self, steps: &[(f64, Sharing)], siblings: &[usize], timeline: &Timeline, began: u64) {
        for pair in steps.windows(2).filter(|pair| pair[0].1 == Sharing::Shared) {
            let at_s = pair[0].0;
            let length_s = (pair[1].0 - at_s).min(LONGEST_STEP_S);
            let from = began + timeline.clock.to_ticks(at_s * 1e9);
            let to = from + timeline.clock.to_ticks(length_s * 1e9);
            self.shared_ns += length_s * 1e9;
            for &sibling in siblings {
                for part in ran(timeline, sibling, from, to) {
                    self.note(sibling, label(&part.who), timeline.clock.to_ns(part.end - part.start));
                }
            }
        }
    }

    fn note(&mut self, sibling: usize, who: String, ns: f64) {
        let is_full = self.ran_ns.len() >= MOST_NAMES && !self.ran_ns.contains_key(&(sibling, who.clone()));
        *self.ran_ns.entry((sibling, if is_full { OTHERS.to_owned() } else { who })).or_default() += ns;
    }

    /// Returns the rows, the largest first.
    pub fn rows(&self) -> Vec<BesideRow> {
        let row = |((cpu, who), ns): (&(usize, String), &f64)| BesideRow {
            cpu: *cpu,
            who: who.clone(),
            shared_share: ns / self.shared_ns,
        };
        let mut rows: Vec<BesideRow> = self.ran_ns.iter().map(row).collect();
        rows.sort_by(|a, b| b.shared_share.total_cmp(&a.shared_share));
        rows.truncate(MOST);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::environment::Environment;
    use instruments::evidence::{Event, EventKind, HandlerKind, Names};
    use instruments::neighbour::Reading;
    use std::path::Path;

    #[test]
    fn endless_run_keeps_every_kind_in_constant_memory() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let mut seen = Observed::new(SocketProbe::new(clock));
        let probed = Probed::at(Reading { cpu: 0, cycles: 3.0, cycles_per_ns: 3.0 });
        for number in 0..1_500_000 {
            let ran = seen.next_kind().map_or(Ran::LongProbe(probed), |kind| Ran::Kind(kind as u8, 1.0));
            seen.push(Step { at_s: f64::from(number), probed, ran });
            if number % 50_000 == 0 {
                seen.end_turn();
            }
        }
        assert!(seen.halvings > 1 && seen.steps.len() <= MOST_STEPS && seen.steps.capacity() == MOST_STEPS);
        let mut counts = [0_usize; KINDS.len() + 1];
        // Also among the steps that were halved most often.
        let oldest = &seen.steps[..seen.steps.len() / 4];
        for step in oldest {
            counts[if let Ran::Kind(kind, _) = step.ran { usize::from(kind) } else { KINDS.len() }] += 1;
        }
        // One in sixteen is long, and each kind has a ninth of the others.
        let expected = oldest.len() as f64 / LONG_EVERY as f64;
        assert!(counts.iter().all(|&count| (0.5..2.5).contains(&(count as f64 / expected))), "{counts:?}");
        assert!(seen.steps.windows(2).all(|pair| pair[0].at_s < pair[1].at_s));
    }

    const BEGAN: u64 = 1_000;

    /// Returns the kernel events of CPU 4: the encoder has it from 20 to 50 ms, and at 40 ms an interrupt takes a
    /// millisecond of that.
    fn timeline() -> Timeline {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let ticks = |ms: f64| BEGAN + clock.to_ticks(ms * 1e6);
        let mut names = Names::default();
        names.name_task(77, 77, "encoder");
        let handler = names.handler(HandlerKind::Interrupt, "local_timer");
        let event = |ms: f64, kind| Event { at: ticks(ms), kind };
        let events = vec![
            event(20.0, EventKind::Took { task: 77, previous: Some(0) }),
            event(40.0, EventKind::Entered { task: 77, handler }),
            event(41.0, EventKind::Exited { task: 77, handler }),
            event(50.0, EventKind::Left { task: 77, next: Some(0), preempted: false }),
        ];
        Timeline::of_events(clock, Source::CpuRecord, BEGAN..ticks(100.0), 1, names, &[(Some(4), events)])
    }

    #[test]
    fn tasks_on_the_sibling_of_a_shared_core_are_named() {
        let mut machine = Environment::probe_under(Path::new("/nowhere")).cpu;
        machine.online = Some("0-7".parse().unwrap());
        machine.cores = ["0,4", "1,5", "2,6", "3,7"].map(|core| core.parse().unwrap()).to_vec();
        assert_eq!(siblings(&[0, 1], &machine), "4-5".parse().unwrap());
        let timeline = timeline();
        assert_eq!((siblings_of(0, &timeline, &machine), siblings_of(1, &timeline, &machine)), (vec![4], vec![]));
        // Shared from 20 to 60 ms: in the last ten of them by no task of this kernel.
        let step = |number: usize| {
            let sharing = if (20..60).contains(&number) { Sharing::Shared } else { Sharing::Alone };
            (number as f64 / 1e3, sharing)
        };
        let steps: Vec<_> = (0..90).map(step).collect();
        let mut beside = SiblingActivity::default();
        beside.add(&steps, &[4], &timeline, BEGAN);
        let rows = beside.rows();
        let activity: Vec<(usize, &str)> = rows.iter().map(|row| (row.cpu, row.who.as_str())).collect();
        assert_eq!(activity, [(4, "task encoder"), (4, "idle"), (4, "interrupt local_timer")]);
        let shares: Vec<f64> = rows.iter().map(|row| row.shared_share).collect();
        assert!(shares.iter().zip([0.725, 0.25, 0.025]).all(|(share, truth)| (share - truth).abs() < 1e-3), "{rows:?}");
    }
}
