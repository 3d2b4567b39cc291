//! CPUs are watched: a probe, a loop, a probe, and so on; what was seen is kept in memory that does not grow with time.

use super::beside::Beside;
use harness::Session;
use instruments::clock::Clock;
use instruments::evidence::Timeline;
use instruments::neighbour::{CoreWidth, KINDS, Memory, Probe, Probed, SocketProbe, Split, Workspace};
use instruments::statistics::Thinned;
use instruments::team::{Member, StartGate, work_together};
use std::collections::BTreeMap;
use std::time::Duration;

/// How it is watched.
pub struct Watch {
    pub clock: Clock,
    pub probe: Probe,
    /// The time that there is for all CPUs; `None` until a signal.
    pub left: Option<Duration>,
    /// In ticks.
    pub began: u64,
}

const LONGER: u32 = 10;
/// A step is no shorter, or the probes would be all that runs.
const SHORTEST_STEP: Duration = Duration::from_micros(20);
/// Nor much longer: a neighbour comes and goes within milliseconds. What a long run has beyond, its threads rest.
const LONGEST_STEP: Duration = Duration::from_millis(1);
/// From one step to the next, where there is no end by which to plan.
const ENDLESS: Duration = Duration::from_millis(10);
/// Less is not worth a sleep.
const SHORTEST_REST: Duration = Duration::from_micros(200);
/// A step in ten seconds is the fewest.
const MOST_HALVINGS: u32 = 10;
const MEMORY_EVERY: Duration = Duration::from_millis(10);
/// A signal is looked for this often.
const LOOK: Duration = Duration::from_millis(50);

impl Watch {
    /// Watches CPUs at the same time, for so long.
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

    /// Rests until the next step is due, which may be in another turn; `false` if this turn or the run is over before.
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

    /// From one step to the next: as short as the memory for all steps allows.
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

/// A stretch between two probes, and what ran in it.
#[derive(Clone, Copy)]
pub struct Step {
    /// Since the start of the run.
    pub at_s: f64,
    pub probed: Probed,
    pub ran: Ran,
}

/// What ran between two probes.
#[derive(Clone, Copy)]
pub enum Ran {
    /// A loop of [`KINDS`], by its place, for so many ns.
    Kind(u8, f32),
    /// A probe ten times as long.
    LongProbe(Probed),
}

/// All that was seen of a CPU.
pub struct Observed {
    pub steps: Vec<Step>,
    /// What its thread works with.
    pub workspace: Workspace,
    pub socket: SocketProbe,
    pub memory: Thinned<Memory>,
    pub core_width: CoreWidth,
    /// Of each turn, the share of steps in which the core was shared, as far as could be told by then.
    pub turns: Vec<f64>,
    /// Who ran on the core's other hardware threads.
    pub beside: Beside,
    /// Steps that `core_width` has learned from.
    learned: usize,
    /// Steps that there were, kept or not.
    taken: usize,
    /// How often every second step was let go, for want of room.
    pub halvings: u32,
    /// When the next step is to begin, in ticks, where there are rests between them.
    pub due: u64,
}

/// So many steps of a CPU are kept, at 32 bytes each.
pub const MOST_STEPS: usize = 400_000;
const MOST_TURNS: usize = 1_000;
/// Every so many steps a long probe stands where a loop would.
const LONG_EVERY: usize = 16;

impl Observed {
    /// With room for all that can come.
    pub fn new(socket: SocketProbe) -> Self {
        Self {
            steps: Vec::with_capacity(MOST_STEPS),
            workspace: Workspace::new(),
            socket,
            memory: Thinned::default(),
            core_width: CoreWidth::default(),
            turns: Vec::new(),
            beside: Beside::default(),
            learned: 0,
            taken: 0,
            halvings: 0,
            due: 0,
        }
    }

    /// Learns from the steps of the last turn.
    pub fn end_turn(&mut self) {
        let new = &self.steps[self.learned..];
        new.iter().for_each(|step| _ = self.core_width.learn(&step.probed));
        let shared_share =
            Split::of(new.iter().map(|step| (0.0, self.core_width.sharing(&[step.probed])))).shared_share;
        self.turns.extend(shared_share);
        if self.turns.len() > MOST_TURNS {
            self.turns.drain(..MOST_TURNS / 2);
        }
        // The next turn brings about as many.
        if 2 * self.steps.len() - self.learned > MOST_STEPS {
            self.halve();
        }
        self.learned = self.steps.len();
    }

    /// Takes note of who ran on the core's other hardware threads in the last turn; before that is ended.
    pub fn look_beside(&mut self, siblings: &[usize], timeline: &Timeline, began: u64) {
        let new = &self.steps[self.learned..];
        let told: Vec<_> = new.iter().map(|step| (step.at_s, self.core_width.sharing(&[step.probed]))).collect();
        self.beside.add(&told, siblings, timeline, began);
    }

    /// Keeps every second step, of each kind as many as of the others.
    fn halve(&mut self) {
        let mut place = 0;
        self.steps.retain(|_| {
            place += 1;
            // Long probes stand in every sixteenth place: the one that is kept of two changes from block to block.
            place % 2 == (place / LONG_EVERY) % 2
        });
        self.halvings += 1;
    }

    /// Takes note of a step.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
        self.taken += 1;
    }

    /// What is to run in the next step; `None` for a long probe.
    pub fn next_kind(&self) -> Option<usize> {
        let number = self.taken;
        let is_long = number % LONG_EVERY == LONG_EVERY - 1;
        (!is_long).then(|| (number - number / LONG_EVERY) % KINDS.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::clock::Clock;
    use instruments::neighbour::Reading;
    use std::time::Duration;

    #[test]
    fn a_run_without_an_end_keeps_steps_of_every_kind_in_as_much_memory() {
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
        // Of the steps that were halved most often, too.
        let oldest = &seen.steps[..seen.steps.len() / 4];
        for step in oldest {
            counts[if let Ran::Kind(kind, _) = step.ran { usize::from(kind) } else { KINDS.len() }] += 1;
        }
        // One in sixteen is long, and of the others each kind has a ninth.
        let expected = oldest.len() as f64 / LONG_EVERY as f64;
        assert!(counts.iter().all(|&count| (0.5..2.5).contains(&(count as f64 / expected))), "{counts:?}");
        assert!(seen.steps.windows(2).all(|pair| pair[0].at_s < pair[1].at_s));
    }
}
