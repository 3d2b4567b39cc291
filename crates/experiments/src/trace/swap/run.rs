//! One run of the program.

use super::only::{Found, is_function};
pub use super::outcome::{Failed, Took};
use super::plan::Plan;
use super::process::Pause;
use super::scene::Scene;
use exchange::{CHOICE, COUNTS, Counts, ONLY};
use harness::Interruption;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// What the program loads.
pub struct Library<'a> {
    pub path: &'a str,
    pub lock: &'a str,
    pub only: &'a Found,
    pub counts: &'a Counts,
}

/// What stands in the program's environment besides what contend has there.
pub type Variables = Vec<(&'static str, OsString)>;

impl Library<'_> {
    pub fn variables(&self) -> Variables {
        let mut variables =
            vec![("LD_PRELOAD", preload(self.path)), (CHOICE, self.lock.into()), (COUNTS, self.counts.path().into())];
        if !self.only.is_empty() {
            variables.push((ONLY, ranges(self.only).into()));
        }
        variables
    }

    /// Has the program load it.
    pub fn load(&self, command: &mut Command) {
        command.envs(self.variables());
    }
}

/// Runs the program once, for so long at most.
///
/// # Errors
/// It cannot be started; a signal asks to end.
pub fn run(
    plan: &Plan,
    variables: &Variables,
    at_most: Option<Duration>,
    interruption: &Interruption,
) -> anyhow::Result<Result<Took, Failed>> {
    let mut command = command(plan);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    plan.scene().run(command, at_most, interruption)
}

/// Runs the program as it is, and stops it for a while.
///
/// # Errors
/// As [`run`].
pub fn run_stopped(plan: &Plan, pause: Pause, interruption: &Interruption) -> anyhow::Result<Result<Took, Failed>> {
    Scene { pause: Some(pause), ..plan.scene() }.run(command(plan), None, interruption)
}

fn command(plan: &Plan) -> Command {
    let mut command = Command::new(&plan.program.path);
    command.arg0(&plan.program.words[0]).args(&plan.program.words[1..]);
    command
}

/// As the library reads it.
fn ranges(only: &Found) -> String {
    let range = |(name, range): &(String, std::ops::Range<u64>)| {
        format!("{}{:x}-{:x}", if is_function(name) { "c" } else { "" }, range.start, range.end)
    };
    only.iter().map(range).collect::<Vec<String>>().join(",")
}

/// The library, before those that the user names.
pub fn preload(path: &str) -> OsString {
    let mut list = OsString::from(path);
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}
