//! The common options, which mean the same for every command, and the help, which describes them once. A command accepts
//! those that it uses, before or after its name; its help names them.

use crate::commands::manual::EXIT_STATUS;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use harness::help::{self, WIDEST, heading};
use harness::{COMMON_OPTIONS, SharedFlags, UsageError};
use std::io::{self, IsTerminal};
use terminal::{Page, wrapped};

/// Returns all common options.
fn all() -> Vec<Arg> {
    SharedFlags::augment_args(Command::new("")).get_arguments().cloned().collect()
}

/// The purpose that a command line is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be parsed: a flag that a command does not accept exists and is hidden, so that contend itself refuses it.
    Parsing,
    /// To be described in completions and man pages: such a flag does not exist.
    Describing,
}

/// Adds all of them to the whole command, also for the commands below it.
pub fn with_all(root: Command, purpose: Purpose) -> Command {
    all().into_iter().fold(root, |root, flag| root.arg(flag.global(purpose == Purpose::Parsing)))
}

/// Adds the shared flags that the command accepts.
pub fn with_flags(command: Command, purpose: Purpose, takes: impl Fn(&str) -> bool) -> Command {
    all().into_iter().fold(command, |command, flag| {
        let (id, is_taken) = (flag.get_id().clone(), takes(flag.get_id().as_str()));
        let has_own = command.get_arguments().any(|own| *own.get_id() == id);
        let is_there = !has_own && (is_taken || purpose == Purpose::Parsing);
        if is_there { command.arg(flag.global(false).hide(!is_taken)) } else { command }
    })
}

/// Checks that no flag was given which the command would ignore.
pub fn check(matches: &ArgMatches, call: &str, takes: impl Fn(&str) -> bool) -> Result<(), UsageError> {
    let given =
        |id: &str| matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine);
    let ignored = all().into_iter().find(|flag| given(flag.get_id().as_str()) && !takes(flag.get_id().as_str()));
    match ignored {
        None => Ok(()),
        Some(flag) => {
            let name = flag.get_long().unwrap_or_default();
            Err(UsageError(format!("--{name}: `contend {call}` does not take this option; omit it")))
        }
    }
}

/// The commands of the command line by their purpose.
///
/// A command that is in none of these sections measures this machine.
const SECTIONS: [(&str, &[&str]); 4] = [
    ("model", &["model", "lockstep"]),
    ("your program", &["trace", "top", "lines", "explain", "preempted", "ab"]),
    ("records", &["compare", "baseline", "report", "ladder", "machines", "history", "schema"]),
    ("other", &["doctor", "screen", "completions", "man", "serve", "fetch", HELP]),
];
const MEASURE: &str = "measure this machine";

/// The command that clap adds.
const HELP: &str = "help";
const HELP_ABOUT: &str = "Print this message, the help of a command, or the common options (help common)";

/// Returns the command of `contend CALL`, whose help names the common options that it accepts.
pub fn of_command(command: Command, call: &str) -> Command {
    let heading = heading(&command);
    let is_common = |flag: &Arg| flag.get_help_heading() == Some(COMMON_OPTIONS);
    let names: Vec<String> = all()
        .iter()
        .filter(|flag| !flag.is_hide_set())
        .filter(|flag| {
            let mut own = command.get_arguments();
            own.any(|own| own.get_id() == flag.get_id() && is_common(own) && !own.is_hide_set())
        })
        .filter_map(|flag| flag.get_long().map(|name| format!("--{name}")))
        .collect();
    let command = if names.is_empty() { command } else { with_usage(command, call) };
    let after = command.get_after_help().map(|text| text.ansi().to_string()).unwrap_or_default();
    let line = format!("{heading}Common options:{heading:#} {}.\nSee `contend help common`.\n\n", names.join(", "));
    let after = if names.is_empty() { after } else { line + &after };
    help::laid_out(command.mut_args(|flag| if is_common(&flag) { flag.hide(true) } else { flag })).after_help(after)
}

/// Sets the usage while the common options are not hidden yet, since they are options, too.
fn with_usage(command: Command, call: &str) -> Command {
    let is_own = |flag: &Arg| !flag.is_hide_set() && flag.get_help_heading() != Some(COMMON_OPTIONS);
    if command.get_overridden_usage().is_some() || command.get_opts().any(is_own) {
        return command;
    }
    let usage = command.clone().bin_name(format!("contend {call}")).render_usage().to_string();
    command.override_usage(usage.trim_start_matches("Usage: ").to_owned())
}

/// Returns the help of the common options.
pub fn of_topic(topic: Command) -> Command {
    let heading = heading(&topic);
    let layout = format!("{{before-help}}{heading}Common options:{heading:#}\n{{options}}{{after-help}}");
    help::laid_out(topic).help_template(layout)
}

/// Returns the command line: its commands by their purpose, the common options, the exit status.
pub fn of_root(root: Command) -> Command {
    let heading = heading(&root);
    let commands = sections(&root);
    let layout = format!(
        "{{before-help}}{{usage-heading}} {{usage}}\n\n{commands}{heading}Common options:{heading:#}\n\
         {{options}}{{after-help}}"
    );
    help::laid_out(help::with_exit_status(root, EXIT_STATUS)).help_template(layout)
}

/// Returns the commands, each with its line, by their purpose.
fn sections(root: &Command) -> String {
    let heading = heading(root);
    let known = |name: &str| SECTIONS.iter().any(|(_, names)| names.contains(&name));
    let visible: Vec<(&str, String)> = root
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(|one| (one.get_name(), one.get_about().map(ToString::to_string).unwrap_or_default()))
        .chain([(HELP, HELP_ABOUT.to_owned())])
        .collect();
    let width = visible.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let columns = if io::stdout().is_terminal() { Page::of_stdout().width.min(WIDEST) } else { WIDEST };
    let page = Page { width: columns, ..Page::plain() };
    // `wrapped` puts a blank before each word.
    let line =
        |(name, about): &(&str, String)| wrapped(&format!("  {name:<width$} "), &" ".repeat(width + 3), about, &page);
    let section = |title: &str, is_in: &dyn Fn(&str) -> bool| {
        let lines: String = visible.iter().filter(|(name, _)| is_in(name)).map(line).collect();
        format!("{heading}Commands ({title}):{heading:#}\n{lines}\n")
    };
    let rest = SECTIONS.iter().map(|(title, names)| section(title, &|name| names.contains(&name)));
    section(MEASURE, &|name| !known(name)) + &rest.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::super::{Purpose, command};
    use super::*;

    #[test]
    fn sections_list_commands_that_exist() {
        let mut root = command(Purpose::Parsing);
        root.build();
        for name in SECTIONS.iter().flat_map(|(_, names)| *names) {
            assert!(root.find_subcommand(name).is_some(), "{name}");
        }
    }
}
