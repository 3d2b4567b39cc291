//! `contend` without a command: every experiment briefly, its findings in words, and the old documents next to today's
//! values. A part of the survey is the experiment that the user could run alone with the same flags.

mod page;

use self::page::PagePlace;
use super::archived;
use super::report::page_of_record;
use super::shown::{closing, survey as show};
use super::survey_record::{
    ExperimentFailed, METHOD, NAME, Parameters, PartParameters, comparison, failures, finding, placed, tagged,
};
use crate::output::{Destination, View};
use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use harness::{
    AnyFinished, AnyRecord, Entry, Finished, Interrupted, LeftOut, Outcome, Passed, Progress, Rows, Run, Session,
    SharedFlags, SurveyPart, UsageError, output,
};
use instruments::warning::{self, Warning};
use serde_json::Value;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use terminal::{Page, without_error_numbers};

/// Run every experiment briefly; compare the results with those of 1998 to 2008
///
/// The survey also runs when contend is called without a command. It covers the clock, the lock latency laboratory,
/// ulockflex, OS noise, the CPU time left over, the thread ring, and models of many machines. It ends with
/// findings in plain sentences, and with the results of 1998 to 2008 next to those of today. The tables and charts of
/// each experiment are in the HTML report, and in the saved record.
#[derive(Args, Clone, Debug, Default)]
pub struct Flags {
    /// Run only these experiments, separated by commas
    #[arg(long, value_parser = PossibleValuesParser::new(names()), value_name = "LIST", value_delimiter = ',', conflicts_with = "skip")]
    only: Vec<String>,

    /// Skip these experiments, separated by commas
    #[arg(long, value_parser = PossibleValuesParser::new(names()), value_name = "LIST", value_delimiter = ',')]
    skip: Vec<String>,

    /// Measure for 100 s instead of one minute, for narrower confidence intervals and rarer events; --seconds sets any
    /// other time
    #[arg(long)]
    thorough: bool,

    /// Write the HTML report to FILE [default: survey.html next to the archive; no report if nothing is saved]
    #[arg(long, value_name = "FILE", conflicts_with = "no_page")]
    page: Option<PathBuf>,

    /// Write no HTML report
    #[arg(long)]
    no_page: bool,
}

/// Returns the names of the parts: several questions of a group are one.
fn names() -> Vec<&'static str> {
    let surveyed = experiments::ALL.iter().filter(|entry| entry.survey.is_some());
    let mut names: Vec<&str> = surveyed.map(|entry| entry.words().0).collect();
    names.dedup();
    names
}

impl Flags {
    /// Returns whether the part of this name is to run.
    fn wants(&self, name: &str) -> bool {
        let has = |list: &[String]| list.iter().any(|one| one == name);
        if self.only.is_empty() { !has(&self.skip) } else { has(&self.only) }
    }
}

/// Runs the survey, delivers its record, and writes a page.
///
/// # Errors
/// Flags leave nothing to measure; the page may not be written there; or no experiment has a result.
pub fn run(flags: &Flags, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    if shared.explain {
        output::print(&terminal::folded(METHOD, &Page::of_stdout()))?;
        return Ok(Outcome::Done);
    }
    let mut session = Session::open(shared)?;
    session.end_in_time()?;
    archived::recall_cores(&mut session.environment, shared.archive.as_deref());
    let destination = Destination::open(shared)?;
    let plan = Plan::of(flags, &session)?;
    let page = PagePlace::of(flags.page.as_deref(), flags.no_page || shared.no_keep, shared)?;
    let record = measured(&plan, &session, shared)?;
    if record.results.is_empty() && !session.interruption.is_requested() {
        anyhow::bail!("nothing was measured: {}", failures(&record.warnings).join("; "));
    }
    let outcome = destination.deliver(record.clone(), &Screen, None);
    // Neither failure prevents the other.
    page.leave(&record, shared);
    outcome
}

fn measured(plan: &Plan, session: &Session, shared: &SharedFlags) -> anyhow::Result<AnyRecord> {
    let progress = Progress::over(plan.budget, &session.interruption, session.shows_progress());
    let progress = progress.with_live(&session.live);
    let found = run_plan(plan, session, shared, &progress)?;
    let (parameters, cpus) = (serde_json::to_value(found.parameters)?, session.cpus.clone());
    let mut finished: AnyFinished = Finished::measured(parameters, found.rows, found.warnings, cpus, Some(plan.budget));
    Ok(finished.take_record(NAME, session))
}

/// The whole record, or the closing screen.
struct Screen;

impl View for Screen {
    fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        show(record, page)
    }

    fn closing(&self, record: &AnyRecord, whole: &str, page: &Page) -> anyhow::Result<Option<String>> {
        closing(record, whole, page).map(Some)
    }

    fn page(&self, record: &AnyRecord) -> anyhow::Result<String> {
        page_of_record(record)
    }
}

/// The default: with the calibration and the last repetitions of the parts, a minute.
const DEFAULT_BUDGET: Duration = Duration::from_secs(56);
const THOROUGH_BUDGET: Duration = Duration::from_secs(100);

/// The input of the measurement.
struct Plan {
    /// The time for all parts.
    budget: Duration,
    parts: Vec<Part>,
}

/// An experiment as a part of the survey.
#[derive(Clone, Copy)]
struct Part {
    entry: &'static Entry,
    short: SurveyPart,
}

impl Plan {
    /// Returns the selected parts, for which the session's budget is, 56 s by default.
    ///
    /// # Errors
    /// No part is left, or the time is given twice.
    fn of(flags: &Flags, session: &Session) -> Result<Self, UsageError> {
        if flags.thorough && session.seconds.is_some() {
            return Err(UsageError("--thorough cannot be combined with --seconds; omit one of them".into()));
        }
        let usual = if flags.thorough { THOROUGH_BUDGET } else { DEFAULT_BUDGET };
        let budget = session.seconds.unwrap_or(usual);
        let wanted = experiments::ALL.iter().filter(|entry| flags.wants(entry.words().0));
        let wanted: Vec<(&Entry, SurveyPart)> = wanted.filter_map(|entry| Some((entry, entry.survey?))).collect();
        if wanted.is_empty() {
            let names = names().join(", ");
            return Err(UsageError(format!("--skip: no experiment is left; keep at least one of {names}")));
        }
        let mut parts: Vec<Part> = wanted.into_iter().map(|(entry, short)| Part { entry, short }).collect();
        // Computed parts take a part of a second, and come first: at the end the time may be up.
        parts.sort_by_key(|part| part.short.weight > 0);
        Ok(Self { budget, parts })
    }

    /// Returns the share of a part of the time that is left for it and the parts after it.
    fn share(&self, place: usize, left: Duration) -> Duration {
        let parts = &self.parts[place..];
        let all: u32 = parts.iter().map(|part| part.short.weight).sum();
        left * parts[0].short.weight / all.max(1)
    }
}

impl Part {
    /// Returns the description for the record.
    fn parameters(&self, budget: Duration) -> PartParameters {
        let budget_s = budget.as_secs_f64();
        // A computed part needs no time.
        let seconds = if self.short.weight == 0 { String::new() } else { format!(" --seconds {budget_s:.1}") };
        let words = [self.entry.name, self.short.flags].join(" ");
        let command = format!("contend {}{seconds}", words.trim());
        PartParameters { experiment: self.entry.name.to_owned(), command, budget_s }
    }
}

/// The results of the survey.
#[derive(Default)]
struct Measured {
    rows: Vec<Value>,
    parameters: Parameters,
    warnings: Vec<Warning>,
}

/// Runs the experiments of the plan, and reports the current one.
///
/// # Errors
/// The measured rows are not in the format of the experiment.
fn run_plan(plan: &Plan, session: &Session, shared: &SharedFlags, progress: &Progress) -> anyhow::Result<Measured> {
    let began = Instant::now();
    let mut measured = Measured { parameters: Parameters::new(plan.budget), ..Measured::default() };
    progress.note("calibrating");
    let (instruments, mut passed) = (OnceCell::new(), Passed::default());
    for (place, part) in plan.parts.iter().enumerate() {
        if session.interruption.is_out_of_time() {
            measured.warnings.push(out_of_time(part.entry.name));
            continue;
        }
        if session.interruption.is_requested() {
            break;
        }
        // The parts before have taken their time and the start of their programs.
        let left = plan.budget.saturating_sub(began.elapsed());
        let budget = plan.share(place, left);
        measured.parameters.add(part.parameters(budget));
        // A computed part has no share, and ends by itself.
        let within = session.within(if part.short.weight == 0 { left } else { budget });
        let progress = progress.of_part(part.entry.name);
        let mut run = Run::part(&within, shared, &instruments, progress, &mut passed);
        match measured.run(part, &mut run) {
            Err(error) if !error.is::<Interrupted>() => measured.warnings.push(missing(part.entry.name, error)),
            Err(_) if session.interruption.is_out_of_time() => measured.warnings.push(out_of_time(part.entry.name)),
            _ => {}
        }
    }
    measured.conclude(plan).context("cannot read back the results")?;
    // Several experiments have the same warnings about the machine.
    measured.warnings = record::distinct(&measured.warnings, Warning::clone);
    Ok(measured)
}

impl Measured {
    fn run(&mut self, part: &Part, run: &mut Run<'_>) -> anyhow::Result<()> {
        let entry = part.entry;
        let finished = entry.run_part(part.short, run)?;
        self.parameters.set(entry, finished.parameters);
        for row in finished.rows {
            self.rows.push(tagged(entry.name, row)?);
        }
        self.warnings.extend(finished.warnings);
        // A failure in an experiment does not affect its other results.
        self.warnings.extend(finished.failures.iter().map(|failure| failed(entry.name, failure)));
        Ok(())
    }

    /// Adds the values of the old documents to the rows, and the findings in them.
    fn conclude(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let read = plan.parts.iter().map(|part| part.entry.read(&placed(&self.rows, part.entry.name)));
        let read: Vec<Box<dyn Rows>> = read.collect::<anyhow::Result<_>>()?;
        let compared = read.iter().flat_map(|rows| rows.then_and_now()).map(comparison);
        let further: Vec<_> = compared.chain(read.iter().flat_map(|rows| rows.findings()).map(finding)).collect();
        self.rows.extend(further.into_iter().collect::<Result<Vec<Value>, _>>()?);
        Ok(())
    }
}

fn out_of_time(experiment: &str) -> Warning {
    let reason = "the time of the survey was up; give it more with --seconds".to_owned();
    Warning::from(warning::LeftOut { what: experiment.to_owned(), reason })
}

fn missing(experiment: &str, error: anyhow::Error) -> Warning {
    match error.downcast::<LeftOut>() {
        Ok(LeftOut { what, reason }) => Warning::from(warning::LeftOut { what, reason }),
        Err(error) => failed(experiment, &format!("{error:#}")),
    }
}

fn failed(experiment: &str, reason: &str) -> Warning {
    let reason = without_error_numbers(reason).split_whitespace().collect::<Vec<_>>().join(" ");
    Warning::from(ExperimentFailed { experiment: experiment.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_can_run_alone() {
        let entry = experiments::named("load").unwrap();
        let part = Part { entry, short: entry.survey.unwrap() };
        assert_eq!(
            part.parameters(Duration::from_millis(7_200)).command,
            "contend load --grinders 2 --interval 500ms --seconds 7.2"
        );
    }
}
