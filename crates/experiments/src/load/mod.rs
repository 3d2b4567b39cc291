//! `contend load`: how much CPU a process would really get.

mod flags;
mod live;
mod measure;
mod priority;
mod record;
mod show;
mod then;
mod unseen;

pub use flags::{Flags, Parameters, Plan};
pub use record::LoadRecord;
pub use record::{Row, Shares};
pub use then::TAKING_TURNS_SHARE;

use crate::apparatus::Apparatus;
use crate::cli::Outcome;
use crate::output::Destination;
use crate::session::{Session, SharedFlags};
use flags::View;
use instruments::warning::Warning;
use live::Live;
use measure::Measured;
use priority::Priority;
use std::io;
use std::time::Duration;
use unseen::Unseen;

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
    let plan = Plan::of(flags, shared.wants_record(), session)?;
    let view = flags.live_view(shared)?;
    let mut live = Live::new(view, flags.metrics.as_deref(), session, &plan)?;
    let progress = session.progress(plan.length.unwrap_or(Duration::ZERO));
    progress.note("calibrating");
    let apparatus = Apparatus::calibrate(session)?;
    drop(progress);
    live.begin()?;
    let measured = measure::run_apart(&plan, session.seed, &apparatus, &mut live)?;
    let live_warnings = live.end();
    let parameters = plan.parameters(measured.exact_account.as_deref());
    let (rows, warnings) = rows(measured);
    let warnings = apparatus.warnings().into_iter().chain(warnings).chain(live_warnings).collect();
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

/// Measures what the plan says without a view, and tells `note` now and then that it goes on. The caller must have no other
/// threads.
///
/// # Errors
/// The system refuses a process or threads; a CPU that may not be used after all.
pub fn run_plan(
    plan: &Plan,
    session: &Session,
    apparatus: &Apparatus,
    note: impl Fn(&str),
) -> io::Result<(Vec<Row>, Parameters, Vec<Warning>)> {
    let mut unseen = Unseen { interruption: &session.interruption, note };
    let measured = measure::run_apart(plan, session.seed, apparatus, &mut unseen)?;
    let parameters = plan.parameters(measured.exact_account.as_deref());
    let (rows, warnings) = rows(measured);
    Ok((rows, parameters, warnings))
}

/// The rows of intervals, then those of the whole run; and what a reader must know.
fn rows(measured: Measured) -> (Vec<Row>, Vec<Warning>) {
    let intervals = measured.intervals.into_iter().map(Row::Interval);
    let totals = measured.totals.into_iter().map(Row::Total).chain(measured.all_cpus.map(Row::AllCpus));
    (intervals.chain(totals).collect(), measured.warnings)
}
