//! The command line: made from the registry of experiments; what is asked for, and what its outcome means to the shell.

use crate::commands::{compare, history, manual, measure, report, schema, survey};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use experiments::{ALL, GROUPS};
use harness::{Entry, Outcome, SharedFlags, UsageError, output};
use std::process::ExitCode;
use terminal::escaped_text;

const ABOUT: &str = "What waiting costs: on this machine, with these locks, in your program";

const LONG_ABOUT: &str = "What waiting costs: on this machine, with these locks, in your program

Without a command it runs the survey: every experiment briefly, in under two minutes; it ends with what it found, in words, \
beside the figures of 1998 to 2008. `contend survey --help` has its flags.";

const EXIT_STATUS: &str = "Exit status: 0 measured; 1 the measurement failed; 2 the flags are wrong; \
3 `contend compare --fail-if` found what it was asked to; 130 interrupted, what was measured so far was printed.";

const EXCEEDED: u8 = 3;
const INTERRUPTED: u8 = 130;

/// A command that is no experiment.
struct Other {
    name: &'static str,
    flags: fn(Command) -> Command,
    run: fn(&ArgMatches, &SharedFlags) -> anyhow::Result<Outcome>,
}

/// Above the experiments in the help.
const SURVEY: Other = Other {
    name: "survey",
    flags: survey::Flags::augment_args,
    run: |matches, shared| survey::run(&survey::Flags::from_arg_matches(matches)?, shared),
};

/// Below them.
const OTHERS: &[Other] = &[
    Other {
        name: "compare",
        flags: compare::Flags::augment_args,
        run: |matches, shared| compare::run(&compare::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "report",
        flags: report::Flags::augment_args,
        run: |matches, shared| report::run(&report::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "history",
        flags: history::Flags::augment_args,
        run: |matches, shared| history::run(&history::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "schema",
        flags: schema::Flags::augment_args,
        run: |matches, shared| schema::run(&schema::Flags::from_arg_matches(matches)?, shared),
    },
    Other {
        name: "completions",
        flags: manual::CompletionsFlags::augment_args,
        run: |matches, shared| {
            manual::complete(&manual::CompletionsFlags::from_arg_matches(matches)?, shared, command())
        },
    },
    Other {
        name: "man",
        flags: manual::PagesFlags::augment_args,
        run: |matches, shared| manual::write_pages(&manual::PagesFlags::from_arg_matches(matches)?, shared, command()),
    },
];

/// The whole command line.
fn command() -> Command {
    let root = Command::new("contend").version(env!("CARGO_PKG_VERSION")).about(ABOUT).long_about(LONG_ABOUT);
    let root = SharedFlags::augment_args(root).after_help(EXIT_STATUS);
    let root = root.subcommand((SURVEY.flags)(Command::new(SURVEY.name)));
    let root = ALL.iter().fold(root, with_experiment);
    OTHERS.iter().fold(root, |root, other| root.subcommand((other.flags)(Command::new(other.name))))
}

/// Of a group there is one command, with one below it for each of its experiments.
fn with_experiment(root: Command, entry: &Entry) -> Command {
    let (group, question) = entry.words();
    if question.is_none() {
        return root.subcommand(entry.command());
    }
    if root.find_subcommand(group).is_some() {
        return root.mut_subcommand(group, |group| group.subcommand(entry.command()));
    }
    let about = GROUPS.iter().find(|(name, _)| *name == group).map_or("", |(_, about)| about);
    let group = Command::new(group).about(about).subcommand_required(true).arg_required_else_help(true);
    root.subcommand(group.subcommand(entry.command()))
}

/// Runs the command and says how it went.
pub fn run() -> ExitCode {
    let matches = command().try_get_matches().unwrap_or_else(|misuse| refuse(&misuse));
    match perform(&matches) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Exceeded) => ExitCode::from(EXCEEDED),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => match error.downcast::<UsageError>() {
            // clap's own form, so that all misuse reads alike; it exits with 2.
            Ok(misuse) => refuse(&asked_for(&matches).error(ErrorKind::ValueValidation, misuse)),
            Err(error) => {
                output::eprint_line(&format!("error: {error:#}"));
                ExitCode::FAILURE
            }
        },
    }
}

/// The command whose flags these are, so that its usage is shown and no other's.
fn asked_for(matches: &ArgMatches) -> Command {
    let (mut command, mut matches) = (command(), matches);
    command.build();
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name).cloned() else { break };
        (command, matches) = (found, below);
    }
    command
}

/// Says what clap has to say, be it the help, and exits. Its colours are lost where the arguments, which it repeats,
/// have what a terminal obeys: a shell puts in the names of others' files.
fn refuse(misuse: &clap::Error) -> ! {
    let text = misuse.render().to_string();
    if !misuse.use_stderr() || escaped_text(&text) == text {
        misuse.exit();
    }
    output::eprint_line(text.trim_end());
    std::process::exit(misuse.exit_code())
}

fn perform(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    let shared = SharedFlags::from_arg_matches(matches)?;
    let Some((name, below)) = matches.subcommand() else {
        return if shared.explain { Err(no_method()) } else { survey::run(&survey::Flags::default(), &shared) };
    };
    if name == SURVEY.name {
        return (SURVEY.run)(below, &shared);
    }
    if let Some(other) = OTHERS.iter().find(|other| other.name == name) {
        return if shared.explain { Err(no_method()) } else { (other.run)(below, &shared) };
    }
    let (question, matches) = below.subcommand().map_or((None, below), |(question, matches)| (Some(question), matches));
    let entry = ALL.iter().find(|entry| entry.words() == (name, question));
    measure::run(entry.ok_or_else(no_method)?, matches, &shared)
}

fn no_method() -> anyhow::Error {
    UsageError("--explain: ask one experiment, such as `contend latency --explain`".into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn every_part_of_the_survey_is_a_command_that_its_experiment_understands() {
        for (entry, part) in ALL.iter().filter_map(|entry| Some((entry, entry.survey?))) {
            let words = ["contend"].into_iter().chain(entry.name.split(' ')).chain(part.flags.split_whitespace());
            assert!(command().try_get_matches_from(words).is_ok(), "{}", entry.name);
        }
    }
}
