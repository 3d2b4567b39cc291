//! Commands that are separate programs, so that their dependencies are not built with the rest: `contend NAME …`
//! executes `contend-NAME …`, searched next to contend and then on the path.
//!
//! It replaces the process, and does not start a child: signals, the terminal and the exit status are the program's
//! own.

use anyhow::{Context, bail};
use clap::{Arg, Command};
use harness::Example;
use instruments::helper;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process;

/// A program that is built and installed separately.
pub struct ExternalProgram {
    pub binary: &'static str,
    /// The package that has it, and its directory in the sources.
    pub package: &'static str,
    pub folder: &'static str,
}

/// A command that is a separate program.
pub struct Program {
    /// The word after `contend`.
    pub name: &'static str,
    pub about: &'static str,
    pub program: ExternalProgram,
    pub examples: &'static [Example],
}

/// All such programs, in the order of the help.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "serve",
        about: "Serve the archive, live results and Prometheus metrics over HTTP",
        program: remote("contend-serve"),
        examples: &[
            ("contend serve", "Serve on this machine only, at the address in the first line"),
            ("contend serve --listen 0.0.0.0:8418 --token-file token", "Serve over TLS to clients with the token"),
        ],
    },
    Program {
        name: "fetch",
        about: "Copy records from other machines to the local archive, or follow a run there",
        program: remote("contend-fetch"),
        examples: &[
            ("contend fetch localhost:8418", "Copy the records that the local archive lacks"),
            ("contend fetch one:8418,two:8418 last", "Copy the last record of each of two machines"),
        ],
    },
];

const fn remote(binary: &'static str) -> ExternalProgram {
    ExternalProgram { binary, package: "contend-remote", folder: "crates/remote" }
}

/// Returns the program for this word.
pub fn named(word: &OsStr) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == word)
}

impl Program {
    /// Returns its command: a name, and arguments that only the program parses.
    pub fn command(&self) -> Command {
        let ExternalProgram { binary, package, .. } = self.program;
        let long = format!(
            "{}\n\nThis command is a separate program, {binary}, which is not installed here: {}. Once it is \
             installed, `contend {} --help` prints its options.",
            self.about,
            self.program.remedy(),
            self.name
        );
        let arguments = Arg::new("arguments").value_name("ARGUMENTS").num_args(0..);
        let arguments = arguments.allow_hyphen_values(true).trailing_var_arg(true);
        let help = format!("Arguments, passed to {binary} unchanged (part of {package})");
        Command::new(self.name).about(self.about).long_about(long).arg(arguments.help(help))
    }

    /// Executes the program; `None` if it is missing and only its help was requested, which is in [`Self::command`].
    ///
    /// # Errors
    /// It is missing, or the kernel refuses it.
    pub fn run(&self, arguments: &[OsString]) -> anyhow::Result<Option<Infallible>> {
        let Some(path) = self.program.find() else {
            if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
                return Ok(None);
            }
            bail!("contend {}: {}", self.name, self.program.missing());
        };
        let refused = process::Command::new(&path).args(arguments).exec();
        Err(refused).with_context(|| format!("cannot run {}", path.display()))
    }
}

impl ExternalProgram {
    /// Returns the file to execute.
    pub fn find(&self) -> Option<PathBuf> {
        helper::find_beside(self.binary)
    }

    /// Returns the message that it is missing, and how it is installed.
    pub fn missing(&self) -> String {
        format!("the program {} was not found next to contend or in PATH; {}", self.binary, self.remedy())
    }

    /// Returns the one command that installs the program, wherever contend itself is.
    fn remedy(&self) -> String {
        format!("`cargo install --locked --path {}` in contend's sources installs it", self.folder)
    }
}
