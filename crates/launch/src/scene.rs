//! A run of a program and its surroundings: the commands before it and after it, the client of a server.

use crate::client::{Client, serve};
use crate::process::{End, Failed, FinishedRun, Pause, Running, pause, wait};
use blame::names::message;
use harness::{Interrupted, Interruption};
use instruments::helper;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Variables that are added to the environment of a program.
pub type Variables = Vec<(&'static str, OsString)>;

/// The surroundings of every run of a program: the commands before it and after it, and the client of a server.
#[derive(Clone, Copy, Default)]
pub struct Scene<'a> {
    pub prepare: Option<&'a str>,
    pub cleanup: Option<&'a str>,
    pub client: Option<&'a Client>,
    /// Time when the program, and its client, is stopped for a while.
    pub pause: Option<Pause>,
    /// The file that the program reads as its standard input; none for an empty one.
    pub input: Option<&'a Path>,
    /// The directory of the commands before it and after it; contend's own if there is none.
    pub directory: Option<&'a Path>,
    /// Whether a run that ends with an exit status, or by a signal, is good anyway.
    pub ignores_status: bool,
}

impl Scene<'_> {
    /// Runs the program, for at most this long.
    ///
    /// # Errors
    /// It cannot be started; a signal asks to end.
    pub fn run(
        &self,
        command: Command,
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<FinishedRun, Failed>> {
        self.shell("--prepare", self.prepare, interruption)?;
        let input = self.input.map(|path| {
            File::open(path).map_err(|error| anyhow::anyhow!("--input {}: {}", path.display(), message(&error)))
        });
        let input = input.transpose()?;
        let running = Running::start(command, input)?;
        let took = match self.client {
            None => self.alone(running, at_most, interruption),
            Some(client) => serve(client, running, self.pause, at_most, interruption),
        };
        // An interruption of the run is not one of the command that tidies up after it.
        let during = if interruption.is_requested() { &Interruption::default() } else { interruption };
        self.shell("--cleanup", self.cleanup, during)?;
        took
    }

    fn alone(
        &self,
        running: Running,
        at_most: Option<Duration>,
        interruption: &Interruption,
    ) -> anyhow::Result<Result<FinishedRun, Failed>> {
        let began = running.began;
        let end = match self.pause.map(|stops| pause(&[&running], stops, interruption)).transpose()?.flatten() {
            Some(end) => end,
            None => wait(&[&running], at_most.map(|at_most| began + at_most), interruption)?,
        };
        let ended = running.end()?;
        let how = match end {
            End::Interrupted => return Err(Interrupted.into()),
            End::Late => format!("did not end within {:.0} s", at_most.unwrap_or_default().as_secs_f64()),
            End::Itself(_) => match ended.fault().filter(|_| !self.ignores_status) {
                None => {
                    let (status, wall_s) = (ended.status(), ended.wall_s);
                    return Ok(Ok(FinishedRun { wall_s, usage: ended.usage, status, output: ended.output }));
                }
                Some(fault) => fault,
            },
        };
        Ok(Err(ended.failed(how)))
    }

    /// Runs the command of an option, if there is one, in contend's process group: it may ask for a password at the
    /// terminal. A process that it leaves running may be needed by the program, and lives on.
    ///
    /// # Errors
    /// It does not end well; a signal asks to end.
    fn shell(&self, flag: &str, command: Option<&str>, interruption: &Interruption) -> anyhow::Result<()> {
        let Some(command) = command else { return Ok(()) };
        let mut shell = helper::shell(command)?;
        self.directory.into_iter().for_each(|directory| _ = shell.current_dir(directory));
        let running = Running::in_group(shell, None, false)?;
        if matches!(wait(&[&running], None, interruption)?, End::Interrupted) {
            return Err(Interrupted.into());
        }
        let ended = running.release()?;
        match ended.fault() {
            // A signal of the terminal's reaches the command too.
            Some(_) if interruption.is_requested() => Err(Interrupted.into()),
            None => Ok(()),
            Some(fault) => {
                let failed = ended.failed(fault);
                anyhow::bail!("{flag} {command}: it {}; last line of its output: {}", failed.how, failed.last_line())
            }
        }
    }
}
