//! The program of a rank, from its greeting to the record.

mod ending;
mod measure;
mod world;

use clap::error::ErrorKind;
use harness::output::{self, OutputFile};
use harness::{Format, Interruption, Neighbour, Session, SharedFlags};
use lockstep::flags::Flags;
use lockstep::greeting::{Greeting, build, obstacle};
use measure::{TURNS, measure};
use std::path::Path;
use std::process::ExitCode;
use world::Group;

/// The exit status for invalid flags, or ranks that do not belong together.
const MISUSE: u8 = 2;

/// Runs this rank, and returns its exit status.
pub fn run() -> ExitCode {
    let parsed = Flags::of_process();
    if let Err(error) = &parsed
        && matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
    {
        error.exit();
    }
    // A rank that panics must not wait for the others at its end.
    std::panic::set_hook(Box::new(|panic| world::give_up(&panic.to_string(), 101)));
    let Some(universe) = mpi::initialize() else {
        output::eprint_line("error: cannot initialise MPI");
        return ExitCode::FAILURE;
    };
    let world = Group::of(universe.world());
    match job(&world, parsed) {
        Ok(code) => code,
        Err(error) => world::give_up(&format!("rank {}: {error:#}", world.rank), 1),
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
    // Only rank 0 examines the machine for the record and writes; errors of that are known before all ranks wait.
    let first = (world.rank == 0).then(|| Ok::<_, anyhow::Error>((Session::open(&shared(&flags))?, file(&flags)?)));
    let first = first.transpose()?;
    let interruption =
        first.as_ref().map_or_else(Interruption::catch, |(session, _)| Ok(session.interruption.clone()))?;
    // While all ranks sample, no messages are exchanged.
    world::watch(world.rank, flags.patience + flags.seconds / TURNS as u32, interruption)?;
    let mut seed = [first.as_ref().map_or(0, |(session, _)| session.seed)];
    world.broadcast(&mut seed);
    let measured = measure(world, &flags, seed[0])?;
    ending::conclude(world, &flags, seed[0], measured, first)?;
    Ok(ExitCode::SUCCESS)
}

fn file(flags: &Flags) -> anyhow::Result<Option<OutputFile>> {
    let wanted = flags.output != Path::new("-");
    wanted.then(|| OutputFile::open("--output", &flags.output)).transpose()
}

/// Returns the flags of a session.
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
        live_to: None,
    }
}
