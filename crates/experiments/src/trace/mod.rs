//! `contend trace`: the locks of any program, watched and explained.

mod attach;
mod export;
mod findings;
mod flags;
mod live;
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
mod warnings;
mod words;

use self::record::{Row, TraceRecord};
use ::record::{Finding, Metric, Section};
use flags::Flags;
use harness::{Example, Experiment, Finished, Run};
use live::Lines;
use plan::{Parameters, Plan};
use terminal::Page;

/// The experiment.
pub struct Trace;

impl Experiment for Trace {
    const NAME: &'static str = "trace";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend trace -- ./server --its flags", "What its threads wait for, until it ends or Ctrl-C"),
        ("contend trace --full --seconds 30 -- ./server", "Every hold timed; the server is asked to end after 30 s"),
        ("contend trace --pid 1234 --seconds 10", "The futex calls of a process that already runs; needs root"),
        ("contend trace --export perfetto waits.pftrace -- ./server", "The waits on a time line, for ui.perfetto.dev"),
    ];
    const UNUSED: &'static [&'static str] = &["cpus", "seed"];

    type Flags = Flags;
    type Parameters = Parameters;
    type Row = Row;

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<Parameters, Row>> {
        if let Some(pid) = flags.pid {
            let target = attach::Target::find(pid)?;
            let plan = attach::Plan { target, budget: run.session.seconds, interval: flags.interval };
            let mut lines = Lines { interruption: run.session.interruption.clone(), is_quiet: run.shared.quiet };
            let measured = attach::run(&plan, run.session, &mut lines)?;
            let cpus = run.session.cpus.clone();
            let finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, plan.budget);
            return Ok(finished.without(["other_load", "autogroup"]));
        }
        let plan = Plan::of(flags, run.session)?;
        let calibration = run.clock();
        let mut lines = Lines { interruption: run.session.interruption.clone(), is_quiet: run.shared.quiet };
        let measured = measure::run_plan(&plan, run.session, &calibration, &mut lines)?;
        let cpus = run.session.cpus.clone();
        let mut finished = Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, plan.budget);
        for (form, file) in plan.exports {
            finished.files.push((file, Ok(export::content(form, &measured.waits))));
        }
        // The load is the program, and what is watched is what the machine does to it.
        Ok(finished.without(["other_load", "autogroup"]))
    }

    fn show(record: &TraceRecord, page: &Page) -> String {
        show::show(record, page)
    }

    fn section(rows: &[Row]) -> Section {
        section::section(rows)
    }

    fn metrics(row: &Row) -> Vec<Metric> {
        metrics::metrics(row)
    }

    fn findings(rows: &[(usize, &Row)]) -> Vec<Finding> {
        findings::findings(rows)
    }
}
