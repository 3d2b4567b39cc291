//! A run of a program, with what is around it: the commands before it and after, the client of a server.

use super::client::{Client, serve};
use super::orphans::Orphans;
use super::outcome::{Failed, Took};
use super::process::{End, Pause, Running, pause, wait};
use super::shell::shell;
use crate::trace::program::Program;
use harness::{Interrupted, Interruption};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How long `contend trace` may take to write what it saw after the program has ended.
const WATCHER: Duration = Duration::from_secs(20);

/// What is around every run of a program: the commands before it and after, and the client of a server.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub prepare: Option<&'a str>,
    pub cleanup: Option<&'a str>,
    pub client: Option<&'a Client>,
    /// When the program, and its client, is stopped for a while.
    pub pause: Option<Pause>,
}

impl Scene<'_> {
    /// Runs it, for so long at most.
    ///
    /// # Errors
    /// It cannot be started; a signal asks to end.
    pub fn run(
        &self,
        command: Command,
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<Took, Failed>> {
        // A signal of the terminal's reaches these commands too.
        let or_interrupted = |error: anyhow::Error| {
            if interruption.is_requested() { Interrupted.into() } else { error }
        };
        shell("--prepare", self.prepare).map_err(or_interrupted)?;
        let orphans = Orphans::adopt();
        let running = Running::start(command)?;
        let took = match self.client {
            None => alone(running, self.pause, at_most, interruption),
            Some(client) => serve(client, running, self.pause, at_most, interruption),
        };
        let left = orphans.end();
        shell("--cleanup", self.cleanup).map_err(or_interrupted)?;
        Ok(took?.map_err(|failed| if left > 0 { failed.left_running() } else { failed }))
    }

    /// Runs the program under `contend trace`, which writes what it saw to this file, with what `more` says.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_watched(
        &self,
        program: &Program,
        record: &Path,
        more: impl FnOnce(&mut Command),
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<Took, Failed>> {
        let mut contend = Command::new(std::env::current_exe()?);
        contend.args(["trace", "--quiet", "--no-keep", "--format", "json", "--output"]).arg(record);
        // It is asked to end in the server's place, and has the same patience with that.
        let client = self.client.map(|client| {
            contend.arg("--patience").arg(format!("{}ms", client.patience.as_millis()));
            Client { patience: client.patience + WATCHER, ..client.clone() }
        });
        contend.arg("--").arg(&program.path).args(&program.words[1..]);
        more(&mut contend);
        Scene { client: client.as_ref(), ..*self }.run(contend, at_most, interruption)
    }
}

fn alone(
    running: Running,
    stops: Option<Pause>,
    at_most: Option<Duration>,
    interruption: &Interruption,
) -> anyhow::Result<Result<Took, Failed>> {
    let began = running.began;
    let end = match stops.map(|stops| pause(&[&running], stops, interruption)).transpose()?.flatten() {
        Some(end) => end,
        None => wait(&[&running], at_most.map(|at_most| began + at_most), interruption)?,
    };
    let wall_s = began.elapsed().as_secs_f64();
    let ended = running.end()?;
    let how = match end {
        End::Interrupted => return Err(Interrupted.into()),
        End::Late => format!("did not end within {:.0} s", at_most.unwrap_or_default().as_secs_f64()),
        End::Itself(_) => match ended.fault() {
            None => return Ok(Ok(Took { wall_s, cpu_s: ended.cpu_s, output: ended.output })),
            Some(fault) => fault,
        },
    };
    Ok(Err(Failed { how, output: ended.output }))
}
