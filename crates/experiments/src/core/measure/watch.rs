//! CPUs are watched: a probe, a loop, a probe, and so on.

use super::observed::{MOST_STEPS, Observed, Ran, Step};
use harness::Session;
use instruments::clock::Clock;
use instruments::neighbour::{KINDS, Probe, Probed, Workspace};
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
