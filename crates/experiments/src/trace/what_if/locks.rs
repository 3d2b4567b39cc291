//! Which locks: the one that is named, or those that were waited for most.

use crate::trace::lost::Lost;
use crate::trace::names::own_name;
use crate::trace::swap::only::{Rehearsal, watched_run};
use crate::trace::swap::plan::Plan;
use crate::trace::swap::watched::slept_share;
use harness::{Interruption, UsageError};
use serde_json::Value;
use std::cell::Cell;

/// A lock that a run of the program used, and all that are called the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub name: String,
    pub wait_total_s: f64,
    /// Of the time waited: the part in which its holder slept.
    pub holder_slept: Option<f64>,
    /// Whether it has sections: others are kept out meanwhile.
    excludes: bool,
    is_semaphore: bool,
    is_waited_for: bool,
}

/// Those that are asked about, and those that could be as well.
pub struct Found {
    pub tried: Vec<Candidate>,
    pub left: Vec<String>,
    /// What found no room in the run in which they were found.
    pub lost: Lost,
}

/// So many without a name.
const TRIED: usize = 3;
const MOST_NAMED: usize = 8;

/// Finds them in a run that is watched.
///
/// # Errors
/// The run fails; no lock is called this; none was waited for.
pub fn find(wanted: Option<&str>, plan: &Plan, interruption: &Interruption) -> anyhow::Result<Found> {
    let (program, scene, lost) = (&plan.program, plan.scene(), &Cell::default());
    let (rows, lost) = watched_run(Rehearsal { program, scene, interruption, lost })?;
    Ok(Found { lost, ..chosen(wanted, candidates(&rows))? })
}

fn chosen(wanted: Option<&str>, all: Vec<Candidate>) -> anyhow::Result<Found> {
    if let Some(wanted) = wanted {
        let one = all.iter().find(|lock| lock.name == own_name(wanted));
        return match one {
            Some(lock) if lock.excludes => {
                Ok(Found { tried: vec![lock.clone()], left: Vec::new(), lost: Lost::default() })
            }
            Some(_) => Err(UsageError(format!(
                "--what-if {wanted}: not a lock with critical sections; its waiters wait for an event"
            ))
            .into()),
            None => {
                Err(UsageError(format!("--what-if {wanted}: the program used no lock of this name; {}", names(&all)))
                    .into())
            }
        };
    }
    // Who waits for a semaphore mostly waits for somebody's work, not for the end of a section.
    let mut waited = all.into_iter().filter(|lock| lock.excludes && !lock.is_semaphore && lock.is_waited_for);
    let tried: Vec<Candidate> = waited.by_ref().take(TRIED).collect();
    anyhow::ensure!(
        !tried.is_empty(),
        "--what-if: no lock was contended in the traced run, so shorter critical sections shorten no wait; to try \
         one anyway, name it with --what-if LOCK"
    );
    Ok(Found { tried, left: waited.map(|lock| lock.name).collect(), lost: Lost::default() })
}

fn names(all: &[Candidate]) -> String {
    let named: Vec<&str> = all.iter().filter(|lock| lock.excludes).map(|lock| lock.name.as_str()).collect();
    let more = if named.len() > MOST_NAMED { ", …" } else { "" };
    format!("it used {}{more}", named[..named.len().min(MOST_NAMED)].join(", "))
}

/// The locks by what was waited for them; those that are called the same are one.
fn candidates(rows: &[Value]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for row in rows.iter().filter(|row| row["kind"] == "lock") {
        let name = own_name(row["lock"].as_str().unwrap_or_default()).to_owned();
        let wait_total_s = row["wait_total_s"].as_f64().unwrap_or(0.0);
        let is_waited_for = row["contended"].as_u64().is_some_and(|times| times > 0);
        let excludes = matches!(row["type"].as_str(), Some("mutex" | "rwlock" | "spin" | "sem"));
        let is_semaphore = row["type"] == "sem";
        let holder_slept = slept_share(row);
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                // The mean of the waits for which it is known.
                known.holder_slept = match (known.holder_slept, holder_slept) {
                    (Some(one), Some(other)) => {
                        let all = (known.wait_total_s + wait_total_s).max(f64::MIN_POSITIVE);
                        Some((one * known.wait_total_s + other * wait_total_s) / all)
                    }
                    (one, other) => one.or(other),
                };
                known.wait_total_s += wait_total_s;
                known.is_waited_for |= is_waited_for;
            }
            None => found.push(Candidate { name, wait_total_s, holder_slept, excludes, is_semaphore, is_waited_for }),
        }
    }
    found.sort_by(|a, b| b.wait_total_s.total_cmp(&a.wait_total_s));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(name: &str, kind: &str, contended: u64, wait_total_s: f64) -> Value {
        json!({ "kind": "lock", "lock": name, "type": kind, "contended": contended, "wait_total_s": wait_total_s })
    }

    #[test]
    fn those_that_were_waited_for_most_are_tried_and_namesakes_are_one() {
        let rows = [
            row("mutex of f (a.c:3)", "mutex", 1, 0.5),
            row("quiet", "mutex", 0, 0.0),
            row("queue", "sem", 9, 8.0),
            row("signal", "cond", 9, 9.0),
            row("mutex of f (a.c:3) #2", "mutex", 1, 0.7),
            row("hot", "rwlock", 2, 1.0),
        ];
        let found = chosen(None, candidates(&rows)).unwrap();
        let names: Vec<&str> = found.tried.iter().map(|lock| lock.name.as_str()).collect();
        assert_eq!(names, ["mutex of f (a.c:3)", "hot"]);
        assert_eq!(chosen(Some("mutex of f (a.c:3) #2"), candidates(&rows)).unwrap().tried[0].wait_total_s, 1.2);
        assert_eq!(chosen(Some("quiet"), candidates(&rows)).unwrap().tried[0].name, "quiet");
        for (wrong, words) in [
            ("nothing", "it used queue, mutex of f (a.c:3), hot, quiet"),
            ("signal", "not a lock with critical sections"),
        ] {
            let error = chosen(Some(wrong), candidates(&rows)).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
