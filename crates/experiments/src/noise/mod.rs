//! `contend noise`: who takes the CPU from a running thread.

mod cells;
mod flags;
mod live;
mod measure;
mod record;
mod show;
mod then;
mod trace;

pub use flags::{Flags, Parameters, Plan, SAMPLES_1999};
pub use measure::run_plan;
pub use record::{CauseRow, NoiseRecord, Row};

use crate::cli::Outcome;
use crate::output::{Destination, OutputFile};
use crate::session::{Session, SharedFlags};
use flags::View;
use instruments::clock::Clock;
use instruments::warning::Warning;
use live::Live;
use std::time::Duration;

const CLOCK_SPAN: Duration = Duration::from_millis(200);

/// Runs the experiment and delivers its record, unless stdout has the lines that a program reads; then its trace.
///
/// # Errors
/// Flags that do not fit this machine, a thread that the system refuses, a file that cannot be written.
pub fn run(
    flags: &Flags,
    shared: &SharedFlags,
    session: &Session,
    destination: Destination,
) -> anyhow::Result<Outcome> {
    let plan = Plan::of(flags, session)?;
    let view = flags.live_view(shared)?;
    let trace = flags.trace().map(|path| OutputFile::open("--trace", path).map(|file| (path, file))).transpose()?;
    let planned = plan.expected_time().unwrap_or_default();
    let progress = session.progress(planned);
    progress.note("calibrating");
    let calibration = Clock::calibrate(CLOCK_SPAN);
    let mut live = Live::new(view);
    let note = |what: &str| {
        if view.is_none() {
            progress.note(what)
        }
    };
    let measured = run_plan(&plan, session, calibration.clock, note, |line| live.line(line))?;
    drop(progress);

    let fallback = calibration.fallback.clone().map(|reason| Warning::ClockFallback { reason });
    let warnings = fallback.into_iter().chain(measured.warnings).collect();
    let parameters = plan.parameters(measured.order);
    let mut record: NoiseRecord = session.record("noise", &plan.cpus, planned, parameters, measured.rows, warnings);
    // What has no planned end cannot fall short of it.
    record.warnings.retain(|warning| plan.budget.is_some() || !matches!(warning, Warning::Interrupted { .. }));
    let trace = trace.zip(record.results.first()).map(|((path, file), row)| {
        let started_unix_s = record.environment.started_unix_s;
        let heading = trace::Heading { scenario: &row.scenario, threshold_ns: row.threshold_ns, started_unix_s };
        (file, trace::content(path, &heading, &measured.kept))
    });
    let outcome = match view {
        Some(View::Json) if !shared.writes_a_file() => destination.conclude(&record),
        _ => destination.deliver(&record),
    };
    // Neither file costs the other.
    if let Some((file, content)) = trace {
        file.write(&content?)?;
    }
    live.end()?;
    outcome
}
