//! Contention without waiting: cache lines that threads fight for as they run.

use super::{Evidence, LEAST_WAIT};
use crate::trace::record::{Row, RowKind, SeenBy};
use crate::trace::rules::Rule;
use crate::trace::sharing::rules::{Problem, problems, without_problem};
use blame::sampling::budget::Budget;

/// Problems that are named.
const MOST: usize = 3;
/// A program that wants less than this part of one CPU is not limited by what it does there.
const LEAST_CPU: f64 = 0.5;

/// The problems, and the sentence that says what was looked at where there is none.
pub(super) struct Contention {
    pub(super) problems: Vec<Problem>,
    pub(super) seen: Option<String>,
}

impl Evidence {
    /// Returns the problems that the findings about waits do not explain: a lock that threads wait for is contended as it is
    /// acquired, too, and so is the word of a loop that spins.
    pub(super) fn contention(&self, whole: &Budget, findings: &[Row]) -> Contention {
        let is_busy = whole.on_cpu_s + whole.ready_s >= LEAST_CPU * self.elapsed_s;
        if let Some(reason) = &self.samples.refused_clock {
            let seen = format!(
                "Contention without waiting was not seen: the kernel refused samples of CPU time ({reason}); \
                 `sudo sysctl kernel.perf_event_paranoid=2` allows them for your own processes."
            );
            return Contention { problems: Vec::new(), seen: is_busy.then_some(seen) };
        }
        let is_explained = |problem: &Problem| {
            let place = problem.place();
            let is_its = |row: &Row| {
                let object = row.object.as_deref().unwrap_or_default();
                object == problem.row.object || !place.is_empty() && object.contains(&place)
            };
            problem.rule == Rule::LockPrice && !findings.is_empty() || findings.iter().any(is_its)
        };
        let is_long =
            |problem: &Problem| problem.share * (whole.on_cpu_s + whole.ready_s) >= LEAST_WAIT * self.elapsed_s;
        let mut problems = problems(&self.lines);
        problems.retain(|problem| is_long(problem) && !is_explained(problem));
        problems.truncate(MOST);
        let is_quiet = problems.is_empty() && findings.is_empty() && is_busy && cfg!(target_arch = "x86_64");
        Contention { problems, seen: is_quiet.then(|| without_problem(&self.lines)) }
    }
}

/// Returns the row of a problem.
pub(super) fn row(problem: &Problem) -> Row {
    Row {
        rule: Some(problem.rule),
        cpu_share: Some(problem.share),
        cpu_share_ci: Some(problem.ends),
        lock_type: problem.row.lock_type.clone().unwrap_or_default(),
        address: problem.row.address.clone(),
        object: Some(problem.object()),
        place: Some(problem.place()),
        cause: Some(problem.cause()),
        known_share: Some(1.0),
        remedy: Some(problem.remedy()),
        seen_by: SeenBy::Sampling,
        stack: problem.row.stack.clone(),
        ..Row::new(RowKind::Finding, problem.row.process, problem.row.object.clone())
    }
}
