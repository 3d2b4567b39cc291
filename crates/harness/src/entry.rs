//! An experiment in the registry: its types left behind, so that whoever holds it needs to know none.

use crate::experiment::{Example, Experiment, SurveyPart};
use crate::finished::{AnyFinished, AnyRecord};
use crate::run::Run;
use crate::session::{SharedFlags, format_argument};
use anyhow::Context;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::{Cost, Finding, Metric, Rank, Record, Section, ThenAndNow, typed};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use terminal::Page;

/// A row with its place among all results.
type Placed<'a> = (usize, &'a Value);

/// What others know of an experiment.
pub struct Entry {
    /// Its name in records and on the command line.
    pub name: &'static str,
    /// Its method's page, in Markdown.
    pub method: &'static str,
    pub survey: Option<SurveyPart>,
    pub examples: &'static [Example],
    /// Shared flags that it does not take.
    pub unused: &'static [&'static str],
    /// The parameters that another run with the same flags has other values of.
    pub outcomes: &'static [&'static str],
    /// What a call without flags lacks.
    pub needs: Option<&'static str>,
    /// Whether it can measure for longer than an hour.
    pub all_night: bool,
    command: fn() -> Command,
    answer: fn(&ArgMatches, &SharedFlags) -> anyhow::Result<Option<String>>,
    run: fn(&ArgMatches, &mut Run<'_>) -> anyhow::Result<AnyFinished>,
    show: fn(&AnyRecord, &Page) -> anyhow::Result<String>,
    show_part: fn(&AnyRecord, &Page) -> anyhow::Result<String>,
    layout: fn(&AnyRecord, &str) -> anyhow::Result<String>,
    section: fn(&[Value]) -> anyhow::Result<Section>,
    metrics: fn(&[Value]) -> anyhow::Result<Vec<Metric>>,
    ranking: fn(&[Value]) -> anyhow::Result<Vec<Rank>>,
    findings: fn(&[Placed<'_>]) -> anyhow::Result<Vec<Finding>>,
    costs: fn(&[Value]) -> anyhow::Result<Vec<Cost>>,
    then_and_now: fn(&[Placed<'_>]) -> anyhow::Result<Vec<ThenAndNow>>,
    #[cfg(feature = "schema")]
    schema: fn(&mut SchemaGenerator) -> [Schema; 2],
}

impl Entry {
    /// The line of an experiment in the registry.
    pub const fn of<E: Experiment>() -> Self {
        Self {
            name: E::NAME,
            method: E::METHOD,
            survey: E::SURVEY,
            examples: E::EXAMPLES,
            unused: E::UNUSED,
            outcomes: E::OUTCOMES,
            needs: E::NEEDS,
            all_night: E::ALL_NIGHT,
            command: command::<E>,
            answer: |matches, shared| E::answer(&flags::<E>(matches)?, shared),
            run: |matches, run| Ok(E::run(&flags::<E>(matches)?, run)?.erased()?),
            show: |record, page| Ok(E::show(&typed_record::<E>(record)?, page)),
            show_part: |record, page| Ok(E::show_part(&typed_record::<E>(record)?, page)),
            layout: |record, name| Ok(E::layout(&typed_record::<E>(record)?, name)?),
            section: |rows| Ok(E::section(&typed(rows)?)),
            metrics: |rows| Ok(typed(rows)?.iter().flat_map(E::metrics).collect()),
            ranking: |rows| Ok(E::ranking(&typed(rows)?)),
            findings: |rows| placed(rows, E::findings),
            costs: |rows| Ok(E::costs(&typed(rows)?)),
            then_and_now: |rows| placed(rows, E::then_and_now),
            #[cfg(feature = "schema")]
            schema: |generator| [generator.subschema_for::<E::Parameters>(), generator.subschema_for::<E::Row>()],
        }
    }

    /// The words of its name: itself, or a group and a question.
    pub fn words(&self) -> (&'static str, Option<&'static str>) {
        self.name.split_once(' ').map_or((self.name, None), |(group, question)| (group, Some(question)))
    }

    /// Its command, by the last word of its name.
    pub fn command(&self) -> Command {
        (self.command)()
    }

    /// What the flags ask for instead of a measurement.
    ///
    /// # Errors
    /// Flags that make no sense.
    pub fn answer(&self, matches: &ArgMatches, shared: &SharedFlags) -> anyhow::Result<Option<String>> {
        (self.answer)(matches, shared)
    }

    /// Whether it has a use for a shared flag, by its name.
    pub fn takes(&self, flag: &str) -> bool {
        !self.unused.contains(&flag) && (flag != "until_signal" || self.all_night)
    }

    /// Measures what the flags describe.
    ///
    /// # Errors
    /// As the experiment says.
    pub fn run(&self, matches: &ArgMatches, run: &mut Run<'_>) -> anyhow::Result<AnyFinished> {
        (self.run)(matches, run)
    }

    /// The same with the flags of its part of the survey.
    ///
    /// # Errors
    /// As the experiment says.
    pub fn run_part(&self, part: SurveyPart, run: &mut Run<'_>) -> anyhow::Result<AnyFinished> {
        let command = self.command().no_binary_name(true);
        (self.run)(&command.try_get_matches_from(part.flags.split_whitespace())?, run)
    }

    /// The record on a terminal.
    ///
    /// # Errors
    /// A record that is not as this experiment writes it.
    pub fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        (self.show)(record, page)
    }

    /// The same as a part of something longer.
    ///
    /// # Errors
    /// As [`Self::show`].
    pub fn show_part(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        (self.show_part)(record, page)
    }

    /// The record in one of the experiment's own layouts.
    ///
    /// # Errors
    /// As [`Self::show`].
    pub fn layout(&self, record: &AnyRecord, name: &str) -> anyhow::Result<String> {
        (self.layout)(record, name)
    }

    /// The rows on a page.
    ///
    /// # Errors
    /// A row that is not as this experiment writes it.
    pub fn section(&self, rows: &[Value]) -> anyhow::Result<Section> {
        (self.section)(rows)
    }

    /// What of the rows can be compared.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn metrics(&self, rows: &[Value]) -> anyhow::Result<Vec<Metric>> {
        (self.metrics)(rows)
    }

    /// Who is best.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn ranking(&self, rows: &[Value]) -> anyhow::Result<Vec<Rank>> {
        (self.ranking)(rows)
    }

    /// What is found in rows, which come with their places.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn findings(&self, rows: &[Placed<'_>]) -> anyhow::Result<Vec<Finding>> {
        (self.findings)(rows)
    }

    /// What of the rows stands on the ladder.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn costs(&self, rows: &[Value]) -> anyhow::Result<Vec<Cost>> {
        (self.costs)(rows)
    }

    /// The old documents' figures beside these rows.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn then_and_now(&self, rows: &[Placed<'_>]) -> anyhow::Result<Vec<ThenAndNow>> {
        (self.then_and_now)(rows)
    }
}

#[cfg(feature = "schema")]
impl Entry {
    /// What its parameters and its rows look like.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> [Schema; 2] {
        (self.schema)(generator)
    }
}

fn command<E: Experiment>() -> Command {
    let name = E::NAME.rsplit(' ').next().unwrap_or(E::NAME);
    let command = E::Flags::augment_args(Command::new(name));
    if E::LAYOUTS.is_empty() { command } else { command.arg(format_argument(E::LAYOUTS)) }
}

fn flags<E: Experiment>(matches: &ArgMatches) -> Result<E::Flags, clap::Error>
where
    E::Flags: FromArgMatches,
{
    E::Flags::from_arg_matches(matches)
}

fn typed_record<E: Experiment>(record: &AnyRecord) -> anyhow::Result<Record<E::Parameters, E::Row>> {
    let parameters = one(&record.parameters).context("its parameters cannot be read")?;
    Ok(Record {
        schema: record.schema.clone(),
        experiment: record.experiment.clone(),
        environment: record.environment.clone(),
        parameters,
        results: typed(&record.results)?,
        ranking: record.ranking.clone(),
        warnings: record.warnings.clone(),
    })
}

fn one<T: DeserializeOwned>(value: &Value) -> serde_json::Result<T> {
    T::deserialize(value)
}

/// The rows as the experiment writes them, with their places, for one of its functions.
fn placed<R: DeserializeOwned, T>(rows: &[Placed<'_>], of: fn(&[(usize, &R)]) -> T) -> anyhow::Result<T> {
    let read = |(place, row): &(usize, &Value)| Ok((*place, one(row).with_context(|| format!("its row {place}"))?));
    let read: Vec<(usize, R)> = rows.iter().map(read).collect::<anyhow::Result<_>>()?;
    let refer: Vec<(usize, &R)> = read.iter().map(|(place, row)| (*place, row)).collect();
    Ok(of(&refer))
}
