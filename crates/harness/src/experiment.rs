//! The trait of experiments: a name, flags, a measurement, and the views of its rows; and the flags of a mode, which is
//! an experiment that a flag of another one's command selects, as `contend trace --swap` does.

use crate::finished::Finished;
use crate::run::Run;
use crate::session::SharedFlags;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::{Cost, Finding, Metric, Rank, RecordRef, Section, ThenAndNow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use terminal::Page;

/// An experiment: one directory, and one line in the registry.
///
/// It measures in [`run`](Self::run) and nowhere else; its [`VIEWS`](Self::VIEWS) read rows.
pub trait Experiment: Sized + 'static {
    /// The name on the command line and in records; a second word is a question of a group (`model frames`).
    const NAME: &'static str;
    /// The identifier of the flag that selects this experiment, if it is a mode of another one's command: `swap` of
    /// `contend trace --swap`.
    ///
    /// A mode has neither a method nor examples nor a list of common options: it shares those of the command, and its
    /// records have the name of the command.
    const FLAG: Option<&'static str> = None;
    /// The page of its method and its limits, in Markdown.
    const METHOD: &'static str = "";
    /// Its part of the survey, if it has one.
    const SURVEY: Option<SurveyPart> = None;
    /// Example calls, each with its effect; the help ends with them.
    const EXAMPLES: &'static [Example] = &[];
    /// The shared flags that this experiment does not accept, by their names.
    const UNUSED: &'static [&'static str] = &[];
    /// The parameters that a run measures or finds, by their names: their values differ in another run with the same
    /// flags.
    const OUTCOMES: &'static [&'static str] = &[];

    /// The part that a call without flags lacks, if any: "a program".
    const NEEDS: Option<&'static str> = None;

    /// Whether it can measure for longer than an hour, or until a signal: in memory that does not grow.
    const ALL_NIGHT: bool = false;

    /// The flags of the user.
    ///
    /// The first paragraph of their documentation is the command's line in the help.
    type Flags: Args;
    /// The options, with defaults filled in.
    type Parameters: Serialize + DeserializeOwned + Described;
    /// One thing that was measured.
    type Row: Serialize + DeserializeOwned + Described;

    /// The views of its rows: a function for each view.
    const VIEWS: Views<Self>;

    /// Returns whether a row of a record of the command belongs to this mode.
    fn has_row(row: &Value) -> bool {
        Self::Row::deserialize(row).is_ok()
    }

    /// Returns the answer that the flags request instead of a measurement, such as a list.
    ///
    /// # Errors
    /// The flags are invalid.
    fn answer(_flags: &Self::Flags, _shared: &SharedFlags) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    /// Returns whether the flags request a record of each part of the run: then `--output` names a directory.
    fn writes_parts(_flags: &Self::Flags) -> bool {
        false
    }

    /// Returns whether the flags run a program that writes to contend's standard output: then the text of the record goes
    /// to standard error.
    fn shares_stdout(_flags: &Self::Flags) -> bool {
        false
    }

    /// Measures the configurations that the flags describe.
    ///
    /// # Errors
    /// The flags are invalid here ([`UsageError`](crate::UsageError)), or a system call fails.
    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Self::Parameters, Self::Row>>;
}

/// A function that shows a record on a terminal.
type Show<E> = fn(&RecordRef<'_, <E as Experiment>::Parameters, <E as Experiment>::Row>, &Page) -> String;
/// A function of rows that are given with their indices among all results.
type OfPlaced<E, T> = fn(&[(usize, &<E as Experiment>::Row)]) -> Vec<T>;

/// The views of an experiment's rows, perhaps those of an old record.
///
/// Each is a function that reads and never measures.
pub struct Views<E: Experiment> {
    /// The record on a terminal: tables and pictures that fit the page.
    pub show: Show<E>,
    /// The record on a terminal where it is one part of several: perhaps shorter.
    pub show_part: Show<E>,
    /// Layouts of the record that only this experiment has.
    pub layouts: &'static [Layout<E>],
    /// The rows on a page: findings, pictures, tables.
    pub section: fn(&[E::Row]) -> Section,
    /// The rows that can be compared with those of other records: all, unless a row is of something that does not work.
    pub comparable: for<'a> fn(&'a [E::Row]) -> Vec<&'a E::Row>,
    /// The values of such a row.
    pub metrics: fn(&E::Row) -> Vec<Metric>,
    /// The ranks of the rows, for each value that decides; the most important value comes first.
    pub ranking: fn(&[E::Row]) -> Vec<Rank>,
    /// Statements about the rows of a survey, which are given with their indices among all its results.
    pub findings: OfPlaced<E, Finding>,
    /// Times of single operations for the ladder, which orders them together with those of other experiments; `None` of
    /// an experiment that has none.
    pub costs: Option<Costs<E>>,
    /// The values of the old documents, each with that of a row.
    pub then_and_now: OfPlaced<E, ThenAndNow>,
    /// The command that answers the next question of a reader, if there is one.
    pub next: Suggest<E>,
}

/// A function that returns the costs of rows.
type Costs<E> = fn(&[<E as Experiment>::Row]) -> Vec<Cost>;

/// A function that returns the words of a command after `contend`, with the names of the record; [`THIS_RECORD`] is
/// replaced by the record's ID.
type Suggest<E> = fn(&RecordRef<'_, <E as Experiment>::Parameters, <E as Experiment>::Row>) -> Option<Vec<String>>;

/// The placeholder of the record's ID in the command of [`Views::next`].
pub const THIS_RECORD: &str = "RECORD";

/// Returns the words of a command that writes a report of the record to this file.
pub fn report_to(file: &str) -> Vec<String> {
    ["report", THIS_RECORD, "--output", file].map(str::to_owned).into()
}

impl<E: Experiment> Views<E> {
    /// Creates the views that every experiment has; the others are empty.
    pub const fn of(show: Show<E>, section: fn(&[E::Row]) -> Section) -> Self {
        Self {
            show,
            show_part: show,
            layouts: &[],
            section,
            comparable: |rows| rows.iter().collect(),
            metrics: |_| Vec::new(),
            ranking: |_| Vec::new(),
            findings: |_| Vec::new(),
            costs: None,
            then_and_now: |_| Vec::new(),
            next: |_| None,
        }
    }
}

/// A layout of a record that `--format` selects by its name.
pub struct Layout<E: Experiment> {
    pub name: &'static str,
    pub about: &'static str,
    pub write: fn(&RecordRef<'_, E::Parameters, E::Row>) -> String,
}

/// A call as it is typed, and its effect.
pub type Example = (&'static str, &'static str);

/// An experiment as a part of the survey: a command that its user could run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyPart {
    /// Its share of the time, relative to the other parts; 0 for an experiment that computes.
    pub weight: u32,
    /// The flags of its short form.
    ///
    /// Cells are few; those that the old documents have are among them.
    pub flags: &'static str,
}

/// Data whose JSON schema can be made from its type.
///
/// It is compiled for tests only, since it generates code for every type of every record. A user's program contains the
/// schema, which the tests compare with the types.
#[cfg(feature = "schema")]
pub use schemars::JsonSchema as Described;

/// Any data: no schema is generated here.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T> Described for T {}

/// The flags that a mode adds to the command, and those that it shares with the rest of the command.
#[derive(Clone, Debug)]
pub struct ModeFlags<Own, Shared> {
    pub own: Own,
    pub shared: Shared,
}

impl<Own: FromArgMatches, Shared: FromArgMatches> FromArgMatches for ModeFlags<Own, Shared> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { own: Own::from_arg_matches(matches)?, shared: Shared::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.own.update_from_arg_matches(matches)?;
        self.shared.update_from_arg_matches(matches)
    }
}

/// Only the mode's own flags are added: the command already has the others.
impl<Own: Args, Shared: FromArgMatches> Args for ModeFlags<Own, Shared> {
    fn augment_args(command: Command) -> Command {
        Own::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Own::augment_args_for_update(command)
    }
}
