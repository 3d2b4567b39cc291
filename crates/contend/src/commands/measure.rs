//! The measurement of one experiment: its record is archived and written, and its warnings are printed.

use super::archived;
use super::report::page_of_record;
use crate::output::{Destination, NotArchived, View};
use anyhow::{bail, ensure};
use clap::ArgMatches;
use experiments::ALL;
use harness::{
    AnyFinished, AnyRecord, Entry, Interrupted, Outcome, Rows, Run, Session, SharedFlags, UsageError, output,
};
use instruments::warning::Warning;
use std::cell::OnceCell;
use std::time::Duration;
use terminal::Page;

/// The maximum length of a run of most experiments.
const LONGEST: Duration = Duration::from_secs(3600);

/// Runs an experiment and delivers its output.
///
/// # Errors
/// Flags are invalid; a system call fails; a file cannot be written; or the experiment reports a failure, after its
/// record was delivered.
pub fn run(entry: &Entry, matches: &ArgMatches, shared: &SharedFlags) -> anyhow::Result<Outcome> {
    if shared.explain {
        output::print(&terminal::folded(entry.method, &Page::of_stdout()))?;
        return Ok(Outcome::Done);
    }
    if let Some(answer) = entry.answer(matches, shared)? {
        output::print(&answer)?;
        return Ok(Outcome::Done);
    }
    check_length(entry, shared, entry.writes_parts(matches))?;
    let mut session = Session::open(shared)?;
    // A program that is run is ended by its own plan.
    if entry.needs.is_none() {
        session.end_in_time()?;
    }
    archived::recall_cores(&mut session.environment, shared.archive.as_deref());
    let destination = match entry.writes_parts(matches) {
        true => Destination::of_parts(shared, entry.name, session.started_unix_s())?,
        false => Destination::open(shared)?,
    };
    let destination = if entry.shares_stdout(matches) { destination.beside_program(shared) } else { destination };
    let instruments = OnceCell::new();
    let interim = |mut finished: AnyFinished| {
        let record = finished.take_record(entry.name, &session);
        destination.deliver_part(record.clone(), &Of(&*entry.read_all(&record)?), finished.keep)
    };
    let mut run = Run::alone(&session, shared, &instruments).with_interim(&interim);
    let mut finished = match entry.run(matches, &mut run) {
        Err(error) if error.is::<Interrupted>() && session.interruption.is_out_of_time() => {
            bail!("nothing was measured; use a longer --seconds")
        }
        Err(error) if error.is::<Interrupted>() => {
            output::eprint_line(&error.to_string());
            return Ok(Outcome::Interrupted);
        }
        // An error that only the loss of a CPU explains is not reported as the experiment's.
        Err(error) => match session.cpus_taken(&session.cpus) {
            Some(taken) => return Err(error.context(Warning::from(taken).message().to_owned())),
            None => return Err(error),
        },
        Ok(finished) => finished,
    };
    let mut record = finished.take_record(entry.name, &session);
    let rows = entry.read_all(&record)?;
    record.ranking = rows.ranking();
    let outcome = match finished.is_printed {
        true => destination.conclude(&record),
        false => destination.deliver(record, &Of(&*rows), finished.keep),
    };
    // A failed file does not prevent the others.
    let written: Vec<anyhow::Result<()>> =
        finished.files.into_iter().map(|(file, content)| file.write(&content?)).collect();
    written.into_iter().collect::<anyhow::Result<()>>()?;
    let outcome = match outcome {
        // The exit status is the measured program's own.
        Err(error) if finished.program_status.is_some() && error.is::<NotArchived>() => {
            output::eprint_line(&format!("error: {error}"));
            Outcome::Done
        }
        outcome => outcome?,
    };
    ensure!(finished.failures.is_empty(), "{}", finished.failures.join("\n"));
    finished.exceeded.iter().for_each(|found| output::eprint_line(found));
    Ok(match (outcome, finished.program_status) {
        _ if !finished.exceeded.is_empty() => Outcome::Exceeded,
        (Outcome::Done, Some(status)) if status != 0 => Outcome::ProgramFailed(status),
        (outcome, _) => outcome,
    })
}

/// Checks the length: an experiment that stores every value has no room for a whole night, unless each part of the run
/// has a record.
fn check_length(entry: &Entry, shared: &SharedFlags, is_in_parts: bool) -> Result<(), UsageError> {
    match shared.seconds {
        Some(seconds) if seconds > LONGEST && !entry.all_night && !is_in_parts => {
            let able: Vec<&str> = ALL.iter().filter(|entry| entry.all_night).map(|entry| entry.name).collect();
            Err(UsageError(format!(
                "--seconds {} s: too long for {}; allowed: at most an hour ({}, trace --every: at most a week)",
                seconds.as_secs(),
                entry.name,
                able.join(", ")
            )))
        }
        _ => Ok(()),
    }
}

/// The record as the experiment shows it.
struct Of<'a>(&'a dyn Rows);

impl View for Of<'_> {
    fn show(&self, record: &AnyRecord, page: &Page) -> anyhow::Result<String> {
        self.0.show(record, page)
    }

    fn next(&self, record: &AnyRecord) -> anyhow::Result<Option<Vec<String>>> {
        self.0.next(record)
    }

    fn page(&self, record: &AnyRecord) -> anyhow::Result<String> {
        page_of_record(record)
    }

    fn layout(&self, record: &AnyRecord, name: &str) -> anyhow::Result<String> {
        self.0.layout(record, name)
    }
}
