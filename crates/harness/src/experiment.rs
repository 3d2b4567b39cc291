//! What an experiment is: a name, flags, a measurement, and what can be shown, compared and said of its rows.

use crate::described::Described;
use crate::exit::UsageError;
use crate::finished::Finished;
use crate::run::Run;
use crate::session::SharedFlags;
use clap::Args;
use record::{Cost, Finding, Metric, Rank, Record, Section, ThenAndNow};
use serde::Serialize;
use serde::de::DeserializeOwned;
use terminal::Page;

/// An experiment: one folder, and one line in the registry.
///
/// It measures in [`run`](Self::run) and nowhere else; every other function reads rows, perhaps those of an old record.
pub trait Experiment: 'static {
    /// Its name on the command line and in records; a second word is a question of a group (`model frames`).
    const NAME: &'static str;
    /// The page that says how it measures and what it cannot tell, in Markdown.
    const METHOD: &'static str;
    /// Its part of the survey, if it has one.
    const SURVEY: Option<SurveyPart> = None;
    /// Forms of its record beside those that all have: the names that `--format` takes, and what each is.
    const LAYOUTS: &'static [(&'static str, &'static str)] = &[];
    /// Calls that its user may want to begin with, each with what it does; the help ends with them.
    const EXAMPLES: &'static [Example];
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
    /// What was asked for, defaults filled in.
    type Parameters: Serialize + DeserializeOwned + Described;
    /// One thing that was measured.
    type Row: Serialize + DeserializeOwned + Described;

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

    /// The record in one of its own [`LAYOUTS`](Self::LAYOUTS).
    ///
    /// # Errors
    /// It has no layout of that name.
    fn layout(_record: &Record<Self::Parameters, Self::Row>, name: &str) -> Result<String, UsageError> {
        Err(UsageError(format!("--format {name}: {} has no such layout", Self::NAME)))
    }

    /// The rows on a page: findings, pictures, tables.
    fn section(rows: &[Self::Row]) -> Section;

    /// The figures of a row that can be held against those of other records.
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

    /// The figures of the old documents beside those of these rows.
    fn then_and_now(_rows: &[(usize, &Self::Row)]) -> Vec<ThenAndNow> {
        Vec::new()
    }
}

/// A call as it is typed, and what it does.
pub type Example = (&'static str, &'static str);

/// An experiment as a part of the survey: a command that its user could run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyPart {
    /// What it gets of the time, in parts of all that run; 0 for what is computed.
    pub weight: u32,
    /// The flags of its short form. Cells are few; those that the old documents have are among them.
    pub flags: &'static str,
}
