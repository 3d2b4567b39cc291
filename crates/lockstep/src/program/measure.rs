//! The measurement: repetitions in which all ranks sample their noise alternate with repetitions of common steps.

use super::clocks::{OwnTime, meet};
use super::place::Place;
use super::tally::Tally;
use super::turns::{Bench, Stepping};
use super::world::Group;
use instruments::cpus::CpuSet;
use instruments::evidence::Recorder;
use lockstep::alignment::{Alignment, Meeting};
use lockstep::causes::Causes;
use lockstep::flags::Flags;
use lockstep::injection::Schedule;
use lockstep::watched::Watched;
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
