//! A run of a program and its surroundings: the commands before it and after it, the client of a server.

use crate::client::{Client, serve};
use crate::process::{End, Failed, FinishedRun, Orphans, Pause, Running, pause, wait};
use blame::names::message;
use harness::{Interrupted, Interruption};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
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
        // A signal of the terminal's reaches these commands too.
        let or_interrupted = |error: anyhow::Error| {
            if interruption.is_requested() { Interrupted.into() } else { error }
        };
        self.shell("--prepare", self.prepare).map_err(or_interrupted)?;
        let input = self.input.map(|path| {
            File::open(path).map_err(|error| anyhow::anyhow!("--input {}: {}", path.display(), message(&error)))
        });
        let input = input.transpose()?;
        let orphans = Orphans::adopt();
        let running = Running::start(command, input)?;
        let took = match self.client {
            None => self.alone(running, at_most, interruption),
            Some(client) => serve(client, running, self.pause, at_most, interruption),
        };
        let left = orphans.end();
        self.shell("--cleanup", self.cleanup).map_err(or_interrupted)?;
        Ok(took?.map_err(|failed| if left > 0 { failed.left_running() } else { failed }))
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
        let wall_s = began.elapsed().as_secs_f64();
        let ended = running.end()?;
        let how = match end {
            End::Interrupted => return Err(Interrupted.into()),
            End::Late => format!("did not end within {:.0} s", at_most.unwrap_or_default().as_secs_f64()),
            End::Itself(_) => match ended.fault().filter(|_| !self.ignores_status) {
                None => {
                    let status = ended.status();
                    return Ok(Ok(FinishedRun { wall_s, usage: ended.usage, status, output: ended.output }));
                }
                Some(fault) => fault,
            },
        };
        Ok(Err(Failed { how, output: ended.output }))
    }

    /// Runs the command of an option, if there is one.
    ///
    /// # Errors
    /// It does not end well.
    fn shell(&self, flag: &str, command: Option<&str>) -> anyhow::Result<()> {
        let Some(command) = command else { return Ok(()) };
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).stdin(Stdio::null());
        self.directory.into_iter().for_each(|directory| _ = shell.current_dir(directory));
        let output = shell.output().map_err(|error| anyhow::anyhow!("cannot start sh: {}", message(&error)))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{flag} {command}: {}; {}", output.status, stderr.trim_end());
        Ok(())
    }
}
