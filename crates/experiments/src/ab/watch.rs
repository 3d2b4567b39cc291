//! The waits for locks of each side, in one traced run. Tracing costs time, so these runs are not compared.

use super::plan::Plan;
use super::record::{WatchedLock, WatchedSide};
use blame::names::own_name;
use harness::{Progress, Session};
use launch::{Failed, Program, Traced, TracedLock};
use record::distinct;

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
        watched.push(WatchedSide { side: side.label.clone(), thread_time_s, locks: summed(&locks, thread_time_s) });
    }
    Ok(Ok(watched))
}

/// Returns the locks with the longest waits. Another version of the program may number locks with equal names otherwise, so
/// these are one.
fn summed(locks: &[TracedLock], thread_time_s: f64) -> Vec<WatchedLock> {
    let of_name = |name: String| {
        let mut sum = WatchedLock { lock: name, acquisitions: 0, contended: 0, wait_total_s: 0.0, wait_share: 0.0 };
        for lock in locks.iter().filter(|lock| own_name(&lock.name) == sum.lock) {
            sum.acquisitions += lock.acquisitions;
            sum.contended += lock.contended;
            sum.wait_total_s += lock.wait_total_s;
        }
        WatchedLock { wait_share: sum.wait_total_s / thread_time_s, ..sum }
    };
    let mut all: Vec<WatchedLock> =
        distinct(locks, |lock| own_name(&lock.name).to_owned()).into_iter().map(of_name).collect();
    all.sort_by(|one, other| other.wait_total_s.total_cmp(&one.wait_total_s));
    all.truncate(MOST);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_with_equal_names_are_one() {
        let lock = |name: &str, wait_total_s| TracedLock {
            name: name.into(),
            acquisitions: 10,
            contended: 1,
            wait_total_s,
            ..TracedLock::default()
        };
        let locks = [lock("queue", 3.0), lock("mutex of get (a.c:4) #2", 2.5), lock("mutex of get (a.c:4)", 1.5)];
        let found: Vec<(String, u64, f64)> =
            summed(&locks, 8.0).into_iter().map(|lock| (lock.lock, lock.acquisitions, lock.wait_share)).collect();
        assert_eq!(found, [("mutex of get (a.c:4)".into(), 20, 0.5), ("queue".into(), 10, 0.375)]);
    }
}
