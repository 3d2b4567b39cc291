//! The help of contend's commands: the common options are described once, and named by the commands that accept them.

use super::shared;
use crate::commands::manual::EXIT_STATUS;
use clap::{Arg, Command};
use harness::help::{self, WIDEST, heading};
use std::io::{self, IsTerminal};
use terminal::{Page, wrapped};

/// The commands of the command line by their purpose.
///
/// A command that is in none of these sections measures this machine.
const SECTIONS: [(&str, &[&str]); 4] = [
    ("model", &["model", "lockstep"]),
    ("your program", &["trace", "top", "preempted", "ab"]),
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
    let is_common = |flag: &Arg| flag.get_help_heading() == Some(shared::HEADING);
    let names: Vec<String> = shared::all()
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
    let is_own = |flag: &Arg| !flag.is_hide_set() && flag.get_help_heading() != Some(shared::HEADING);
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
