//! `contend trace`: the locks of any program, watched and explained.

mod attach;
mod export;
mod findings;
mod flags;
mod holds;
mod kinds;
mod live;
mod lost;
mod matrix;
mod measure;
mod metrics;
mod names;
mod plan;
mod program;
mod record;
mod section;
mod section_waiting;
mod show;
mod show_matrix;
mod swap;
mod warnings;
mod what_if;
mod words;

use ::record::{Finding, Metric, Record, Section};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run, SharedFlags};
use kinds::{AnyParameters, AnyRow, Kind};
use live::Lines;
use plan::Plan;
use program::Program;
use terminal::Page;

/// The experiment.
pub struct Trace;

impl Experiment for Trace {
    const NAME: &'static str = "trace";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        (
            "contend trace -- ./server --its flags",
            "Show what the threads of a server wait for, until it exits or Ctrl-C",
        ),
        ("contend trace --full --seconds 30 -- ./server", "Time every hold; terminate the server after 30 s"),
        ("contend trace --pid 1234 --seconds 10", "Trace the futex calls of a running process (requires root)"),
        ("contend trace --swap adaptive,calock -- ./program", "Test whether another lock makes the program faster"),
        (
            "contend trace --what-if cache_lock -- ./program",
            "Predict the gain from shorter critical sections of cache_lock",
        ),
        (
            "contend trace --export perfetto waits.pftrace -- ./server",
            "Export the waits as a timeline for ui.perfetto.dev",
        ),
    ];
    const NEEDS: Option<&'static str> = Some("a program to trace");
    const UNUSED: &'static [&'static str] = &["cpus"];
    const OUTCOMES: &'static [&'static str] = plan::OUTCOMES;

    type Flags = Flags;
    type Parameters = AnyParameters;
    type Row = AnyRow;

    fn answer(flags: &Flags, _: &SharedFlags) -> anyhow::Result<Option<String>> {
        flags.swap.swap_library.as_deref().map(swap::write_library).transpose()
    }

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<AnyParameters, AnyRow>> {
        if flags.swap.is_asked_for() {
            return Ok(kinds::of_compared(swap::run(flags, Program::find(&flags.program)?, run)?));
        }
        if let Some(lock) = flags.what_if.lock() {
            return Ok(kinds::of_shortened(what_if::run(lock, flags, Program::find(&flags.program)?, run)?));
        }
        if let Some(pid) = flags.pid {
            let target = attach::Target::find(pid)?;
            let plan = attach::Plan {
                target,
                budget: run.session.seconds,
                interval: plan::period(run.session, flags.interval),
            };
            let mut lines = Lines::of(run.session, run.shared, flags.interval);
            let measured = attach::run(&plan, run.session, &mut lines)?;
            let cpus = run.session.cpus.clone();
            let finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, plan.budget);
            return Ok(kinds::of_watched(finished.without(["other_load", "autogroup"])));
        }
        let plan = Plan::of(flags, run.session)?;
        let calibration = run.clock();
        let mut lines = Lines::of(run.session, run.shared, flags.interval);
        let measured = measure::run_plan(&plan, run.session, &calibration, &mut lines)?;
        let cpus = run.session.cpus.clone();
        let mut finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, plan.budget);
        for (form, file) in plan.exports {
            finished.files.push((file, Ok(export::content(form, &measured.waits))));
        }
        // The load is the program, and what is watched is what the machine does to it.
        Ok(kinds::of_watched(finished.without(["other_load", "autogroup"])))
    }

    fn show(record: &Record<AnyParameters, AnyRow>, page: &Page) -> String {
        match kinds::of(record) {
            Kind::Watched(record) => show::show(&record, page),
            Kind::Compared(record) => swap::show::show(&record, page),
            Kind::Shortened(record) => what_if::show::show(&record, page),
        }
    }

    fn section(rows: &[AnyRow]) -> Section {
        match (&kinds::compared(rows)[..], &kinds::shortened(rows)[..]) {
            ([], []) => section::section(&kinds::watched(rows)),
            ([], shortened) => what_if::section::section(shortened),
            (compared, _) => swap::section::section(compared),
        }
    }

    fn metrics(row: &AnyRow) -> Vec<Metric> {
        if let AnyRow::Watched(row) = row { metrics::metrics(row) } else { Vec::new() }
    }

    fn findings(rows: &[(usize, &AnyRow)]) -> Vec<Finding> {
        let watched = |&(place, row): &(usize, &AnyRow)| match row {
            AnyRow::Watched(row) => Some((place, (**row).clone())),
            AnyRow::Compared(_) | AnyRow::Shortened(_) => None,
        };
        let rows: Vec<_> = rows.iter().filter_map(watched).collect();
        findings::findings(&rows.iter().map(|(place, row)| (*place, row)).collect::<Vec<_>>())
    }
}
