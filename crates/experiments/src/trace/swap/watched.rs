//! What was waited for and held, plainly and with each lock: one run of each under `contend trace`, which costs time,
//! and so is none of those that are compared.

use super::outcome::{Failed, Took};
use super::plan::Plan;
use super::record::WatchedLock;
use super::run::Library;
use super::variant::Variant;
use crate::trace::lost::Lost;
use crate::trace::names::own_name;
use anyhow::Context;
use exchange::{Counts, PASS};
use harness::{Progress, Session};
use serde::Deserialize;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// So many locks are told of, those that were waited for most.
const MOST: usize = 5;
/// With another lock a run may last so many times as long as the plain one, and so long more.
const LONGER: u32 = 10;
const MORE: Duration = Duration::from_secs(10);

/// Watches a run of each, but of the library alone; or says why that brought nothing.
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

/// What was seen of runs: their locks, and what found no room in the one in which that was most.
pub struct Watched {
    pub locks: Vec<WatchedLock>,
    pub lost: Lost,
}

/// What was seen of one run, and how long it took.
type Brought = (Watched, f64);

fn watch_one(
    plan: &Plan,
    variant: &Variant,
    path: &str,
    at_most: Option<Duration>,
    session: &Session,
) -> anyhow::Result<Result<Brought, String>> {
    let (file, counts) = (tempfile::NamedTempFile::new()?, Counts::new()?);
    let load = |command: &mut Command| {
        if !variant.is_plain() {
            Library { path, lock: variant.lock, only: &variant.only, counts: &counts }.load(command);
        }
    };
    match plan.scene().run_watched(&plan.program, file.path(), load, at_most, &session.interruption)? {
        Err(Failed { how, output }) => Ok(Err(format!("the traced run {how}: {}", output.trim_end()))),
        Ok(Took { wall_s, .. }) => {
            let record: Value = serde_json::from_slice(&std::fs::read(file.path())?)?;
            let rows = record["results"].as_array().map_or(&[][..], Vec::as_slice);
            let all: Vec<WatchedLock> = rows.iter().filter_map(|row| lock_of(row, variant)).collect();
            // The next run may number namesakes otherwise: nothing is said of locks that have any.
            let is_alone = |lock: &WatchedLock| {
                all.iter().filter(|other| own_name(&other.name) == own_name(&lock.name)).count() == 1
            };
            let locks = all.iter().filter(|lock| is_alone(lock)).cloned().collect();
            Ok(Ok((Watched { locks, lost: Lost::deserialize(&record["parameters"]["lost"])? }, wall_s)))
        }
    }
}

/// What a row says, if it is of a lock that can be exchanged.
fn lock_of(row: &Value, variant: &Variant) -> Option<WatchedLock> {
    let is_lock = row["kind"] == "lock" && ["mutex", "rwlock", "spin"].iter().any(|one| row["type"] == *one);
    is_lock.then_some(())?;
    Some(WatchedLock {
        lock: variant.lock.to_owned(),
        name: row["lock"].as_str()?.to_owned(),
        acquisitions: row["acquisitions"].as_u64()?,
        contended: row["contended"].as_u64()?,
        wait_total_s: row["wait_total_s"].as_f64()?,
        wait_p50_ns: row["wait_p50_ns"].as_f64(),
        wait_p99_ns: row["wait_p99_ns"].as_f64(),
        hold_p50_ns: row["hold_p50_ns"].as_f64(),
        hold_p99_ns: row["hold_p99_ns"].as_f64(),
        holder_slept_share: slept_share(row),
        held_at: row["blocked_by"][0]["site"].as_str().map(str::to_owned),
    })
}

/// The part of the time that a row's lock was waited for in which its holder slept, or waited itself: it did not run,
/// and no other thread ran in its place.
pub fn slept_share(row: &Value) -> Option<f64> {
    let preempted = row["holder_preempted_share"].as_f64().unwrap_or(0.0);
    Some((row["holder_off_cpu_share"].as_f64()? - preempted).max(0.0))
}
