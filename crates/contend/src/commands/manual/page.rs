//! One man page: clap's definition of a command, and the information that is common to all.

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use harness::COMMON_OPTIONS;
use std::io;

/// The text by which a page of contend is recognised.
const MANUAL: &str = "contend manual";

/// The exit status of every command, and its meaning.
pub const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "success"),
    ("1", "the measurement or the command failed; standard error has the reason"),
    ("2", "invalid command line; the message names the option, its value, and the allowed values"),
    ("3", "a limit was exceeded (--fail-if), or an event was found (--stop-above)"),
    ("4", "`contend compare --fail-if` could judge no value; standard error has the reason"),
    ("130", "interrupted by Ctrl-C, SIGTERM or SIGHUP; results so far were printed and saved"),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("CONTEND_ARCHIVE", "Archive directory, unless --archive names one. Empty: no record is saved."),
    ("XDG_DATA_HOME", "Data directory, an absolute path [default: ~/.local/share]."),
    ("NO_COLOR", "If set and not empty, contend uses no colours and no live views."),
];

const FILES: &[(&str, &str)] =
    &[("$XDG_DATA_HOME/contend/archive.git", "Records of all runs, in a bare Git repository.")];

/// Returns the name of a command's page, such as `contend-history-list`.
pub fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// Returns whether a text is a page that [`of`] wrote.
pub fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(".TH contend") && line.contains(MANUAL))
}

/// Returns the page of a command that has been built, below `above`.
pub fn of(command: &Command, above: Option<&Command>) -> io::Result<String> {
    let source = format!("contend {}", env!("CARGO_PKG_VERSION"));
    let is_root = above.is_none();
    let is_common = |flag: &Arg| flag.get_help_heading() == Some(COMMON_OPTIONS);
    let common = command.get_arguments().filter(|flag| is_common(flag) && !flag.is_hide_set());
    let common: Vec<String> = common.filter_map(|flag| flag.get_long().map(|name| format!("--{name}"))).collect();
    // The common options are described once, on the page of contend itself.
    let described = command.clone().mut_args(|flag| if is_common(&flag) && !is_root { flag.hide(true) } else { flag });
    let man = Man::new(described).source(source).manual(MANUAL);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    if !is_root && !common.is_empty() {
        roff.control("SH", ["COMMON OPTIONS"]);
        roff.text([roman(format!("{}. See ", common.join(", "))), bold("contend"), roman("(1).")]);
    }
    list(&mut roff, "EXAMPLES", &examples(command));
    [("EXIT STATUS", EXIT_STATUS), ("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)]
        .into_iter()
        .for_each(|(heading, items)| list(&mut roff, heading, items));
    see_also(&mut roff, command, above);
    roff.to_writer(&mut page)?;
    String::from_utf8(page).map_err(io::Error::other)
}

/// Returns the calls at the end of the command's help, each with its effect.
fn examples(command: &Command) -> Vec<(String, String)> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<&str> = help.lines().skip(1).take_while(|line| line.starts_with(' ')).map(str::trim).collect();
    lines.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

fn list<T: AsRef<str>>(roff: &mut Roff, heading: &str, items: &[(T, T)]) {
    roff.control("SH", [heading]);
    for (name, meaning) in items {
        roff.control("TP", []).text([bold(name.as_ref())]).text([roman(meaning.as_ref())]);
    }
}

/// Adds the page above, and those below it or on the same level.
fn see_also(roff: &mut Roff, command: &Command, above: Option<&Command>) {
    let parent = if command.has_subcommands() { command } else { above.unwrap_or(command) };
    let near = parent.get_subcommands().filter(|one| !one.is_hide_set() && name(one) != name(command));
    let mut pages: Vec<&str> = above.into_iter().chain(near).map(name).collect();
    pages.dedup();
    roff.control("SH", ["SEE ALSO"]);
    let last = pages.len().saturating_sub(1);
    let words = pages
        .iter()
        .enumerate()
        .flat_map(|(place, page)| [bold(*page), roman(if place == last { "(1)" } else { "(1), " })]);
    roff.text(words.collect::<Vec<_>>());
}
