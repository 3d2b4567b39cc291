//! The waits for locks of each side, in one traced run. Tracing costs time, so these runs are not compared.

use super::plan::Plan;
use super::record::{WatchedLock, WatchedSide};
use blame::names::own_name;
use harness::{Progress, Session};
use launch::{Failed, Program, Traced, TracedLock};

/// The sides, or why they were not watched.
pub type Watched = Result<Vec<WatchedSide>, String>;

/// The number of locks of a side in the record: those with the longest total wait.
const MOST: usize = 5;

/// Traces a run of each side.
pub fn watch(plan: &Plan, session: &Session, progress: &Progress) -> anyhow::Result<Watched> {
    let mut watched = Vec::new();
    for side in plan.sides.iter().filter(|side| !side.is_control) {
        progress.note(&format!("traced run: {}", side.label));
        let mut words = side.words().unwrap_or_default();
        // A worktree's program is named from its directory on.
        if let Some((directory, word)) = side.directory(0).zip(words.first_mut())
            && word.as_encoded_bytes().contains(&b'/')
        {
            *word = std::path::absolute(directory.join(&*word))?.into();
        }
        let program = match Program::find(&words) {
            Ok(program) => program,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let scene = plan.scene(side, 0);
        let Traced { locks, thread_time_s, .. } =
            match Traced::run(&program, &scene, &plan.variables, plan.timeout, &session.interruption)? {
                Ok(traced) => traced,
                Err(Failed { how, .. }) => return Ok(Err(format!("the traced run of {} {how}", side.label))),
            };
        let Some(thread_time_s) = thread_time_s.filter(|time| *time > 0.0) else {
            return Ok(Err(format!("the traced run of {} was too short to sample its threads", side.label)));
        };
        let of_lock = |lock: &TracedLock| WatchedLock {
            lock: own_name(&lock.name).to_owned(),
            acquisitions: lock.acquisitions,
            contended: lock.contended,
            wait_total_s: lock.wait_total_s,
            wait_share: lock.wait_total_s / thread_time_s,
        };
        let locks = locks.iter().take(MOST).map(of_lock).collect();
        watched.push(WatchedSide { side: side.label.clone(), thread_time_s, locks });
    }
    Ok(Ok(watched))
}
