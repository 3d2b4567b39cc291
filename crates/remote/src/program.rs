//! A program behind a subcommand of contend: its flags, its help, its exit status, and the program contend for tasks
//! that only it can do.

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{Args, Command, FromArgMatches};
use harness::{Outcome, UsageError, help, output};
use instruments::helper;
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use terminal::escaped_text;

/// The help texts of a program.
pub struct Words {
    /// The name after `contend`.
    pub name: &'static str,
    pub binary: &'static str,
    /// Example calls, each with its effect.
    pub calls: &'static [(&'static str, &'static str)],
}

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "success"),
    ("1", "the command failed; standard error has the reason"),
    ("2", "invalid command line; the message names the option, its value, and the allowed values"),
];

const INTERRUPTED: u8 = 130;

/// Runs the program with the flags that it was called with.
pub fn run<F: Args + FromArgMatches>(words: &Words, body: fn(&F) -> anyhow::Result<Outcome>) -> ExitCode {
    let parsed = command::<F>(words).try_get_matches().and_then(|matches| F::from_arg_matches(&matches));
    let flags = parsed.unwrap_or_else(|misuse| refuse(&misuse));
    match body(&flags) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Exceeded | Outcome::NotJudged) => ExitCode::FAILURE,
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Ok(Outcome::ProgramFailed(status)) => ExitCode::from(status),
        Err(error) => match error.downcast::<UsageError>() {
            Ok(misuse) => refuse(&command::<F>(words).error(ErrorKind::ValueValidation, misuse)),
            Err(error) => {
                output::eprint_line(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
        },
    }
}

fn command<F: Args>(words: &Words) -> Command {
    let command = Command::new(words.binary).bin_name(format!("contend {}", words.name));
    let command = F::augment_args(command.version(env!("CARGO_PKG_VERSION")));
    help::laid_out(help::with_exit_status(help::with_examples(command, words.calls), EXIT_STATUS))
}

/// Prints clap's message, which may be the help, and exits; without its colours where the arguments, which it repeats,
/// have characters that a terminal obeys.
fn refuse(misuse: &clap::Error) -> ! {
    let text = misuse.render().to_string();
    if !misuse.use_stderr() || escaped_text(&text) == text {
        misuse.exit();
    }
    output::eprint_line(text.trim_end());
    std::process::exit(misuse.exit_code())
}

/// Returns the path of the program `contend`, which is searched next to this program, then on the path.
///
/// # Errors
/// It is in neither place.
pub fn contend() -> anyhow::Result<PathBuf> {
    helper::find_beside("contend").context("contend: not found next to this program or in PATH")
}
