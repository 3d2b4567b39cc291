//! The trait of experiments: a name, flags, a measurement, and the views of its rows.

use crate::described::Described;
use crate::exit::UsageError;
use crate::finished::Finished;
use crate::run::Run;
use crate::session::SharedFlags;
use clap::Args;
use record::{Cost, Finding, Metric, Rank, Record, Section, ThenAndNow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use terminal::Page;

/// An experiment: one directory, and one line in the registry.
///
/// It measures in [`run`](Self::run) and nowhere else; every other function reads rows, perhaps those of an old record.
pub trait Experiment: 'static {
    /// Its name on the command line and in records; a second word is a question of a group (`model frames`).
    const NAME: &'static str;
    /// The flag, by its identifier, that asks for this experiment, if it is a mode of another one's command: `swap` of
    /// `contend trace --swap`. A mode has neither a method nor examples nor a list of common options: it
    /// shares those of the command, and its records have the name of the command.
    const FLAG: Option<&'static str> = None;
    /// The page that says how it measures and what it cannot tell, in Markdown.
    const METHOD: &'static str = "";
    /// Its part of the survey, if it has one.
    const SURVEY: Option<SurveyPart> = None;
    /// Forms of its record that only this experiment has: the names for `--format`, each with its description.
    const LAYOUTS: &'static [(&'static str, &'static str)] = &[];
    /// Calls that its user may want to begin with, each with what it does; the help ends with them.
    const EXAMPLES: &'static [Example] = &[];
    /// The flags that experiments share and this one has no use for, by their names: it does not take them.
    const UNUSED: &'static [&'static str] = &[];
    /// The parameters that a run measures or meets, by their names: another run with the same flags has other values.
    const OUTCOMES: &'static [&'static str] = &[];

    /// What a call without flags lacks, if it lacks anything: "a program".
    const NEEDS: Option<&'static str> = None;

    /// Whether it can measure for longer than an hour, or until a signal: in memory that does not grow.
    const ALL_NIGHT: bool = false;

    /// What the user may set. The first paragraph of its documentation is the command's line in the help.
    type Flags: Args;
    /// The options, with defaults filled in.
    type Parameters: Serialize + DeserializeOwned + Described;
    /// One thing that was measured.
    type Row: Serialize + DeserializeOwned + Described;

    /// Whether a record of the command is one of this mode, by its parameters.
    fn has_parameters(parameters: &Value) -> bool {
        Self::Parameters::deserialize(parameters).is_ok()
    }

    /// Whether a row of a record of the command is one of this mode.
    fn has_row(row: &Value) -> bool {
        Self::Row::deserialize(row).is_ok()
    }

    /// What the flags ask for instead of a measurement: a list, say.
    ///
    /// # Errors
    /// Flags that make no sense.
    fn answer(_flags: &Self::Flags, _shared: &SharedFlags) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    /// Measures what the flags describe.
    ///
    /// # Errors
    /// Flags that make no sense here ([`UsageError`]); what the system refuses.
    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Self::Parameters, Self::Row>>;

    /// The record on a terminal: tables and pictures that fit the page.
    fn show(record: &Record<Self::Parameters, Self::Row>, page: &Page) -> String;

    /// The same where the record is one part of many: shorter, perhaps.
    fn show_part(record: &Record<Self::Parameters, Self::Row>, page: &Page) -> String {
        Self::show(record, page)
    }

    /// The record in one of its [`LAYOUTS`](Self::LAYOUTS).
    ///
    /// # Errors
    /// It has no layout of that name.
    fn layout(_record: &Record<Self::Parameters, Self::Row>, name: &str) -> Result<String, UsageError> {
        Err(UsageError(format!("--format {name}: {} has no such layout", Self::NAME)))
    }

    /// The rows on a page: findings, pictures, tables.
    fn section(rows: &[Self::Row]) -> Section;

    /// The values of a row that can be compared with those of other records.
    fn metrics(_row: &Self::Row) -> Vec<Metric> {
        Vec::new()
    }

    /// Who is best: the rows in order, for each figure that decides; the one that people look at first comes first.
    fn ranking(_rows: &[Self::Row]) -> Vec<Rank> {
        Vec::new()
    }

    /// What a person would say of the rows of a survey, which come with their places among all its results.
    fn findings(_rows: &[(usize, &Self::Row)]) -> Vec<Finding> {
        Vec::new()
    }

    /// Times of single operations that a person would put in order, with those of other experiments: the ladder.
    fn costs(_rows: &[Self::Row]) -> Vec<Cost> {
        Vec::new()
    }

    /// The figures of the old documents, each with that of a row.
    fn then_and_now(_rows: &[(usize, &Self::Row)]) -> Vec<ThenAndNow> {
        Vec::new()
    }
}

/// A call as it is typed, and what it does.
pub type Example = (&'static str, &'static str);

/// An experiment as a part of the survey: a command that its user could run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyPart {
    /// Its share of the time, relative to the other parts; 0 for an experiment that computes.
    pub weight: u32,
    /// The flags of its short form. Cells are few; those that the old documents have are among them.
    pub flags: &'static str,
}
