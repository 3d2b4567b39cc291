//! The measurement: a traced run, or with `--remedies` interleaved ones. It prints nothing.

use super::flags::Flags;
use super::record::{Parameters, Row};
use super::remedies::{self, Remedy};
use super::rows::rows;
use super::slice_extension::SliceExtension;
use crate::trace::attach;
use crate::trace::flags::Level;
use crate::trace::live::Lines;
use crate::trace::measure::{self, Measured as Traced};
use crate::trace::plan::Plan;
use crate::trace::words_to_watch::Request;
use harness::{Run, Session, UsageError};
use instruments::clock::Calibration;
use instruments::warning::Warning;
use launch::Program;
use std::time::{Duration, Instant};

/// The result of the measurement.
pub struct Measured {
    pub parameters: Parameters,
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
    /// The program's exit status, as a shell gives it.
    pub status: Option<u8>,
}

/// Waits are not reported as hangs: `contend trace` does that.
const DEADLINE: Duration = Duration::from_secs(24 * 3600);

/// Traces the program, or the process.
pub fn run_plan(flags: &Flags, run: &mut Run<'_>) -> anyhow::Result<Measured> {
    // There is one part, and so no record of a part.
    let deliver = |_: Traced| Ok(());
    let mut lines = Lines::of(run.session, run.shared, &deliver);
    if let Some(pid) = flags.pid {
        let targets = attach::Targets::of_pids(&[pid])?;
        let budget = run.session.seconds;
        let plan = attach::Plan {
            targets,
            room: 0,
            full: false,
            budget,
            interval: None,
            every: None,
            deadline: DEADLINE,
            all: false,
            watches_words: false,
        };
        return Ok(measured(attach::run(plan, run.session, &mut lines)?, Vec::new(), 0));
    }
    let mut plan = plan(flags, flags.threads, run.session)?;
    if let Some(why) = plan.program.no_library {
        if flags.remedies {
            let program = plan.program.path.display();
            return Err(UsageError(format!("--remedies: the holds of {program} are not timed: it is {why}")).into());
        }
        let started = attach::Started::start(&plan, why, run.session)?;
        return Ok(measured(started.watch(&plan, run.session, &mut lines)?, Vec::new(), 0));
    }
    let calibration = run.clock();
    if !flags.remedies {
        return Ok(measured(measure::run_plan(&plan, run.session, &calibration, &mut lines)?, Vec::new(), 0));
    }
    let (first, remedies) = with_remedies(flags, &mut plan, run, &calibration, &mut lines)?;
    Ok(measured(first, remedies, remedies::ROUNDS))
}

fn plan(flags: &Flags, threads: Option<u32>, session: &Session) -> anyhow::Result<Plan> {
    Ok(Plan {
        program: Program::find(&flags.words(threads)?)?,
        level: Level::Full,
        budget: session.seconds,
        interval: None,
        every: None,
        deadline: DEADLINE,
        patience: flags.launched.patience,
        exports: Vec::new(),
        all: false,
        words: Request::of(&[], 0.0)?,
        preempted: true,
    })
}

/// Runs the program as it is and with each remedy, in rounds of random order; returns the first plain run, and the rows of the
/// remedies.
fn with_remedies(
    flags: &Flags,
    plain: &mut Plan,
    run: &Run<'_>,
    calibration: &Calibration,
    lines: &mut Lines<'_>,
) -> anyhow::Result<(Traced, Vec<Row>)> {
    let cpus = instruments::cpus::allowed()?.len() as u32;
    let fewer = flags.threads.filter(|threads| *threads > cpus).map(|_| plan(flags, Some(cpus), run.session));
    let (mut fewer, budget) = (fewer.transpose()?, plain.budget);
    let mut sides = remedies::all(fewer.is_some().then_some(cpus));
    let (began, mut first) = (Instant::now(), None);
    let mut runs_left = remedies::ROUNDS * sides.len() as u32;
    'rounds: for round in 0..remedies::ROUNDS as usize {
        let mut order: Vec<usize> = (0..sides.len()).collect();
        // The first run is plain: the others must end as it does.
        let fixed = usize::from(round == 0);
        fastrand::shuffle(&mut order[fixed..]);
        for place in order {
            let side = &mut sides[place];
            // An equal part of the time that is left.
            let share = budget.map(|budget| budget.saturating_sub(began.elapsed()) / runs_left);
            runs_left -= 1;
            if share.is_some_and(|share| share.is_zero()) {
                break 'rounds;
            }
            if side.refused.is_some() {
                continue;
            }
            let plan = fewer.as_mut().filter(|_| matches!(side.remedy, Remedy::Threads(_))).unwrap_or(&mut *plain);
            plan.budget = share;
            let scheduling = match side.remedy.apply() {
                Ok(scheduling) => scheduling,
                Err(why) => {
                    side.refused = Some(why);
                    continue;
                }
            };
            let traced = measure::run_plan(plan, run.session, calibration, lines)?;
            drop(scheduling);
            let is_interrupted = run.session.interruption.is_requested();
            if is_interrupted && first.is_some() {
                break 'rounds;
            }
            // A run that ended in another way is not one of the same work.
            let plain_status = first.as_ref().map(|first: &Traced| first.status);
            if let Some(plain_status) = plain_status.filter(|status| *status != traced.status) {
                let status = |status: Option<u8>| status.map_or("none".to_owned(), |status| status.to_string());
                side.refused = Some(format!(
                    "the program ended with status {}, and without it with {}",
                    status(traced.status),
                    status(plain_status)
                ));
                continue;
            }
            side.note(&traced.preempted, traced.seen.parameters.elapsed_s);
            if side.remedy == Remedy::Plain && first.is_none() {
                first = Some(traced);
            }
            if is_interrupted {
                break 'rounds;
            }
        }
    }
    let first = first.ok_or_else(|| anyhow::anyhow!("--remedies: no plain run of the program ended"))?;
    let words = flags.launched.program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    Ok((first, remedies::rows_of(&sides, &words)))
}

fn measured(traced: Traced, remedies: Vec<Row>, rounds: u32) -> Measured {
    let (known, traced_parameters) = (&traced.preempted, traced.seen.parameters);
    let [holds, holds_known] = known.holds;
    let parameters = Parameters {
        program: traced_parameters.program,
        program_sha256: traced_parameters.program_sha256,
        attached_pid: traced_parameters.attached_pid,
        exit_status: traced_parameters.exit_status,
        exit_signal: traced_parameters.exit_signal,
        elapsed_s: traced_parameters.elapsed_s,
        threads: traced_parameters.threads,
        waited_s: known.waited_s,
        switches: traced_parameters.switches,
        switches_share: traced_parameters.switches_share,
        switches_left_out: traced_parameters.switches_left_out,
        holds_known_share: (holds > 0).then(|| holds_known as f64 / holds as f64),
        sees_competitors: known.sees_competitors,
        slice_extension: SliceExtension::find(),
        rounds,
        lost: traced_parameters.lost,
    };
    let mut rows = rows(known);
    rows.extend(remedies);
    Measured { parameters, rows, warnings: traced.seen.warnings, status: traced.status }
}
