//! The two kinds of repetition: all ranks sample, or some of them make steps.

use super::world::Group;
use instruments::clock::Clock;
use instruments::evidence::{Cause, Recorder, Timeline};
use lockstep::causes::Causes;
use lockstep::record::Collective;
use lockstep::watched::{Seen, Watched};
use std::time::Duration;

/// The instruments with which a rank computes and samples.
pub struct Bench {
    pub clock: Clock,
    pub watched: Watched,
    pub recorder: Recorder,
    /// The number of busy loops in a step.
    pub grinds: u64,
    pub collective: Collective,
    pub causes: Causes,
    pub causes_in_steps: Causes,
}

/// The observations of a rank while it only sampled, in ticks.
pub struct Watching {
    pub start: u64,
    pub end: u64,
    pub seen: Vec<Seen>,
}

/// The steps of a rank, in ticks.
pub struct Stepping {
    pub begin: u64,
    pub steps: Vec<StepTimes>,
    pub seen: Vec<Seen>,
    /// The cause of each gap.
    pub causes: Vec<Cause>,
}

#[derive(Clone, Copy)]
pub struct StepTimes {
    pub arrived: u64,
    pub left: u64,
    /// The number of gaps until then.
    pub seen: usize,
}

/// The meetings before the first step that counts: the ranks come from different work.
const WARM_UP: usize = 3;

impl Bench {
    /// Samples for this time, together with all other ranks.
    pub fn watch(&mut self, world: &Group, length: Duration) -> anyhow::Result<Watching> {
        self.watched.learn();
        self.recorder.start()?;
        (0..WARM_UP).for_each(|_| world.meet(Collective::Barrier));
        let start = self.clock.stamp();
        let (_, end) = self.watched.work_until(start, start + self.clock.ticks_in(length));
        let timeline = self.recorder.stop()?;
        let seen = self.watched.take_seen();
        self.causes.add(self.clock, &seen, (start, end), Some(&timeline));
        world.wait_gently();
        Ok(Watching { start, end, seen })
    }

    /// Makes this many steps with the other ranks of the group.
    pub fn step(&mut self, group: &Group, steps: usize) -> anyhow::Result<Stepping> {
        self.watched.learn();
        let mut times = Vec::with_capacity(steps);
        self.recorder.start()?;
        (0..WARM_UP).for_each(|_| group.meet(self.collective));
        let begin = self.clock.stamp();
        let mut left = begin;
        for _ in 0..steps {
            let arrived = self.watched.work(left, self.grinds);
            group.meet(self.collective);
            left = self.clock.stamp();
            times.push(StepTimes { arrived, left, seen: self.watched.seen() });
        }
        let timeline = self.recorder.stop()?;
        Ok(self.stepping(begin, times, &timeline))
    }

    fn stepping(&mut self, begin: u64, steps: Vec<StepTimes>, timeline: &Timeline) -> Stepping {
        let seen = self.watched.take_seen();
        let end = steps.last().map_or(begin, |step| step.left);
        let causes = self.causes_in_steps.add(self.clock, &seen, (begin, end), Some(timeline));
        Stepping { begin, steps, seen, causes }
    }
}
