//! `contend load`: how much CPU a process would really get.

mod flags;
mod live;
mod measure;
mod priority;
mod record;
mod show;

pub use flags::Flags;
pub use record::LoadRecord;
pub use record::{Row, Shares};

use crate::apparatus::Apparatus;
use crate::cli::Outcome;
use crate::output::Destination;
use crate::session::{Session, SharedFlags};
use flags::{Plan, View};
use instruments::warning::Warning;
use live::Live;
use priority::Priority;
use std::time::Duration;

/// Runs the experiment and delivers its record, unless stdout has the lines that a program reads.
///
/// # Errors
/// Flags that contradict each other; a file that cannot be written; a system that refuses threads.
pub fn run(
    flags: &Flags,
    shared: &SharedFlags,
    session: &Session,
    destination: Destination,
) -> anyhow::Result<Outcome> {
    let plan = Plan::of(flags, shared, session)?;
    let view = flags.live_view(shared)?;
    let mut live = Live::new(view, flags.metrics.as_deref(), session, &plan)?;
    let progress = session.progress(plan.length.unwrap_or(Duration::ZERO));
    progress.note("calibrating");
    let apparatus = Apparatus::calibrate(session)?;
    drop(progress);
    live.begin()?;
    let measured = measure::run_apart(&plan, session.seed, &apparatus, &mut live)?;
    let live_warnings = live.end();
    let intervals = measured.intervals.into_iter().map(Row::Interval);
    let totals = measured.totals.into_iter().map(Row::Total).chain(measured.all_cpus.map(Row::AllCpus));
    let rows: Vec<Row> = intervals.chain(totals).collect();
    let warnings = apparatus.warnings().into_iter().chain(measured.warnings).chain(live_warnings).collect();
    let parameters = plan.parameters(measured.exact_account.as_deref());
    let planned = plan.length.unwrap_or_default();
    let mut record: LoadRecord = session.record("load", &plan.cpu_set(), planned, parameters, rows, warnings);
    record.warnings.retain(|warning| match warning {
        // The load is what is measured here, and an endless run is meant to be ended.
        Warning::OtherLoad { .. } => false,
        // An idle meter goes into a session of its own.
        Warning::Autogroup => plan.priority != Priority::IDLE,
        Warning::Interrupted { .. } => plan.length.is_some(),
        _ => true,
    });
    if view == Some(View::Json) && shared.output.is_none() {
        live::json_lines(record.results.iter().filter(|row| row.interval().is_none()))?;
        return destination.conclude(&record);
    }
    destination.deliver(&record)
}
