//! The command line: made from the registry of experiments. It parses the request, and converts the outcome to an exit
//! status.

mod complete;
mod guesses;
mod others;
mod shared;

use crate::commands::external::{self, PROGRAMS, Program};
use crate::commands::{measure, survey};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, FromArgMatches};
use experiments::{ALL, GROUPS};
use harness::help::with_examples;
use harness::{Entry, Example, Outcome, SharedFlags, UsageError, output};
use others::{OTHERS, Other, SURVEY};
use shared::Purpose;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use terminal::escaped_text;

const ABOUT: &str = "Measure what waiting costs: for locks, for the CPU, and in your own program";

const LONG_ABOUT: &str = "Measure what waiting costs: for locks, for the CPU, and in your own program

Without a command, contend runs the survey: every experiment briefly, in about one minute. The survey ends with \
findings in plain sentences, an HTML report, and a comparison with results of 1998 to 2008. See `contend survey --help`.";

const EXAMPLES: &[Example] = &[
    ("contend", "Run the survey and write its HTML report"),
    ("contend latency --lock std,parking_lot", "Compare the latency of two uncontended locks"),
    ("contend compare last~1 last", "Compare the last two records"),
    ("contend trace -- ./server", "Find the locks that a program waits for"),
];

/// The word after `contend help` for the common options, and other words for it.
const TOPIC: &str = "common";
const TOPIC_ALIASES: [&str; 2] = ["flags", "options"];

const TOPIC_ABOUT: &str = "List the common options: the flags that mean the same for every command";

const TOPIC_LONG_ABOUT: &str = "List the common options: the flags that mean the same for every command

A command accepts only the options that its help lists as common options. They can be given before or after its \
name.";

const TOPIC_EXAMPLES: &[Example] = &[
    ("contend latency --seconds 30 --seed 7 --cpus 0,2-3", "Measure for 30 s on three CPUs, in a reproducible order"),
    ("contend noise --format json --output noise.json --no-keep", "Write the record to a file only"),
];

/// The command whose options are accepted in the place of a command.
const TRACE: &str = "trace";

const EXCEEDED: u8 = 3;
const NOT_JUDGED: u8 = 4;
const INTERRUPTED: u8 = 130;

/// Returns the whole command line.
fn command(purpose: Purpose) -> Command {
    CommandLine { purpose, words: None }.root()
}

/// Returns the whole command line, where each command has the flags that it accepts and no other.
pub fn command_line() -> Command {
    command(Purpose::Describing)
}

/// The command line, before it is made.
#[derive(Clone, Copy)]
struct CommandLine<'a> {
    purpose: Purpose,
    /// The words of the command line, if only the commands that they name will be used.
    ///
    /// Any other command has neither shared flags nor a help: to lay out the help of all takes 20 ms.
    words: Option<&'a [OsString]>,
}

impl CommandLine<'_> {
    fn root(self) -> Command {
        let root = Command::new("contend").version(env!("CARGO_PKG_VERSION")).about(ABOUT).long_about(LONG_ABOUT);
        let root = with_examples(shared::with_all(root, self.purpose), EXAMPLES);
        let root = root.subcommand(self.other(&SURVEY));
        let root = ALL.iter().fold(root, |root, entry| self.with_experiment(root, entry));
        let root = OTHERS.iter().fold(root, |root, other| root.subcommand(self.other(other)));
        let root = PROGRAMS.iter().fold(root, |root, program| root.subcommand(self.program(program)));
        let root = root.subcommand(self.topic());
        if self.purpose == Purpose::Parsing { shared::of_root(root) } else { root }
    }

    fn is_used(self, command: &Command) -> bool {
        let is_named =
            |word: &OsString| word == command.get_name() || command.get_all_aliases().any(|alias| word == alias);
        // Some options in the place of a command are those of `contend trace`.
        command.get_name() == TRACE || self.words.is_none_or(|words| words.iter().any(is_named))
    }

    /// Returns the command of `contend CALL`, with the shared flags that it accepts and with its examples.
    fn complete(self, command: Command, call: &str, takes: impl Fn(&str) -> bool, examples: &[Example]) -> Command {
        if !self.is_used(&command) {
            return command;
        }
        let command = with_examples(shared::with_flags(command, self.purpose, takes), examples);
        if self.purpose == Purpose::Parsing { shared::of_command(command, call) } else { command }
    }

    /// Returns the text of `contend help common`, as a command.
    ///
    /// It is hidden, since there is nothing to run.
    fn topic(self) -> Command {
        let topic =
            Command::new(TOPIC).aliases(TOPIC_ALIASES).about(TOPIC_ABOUT).long_about(TOPIC_LONG_ABOUT).hide(true);
        if !self.is_used(&topic) {
            return topic;
        }
        let topic = with_examples(shared::with_flags(topic, self.purpose, |_| true), TOPIC_EXAMPLES);
        if self.purpose == Purpose::Parsing { shared::of_topic(topic) } else { topic }
    }

    fn program(self, program: &Program) -> Command {
        self.complete(program.command(), program.name, |_| false, program.examples)
    }

    fn other(self, other: &Other) -> Command {
        let takes = |list: &'static [&'static str]| move |flag: &str| list.contains(&flag);
        let command = other.below.iter().fold((other.flags)(Command::new(other.name)), |command, below| {
            let call = format!("{} {}", other.name, below.name);
            command.mut_subcommand(below.name, |one| self.complete(one, &call, takes(below.takes), below.examples))
        });
        self.complete(command, other.name, takes(other.takes), other.examples)
    }

    fn experiment(self, entry: &Entry) -> Command {
        self.complete(entry.command(), entry.name, |flag| entry.takes(flag), entry.examples)
    }

    /// Adds the command of an experiment.
    ///
    /// Experiments of a group are commands below the group's.
    fn with_experiment(self, root: Command, entry: &Entry) -> Command {
        let (group, question) = entry.words();
        if question.is_none() {
            return root.subcommand(self.experiment(entry));
        }
        if root.find_subcommand(group).is_some() {
            return root.mut_subcommand(group, |group| group.subcommand(self.experiment(entry)));
        }
        let about = GROUPS.iter().find(|(name, _)| *name == group).map_or("", |(_, about)| about);
        let first = |entry: &Entry| entry.examples.first().copied();
        let examples: Vec<Example> = ALL.iter().filter(|entry| entry.words().0 == group).filter_map(first).collect();
        let group = Command::new(group).about(about).subcommand_required(true).arg_required_else_help(true);
        root.subcommand(self.complete(group, entry.words().0, |_| false, &examples).subcommand(self.experiment(entry)))
    }
}

/// Runs the command and returns its exit status.
pub fn run() -> ExitCode {
    if let Err(error) = become_another() {
        output::eprint_line(&format!("error: {error:#}"));
        return ExitCode::FAILURE;
    }
    let mut words = env::args_os();
    let program = words.next().unwrap_or_else(|| "contend".into());
    let words: Vec<OsString> = words.collect();
    let root = CommandLine { purpose: Purpose::Parsing, words: Some(&words) }.root();
    let words = guesses::accepted(&root, words);
    let parsed = root.try_get_matches_from([program].into_iter().chain(words));
    let matches = parsed.unwrap_or_else(|misuse| refuse(&misuse));
    match perform(&matches) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Exceeded) => ExitCode::from(EXCEEDED),
        Ok(Outcome::NotJudged) => ExitCode::from(NOT_JUDGED),
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Ok(Outcome::ProgramFailed(status)) => ExitCode::from(status),
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

/// Executes the program that the first word names, if it names one.
///
/// Its arguments are passed on unread.
fn become_another() -> anyhow::Result<()> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let Some((program, rest)) = arguments.split_first().and_then(|(word, rest)| Some((external::named(word)?, rest)))
    else {
        return Ok(());
    };
    program.run(rest).map(drop)
}

/// Returns the command of these flags, so that its usage is shown and no other's.
fn asked_for(matches: &ArgMatches) -> Command {
    let (mut command, mut matches) = (command(Purpose::Parsing), matches);
    command.build();
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name).cloned() else { break };
        (command, matches) = (found, below);
    }
    command
}

/// Prints clap's message, which may be the help, and exits.
///
/// The message loses its colours where the arguments, which it repeats, have control characters: a shell expands names
/// of other users' files.
fn refuse(misuse: &clap::Error) -> ! {
    let words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(answer) = guesses::answer(misuse, || command(Purpose::Parsing), &words) {
        output::eprint_line(&format!("error: {answer}"));
        std::process::exit(misuse.exit_code());
    }
    let parsed = misuse.render().to_string();
    let text = guesses::reworded(&parsed);
    if !misuse.use_stderr() && !io::stdout().is_terminal() {
        std::process::exit(printed(&text, misuse.exit_code()));
    }
    if !misuse.use_stderr() || escaped_text(&text) == parsed {
        misuse.exit();
    }
    output::eprint_line(text.trim_end());
    std::process::exit(misuse.exit_code())
}

/// Prints the help to a file or a program, where clap would ignore a failed write.
fn printed(text: &str, exit_code: i32) -> i32 {
    let Err(error) = output::print(text) else { return exit_code };
    output::eprint_line(&format!("error: {error}"));
    1
}

/// Returns whether an option is on the command line, of contend or of a command.
fn is_given(matches: &ArgMatches, id: &str) -> bool {
    let is_here = matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine);
    is_here || matches.subcommand().is_some_and(|(_, below)| is_given(below, id))
}

fn perform(matches: &ArgMatches) -> anyhow::Result<Outcome> {
    let mut flags = SharedFlags::from_arg_matches(matches)?;
    flags.infer_format(is_given(matches, "format"))?;
    let Some((name, below)) = matches.subcommand() else {
        return if flags.explain { Err(no_method()) } else { survey::run(&survey::Flags::default(), &flags) };
    };
    if name == TOPIC {
        output::print(&CommandLine { purpose: Purpose::Parsing, words: None }.topic().render_help().to_string())?;
        return Ok(Outcome::Done);
    }
    if let Some(program) = external::named(name.as_ref()) {
        let name = program.name;
        return Err(
            UsageError(format!("`contend {name}` is a separate program; put its options after its name")).into()
        );
    }
    if let Some(other) = [&SURVEY].into_iter().chain(OTHERS).find(|other| other.name == name) {
        check(other, below)?;
        return (other.run)(below, &flags, command_line);
    }
    let (question, matches) = below.subcommand().map_or((None, below), |(question, matches)| (Some(question), matches));
    let entry = ALL.iter().find(|entry| entry.words() == (name, question)).ok_or_else(no_method)?;
    shared::check(matches, entry.name, |flag| entry.takes(flag))?;
    measure::run(entry, matches, &flags)
}

/// Checks that no flag was given which the command, or the one below it, would ignore.
fn check(other: &Other, matches: &ArgMatches) -> Result<(), UsageError> {
    let below = matches.subcommand().and_then(|(name, matches)| {
        let known = other.below.iter().find(|below| below.name == name)?;
        Some((known, matches))
    });
    match below {
        None => shared::check(matches, other.name, |flag| other.takes.contains(&flag)),
        Some((below, matches)) => {
            let call = format!("{} {}", other.name, below.name);
            shared::check(matches, &call, |flag| below.takes.contains(&flag))
        }
    }
}

fn no_method() -> anyhow::Error {
    UsageError("--explain: needs an experiment, as in `contend latency --explain`".into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        [Purpose::Parsing, Purpose::Describing].into_iter().for_each(|purpose| command(purpose).debug_assert());
    }

    fn help(mut command: Command) -> String {
        command.render_long_help().to_string()
    }

    /// A command has the same help and the same options if only the commands that the words name are made whole.
    #[test]
    fn named_command_is_whole() {
        let named = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            CommandLine { purpose: Purpose::Parsing, words: Some(&words) }.root()
        };
        for one in command(Purpose::Parsing).get_subcommands() {
            let name = one.get_name();
            for alias in [name].into_iter().chain(one.get_all_aliases()) {
                let found = named(&[alias]).find_subcommand(name).cloned();
                assert_eq!(found.map(help), Some(help(one.clone())), "{alias}");
            }
            for below in one.get_subcommands() {
                let words = [name, below.get_name()];
                let found = named(&words).find_subcommand(name).and_then(|one| one.find_subcommand(words[1])).cloned();
                assert_eq!(found.map(help), Some(help(below.clone())), "{words:?}");
            }
        }
        assert_eq!(help(named(&[])), help(command(Purpose::Parsing)));
        assert_ne!(
            named(&[]).find_subcommand("noise").cloned().map(help),
            named(&["noise"]).find_subcommand("noise").cloned().map(help)
        );
    }

    #[test]
    fn every_survey_part_is_parsed_by_its_experiment() {
        for (entry, part) in ALL.iter().filter_map(|entry| Some((entry, entry.survey?))) {
            let words = ["contend"].into_iter().chain(entry.name.split(' ')).chain(part.flags.split_whitespace());
            assert!(command(Purpose::Parsing).try_get_matches_from(words).is_ok(), "{}", entry.name);
        }
    }

    /// Every line, as the help prints it, is a call that is parsed, of a command that accepts all of its flags.
    #[test]
    fn every_example_is_parsed() {
        let mut open = vec![command(Purpose::Parsing)];
        while let Some(one) = open.pop() {
            let help = one.clone().render_long_help().to_string();
            let calls: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  contend")).collect();
            assert!(calls.len() >= 2, "{} has too few examples:\n{help}", one.get_name());
            for call in calls {
                // The only quotes are those around a name with spaces, or around a command.
                let pieces = call.split(['"', '\'']).enumerate();
                let words = pieces.flat_map(|(place, piece)| match place % 2 {
                    0 => piece.split_whitespace().collect::<Vec<_>>(),
                    _ => vec![piece],
                });
                let matches = command(Purpose::Parsing).try_get_matches_from(["contend"].into_iter().chain(words));
                let matches = matches.unwrap_or_else(|error| panic!("contend{call}: {error}"));
                if let Some((name, below)) = matches.subcommand() {
                    let other = OTHERS.iter().find(|other| other.name == name);
                    assert!(other.is_none_or(|other| check(other, below).is_ok()), "contend{call}");
                }
            }
            open.extend(one.get_subcommands().cloned());
        }
    }
}
