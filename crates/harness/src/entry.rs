//! An experiment in the registry, without its types, so that the other crates need to know none of them.

use crate::experiment::{Example, Experiment, SurveyPart};
use crate::finished::{AnyFinished, AnyRecord};
use crate::run::Run;
use crate::session::{SharedFlags, format_argument};
use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::{Cost, Finding, Metric, Rank, Record, Section, ThenAndNow, typed};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::Value;
use terminal::Page;

/// A row with its place among all results.
type Placed<'a> = (usize, &'a Value);

/// An experiment without its types.
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
    outcomes: &'static [&'static str],
    /// What a call without flags lacks.
    pub needs: Option<&'static str>,
    /// Whether it can measure for longer than an hour.
    pub all_night: bool,
    /// The flag that asks for it, if it is a mode of another entry's command.
    flag: Option<&'static str>,
    modes: &'static [Entry],
    has_parameters: fn(&Value) -> bool,
    has_row: fn(&Value) -> bool,
    augment: fn(Command) -> Command,
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
        assert!(
            E::FLAG.is_some() || !(E::METHOD.is_empty() || E::EXAMPLES.is_empty()),
            "a command needs a method and examples"
        );
        Self {
            name: E::NAME,
            method: E::METHOD,
            survey: E::SURVEY,
            examples: E::EXAMPLES,
            unused: E::UNUSED,
            outcomes: E::OUTCOMES,
            needs: E::NEEDS,
            all_night: E::ALL_NIGHT,
            flag: E::FLAG,
            modes: &[],
            has_parameters: E::has_parameters,
            has_row: E::has_row,
            augment: augment::<E>,
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

    /// The same with modes: experiments that flags of its command ask for.
    pub const fn with(self, modes: &'static [Self]) -> Self {
        Self { modes, ..self }
    }

    /// The words of its name: itself, or a group and a question.
    pub fn words(&self) -> (&'static str, Option<&'static str>) {
        self.name.split_once(' ').map_or((self.name, None), |(group, question)| (group, Some(question)))
    }

    /// Its command, by the last word of its name.
    pub fn command(&self) -> Command {
        let command = (self.augment)(Command::new(self.name.rsplit(' ').next().unwrap_or(self.name)));
        let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
        let with_mode = |command, mode: &Self| (mode.augment)(command).next_help_heading(None::<&str>);
        let command = self.modes.iter().fold(command, with_mode);
        // The documentation of the modes' flags is none of the command.
        let command = command.about(about.unwrap_or_default());
        match long_about {
            Some(text) => command.long_about(text),
            None => command.long_about(None::<&str>),
        }
    }

    /// The mode that the flags ask for; the experiment itself if they ask for none.
    fn asked(&self, matches: &ArgMatches) -> &Self {
        let is_given = |flag: &str| matches.value_source(flag) == Some(ValueSource::CommandLine);
        self.modes.iter().find(|mode| mode.flag.is_some_and(is_given)).unwrap_or(self)
    }

    /// The mode that wrote a record with these parameters.
    fn of_parameters(&self, parameters: &Value) -> &Self {
        self.modes.iter().find(|mode| (mode.has_parameters)(parameters)).unwrap_or(self)
    }

    /// The mode that wrote these rows. A record has rows of one mode.
    fn of_rows<'a>(&self, rows: impl IntoIterator<Item = &'a Value>) -> &Self {
        let first = rows.into_iter().next();
        first.and_then(|row| self.modes.iter().find(|mode| (mode.has_row)(row))).unwrap_or(self)
    }

    /// Whether another run with the same flags has another value of this parameter.
    pub fn is_outcome(&self, parameter: &str) -> bool {
        std::iter::once(self).chain(self.modes).any(|one| one.outcomes.contains(&parameter))
    }

    /// What the flags ask for instead of a measurement.
    ///
    /// # Errors
    /// Flags that make no sense.
    pub fn answer(&self, matches: &ArgMatches, shared: &SharedFlags) -> anyhow::Result<Option<String>> {
        for one in self.modes.iter().chain([self]) {
            if let Some(answer) = (one.answer)(matches, shared)? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
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
        (self.asked(matches).run)(matches, run)
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
        (self.of_parameters(&record.parameters).show)(record, page)
    }

    /// The same as a part of something longer.
    ///
    /// # Errors
    /// As [`Self::show`].
    pub fn show_part(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        (self.of_parameters(&record.parameters).show_part)(record, page)
    }

    /// The record in one of the experiment's own layouts.
    ///
    /// # Errors
    /// As [`Self::show`].
    pub fn layout(&self, record: &AnyRecord, name: &str) -> anyhow::Result<String> {
        (self.of_parameters(&record.parameters).layout)(record, name)
    }

    /// The rows on a page.
    ///
    /// # Errors
    /// A row that is not as this experiment writes it.
    pub fn section(&self, rows: &[Value]) -> anyhow::Result<Section> {
        (self.of_rows(rows).section)(rows)
    }

    /// What of the rows can be compared.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn metrics(&self, rows: &[Value]) -> anyhow::Result<Vec<Metric>> {
        (self.of_rows(rows).metrics)(rows)
    }

    /// Who is best.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn ranking(&self, rows: &[Value]) -> anyhow::Result<Vec<Rank>> {
        (self.of_rows(rows).ranking)(rows)
    }

    /// The findings in rows, which come with their positions.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn findings(&self, rows: &[Placed<'_>]) -> anyhow::Result<Vec<Finding>> {
        (self.of_rows(rows.iter().map(|(_, row)| *row)).findings)(rows)
    }

    /// The lines of the rows on the ladder.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn costs(&self, rows: &[Value]) -> anyhow::Result<Vec<Cost>> {
        (self.of_rows(rows).costs)(rows)
    }

    /// The figures of the old documents, each with that of a row.
    ///
    /// # Errors
    /// As [`Self::section`].
    pub fn then_and_now(&self, rows: &[Placed<'_>]) -> anyhow::Result<Vec<ThenAndNow>> {
        (self.of_rows(rows.iter().map(|(_, row)| *row)).then_and_now)(rows)
    }
}

#[cfg(feature = "schema")]
impl Entry {
    /// What its parameters and its rows look like.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> [Schema; 2] {
        let [own_parameters, own_row] = (self.schema)(generator);
        if self.modes.is_empty() {
            return [own_parameters, own_row];
        }
        let (mut parameters, mut rows) = (vec![own_parameters], vec![own_row]);
        for mode in self.modes {
            let [of_mode, row] = (mode.schema)(generator);
            parameters.push(of_mode);
            rows.push(row);
        }
        [parameters, rows].map(|any| json_schema!({ "anyOf": any }))
    }
}

fn augment<E: Experiment>(command: Command) -> Command {
    let command = E::Flags::augment_args(command);
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
