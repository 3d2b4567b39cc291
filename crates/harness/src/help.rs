//! The layout of a command's help: one form for `-h` and `--help`, options in columns, examples last.

use crate::experiment::Example;
use clap::builder::PossibleValue;
use clap::builder::styling::Style;
use clap::{Arg, Command};
use terminal::{Page, wrapped};

/// The columns of a help on a wider terminal, or in a file.
pub const WIDEST: usize = 100;

/// Columns of the list of an option's values: they fit next to the longest option.
const VALUES: usize = 62;

/// The description, the usage, the options, the examples.
const LAYOUT: &str = "{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Returns the style of a heading in clap.
pub fn heading(command: &Command) -> Style {
    *command.get_styles().get_header()
}

/// Adds examples to the end of the command's help.
pub fn with_examples(command: Command, examples: &[Example]) -> Command {
    let lines = examples.iter().map(|(call, purpose)| format!("  {call}\n          {purpose}"));
    with_section(command, "Examples", &lines.collect::<Vec<String>>().join("\n"))
}

/// Adds a table of exit codes to the end of the command's help.
pub fn with_exit_status(command: Command, codes: &[(&str, &str)]) -> Command {
    let lines = codes.iter().map(|(code, meaning)| format!("  {code:<4} {meaning}"));
    with_section(command, "Exit status", &lines.collect::<Vec<String>>().join("\n"))
}

fn with_section(command: Command, title: &str, lines: &str) -> Command {
    let heading = heading(&command);
    let before = command.get_after_help().map(|text| format!("{}\n\n", text.ansi())).unwrap_or_default();
    command.after_help(format!("{before}{heading}{title}:{heading:#}\n{lines}"))
}

/// Gives the help this layout.
///
/// Without a long form of any text, `-h` and `--help` print the same.
pub fn laid_out(command: Command) -> Command {
    let description = command.get_long_about().or_else(|| command.get_about()).cloned().unwrap_or_default();
    let command = command.before_help(description).long_about(None::<&str>).mut_args(with_values);
    command.max_term_width(WIDEST).help_template(LAYOUT)
}

/// Returns an option with its default before its range, and a line for each of its values that has a description.
fn with_values(flag: Arg) -> Arg {
    const RANGE: &str = " [range: ";
    let values = flag.get_possible_values();
    let is_listed = !flag.is_hide_possible_values_set() && values.iter().any(|value| value.get_help().is_some());
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let (text, range) = help.split_at(help.find(RANGE).unwrap_or(help.len()));
    if !is_listed && range.is_empty() {
        return flag;
    }
    let defaults = flag.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
    let default = match defaults.collect::<Vec<String>>().join(",") {
        none if none.is_empty() => none,
        value => format!(" [default: {value}]"),
    };
    let listed: &[PossibleValue] = if is_listed { &values } else { &[] };
    let width = listed.iter().map(|value| value.get_name().len()).max().unwrap_or_default();
    let line = |value: &PossibleValue| {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        let first = format!("  {:<width$} ", value.get_name());
        let lines = wrapped(&first, &" ".repeat(width + 3), &about, &Page { width: VALUES, ..Page::plain() });
        format!("\n{}", lines.trim_end())
    };
    let lines: String = listed.iter().filter(|value| !value.is_hide_set()).map(line).collect();
    let flag = flag.help(format!("{text}{default}{range}{lines}")).hide_default_value(true);
    if is_listed { flag.hide_possible_values(true) } else { flag }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(flag: Arg) -> String {
        laid_out(Command::new("x").about("Do it").arg(flag)).render_help().to_string()
    }

    #[test]
    fn default_precedes_range_in_help() {
        let text = help(Arg::new("n").long("n").default_value("3").help("Number [range: 1 to 9]"));
        assert!(text.contains("Number [default: 3] [range: 1 to 9]\n"), "{text}");
    }

    #[test]
    fn values_of_an_option_are_listed_below_it() {
        let words = "word ".repeat(30);
        let values = [PossibleValue::new("a").help("first"), PossibleValue::new("bcd").help(words)];
        let text = help(Arg::new("n").long("n").value_parser(values).help("Choice"));
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.contains("Choice")).collect();
        assert!(lines[1].trim_start().starts_with("a    first"), "{text}");
        let column = lines[2].find("word").unwrap();
        assert!(lines[3].find("word") == Some(column) && !text.contains("possible values"), "{text}");
    }

    #[test]
    fn both_forms_of_help_are_the_same() {
        let command = || laid_out(Command::new("x").about("Do it").long_about("Do it\n\nAt length."));
        let help_of = |form: &str| command().try_get_matches_from(["x", form]).unwrap_err().to_string();
        assert_eq!(help_of("-h"), help_of("--help"));
        assert!(help_of("-h").starts_with("Do it\n\nAt length.\n\nUsage:"), "{}", help_of("-h"));
    }
}
