//! An experiment in the registry without its types, so that the other crates do not depend on them.

use crate::experiment::{Example, Experiment, SurveyPart};
use crate::finished::{AnyFinished, AnyRecord};
use crate::run::Run;
use crate::session::{SharedFlags, format_argument};
use anyhow::Context;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::{Cost, Finding, Metric, Rank, RecordRef, Section, ThenAndNow, typed};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use terminal::Page;

/// A row with its index among all results.
type Placed<'a> = (usize, &'a Value);

/// The rows of a record, read once: every view of them, without their types.
pub trait Rows {
    /// Shows the record of these rows on a terminal.
    ///
    /// # Errors
    /// The parameters are not in the experiment's format.
    fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String>;
    /// Shows the record as a part of a longer text.
    ///
    /// # Errors
    /// As [`Self::show`].
    fn show_part(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String>;
    /// Writes the record in one of the experiment's additional layouts.
    ///
    /// # Errors
    /// As [`Self::show`]; the layout does not exist.
    fn layout(&self, record: &AnyRecord, name: &str) -> anyhow::Result<String>;
    fn section(&self) -> Section;
    fn metrics(&self) -> Vec<Metric>;
    fn ranking(&self) -> Vec<Rank>;
    fn findings(&self) -> Vec<Finding>;
    /// Returns the costs for the ladder; `None` of an experiment that has none.
    fn costs(&self) -> Option<Vec<Cost>>;
    fn then_and_now(&self) -> Vec<ThenAndNow>;
    /// Returns the words of the command that answers the next question of a reader, if there is one.
    ///
    /// # Errors
    /// As [`Self::show`].
    fn next(&self, record: &AnyRecord) -> anyhow::Result<Option<Vec<String>>>;
}

/// The rows of an experiment, with their indices among all results.
struct Typed<E: Experiment> {
    places: Vec<usize>,
    rows: Vec<E::Row>,
}

impl<E: Experiment> Typed<E> {
    fn read(placed: &[Placed<'_>]) -> anyhow::Result<Box<dyn Rows>> {
        let (places, rows): (Vec<usize>, Vec<&Value>) = placed.iter().copied().unzip();
        Ok(Box::new(Self { places, rows: typed(rows)? }))
    }

    fn placed(&self) -> Vec<(usize, &E::Row)> {
        self.places.iter().copied().zip(&self.rows).collect()
    }

    /// Passes the input of a view of a whole record to `view`.
    fn of_record<T>(
        &self,
        record: &AnyRecord,
        view: impl FnOnce(&RecordRef<'_, E::Parameters, E::Row>) -> T,
    ) -> anyhow::Result<T> {
        let parameters = E::Parameters::deserialize(&record.parameters).context("its parameters cannot be read")?;
        let (environment, results) = (&record.environment, self.rows.as_slice());
        Ok(view(&RecordRef { environment, parameters: &parameters, results }))
    }
}

impl<E: Experiment> Rows for Typed<E> {
    fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        self.of_record(record, |record| (E::VIEWS.show)(record, page))
    }

    fn show_part(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        self.of_record(record, |record| (E::VIEWS.show_part)(record, page))
    }

    fn layout(&self, record: &AnyRecord, name: &str) -> anyhow::Result<String> {
        let layout = E::VIEWS.layouts.iter().find(|layout| layout.name == name);
        let layout = layout.with_context(|| format!("--format {name}: {} has no such layout", E::NAME))?;
        self.of_record(record, layout.write)
    }

    fn section(&self) -> Section {
        (E::VIEWS.section)(&self.rows)
    }

    fn metrics(&self) -> Vec<Metric> {
        (E::VIEWS.comparable)(&self.rows).into_iter().flat_map(E::VIEWS.metrics).collect()
    }

    fn ranking(&self) -> Vec<Rank> {
        (E::VIEWS.ranking)(&self.rows)
    }

    fn findings(&self) -> Vec<Finding> {
        (E::VIEWS.findings)(&self.placed())
    }

    fn costs(&self) -> Option<Vec<Cost>> {
        E::VIEWS.costs.map(|costs| costs(&self.rows))
    }

    fn then_and_now(&self) -> Vec<ThenAndNow> {
        (E::VIEWS.then_and_now)(&self.placed())
    }

    fn next(&self, record: &AnyRecord) -> anyhow::Result<Option<Vec<String>>> {
        self.of_record(record, |record| (E::VIEWS.next)(record))
    }
}

/// An experiment without its types.
pub struct Entry {
    /// Its name in records and on the command line.
    pub name: &'static str,
    /// The page of its method, in Markdown.
    pub method: &'static str,
    pub survey: Option<SurveyPart>,
    pub examples: &'static [Example],
    /// The shared flags that it does not accept.
    pub unused: &'static [&'static str],
    /// The parameters whose values differ in another run with the same flags.
    outcomes: &'static [&'static str],
    /// The part that a call without flags lacks.
    pub needs: Option<&'static str>,
    /// Whether it can measure for longer than an hour.
    pub all_night: bool,
    /// The flag that selects it, if it is a mode of another entry's command.
    flag: Option<&'static str>,
    modes: &'static [Entry],
    has_row: fn(&Value) -> bool,
    augment: fn(Command) -> Command,
    answer: fn(&ArgMatches, &SharedFlags) -> anyhow::Result<Option<String>>,
    writes_parts: fn(&ArgMatches) -> bool,
    shares_stdout: fn(&ArgMatches) -> bool,
    run: fn(&ArgMatches, &mut Run<'_>) -> anyhow::Result<AnyFinished>,
    read: fn(&[Placed<'_>]) -> anyhow::Result<Box<dyn Rows>>,
    #[cfg(feature = "schema")]
    schema: fn(&mut SchemaGenerator) -> [Schema; 2],
}

impl Entry {
    /// Returns the line of an experiment in the registry.
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
            has_row: E::has_row,
            augment: augment::<E>,
            answer: |matches, shared| E::answer(&flags::<E>(matches)?, shared),
            writes_parts: |matches| flags::<E>(matches).is_ok_and(|flags| E::writes_parts(&flags)),
            shares_stdout: |matches| flags::<E>(matches).is_ok_and(|flags| E::shares_stdout(&flags)),
            run: |matches, run| Ok(E::run(&flags::<E>(matches)?, run)?.erased()?),
            read: Typed::<E>::read,
            #[cfg(feature = "schema")]
            schema: |generator| [generator.subschema_for::<E::Parameters>(), generator.subschema_for::<E::Row>()],
        }
    }

    /// Adds modes: experiments that flags of its command select.
    pub const fn with(self, modes: &'static [Self]) -> Self {
        Self { modes, ..self }
    }

    /// Returns the words of its name: its own name, or a group and a question.
    pub fn words(&self) -> (&'static str, Option<&'static str>) {
        self.name.split_once(' ').map_or((self.name, None), |(group, question)| (group, Some(question)))
    }

    /// Returns its command, by the last word of its name.
    pub fn command(&self) -> Command {
        let command = (self.augment)(Command::new(self.name.rsplit(' ').next().unwrap_or(self.name)));
        let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
        let with_mode = |command, mode: &Self| (mode.augment)(command).next_help_heading(None::<&str>);
        let command = self.modes.iter().fold(command, with_mode);
        // The documentation of the modes' flags does not replace that of the command.
        let command = command.about(about.unwrap_or_default());
        match long_about {
            Some(text) => command.long_about(text),
            None => command.long_about(None::<&str>),
        }
    }

    /// Returns the mode that the flags select; the experiment itself if they select none.
    fn selected(&self, matches: &ArgMatches) -> &Self {
        let is_given = |flag: &str| matches.value_source(flag) == Some(ValueSource::CommandLine);
        self.modes.iter().find(|mode| mode.flag.is_some_and(is_given)).unwrap_or(self)
    }

    /// Returns whether another run with the same flags has another value of this parameter.
    pub fn is_outcome(&self, parameter: &str) -> bool {
        std::iter::once(self).chain(self.modes).any(|one| one.outcomes.contains(&parameter))
    }

    /// Returns the answer that the flags request instead of a measurement.
    ///
    /// # Errors
    /// The flags are invalid.
    pub fn answer(&self, matches: &ArgMatches, shared: &SharedFlags) -> anyhow::Result<Option<String>> {
        for one in self.modes.iter().chain([self]) {
            if let Some(answer) = (one.answer)(matches, shared)? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Returns whether it accepts a shared flag, by its name.
    pub fn takes(&self, flag: &str) -> bool {
        !self.unused.contains(&flag) && (flag != "until_signal" || self.all_night)
    }

    /// Returns whether the flags request a record of each part of the run.
    pub fn writes_parts(&self, matches: &ArgMatches) -> bool {
        (self.selected(matches).writes_parts)(matches)
    }

    /// Returns whether the flags run a program that writes to contend's standard output.
    pub fn shares_stdout(&self, matches: &ArgMatches) -> bool {
        (self.selected(matches).shares_stdout)(matches)
    }

    /// Measures the configurations that the flags describe.
    ///
    /// # Errors
    /// Those of the experiment.
    pub fn run(&self, matches: &ArgMatches, run: &mut Run<'_>) -> anyhow::Result<AnyFinished> {
        (self.selected(matches).run)(matches, run)
    }

    /// Measures with the flags of its part of the survey.
    ///
    /// # Errors
    /// Those of the experiment.
    pub fn run_part(&self, part: SurveyPart, run: &mut Run<'_>) -> anyhow::Result<AnyFinished> {
        let command = self.command().no_binary_name(true);
        (self.run)(&command.try_get_matches_from(part.flags.split_whitespace())?, run)
    }

    /// Reads rows, which are given with their indices among all results.
    ///
    /// # Errors
    /// A row is not in the format of this experiment.
    pub fn read(&self, rows: &[Placed<'_>]) -> anyhow::Result<Box<dyn Rows>> {
        // All rows of a record are of one mode.
        let first = rows.first();
        let mode = first.and_then(|(_, row)| self.modes.iter().find(|mode| (mode.has_row)(row)));
        (mode.unwrap_or(self).read)(rows)
    }

    /// Reads all rows of a record.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_all(&self, record: &AnyRecord) -> anyhow::Result<Box<dyn Rows>> {
        self.read(&record.results.iter().enumerate().collect::<Vec<_>>())
    }
}

#[cfg(feature = "schema")]
impl Entry {
    /// Returns the schemas of its parameters and of its rows.
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
    let layouts: Vec<(&str, &str)> = E::VIEWS.layouts.iter().map(|layout| (layout.name, layout.about)).collect();
    if layouts.is_empty() { command } else { command.arg(format_argument(&layouts)) }
}

fn flags<E: Experiment>(matches: &ArgMatches) -> Result<E::Flags, clap::Error>
where
    E::Flags: FromArgMatches,
{
    E::Flags::from_arg_matches(matches)
}
