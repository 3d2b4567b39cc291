//! Menus: a row of titles, and below each a column of lines.
//!
//! A menu is data. [`ROW`] lists the titles from left to right, each with the function that makes its lines; one more
//! opens from a line. The lines are made when a menu opens and whenever something has changed. Their sources are the
//! registry of experiments and the records of the archive. An experiment that is added to its registry is therefore in
//! the menus.
//!
//! A line ([`Item`]) has a name, a description, and an [`Action`] for when it is selected. To add a line, add an `Item`
//! to its function; to add a menu, add a variant of [`Menu`] and a line of [`ROW`].

use crate::command_line;
use crate::form::Forms;
use crate::matrix::Kind;
use crate::records::Records;
use experiments::ALL;
use harness::Entry;
use terminal::moment;

/// A menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Menu {
    Measure,
    Matrix,
    Archive,
    Run,
    Help,
    /// The commands for the record with this ID.
    Record(String),
}

/// Makes the lines of a menu.
type Lines = fn(&MenuContext<'_>) -> Vec<Item>;

/// The titles of the row, from left to right.
static ROW: [(Menu, &str, Lines); 5] = [
    (Menu::Measure, "Measure", measure),
    (Menu::Matrix, "Matrix", matrix),
    (Menu::Archive, "Archive", archive),
    (Menu::Run, "Run", run),
    (Menu::Help, "Help", help),
];

impl Menu {
    /// Returns the menus of the row.
    ///
    /// `Run` is one of them only once a command has been started.
    pub fn row(has_run: bool) -> Vec<Self> {
        ROW.iter().map(|(menu, ..)| menu.clone()).filter(|menu| has_run || *menu != Self::Run).collect()
    }

    pub fn title(&self) -> &str {
        match self {
            Self::Record(id) => id,
            menu => ROW.iter().find(|(other, ..)| other == menu).map_or("", |(_, title, _)| title),
        }
    }

    /// Returns the lines for the present state.
    pub fn items(&self, context: &MenuContext<'_>) -> Vec<Item> {
        match self {
            Self::Record(id) => record(id, context),
            menu => ROW.iter().find(|(other, ..)| other == menu).map_or_else(Vec::new, |(.., lines)| lines(context)),
        }
    }
}

/// The state of the application from which lines are made.
pub struct MenuContext<'a> {
    pub forms: &'a Forms,
    pub records: &'a Records,
    /// Whether a command is running.
    pub is_running: bool,
}

/// A line of a menu.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub name: String,
    /// One line that describes it.
    pub about: String,
    /// Whether it is marked; `None` for a line that cannot be.
    pub mark: Option<bool>,
    /// Why it cannot be selected: the line is grey.
    pub refusal: Option<String>,
    pub action: Action,
}

/// The effect of selecting a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Nothing,
    /// Runs this command line.
    Start(Vec<String>),
    /// Opens the form of an experiment, by its name.
    Form(&'static str),
    /// Writes a record's HTML report with this command line, and opens it.
    Page(Vec<String>),
    /// Opens another menu next to this one.
    Open(Menu),
    /// Marks a record for a comparison, or removes the mark.
    ToggleRecord(String),
    Matrix(Kind),
    /// Shows the chart of the last measurement.
    ShowLive,
    /// Shows the printed text of the last command.
    ShowText,
    Stop,
    Keys,
    Quit,
}

impl Action {
    /// Returns the equivalent command line, if there is one.
    pub fn command(&self) -> Option<&[String]> {
        match self {
            Self::Start(words) | Self::Page(words) => Some(words),
            _ => None,
        }
    }

    /// Returns whether the menus stay open: the action only marks a line, or opens a form or a further menu.
    pub fn keeps_menus(&self) -> bool {
        matches!(self, Self::Nothing | Self::Form(_) | Self::Open(_) | Self::ToggleRecord(_))
    }
}

impl Item {
    fn new(name: impl Into<String>, about: impl Into<String>, action: Action) -> Self {
        Self { name: name.into(), about: about.into(), mark: None, refusal: None, action }
    }

    /// Makes the line one that can be marked.
    fn marked(self, mark: bool) -> Self {
        Self { mark: Some(mark), ..self }
    }

    /// Makes the line grey if there is a reason.
    fn refused(self, refusal: Option<String>) -> Self {
        Self { refusal, ..self }
    }

    /// Creates a grey line that only shows a reason.
    fn unavailable(name: &str, why: &str) -> Self {
        Self::new(name, "", Action::Nothing).refused(Some(why.to_owned()))
    }
}

impl MenuContext<'_> {
    /// Returns a command line with the archive that was chosen.
    fn command(&self, words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).chain(self.forms.archived()).collect()
    }
}

/// The lines of the empty window: a question of a new user, and the form that answers it.
pub const STEPS: [(&str, &str); 6] = [
    ("My program is slow", "trace"),
    ("What does a lock cost here?", "latency"),
    ("Which lock is fastest when threads compete for it?", "throughput"),
    ("Is this machine quiet?", "noise"),
    ("Which of two programs is faster?", "ab"),
    ("How does this machine compare with others, and with 1998?", SURVEY),
];

/// The only command with a form that is not an experiment.
pub const SURVEY: &str = "survey";

/// Returns the survey and each experiment of the registry.
fn measure(context: &MenuContext<'_>) -> Vec<Item> {
    let names = std::iter::once(SURVEY).chain(ALL.iter().map(|entry| entry.name));
    names.map(|name| Item::new(name, context.forms.about(name), Action::Form(name))).collect()
}

/// Returns the tables whose cells are measured.
fn matrix(_: &MenuContext<'_>) -> Vec<Item> {
    Kind::ALL.into_iter().map(|kind| Item::new(kind.title(), kind.about(), Action::Matrix(kind))).collect()
}

/// Returns the archive's records, the newest first, below the commands for several of them.
fn archive(context: &MenuContext<'_>) -> Vec<Item> {
    let records = match context.records.found() {
        Ok(records) => records,
        Err(why) => return vec![Item::unavailable("(no records)", why)],
    };
    let marked = context.records.marked();
    let number = if marked.len() == 1 { "1 is".to_owned() } else { format!("{} are", marked.len()) };
    let refusal = (marked.len() != 2).then(|| format!("mark two records with the space bar; {number} marked"));
    let compare: Vec<&str> = std::iter::once("compare").chain(marked.iter().map(String::as_str)).collect();
    let about = "Test whether the second record differs from the first";
    let compare = Item::new("compare marked", about, Action::Start(context.command(&compare))).refused(refusal);
    let list = Item::new("list", "List all records", Action::Start(context.command(&["history", "list"])));
    let about = "Draw the latency ladder of the last survey";
    let ladder = Item::new("ladder", about, Action::Start(context.command(&["ladder"])));
    let record = |entry: &archive::Entry| {
        let (id, summary) = (entry.short_id(), &entry.summary);
        let name = format!("{id}  {}  {}", moment(summary.started_unix_s), summary.experiment);
        let command = command_line::shown(&summary.command_line);
        Item::new(name, command, Action::Open(Menu::Record(id.to_owned()))).marked(context.records.is_marked(id))
    };
    [compare, list, ladder].into_iter().chain(records.iter().map(record)).collect()
}

/// Returns the commands for one record.
fn record(id: &str, context: &MenuContext<'_>) -> Vec<Item> {
    let command = |name, about, words: &[&str]| Item::new(name, about, Action::Start(context.command(words)));
    let page = match context.records.page_of(id) {
        Some(path) => {
            let words = context.command(&["report", id, "--output", &path.display().to_string()]);
            Item::new("page", "Open the HTML report in a browser", Action::Page(words))
        }
        None => Item::unavailable("page", "there is no archive to write the report next to"),
    };
    let before = context.records.before(id);
    let refusal = before.is_none().then(|| "the archive has no older record of this experiment".to_owned());
    let about = "Compare with the previous record of the same experiment";
    let compare = command("compare", about, &["compare", &before.unwrap_or_default(), id]).refused(refusal);
    let about = "Mark it for comparison with another record";
    let mark = Item::new("mark", about, Action::ToggleRecord(id.to_owned())).marked(context.records.is_marked(id));
    vec![
        command("show", "Show the record as it was printed", &["history", "show", id]),
        page,
        command("ladder", "Draw its costs on one axis", &["ladder", id]),
        compare,
        mark,
    ]
}

/// Returns the commands for the run that is running, or was the last one.
fn run(context: &MenuContext<'_>) -> Vec<Item> {
    let stop = Item::new("stop", "Stop the command and save its results", Action::Stop);
    let live = Item::new("live chart", "Show the results while they are measured", Action::ShowLive);
    let about = "Show the tables and charts of the record, and standard error";
    let refusal = context.is_running.then(|| "the text is printed when the command ends".to_owned());
    let text = Item::new("printed text", about, Action::ShowText).refused(refusal);
    context.is_running.then_some(stop).into_iter().chain([live, text]).collect()
}

/// Returns the keys, and the method of each experiment.
fn help(_: &MenuContext<'_>) -> Vec<Item> {
    let method = |entry: &Entry| {
        let words = entry.name.split(' ').chain(["--explain"]).map(str::to_owned).collect();
        Item::new(format!("method: {}", entry.name), "Print the method and its limits", Action::Start(words))
    };
    let keys = Item::new("keys", "List all keys", Action::Keys);
    let quit = Item::new("quit", "Return to the shell", Action::Quit);
    [keys].into_iter().chain(ALL.iter().map(method)).chain([quit]).collect()
}
