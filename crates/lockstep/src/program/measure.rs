//! The measurement: repetitions in which all ranks sample their noise alternate with repetitions of common steps.

use super::world::{Group, OwnTime, Place, meet};
use chance::Gap;
use instruments::clock::Clock;
use instruments::cpus::CpuSet;
use instruments::evidence::{Cause, Recorder, Timeline};
use lockstep::alignment::{Alignment, Meeting};
use lockstep::causes::Causes;
use lockstep::flags::Flags;
use lockstep::record::{Collective, LongStep};
use lockstep::watched::{Schedule, Seen, Watched};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The number of repetitions of either kind: enough for an interval.
pub const TURNS: u64 = 10;
const FEWEST_STEPS: u64 = 10;
const MOST_STEPS: u64 = 20_000;

/// The results of a rank when all repetitions are over.
pub struct Measured {
    pub place: Place,
    pub bench: Bench,
    pub tally: Tally,
    pub first_meeting: Meeting,
    pub last_meeting: Meeting,
}

/// Returns 1, 2, 4 and so on, and the number of all ranks.
fn levels(ranks: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |ranks| Some(2 * ranks));
    powers.take_while(|count| *count < ranks).chain([ranks]).collect()
}

/// Alternates sampling and steps.
///
/// # Errors
/// A system call fails.
pub fn measure(world: &Group, flags: &Flags, seed: u64) -> anyhow::Result<Measured> {
    let place = Place::take(world)?;
    let (calibration, grind) = place.calibrate(world)?;
    let clock = calibration.clock;
    let time = OwnTime::from_now(clock);
    let schedule = flags
        .inject
        .map(|injection| Schedule::new(injection, clock, clock.stamp(), injection.phase_ns(seed, world.rank as u64)));
    let watched = Watched::new(clock, &grind, schedule);
    let grinds = (flags.step.as_nanos() as f64 / watched.usual_ns()).round().max(1.0) as u64;
    let mut bench = Bench {
        clock,
        watched,
        recorder: Recorder::open(clock, &CpuSet::single(place.cpu)),
        grinds,
        collective: flags.collective,
        causes: Causes::default(),
        causes_in_steps: Causes::default(),
    };
    let counts = levels(world.size);
    let groups: Vec<Option<Group>> = counts.iter().map(|count| world.first(*count)).collect();
    let mut tally = Tally::new(time, &counts);
    let watching = flags.seconds / 2 / TURNS as u32;
    let stepping = watching / counts.len() as u32;
    let guess = |count: &usize| step_count(stepping, flags.step.as_secs_f64() * place.crowd(*count) as f64);
    let mut steps: Vec<u64> = counts.iter().map(guess).collect();
    let first_meeting = meet(world, time);
    let mut before = first_meeting;
    for turn in 0..TURNS {
        world.broadcast(&mut steps);
        let watched = bench.watch(world, watching)?;
        let mut steps_made: Vec<Option<Stepping>> = Vec::with_capacity(groups.len());
        for (group, steps) in groups.iter().zip(&steps) {
            steps_made.push(group.as_ref().map(|group| bench.step(group, *steps as usize)).transpose()?);
            world.wait_gently();
        }
        let after = meet(world, time);
        let clocks = Alignment::through(before, after);
        tally.add_watching(world, &watched, &clocks);
        for (level, (group, steps_made)) in groups.iter().zip(&steps_made).enumerate() {
            if let Some((group, steps_made)) = group.as_ref().zip(steps_made.as_ref()) {
                tally.add_steps(group, level, turn, steps_made, &clocks);
            }
            world.wait_gently();
        }
        for (steps, level) in steps.iter_mut().zip(&tally.levels) {
            *steps = level.turn_means.last().map_or(*steps, |mean_ns| step_count(stepping, mean_ns / 1e9));
        }
        before = after;
    }
    Ok(Measured { place, bench, tally, first_meeting, last_meeting: before })
}

/// Returns the number of steps in a repetition, given the time of one.
fn step_count(turn: Duration, step_s: f64) -> u64 {
    ((turn.as_secs_f64() / step_s) as u64).clamp(FEWEST_STEPS, MOST_STEPS)
}

// The two kinds of repetition: all ranks sample, or some of them make steps.

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

// The sums of a rank over its repetitions, added once the clocks of a repetition can be aligned.

/// The sums of this rank.
pub struct Tally {
    time: OwnTime,
    pub gaps: Vec<Gap>,
    pub span_ns: u64,
    pub watched_ns: f64,
    pub lost_ns: f64,
    pub working_ns: f64,
    pub lost_in_steps_ns: f64,
    pub last_steps: u64,
    pub maybe_last_steps: u64,
    pub clock_error_ns: f64,
    /// The levels, by the number of ranks that take part.
    pub levels: Vec<Level>,
    /// The longest steps, on rank 0.
    pub long_steps: Vec<LongStep>,
}

/// The steps of a number of ranks.
pub struct Level {
    pub ranks: usize,
    /// The sums of this rank: its work without gaps, and its steps.
    pub net_ns: f64,
    pub own_steps: u64,
    /// The sum over the slowest rank of each step.
    slowest_net_ns: f64,
    /// In ns: the mean step of each repetition, every step, and the shortest barrier of each.
    pub turn_means: Vec<f64>,
    pub lengths: Vec<f64>,
    pub rests: Vec<f64>,
}

/// The loss of a rank in one of the longest steps of a repetition.
#[derive(Serialize, Deserialize)]
struct Part {
    lost_ns: f64,
    cause: Option<Cause>,
    is_last: bool,
}

/// The number of longest steps of a repetition that are examined, …
const LONGEST: usize = 3;
/// … and the number that is kept of all repetitions.
const KEPT: usize = 10;

impl Level {
    pub fn of(ranks: usize) -> Self {
        Self {
            ranks,
            net_ns: 0.0,
            own_steps: 0,
            slowest_net_ns: 0.0,
            turn_means: Vec::new(),
            lengths: Vec::new(),
            rests: Vec::new(),
        }
    }

    /// Returns this rank's work of a step without gaps.
    pub fn work_ns(&self) -> Option<f64> {
        (self.own_steps > 0).then(|| self.net_ns / self.own_steps as f64)
    }

    /// Returns the slowest rank's work of a step, which may be another rank's in each step.
    pub fn slowest_work_ns(&self) -> Option<f64> {
        (self.own_steps > 0).then(|| self.slowest_net_ns / self.own_steps as f64)
    }
}

impl Tally {
    pub fn new(time: OwnTime, levels: &[usize]) -> Self {
        Self {
            time,
            gaps: Vec::new(),
            span_ns: 0,
            watched_ns: 0.0,
            lost_ns: 0.0,
            working_ns: 0.0,
            lost_in_steps_ns: 0.0,
            last_steps: 0,
            maybe_last_steps: 0,
            clock_error_ns: 0.0,
            levels: levels.iter().map(|ranks| Level::of(*ranks)).collect(),
            long_steps: Vec::new(),
        }
    }

    /// Adds a repetition of sampling: the time that all ranks sampled, on rank 0's clock.
    pub fn add_watching(&mut self, world: &Group, turn: &Watching, clocks: &Alignment) {
        self.clock_error_ns = self.clock_error_ns.max(clocks.error_ns());
        let at = |ticks: u64| clocks.reference_ns(self.time.at_ns(ticks));
        let from = world.greatest(&[at(turn.start)])[0];
        let to = world.least(&[at(turn.end)])[0];
        let length_ns = (to - from).max(0.0).floor() as u64;
        let place = |ns: f64| ((ns - from).max(0.0).round() as u64).min(length_ns);
        for seen in &turn.seen {
            let (start, end) = (place(at(seen.start)), place(at(seen.start + seen.length)));
            if end > start {
                self.gaps.push(Gap { start_ns: self.span_ns + start, duration_ns: end - start });
                self.lost_ns += (end - start) as f64;
            }
        }
        self.watched_ns += length_ns as f64;
        self.span_ns += length_ns;
    }

    /// Adds a repetition of steps of the ranks of `group`, which are those of this level.
    pub fn add_steps(&mut self, group: &Group, level: usize, number: u64, turn: &Stepping, clocks: &Alignment) {
        let (lost, net) = self.add_own(level, turn);
        self.levels[level].slowest_net_ns += group.greatest(&net).iter().sum::<f64>();
        let times = turn.steps.iter();
        let arrived: Vec<f64> = times.clone().map(|step| clocks.reference_ns(self.time.at_ns(step.arrived))).collect();
        let error_ns = clocks.error_ns();
        let latest = group.greatest(&arrived);
        let surely = group.greatest(&arrived.iter().map(|moment| moment - error_ns).collect::<Vec<_>>());
        let maybe: Vec<f64> = arrived
            .iter()
            .zip(&surely)
            .map(|(moment, least)| f64::from(u8::from(moment + error_ns >= *least)))
            .collect();
        let candidates = group.sums(&maybe);
        let is_last: Vec<bool> = arrived.iter().zip(&latest).map(|(own, last)| own == last).collect();
        let rests: Vec<f64> = times.map(|step| self.time.at_ns(step.left) - self.time.at_ns(step.arrived)).collect();
        let rests = group.least(&rests);
        if group.size == self.levels.last().map_or(0, |level| level.ranks) {
            let surely_last = is_last.iter().zip(&candidates).filter(|(last, count)| **last && **count < 1.5).count();
            self.last_steps += surely_last as u64;
            self.maybe_last_steps += maybe.iter().filter(|one| **one > 0.0).count() as u64;
        }
        let lengths = self.lengths(turn);
        self.look_at_longest(group, number, turn, &lengths, &lost, &is_last, &candidates);
        let own_level = &mut self.levels[level];
        own_level.turn_means.push(lengths.iter().sum::<f64>() / lengths.len() as f64);
        own_level.lengths.extend(lengths);
        own_level.rests.extend(rests);
    }

    /// Returns this rank's loss in each step, and its work without the loss.
    fn add_own(&mut self, level: usize, turn: &Stepping) -> (Vec<f64>, Vec<f64>) {
        let (mut before, mut begin) = (0, turn.begin);
        let mut all = (Vec::with_capacity(turn.steps.len()), Vec::with_capacity(turn.steps.len()));
        for step in &turn.steps {
            let seen = &turn.seen[before..step.seen];
            let lost: f64 =
                seen.iter().map(|one| self.time.at_ns(one.start + one.length) - self.time.at_ns(one.start)).sum();
            let worked = self.time.at_ns(step.arrived) - self.time.at_ns(begin);
            self.working_ns += worked;
            self.lost_in_steps_ns += lost;
            self.levels[level].net_ns += worked - lost;
            self.levels[level].own_steps += 1;
            (before, begin) = (step.seen, step.left);
            all.0.push(lost);
            all.1.push(worked - lost);
        }
        all
    }

    fn lengths(&self, turn: &Stepping) -> Vec<f64> {
        let mut begin = self.time.at_ns(turn.begin);
        let length = |step: &StepTimes| {
            let left = self.time.at_ns(step.left);
            left - std::mem::replace(&mut begin, left)
        };
        turn.steps.iter().map(length).collect()
    }

    /// Distributes the longest steps of the repetition from rank 0, and collects the loss of each rank in them.
    #[allow(clippy::too_many_arguments)]
    fn look_at_longest(
        &mut self,
        group: &Group,
        number: u64,
        turn: &Stepping,
        lengths: &[f64],
        lost: &[f64],
        is_last: &[bool],
        candidates: &[f64],
    ) {
        let mut order: Vec<u64> = (0..lengths.len() as u64).collect();
        order.sort_by(|a, b| lengths[*b as usize].total_cmp(&lengths[*a as usize]));
        order.truncate(LONGEST);
        group.broadcast(&mut order);
        let part = |&step: &u64| {
            let step = step as usize;
            let from = if step == 0 { 0 } else { turn.steps[step - 1].seen };
            let gaps = from..turn.steps[step].seen;
            let worst = gaps.max_by_key(|gap| turn.seen[*gap].length);
            Part { lost_ns: lost[step], cause: worst.map(|gap| turn.causes[gap].clone()), is_last: is_last[step] }
        };
        let own_parts = serde_json::to_string(&order.iter().map(part).collect::<Vec<_>>()).expect("numbers and names");
        let parts = group.texts_at_first(&own_parts);
        let parts: Vec<Vec<Part>> = parts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        if group.rank != 0 || parts.len() != group.size {
            return;
        }
        for (place, &step) in order.iter().enumerate() {
            let parts: Vec<&Part> = parts.iter().map(|rank| &rank[place]).collect();
            let worst = parts.iter().max_by(|a, b| a.lost_ns.total_cmp(&b.lost_ns));
            let sure = candidates[step as usize] < 1.5;
            self.long_steps.push(LongStep {
                ranks: group.size as u64,
                turn: number,
                step,
                length_us: lengths[step as usize] / 1e3,
                last: parts.iter().position(|part| part.is_last).filter(|_| sure).map(|rank| rank as u64),
                lost_us: parts.iter().map(|part| part.lost_ns / 1e3).collect(),
                cause: worst.and_then(|part| part.cause.clone()),
            });
        }
        self.long_steps.sort_by(|a, b| b.length_us.total_cmp(&a.length_us));
        self.long_steps.truncate(KEPT);
    }
}
