//! One run of all children, with a conductor beside them.

use crossbeam_utils::CachePadded;
use harness::Interruption;
use instruments::clock::Clock;
use instruments::shared_memory::SharedArray;
use instruments::team::{Member, StartGate, work_together_as_processes};
use loops::own_lock;
use loops::throughput::{AnyLocks, ChildCounters, LoopSpec, RunPhase, Spans};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Who leads the children through a run.
#[derive(Clone)]
pub struct Conductor {
    pub clock: Clock,
    pub spans: Spans,
    /// As long as the last rounds of all children may take, one after the other.
    pub last_rounds: Duration,
    pub interruption: Interruption,
}

impl Conductor {
    /// Threads; each owns what it touches, since it may be left behind in a shared object's code. How long rounds were
    /// counted, in ticks.
    pub fn lead_threads(
        self,
        name: &str,
        lock: &Arc<dyn AnyLocks>,
        spec: LoopSpec,
        counters: &mut [CachePadded<ChildCounters>],
    ) -> anyhow::Result<u64> {
        let phase = Arc::new(CachePadded::new(RunPhase::default()));
        let (sender, done) = mpsc::channel();
        let children = (0..counters.len()).map(|child| {
            let (lock, phase, sender) = (Arc::clone(lock), Arc::clone(&phase), sender.clone());
            let mut counters = Box::<CachePadded<ChildCounters>>::default();
            let job = move |gate: &StartGate| {
                lock.work(child, &spec, &phase, &mut counters, gate);
                // Nobody wants it any more from one that was left behind.
                let _ = sender.send((child, counters));
            };
            Member { cpu: None, job: Box::new(job) }
        });
        let (clock, length, led) = (self.clock, self.spans.ramp_up + self.spans.counting, Arc::clone(&phase));
        let conducts = move |gate: &StartGate| led.conduct(self.clock, self.spans, &self.interruption, gate);
        let conductor = Member { cpu: None, job: Box::new(conducts) };
        own_lock::work_at(name, clock, length, self.last_rounds, children.chain([conductor]).collect())??;
        done.try_iter().for_each(|(child, counted)| counters[child] = *counted);
        Ok(phase.counted_ticks())
    }

    /// Processes, which share the memory that the counters and the locks lie in. How long rounds were counted, in
    /// ticks.
    pub fn lead_processes(
        self,
        lock: &dyn AnyLocks,
        spec: &LoopSpec,
        counters: &mut [CachePadded<ChildCounters>],
    ) -> anyhow::Result<u64> {
        let shared = SharedArray::from_fn(1, |_| Ok(CachePadded::new(RunPhase::default())))?;
        let (phase, clock, interruption): (&RunPhase, _, _) = (&shared[0], self.clock, &self.interruption);
        let children = counters.iter_mut().enumerate().map(|(child, counters)| Member {
            cpu: None,
            job: Box::new(move |gate: &StartGate| lock.work(child, spec, phase, counters, gate)),
        });
        let conducts = move |gate: &StartGate| phase.conduct(clock, self.spans, interruption, gate);
        let conductor = Member { cpu: None, job: Box::new(conducts) };
        let members = children.chain([conductor]).collect();
        let length = self.spans.ramp_up + self.spans.counting;
        work_together_as_processes(clock, length, members, || interruption.is_requested())?;
        Ok(phase.counted_ticks())
    }
}
