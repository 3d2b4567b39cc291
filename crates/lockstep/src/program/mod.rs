//! What a rank does, from its greeting to the record.

mod clocks;
mod ending;
mod place;
mod tally;
mod turns;
mod watchdog;
mod world;

use clap::Parser;
use clap::error::ErrorKind;
use clocks::{OwnTime, meet};
use harness::output::{self, OutputFile};
use harness::{Format, Interruption, Neighbour, Session, SharedFlags};
use instruments::cpus::CpuSet;
use instruments::evidence::Recorder;
use lockstep::alignment::{Alignment, Meeting};
use lockstep::causes::Causes;
use lockstep::flags::Flags;
use lockstep::greeting::{Greeting, build, obstacle};
use lockstep::injection::Schedule;
use lockstep::watched::Watched;
use place::Place;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tally::Tally;
use turns::{Bench, Stepping};
use world::Group;

/// Flags that make no sense, or ranks that do not belong together.
const MISUSE: u8 = 2;
/// Turns of either kind: enough for an interval.
const TURNS: u64 = 10;
const FEWEST_STEPS: u64 = 10;
const MOST_STEPS: u64 = 20_000;

/// Runs this rank, and says how it went.
pub fn run() -> ExitCode {
    let parsed = Flags::try_parse();
    if let Err(error) = &parsed
        && matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
    {
        error.exit();
    }
    // A rank that panics must not wait for the others at its end.
    std::panic::set_hook(Box::new(|panic| watchdog::give_up(&panic.to_string(), 101)));
    let Some(universe) = mpi::initialize() else {
        output::eprint_line("error: MPI cannot be initialised");
        return ExitCode::FAILURE;
    };
    let world = Group::of(universe.world());
    match job(&world, parsed) {
        Ok(code) => code,
        Err(error) => watchdog::give_up(&format!("rank {}: {error:#}", world.rank), 1),
    }
}

fn job(world: &Group, parsed: Result<Flags, clap::Error>) -> anyhow::Result<ExitCode> {
    let problem = match &parsed {
        Ok(flags) => flags.check().err().map(|error| format!("error: {error}")),
        Err(error) => Some(error.to_string()),
    };
    let words = parsed.as_ref().map(Flags::words).unwrap_or_default();
    let greeting = Greeting { version: env!("CARGO_PKG_VERSION").into(), build: build()?, flags: words, problem };
    if let Some(obstacle) = obstacle(&world.all_texts(&serde_json::to_string(&greeting)?)) {
        if world.rank == 0 {
            output::eprint_line(obstacle.trim_end());
        }
        return Ok(ExitCode::from(MISUSE));
    }
    let flags = parsed?;
    // Only rank 0 looks at the machine for the record and writes; what keeps it from that is known before all wait.
    let first = (world.rank == 0).then(|| Ok::<_, anyhow::Error>((Session::open(&shared(&flags))?, file(&flags)?)));
    let first = first.transpose()?;
    let interruption =
        first.as_ref().map_or_else(Interruption::catch, |(session, _)| Ok(session.interruption.clone()))?;
    // While all watch, nobody hears of anybody.
    watchdog::watch(world.rank, flags.patience + flags.seconds / TURNS as u32, interruption)?;
    let mut seed = [first.as_ref().map_or(0, |(session, _)| session.seed)];
    world.told(&mut seed);
    let measured = measure(world, &flags, seed[0])?;
    ending::conclude(world, &flags, seed[0], measured, first)?;
    Ok(ExitCode::SUCCESS)
}

fn file(flags: &Flags) -> anyhow::Result<Option<OutputFile>> {
    let wanted = flags.output != Path::new("-");
    wanted.then(|| OutputFile::open("--output", &flags.output)).transpose()
}

/// What a session is opened with.
fn shared(flags: &Flags) -> SharedFlags {
    SharedFlags {
        seconds: Some(flags.seconds),
        until_signal: false,
        seed: flags.seed,
        cpus: None,
        neighbour: Neighbour::Ignore,
        format: Format::Json,
        output: None,
        archive: None,
        no_keep: true,
        quiet: true,
        explain: false,
    }
}

/// What a rank has when all turns are over.
pub struct Measured {
    pub place: Place,
    pub bench: Bench,
    pub tally: Tally,
    pub first_meeting: Meeting,
    pub last_meeting: Meeting,
}

/// 1, 2, 4 and so on, and all.
fn levels(ranks: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |ranks| Some(2 * ranks));
    powers.take_while(|count| *count < ranks).chain([ranks]).collect()
}

fn measure(world: &Group, flags: &Flags, seed: u64) -> anyhow::Result<Measured> {
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
        world.told(&mut steps);
        let watched = bench.watch(world, watching)?;
        let mut made: Vec<Option<Stepping>> = Vec::with_capacity(groups.len());
        for (group, steps) in groups.iter().zip(&steps) {
            made.push(group.as_ref().map(|group| bench.step(group, *steps as usize)).transpose()?);
            world.wait_gently();
        }
        let after = meet(world, time);
        let clocks = Alignment::through(before, after);
        tally.add_watching(world, &watched, &clocks);
        for (level, (group, made)) in groups.iter().zip(&made).enumerate() {
            if let Some((group, made)) = group.as_ref().zip(made.as_ref()) {
                tally.add_steps(group, level, turn, made, &clocks);
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

/// Steps of a turn, if one takes so long.
fn step_count(turn: Duration, step_s: f64) -> u64 {
    ((turn.as_secs_f64() / step_s) as u64).clamp(FEWEST_STEPS, MOST_STEPS)
}
