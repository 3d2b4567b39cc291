//! The trait of experiments: a name, flags, a measurement, and the views of its rows.

use crate::described::Described;
use crate::finished::Finished;
use crate::run::Run;
use crate::session::SharedFlags;
use clap::Args;
use record::{Cost, Finding, Metric, Rank, RecordRef, Section, ThenAndNow};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use terminal::Page;

/// An experiment: one directory, and one line in the registry.
///
/// It measures in [`run`](Self::run) and nowhere else; its [`VIEWS`](Self::VIEWS) read rows.
pub trait Experiment: Sized + 'static {
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

    /// What its rows are read as: a function for each view.
    const VIEWS: Views<Self>;

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
    /// Flags that make no sense here ([`UsageError`](crate::UsageError)); what the system refuses.
    fn run(flags: &Self::Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Self::Parameters, Self::Row>>;
}

/// A record on a terminal.
type Show<E> = fn(&RecordRef<'_, <E as Experiment>::Parameters, <E as Experiment>::Row>, &Page) -> String;
/// What is made of rows that come with their places among all results.
type OfPlaced<E, T> = fn(&[(usize, &<E as Experiment>::Row)]) -> Vec<T>;

/// The views of an experiment's rows, perhaps those of an old record. Each is a function that reads and never measures.
pub struct Views<E: Experiment> {
    /// The record on a terminal: tables and pictures that fit the page.
    pub show: Show<E>,
    /// The same where the record is one part of many: shorter, perhaps.
    pub show_part: Show<E>,
    /// Forms of the record that only this experiment has.
    pub layouts: &'static [Layout<E>],
    /// The rows on a page: findings, pictures, tables.
    pub section: fn(&[E::Row]) -> Section,
    /// The values of a row that can be compared with those of other records.
    pub metrics: fn(&E::Row) -> Vec<Metric>,
    /// Who is best: the rows in order, for each figure that decides; the one that people look at first comes first.
    pub ranking: fn(&[E::Row]) -> Vec<Rank>,
    /// What a person would say of the rows of a survey, which come with their places among all its results.
    pub findings: OfPlaced<E, Finding>,
    /// Times of single operations that a person would put in order, with those of other experiments: the ladder.
    pub costs: fn(&[E::Row]) -> Vec<Cost>,
    /// The figures of the old documents, each with that of a row.
    pub then_and_now: OfPlaced<E, ThenAndNow>,
}

impl<E: Experiment> Views<E> {
    /// Those that every experiment has; the others have nothing to say.
    pub const fn of(show: Show<E>, section: fn(&[E::Row]) -> Section) -> Self {
        Self {
            show,
            show_part: show,
            layouts: &[],
            section,
            metrics: |_| Vec::new(),
            ranking: |_| Vec::new(),
            findings: |_| Vec::new(),
            costs: |_| Vec::new(),
            then_and_now: |_| Vec::new(),
        }
    }
}

/// A form of a record that `--format` asks for by its name.
pub struct Layout<E: Experiment> {
    pub name: &'static str,
    pub about: &'static str,
    pub write: fn(&RecordRef<'_, E::Parameters, E::Row>) -> String,
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
