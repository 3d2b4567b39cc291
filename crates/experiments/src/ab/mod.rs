//! `contend ab`: is one command faster than another? Runs in random order, paired in time, and a verdict with an
//! interval.

mod conditions;
mod distribution;
mod export;
mod findings;
mod flags;
mod judge;
mod measure;
mod plan;
mod record;
mod revisions;
mod show;
mod sides;
mod warnings;
mod watch;
mod written;

use self::record::{AbParameters, AbRow};
use flags::Flags;
use harness::output::OutputFile;
use harness::{Example, Experiment, Finished, Layout, Run, SmtMonitor, Views};
use plan::Plan;
use std::time::Duration;

/// The experiment.
pub struct Ab;

impl Experiment for Ab {
    const NAME: &'static str = "ab";
    const METHOD: &'static str = include_str!("method.md");
    const EXAMPLES: &'static [Example] = &[
        ("contend ab './old --flags' './new --flags'", "Compare two commands, for at most 20 s"),
        ("contend ab --revisions main,HEAD --build make ./prog --fail-if slower:2%", "Gate a change in CI"),
        (
            "contend ab './prog {threads}' --parameter threads=1,2,4 --metric '(\\d+) ops/s' --higher-is-better",
            "Compare a number in the output",
        ),
    ];
    const NEEDS: Option<&'static str> = Some("two commands");
    const OUTCOMES: &'static [&'static str] = &[
        "comparisons",
        "control_differs",
        "ended_by",
        "looks",
        "memory_floor_kib",
        "omitted_blocks",
        "planned_s",
        "runs",
        "unwatched",
        "watched",
    ];

    type Flags = Flags;
    type Parameters = AbParameters;
    type Row = AbRow;

    const VIEWS: Views<Self> = Views {
        layouts: &[Layout {
            name: "hyperfine",
            about: "the runs as hyperfine exports them",
            write: |record| export::hyperfine(record.parameters, record.results),
        }],
        metrics: findings::metrics,
        next: findings::next,
        ..Views::of(show::show, show::section)
    };

    fn run(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Finished<AbParameters, AbRow>> {
        let export = flags.export_hyperfine.as_deref();
        let export = export.map(|path| OutputFile::open("--export-hyperfine", path)).transpose()?;
        let plan = Plan::of(flags, run.session)?;
        let planned = plan.budget(0.0).unwrap_or(Duration::ZERO);
        let progress = run.progress(planned);
        let monitor = SmtMonitor::open(run.session, run.clock().clock);
        let measured = measure::run_plan(&plan, run.session, monitor, &progress)?;
        let layout = export::hyperfine(&measured.parameters, &measured.rows);
        let cpus = run.session.cpus.clone();
        let mut finished =
            Finished::measured(measured.parameters, measured.rows, measured.warnings, cpus, measured.planned);
        finished.failures = measured.failures;
        finished.exceeded = measured.exceeded;
        finished.files.extend(export.map(|file| (file, Ok(layout.into_bytes()))));
        Ok(finished)
    }
}
