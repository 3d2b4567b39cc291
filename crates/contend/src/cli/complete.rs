//! Values for the word at the cursor of a shell that only contend knows: archived records, baselines, the next item of
//! a list, and values with a parameter. The completion scripts call this hidden command.

use super::guesses::{find, option};
use crate::commands::archived;
use anyhow::ensure;
use archive::{Catalogue, Location};
use clap::{Arg, Args, Command};
use harness::{Outcome, output};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use terminal::moment;

/// Print the values for the word at the cursor; the completion scripts call this
#[derive(Args, Clone, Debug)]
#[command(hide = true)]
pub struct Flags {
    /// Words of the command line without the first one; the last word is completed
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    words: Vec<String>,
}

/// The number of the newest records that are offered.
const MOST_RECORDS: usize = 40;

/// Values with a parameter, which the definition of the option cannot list, by the name of the value.
const FORMS: [(&str, &[&str]); 3] = [
    ("POLICY", &["deadline", "fifo:", "other"]),
    ("PRIORITY", &["batch", "fifo:", "idle", "rr:"]),
    ("LIMIT", &["differs:5%", "faster:5%", "slower:5%"]),
];

/// The word that is completed: the option or the operand whose value it is.
struct Place<'a> {
    command: &'a Command,
    arg: &'a Arg,
    /// The part of the word before the value, such as `--lock=`.
    before: String,
    value: String,
    /// The archive that another word names.
    archive: Option<String>,
}

/// A value, and its description.
type Value = (String, String);

/// Prints `list` or `word`, and then a line for each value.
///
/// # Errors
/// The script's own values are better here, or there are none.
pub fn run(flags: &Flags, root: &Command) -> anyhow::Result<Outcome> {
    let place = place(root, &glued(&flags.words));
    let found = place.as_ref().map(values).unwrap_or_default();
    ensure!(!found.is_empty(), "complete: no value of this word is known");
    let is_list = place.as_ref().is_some_and(|place| is_list(place.arg));
    let lines = found.into_iter().map(|(value, about)| format!("{value}\t{about}\n"));
    output::print(&(if is_list { "list\n" } else { "word\n" }.to_owned() + &lines.collect::<String>()))?;
    Ok(Outcome::Done)
}

/// Joins the pieces of a word that bash splits at `:` and `=`.
fn glued(words: &[String]) -> Vec<String> {
    let (mut joined, mut is_open): (Vec<String>, bool) = (Vec::new(), false);
    for word in words {
        let is_separator = word == ":" || word == "=";
        match joined.last_mut() {
            Some(last) if is_separator || is_open => last.push_str(word),
            _ => joined.push(word.clone()),
        }
        is_open = is_separator;
    }
    joined
}

/// Returns the place of the last word; `None` if it is an option, a command, or a word of a program.
fn place<'a>(root: &'a Command, words: &[String]) -> Option<Place<'a>> {
    let (last, before) = words.split_last()?;
    let (mut command, mut operands, mut pending, mut archive) = (root, 0, None::<&Arg>, None);
    for word in before {
        if let Some(arg) = pending.take() {
            archive = (arg.get_id() == "archive").then(|| word.clone()).or(archive);
        } else if let Some((name, value)) = option(word) {
            let arg = find(command, root, name).filter(|arg| arg.get_action().takes_values());
            let needs_value = |arg: &&Arg| arg.get_num_args().is_none_or(|count| count.min_values() > 0);
            pending = arg.filter(|_| value.is_none()).filter(needs_value);
        } else if word == "--" {
            return None;
        } else if let Some(below) = command.find_subcommand(word) {
            (command, operands) = (below, 0);
        } else {
            operands += 1;
        }
    }
    let of = |arg, before: &str, value: &str| Place {
        command,
        arg,
        before: before.to_owned(),
        value: value.to_owned(),
        archive: archive.clone(),
    };
    match (pending, option(last)) {
        (Some(arg), _) => Some(of(arg, "", last)),
        (None, Some((name, Some(value)))) => Some(of(find(command, root, name)?, &format!("{name}="), value)),
        (None, Some(_)) => None,
        (None, None) => {
            let mut all = command.get_positionals();
            let is_several = |arg: &Arg| matches!(arg.get_action(), clap::ArgAction::Append);
            let arg = all.nth(operands).or_else(|| command.get_positionals().last().filter(|arg| is_several(arg)))?;
            (!arg.is_trailing_var_arg_set()).then(|| of(arg, "", last))
        }
    }
}

fn is_list(arg: &Arg) -> bool {
    arg.get_value_delimiter() == Some(',')
}

/// Returns the values that begin with the typed part.
///
/// The items that a list already has are omitted.
fn values(place: &Place<'_>) -> Vec<Value> {
    let (items, typed) = match place.value.rsplit_once(',') {
        Some((items, typed)) if is_list(place.arg) => (format!("{items},"), typed),
        _ => (String::new(), place.value.as_str()),
    };
    let is_new = |value: &str| !items.split(',').any(|item| item == value);
    let fitting = all(place).into_iter().filter(|(value, _)| value.starts_with(typed) && is_new(value));
    fitting.map(|(value, about)| (format!("{}{items}{value}", place.before), about)).collect()
}

fn all(place: &Place<'_>) -> Vec<Value> {
    let known = place.arg.get_possible_values();
    let name = place.arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let parent = place.command.get_name();
    if !known.is_empty() {
        // The scripts have the values of an option that is not a list.
        let known = known.iter().filter(|value| is_list(place.arg) && !value.is_hide_set());
        let about =
            |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
        return known.map(|value| (value.get_name().to_owned(), about(value))).collect();
    }
    match name {
        "RECORD" => records(place),
        "A" | "B" if parent == "compare" => records(place),
        "NAME" if parent == "compare" || ["save", "use", "remove"].contains(&parent) => baselines(place),
        "NAME" if place.arg.get_id() == "host" => of_entries(place, |entry| entry.summary.host.clone()),
        "NAME" if place.arg.get_id() == "experiment" => of_entries(place, |entry| entry.summary.experiment.clone()),
        "PID" => processes(),
        "EXPERIMENT" => experiments::ALL.iter().map(|entry| (entry.words().0.to_owned(), String::new())).collect(),
        // `contend ab` compares in one direction.
        "LIMIT" if parent == "ab" => vec![("slower:5%".to_owned(), String::new())],
        _ => {
            let forms = FORMS.iter().filter(|(form, _)| *form == name).flat_map(|(_, values)| *values);
            forms.map(|value| ((*value).to_owned(), String::new())).collect()
        }
    }
}

/// Returns the archive that the command line or the environment names; nothing if it cannot be read.
fn catalogue(place: &Place<'_>) -> Option<Catalogue> {
    archived::at(&Location::of(place.archive.as_deref().map(Path::new))).ok().flatten()
}

/// Returns the names of the newest records: relative to the last one, and by their hashes.
fn records(place: &Place<'_>) -> Vec<Value> {
    let Some(catalogue) = catalogue(place) else { return Vec::new() };
    let newest: Vec<&archive::Entry> = catalogue.entries.iter().rev().take(MOST_RECORDS).collect();
    let about = |entry: &archive::Entry| {
        let summary = &entry.summary;
        format!("{}, {}", summary.experiment, moment(summary.started_unix_s))
    };
    let relative = newest.iter().enumerate().map(|(back, entry)| match back {
        0 => ("last".to_owned(), about(entry)),
        _ => (format!("last~{back}"), about(entry)),
    });
    relative.chain(newest.iter().map(|entry| (entry.short_id().to_owned(), about(entry)))).collect()
}

/// Returns the processes that this user may trace, with their names.
fn processes() -> Vec<Value> {
    let own_user = rustix::process::geteuid();
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_own = |entry: &fs::DirEntry| {
        own_user.is_root() || entry.metadata().is_ok_and(|found| found.uid() == own_user.as_raw())
    };
    let process = |entry: fs::DirEntry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok().filter(|_| is_own(&entry))?;
        // A thread of the kernel has no command line.
        let words = fs::read(entry.path().join("cmdline")).ok().filter(|words| !words.is_empty())?;
        let program = words.split(|byte| *byte == 0).next().unwrap_or_default();
        // A program can have any name.
        let name = String::from_utf8_lossy(program).chars().filter(|letter| letter.is_ascii_graphic()).collect();
        Some((number, name))
    };
    let mut found: Vec<(u32, String)> = numbers.filter_map(process).collect();
    found.sort();
    found.into_iter().map(|(number, name)| (number.to_string(), name)).collect()
}

fn of_entries(place: &Place<'_>, name: fn(&archive::Entry) -> String) -> Vec<Value> {
    let entries = catalogue(place).map(|catalogue| catalogue.entries).unwrap_or_default();
    // A record may come from anyone, and bash inserts what is offered as it is.
    let is_plain = |name: &String| name.chars().all(|letter| letter.is_alphanumeric() || " ._-".contains(letter));
    let names: BTreeSet<String> = entries.iter().map(name).filter(is_plain).collect();
    names.into_iter().map(|name| (name, String::new())).collect()
}

fn baselines(place: &Place<'_>) -> Vec<Value> {
    let Some(catalogue) = catalogue(place) else { return Vec::new() };
    let all = catalogue.archive.baselines().all(&catalogue.entries).map(|(all, _)| all).unwrap_or_default();
    all.into_iter().map(|baseline| (baseline.name, format!("saved {}", moment(baseline.saved_unix_s)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Purpose, command};
    use super::*;

    fn offered(line: &str) -> Vec<String> {
        let root = command(Purpose::Parsing);
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        place(&root, &glued(&words)).iter().flat_map(values).map(|(value, _)| value).collect()
    }

    #[test]
    fn items_of_a_list_are_offered_once() {
        assert_eq!(offered("latency --lock std,benaphore,bena"), ["std,benaphore,benaphore-posix"]);
        assert_eq!(offered("latency --seconds 1 --lock=std,mc"), ["--lock=std,mcs"]);
        assert_eq!(offered("survey --only clock,la"), ["clock,latency"]);
        assert!(offered("noise --scenario quiet,competitor,").iter().all(|list| !list.ends_with("quiet")));
    }

    #[test]
    fn processes_are_offered_where_a_number_is_wanted() {
        let own = std::process::id().to_string();
        assert!(offered("trace --pid ").contains(&own) && offered("top --pid ").contains(&own));
    }

    #[test]
    fn pieces_of_bash_are_one_word() {
        assert_eq!(offered("latency --lock = std,mc"), ["--lock=std,mcs"]);
        assert_eq!(offered("noise --policy fifo : "), ["fifo:"]);
    }

    #[test]
    fn words_of_programs_and_options_have_no_values() {
        for line in ["trace -- ./server --lock s", "trace ./server x", "latency --lo", "late", "clock --seconds 1"] {
            assert!(offered(line).is_empty(), "{line}: {:?}", offered(line));
        }
    }

    /// A form that ends in a colon takes a number.
    #[test]
    fn offered_forms_are_accepted() {
        for (call, name) in [
            ("noise --wake 1ms --policy", "POLICY"),
            ("load --priority", "PRIORITY"),
            ("compare last --fail-if", "LIMIT"),
        ] {
            let (_, forms) = FORMS.iter().find(|(form, _)| *form == name).unwrap();
            assert_eq!(offered(&format!("{call} ")), **forms, "{call}");
            for form in *forms {
                let value = if form.ends_with(':') { format!("{form}9") } else { (*form).to_owned() };
                let words = ["contend"].into_iter().chain(call.split(' ')).chain([value.as_str()]);
                assert!(command(Purpose::Parsing).try_get_matches_from(words).is_ok(), "{call} {value}");
            }
        }
    }
}
