//! Wait and hold times, plainly and with each lock: one run of each under `contend trace`. Tracing costs time, so these
//! runs are not compared.

use super::plan::Plan;
use super::record::WatchedLock;
use super::variant::Variant;
use anyhow::Context;
use blame::Lost;
use blame::names::own_name;
use exchange::{Counts, PASS};
use harness::{Progress, Session};
use launch::{Failed, TracedLock};
use std::time::Duration;

/// The number of locks in the record: those with the longest total wait.
const MOST: usize = 5;
/// With another lock, a run may take this many times as long as the plain one, and this much longer.
const LONGER: u32 = 10;
const MORE: Duration = Duration::from_secs(10);

/// Traces a run of each variant except the library alone; or returns the reason why there is no trace.
///
/// # Errors
/// A run cannot be started; a signal asks to end.
pub fn watch(plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Result<Watched, String>> {
    let (_library, path) = exchange::library().context("cannot copy the library into memory")?;
    let (mut all, mut most_lost, mut names, mut at_most) = (Vec::new(), Lost::default(), Vec::new(), None);
    for variant in plan.variants().iter().filter(|variant| variant.lock != PASS) {
        progress.note(&format!("traced run: {}", variant.lock));
        let (Watched { locks, lost }, wall_s) = match watch_one(plan, variant, &path, at_most, session)? {
            Ok(brought) => brought,
            Err(why) if variant.is_plain() => return Ok(Err(why)),
            // The comparison will say what fails with it.
            Err(_) => continue,
        };
        most_lost = most_lost.or(lost);
        if variant.is_plain() {
            names = locks.iter().take(MOST).map(|lock| lock.name.clone()).collect();
            at_most = Some(Duration::from_secs_f64(wall_s) * LONGER + MORE);
        }
        all.extend(locks.into_iter().filter(|lock| names.contains(&lock.name)));
    }
    Ok(Ok(Watched { locks: all, lost: most_lost }))
}

/// The locks of traced runs, and the largest loss of events in one of them.
pub struct Watched {
    pub locks: Vec<WatchedLock>,
    pub lost: Lost,
}

/// The locks of one run, and its wall time in seconds.
type Brought = (Watched, f64);

fn watch_one(
    plan: &Plan,
    variant: &Variant,
    path: &str,
    at_most: Option<Duration>,
    session: &Session,
) -> anyhow::Result<Result<Brought, String>> {
    // The program opens the file of the counts, which must live as long as the run.
    let counts = Counts::new()?;
    let variables = variant.variables(path, &counts);
    let traced = match plan.launch.run_traced(&variables, at_most, &session.interruption)? {
        Err(Failed { how, output }) => return Ok(Err(format!("the traced run {how}: {}", output.trim_end()))),
        Ok(traced) => traced,
    };
    let all: Vec<WatchedLock> =
        traced.locks.iter().filter(|lock| lock.excludes()).map(|lock| watched_lock(lock, variant)).collect();
    // The next run may number namesakes otherwise: nothing is said of locks that have any.
    let is_alone =
        |lock: &WatchedLock| all.iter().filter(|other| own_name(&other.name) == own_name(&lock.name)).count() == 1;
    let locks = all.iter().filter(|lock| is_alone(lock)).cloned().collect();
    Ok(Ok((Watched { locks, lost: traced.lost }, traced.wall_s)))
}

fn watched_lock(lock: &TracedLock, variant: &Variant) -> WatchedLock {
    WatchedLock {
        lock: variant.lock.to_owned(),
        name: lock.name.clone(),
        acquisitions: lock.acquisitions,
        contended: lock.contended,
        wait_total_s: lock.wait_total_s,
        wait_p50_ns: lock.wait_p50_ns,
        wait_p99_ns: lock.wait_p99_ns,
        hold_p50_ns: lock.hold_p50_ns,
        hold_p99_ns: lock.hold_p99_ns,
        holder_slept_share: lock.holder_slept_share(),
        held_at: lock.held_at().map(str::to_owned),
    }
}
