//! Forms: the main options of an experiment, each with its value, and the command line that they make.
//!
//! [`FORMS`] only names the options. Their defaults, allowed values and help are those of the command line's definition,
//! and its parser checks every value.

use crate::command_line::{self, Editor};
use crate::list::{List, Row};
use crate::machine::Machine;
use crate::processes::{self, Processes};
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, ArgAction, Command};
use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use terminal::full_screen::Key;

/// The options of each form by their identifiers: those of which the experiment needs one, then the others.
///
/// [`COMMON`] follows in every form. An experiment without a line has no others.
static FORMS: &[(&str, &[&str], &[&str])] = &[
    ("survey", &[], &["only", "skip", "thorough"]),
    ("clock", &[], &["longest"]),
    ("latency", &[], &["lock", "threads", "hold", "competitors", "placement"]),
    ("throughput", &[], &["lock", "children", "nonhold", "hold", "processes"]),
    ("noise", &[], &["scenario", "wake", "policy", "stop_above"]),
    ("load", &[], &["interval", "priority", "grinders"]),
    ("ring", &[], &["contestant", "threads", "placement"]),
    ("core", &[], &["no_pairs"]),
    ("model frames", &[], &["policy", "priorities", "quantum", "frame", "more_than"]),
    ("model step", &["trace", "ranks"], &["step", "nodes", "processes"]),
    ("model locks", &[], &["lock", "cores", "per_core", "nonhold", "hold"]),
    ("lockstep", &["record"], &[]),
    ("trace", &["pid", "program"], &["full", "all"]),
    ("preempted", &["pid", "program"], &["remedies"]),
    ("lines", &["pid", "program"], &[]),
    ("ab", &["commands"], &["runs", "least", "control"]),
];

/// The common options of every form whose experiment accepts them.
const COMMON: [&str; 2] = ["seconds", "cpus"];

/// The time of a run that nothing but its time ends, until the user sets another.
const SECONDS: &str = "10";

/// The values of a form, by the identifiers of its options.
type Values = Vec<(String, String)>;

/// The command line's definition, and the values of the last run of each experiment.
pub struct Forms {
    root: Command,
    /// The CPUs that can be measured from here.
    cpus: String,
    archive: Option<PathBuf>,
    last: HashMap<&'static str, Values>,
}

/// A form that is open.
pub struct Form {
    pub name: &'static str,
    command: Command,
    pub fields: Vec<Field>,
    /// The number of fields at the beginning of which one must have a value.
    needed: usize,
    /// The field in focus; after the last one, the line that runs the command.
    pub at: usize,
    /// The list that is open, of the field in focus.
    pub list: Option<List>,
    /// Why the command cannot run.
    pub error: Option<String>,
    archive: Vec<String>,
}

/// An option and its value.
pub struct Field {
    arg: Arg,
    /// The value as text; empty for the default.
    pub value: Editor,
    /// Why the parser refuses the value.
    pub error: Option<String>,
}

/// The way in which a field is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Present or absent.
    Switch,
    /// A value of a list, or several.
    Choice,
    /// A process of a list, or several.
    Process,
    Text,
}

const YES: &str = "yes";

impl Forms {
    /// Takes the whole command line, whose commands have the options that they accept.
    pub fn new(mut root: Command, machine: &Machine, archive: Option<PathBuf>) -> Self {
        root.build();
        Self { root, cpus: machine.free().to_string(), archive, last: HashMap::new() }
    }

    /// Returns the form of an experiment, with the values of its last run.
    pub fn open(&self, name: &'static str) -> Form {
        let mut form = self.unchecked(name);
        form.check();
        form
    }

    fn unchecked(&self, name: &'static str) -> Form {
        let command = self.definition(name).cloned().unwrap_or_default().no_binary_name(true);
        let named = FORMS.iter().find(|(form, ..)| *form == name);
        let (needed, others) = named.map_or((&[] as &[&str], &[] as &[&str]), |(_, needed, others)| (needed, others));
        let ids = needed.iter().chain(others).chain(&COMMON);
        let arg = |id: &&str| command.get_arguments().find(|arg| arg.get_id() == *id).cloned();
        let field = |arg| Field { arg, value: Editor::default(), error: None };
        let fields: Vec<Field> = ids.filter_map(arg).map(field).collect();
        let archive = self.archived();
        let mut form = Form { name, command, fields, needed: needed.len(), at: 0, list: None, error: None, archive };
        match self.last.get(name) {
            Some(values) => values.iter().for_each(|(id, value)| form.put(id, value)),
            None => {
                form.put("cpus", &self.cpus);
                if experiments::named(name).is_some_and(|entry| entry.needs.is_none()) {
                    form.put("seconds", SECONDS);
                }
            }
        }
        form
    }

    /// Returns the definition of a command.
    fn definition(&self, name: &str) -> Option<&Command> {
        name.split(' ').try_fold(&self.root, |command, word| command.find_subcommand(word))
    }

    /// Keeps the values of a form that was run.
    pub fn remember(&mut self, form: &Form) {
        let values = form.fields.iter().map(|field| (field.arg.get_id().to_string(), field.value.line()));
        self.last.insert(form.name, values.collect());
    }

    /// Returns the command line of the form of an experiment.
    pub fn command(&self, name: &'static str) -> Vec<String> {
        self.unchecked(name).words()
    }

    /// Returns the command line of an experiment with these values and the common ones of its form; all others are the
    /// defaults.
    pub fn command_with(&self, name: &'static str, values: &[(&str, &str)]) -> Vec<String> {
        let mut form = self.unchecked(name);
        form.fields.retain(|field| {
            let id = field.arg.get_id().as_str();
            COMMON.contains(&id) || values.iter().any(|(named, _)| *named == id)
        });
        values.iter().for_each(|(id, value)| form.put(id, value));
        form.words()
    }

    /// Returns the value of an option in the form of an experiment.
    pub fn value(&self, name: &'static str, id: &str) -> String {
        let form = self.unchecked(name);
        form.fields.iter().find(|field| field.arg.get_id() == id).map_or_else(String::new, |field| field.value.line())
    }

    /// Returns the line of a command in the help.
    pub fn about(&self, name: &'static str) -> String {
        self.definition(name).map_or_else(String::new, about)
    }

    /// Returns the option for the archive, for any command.
    pub fn archived(&self) -> Vec<String> {
        let folder = self.archive.iter().map(|folder| folder.display().to_string());
        folder.flat_map(|folder| ["--archive".to_owned(), folder]).collect()
    }
}

impl Form {
    pub fn about(&self) -> String {
        about(&self.command)
    }

    /// Returns the field in focus; `None` on the line that runs the command.
    pub fn focus(&self) -> Option<&Field> {
        self.fields.get(self.at)
    }

    fn put(&mut self, id: &str, value: &str) {
        if let Some(field) = self.fields.iter_mut().find(|field| field.arg.get_id() == id) {
            field.value = Editor::new(value);
        }
    }

    /// Returns the command line: options, then arguments without a name.
    pub fn words(&self) -> Vec<String> {
        let name = self.name.split(' ').map(str::to_owned);
        name.chain(self.arguments()).collect()
    }

    fn arguments(&self) -> Vec<String> {
        let words = |field: &Field| field.words().unwrap_or_default();
        let (arguments, options): (Vec<&Field>, Vec<&Field>) =
            self.fields.iter().partition(|field| field.is_argument());
        let options = options.into_iter().flat_map(words).chain(self.archive.clone());
        options.chain(arguments.into_iter().flat_map(words)).collect()
    }

    /// Checks all values by the command line's parser.
    fn check(&mut self) {
        for field in &mut self.fields {
            field.error = field.problem(&self.command);
        }
        let has_needed = |fields: &[Field]| fields.iter().any(|field| !field.value.line().trim().is_empty());
        let needed = &self.fields[..self.needed.min(self.fields.len())];
        self.error = match () {
            () if self.fields.iter().any(|field| field.error.is_some()) => Some("correct the refused value".to_owned()),
            () if !needed.is_empty() && !has_needed(needed) => {
                let labels = needed.iter().map(Field::label).collect::<Vec<String>>().join(" or ");
                let needs = experiments::named(self.name).and_then(|entry| entry.needs);
                Some(format!("needs {}: set {labels}", needs.unwrap_or("a value")))
            }
            () => refusal(&self.command, self.arguments()).map(|error| reason(&error)),
        };
    }

    /// Handles a key of the field in focus; returns whether it has a meaning there.
    pub fn key(&mut self, key: Key) -> bool {
        let Some(field) = self.fields.get_mut(self.at) else { return false };
        match (field.edit(), key) {
            (Edit::Switch, Key::Left | Key::Right | Key::Char(' ')) => field.switch(),
            (Edit::Switch, _) => return false,
            (Edit::Choice, Key::Left) => field.cycle(-1),
            (Edit::Choice, Key::Right) => field.cycle(1),
            (Edit::Choice | Edit::Process, Key::Backspace | Key::Delete) => field.value = Editor::default(),
            (Edit::Choice | Edit::Process, Key::Char(' ')) => self.list = Some(field.list_of_value()),
            // A letter begins another value.
            (Edit::Choice | Edit::Process, Key::Char(_)) => {
                let mut list = field.list();
                list.key(key);
                self.list = Some(list);
            }
            (Edit::Choice | Edit::Process, _) => return false,
            (Edit::Text, Key::Ctrl('c')) => return false,
            (Edit::Text, key) => field.value.key(key),
        }
        self.check();
        true
    }

    /// Handles Enter in a field: opens its list, changes a switch, or goes to the next field.
    pub fn enter(&mut self) {
        let Some(field) = self.fields.get_mut(self.at) else { return };
        match field.edit() {
            Edit::Switch => {
                field.switch();
                self.check();
            }
            Edit::Choice | Edit::Process => self.list = Some(field.list_of_value()),
            Edit::Text => self.move_by(1),
        }
    }

    /// Takes the value of the open list, if it has one, and goes to the next field.
    pub fn take(&mut self) {
        let Some(value) = self.list.as_ref().and_then(List::value) else { return };
        self.list = None;
        if let Some(field) = self.fields.get_mut(self.at) {
            field.value = Editor::new(&value);
        }
        self.check();
        self.move_by(1);
    }

    pub fn move_by(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.fields.len());
    }
}

impl Field {
    /// Returns whether it is an argument without a name.
    pub fn is_argument(&self) -> bool {
        self.arg.is_positional()
    }

    /// Returns the name: that of the option, or of the argument.
    pub fn label(&self) -> String {
        match (self.arg.get_long(), self.arg.get_value_names()) {
            (Some(long), _) => format!("--{long}"),
            (None, Some([name, ..])) => name.to_string(),
            (None, _) => self.arg.get_id().to_string(),
        }
    }

    /// Returns the help of the option.
    pub fn help(&self) -> String {
        self.arg.get_help().map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the default as the help has it; empty without one.
    pub fn default(&self) -> String {
        const MARK: &str = "[default: ";
        let help = self.help();
        let named = || help.split_once(MARK)?.1.split(']').next().map(str::to_owned);
        let values: Vec<_> = self.arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        match self.edit() {
            Edit::Switch => "no".to_owned(),
            _ if values.is_empty() => named().unwrap_or_default(),
            _ => values.join(","),
        }
    }

    pub fn edit(&self) -> Edit {
        match () {
            () if matches!(self.arg.get_action(), ArgAction::SetTrue) => Edit::Switch,
            () if self.arg.get_id() == "pid" => Edit::Process,
            () if !self.arg.get_possible_values().is_empty() => Edit::Choice,
            () => Edit::Text,
        }
    }

    /// Returns the words of the command line; an error says why the text makes none.
    fn words(&self) -> Result<Vec<String>, String> {
        let text = self.value.line().trim().to_owned();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let Some(long) = self.arg.get_long() else {
            let begin = self.arg.is_trailing_var_arg_set().then(|| "--".to_owned());
            return Ok(begin.into_iter().chain(command_line::split(&text)?).collect());
        };
        let value = (self.edit() != Edit::Switch).then_some(text);
        Ok(std::iter::once(format!("--{long}")).chain(value).collect())
    }

    /// Returns why the parser refuses the value, whatever the other fields are.
    fn problem(&self, command: &Command) -> Option<String> {
        let words = match self.words() {
            Ok(words) if words.is_empty() => return None,
            Ok(words) => words,
            Err(why) => return Some(why),
        };
        let error = refusal(command, words)?;
        let is_of_value = !matches!(error.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict);
        is_of_value.then(|| reason(&error))
    }

    fn values(&self) -> Vec<Row> {
        let values = self.arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
        let row = |value: clap::builder::PossibleValue| {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            Row { value: value.get_name().to_owned(), text: format!("{:<18} {about}", value.get_name()) }
        };
        values.map(row).collect()
    }

    fn list(&self) -> List {
        if self.edit() == Edit::Process {
            let mut processes = Processes::default();
            return List::live(processes::HEADING, self.takes_several(), Box::new(move || processes.rows()));
        }
        List::new(self.values(), self.takes_several())
    }

    /// Returns the list with the values of the field, or with a first row for the default if the field is empty.
    fn list_of_value(&self) -> List {
        let list = self.list();
        match (self.value.line().trim(), self.edit()) {
            ("", Edit::Choice) => list.beginning_with_default(&self.default()),
            (value, _) => list.with_value(value),
        }
    }

    fn takes_several(&self) -> bool {
        self.arg.get_value_delimiter().is_some()
    }

    fn switch(&mut self) {
        let value = if self.value.line().is_empty() { YES } else { "" };
        self.value = Editor::new(value);
    }

    /// Takes the value `by` places further; the default is between the last and the first.
    fn cycle(&mut self, by: isize) {
        let values: Vec<String> =
            std::iter::once(String::new()).chain(self.values().into_iter().map(|row| row.value)).collect();
        let at = values.iter().position(|value| *value == self.value.line()).unwrap_or(0);
        let next = (at as isize + by).rem_euclid(values.len() as isize);
        self.value = Editor::new(&values[next as usize]);
    }
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn refusal(command: &Command, words: Vec<String>) -> Option<clap::Error> {
    command.clone().try_get_matches_from(words).err()
}

/// Returns the parser's message in one line, without the option that it is about.
fn reason(error: &clap::Error) -> String {
    if let Some(source) = error.source() {
        return source.to_string();
    }
    let context = |kind| error.get(kind).map(ToString::to_string).filter(|text| !text.is_empty());
    match error.kind() {
        ErrorKind::InvalidValue => match (context(ContextKind::SuggestedValue), context(ContextKind::ValidValue)) {
            (Some(like), _) => format!("unknown; did you mean {like}?"),
            (None, Some(allowed)) => format!("allowed: {allowed}"),
            (None, None) => "a value is missing".to_owned(),
        },
        _ => {
            let text = error.render().to_string();
            let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            lines.join(" ").trim_start_matches("error: ").to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Kind, Matrix};

    fn forms(machine: &Machine) -> Forms {
        let option = |name: &'static str| Arg::new(name).long(name);
        let command = |name: &'static str, options: &[&'static str]| {
            Command::new(name).args(options.iter().chain(&COMMON).copied().map(option))
        };
        let latency = command("latency", &["lock", "threads", "hold", "competitors", "placement"]);
        let noise = command("noise", &["scenario", "wake", "policy", "stop_above"]);
        Forms::new(Command::new("contend").subcommands([latency, noise]), machine, None)
    }

    #[test]
    fn matrix_takes_only_common_values_of_the_last_form() {
        let all: instruments::cpus::CpuSet = "0-2".parse().unwrap();
        let machine = Machine { online: all.clone(), allowed: all, own: 0 };
        let mut forms = forms(&machine);
        let last: [(&str, &[(&str, &str)]); 2] = [
            ("latency", &[("lock", "clh"), ("competitors", "0,2"), ("seconds", "3"), ("cpus", "1")]),
            ("noise", &[("wake", "1ms"), ("policy", "fifo:3"), ("seconds", "4")]),
        ];
        for (name, values) in last {
            let mut form = forms.open(name);
            values.iter().for_each(|(id, value)| form.put(id, value));
            forms.remember(&form);
        }
        let latency = Matrix::new(Kind::Latency, &machine).commands(&forms, &machine);
        let lock = locks::ENTRIES[0].name;
        let expected = format!("latency --lock {lock} --threads 1 --placement spread --seconds 3 --cpus 1");
        assert_eq!(latency[0].1.join(" "), expected);
        let mut cpus = Matrix::new(Kind::Cpus, &machine);
        cpus.at = (cpus.rows.iter().position(|row| *row == "noise").unwrap(), 2);
        let expected = "noise --scenario quiet --seconds 4 --cpus 2";
        assert_eq!(cpus.commands(&forms, &machine)[0].1.join(" "), expected);
    }

    #[test]
    fn opening_a_list_twice_keeps_the_value() {
        let lock = Arg::new("lock").long("lock").value_delimiter(',').value_parser(["std", "mcs", "clh"]);
        let one = Arg::new("one").long("one").value_parser(["a", "b"]).default_value("b");
        let command = Command::new("contend").args([lock.clone(), one.clone()]);
        let field = |arg: Arg, value| Field { arg, value: Editor::new(value), error: None };
        for (arg, value) in
            [(&lock, "mcs,clh"), (&lock, "clh"), (&lock, "./mine.so,std"), (&lock, ""), (&one, "b"), (&one, "")]
        {
            let fields = vec![field(arg.clone(), value)];
            let (command, archive) = (command.clone(), Vec::new());
            let mut form =
                Form { name: "latency", command, fields, needed: 0, at: 0, list: None, error: None, archive };
            form.enter();
            assert!(form.list.is_some());
            form.take();
            assert!(form.list.is_none());
            assert_eq!(form.fields[0].value.line(), value);
        }
    }
}
