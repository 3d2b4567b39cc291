//! Hangs of processes that are watched anyway, found while they are.

use crate::explanation::{Class, Explanation};
use crate::look::{APART, Looker};
use crate::rules::explain;
use blame::Allowance;
use std::time::{Duration, Instant};

/// The period of looks, and the pause after a look as a multiple of its duration.
const PERIOD: Duration = Duration::from_millis(600);
const PAUSE: u32 = 20;
/// The first look reads the files of the process, and says little about the next ones.
const LONGEST_PAUSE: Duration = Duration::from_millis(1_500);
/// Processes that are watched for longer are looked at less often.
const SETTLED: Duration = Duration::from_secs(3);
const LESS_OFTEN: u32 = 4;

/// Looks at processes again and again.
pub struct Still {
    looker: Looker,
    began: Instant,
    next: Instant,
    last: Option<Instant>,
    /// The present hang, since when it is one, and whether it was reported.
    hang: Option<(Explanation, Instant, bool)>,
}

impl Still {
    /// Creates one whose work ends with a run.
    pub fn within(allowance: &Allowance) -> Self {
        let began = Instant::now();
        Self { looker: Looker::within(allowance), began, next: began, last: None, hang: None }
    }

    /// Looks at the processes, if that is due. Returns a hang once: a deadlock at once, another hang if it is older than
    /// the deadline.
    pub fn look(&mut self, pids: &[u32], deadline: Duration) -> Option<Explanation> {
        let now = Instant::now();
        if now < self.next || pids.is_empty() {
            return None;
        }
        self.look_now(pids, now);
        let took = now.elapsed();
        let less_often = if now - self.began > SETTLED { LESS_OFTEN } else { 1 };
        self.next = Instant::now() + PERIOD.max((took * PAUSE).min(LONGEST_PAUSE)) * less_often;
        let (found, since, is_reported) = self.hang.as_mut()?;
        let is_due = found.class == Class::Deadlock || now - *since >= deadline;
        (is_due && !std::mem::replace(is_reported, is_due || *is_reported)).then(|| found.clone())
    }

    /// Makes the next look due as early as it can tell a hang.
    pub fn hurry(&mut self) {
        self.next = self.last.map_or(self.next, |last| self.next.min(last + APART));
    }

    fn look_now(&mut self, pids: &[u32], now: Instant) {
        let is_apart = self.last.is_some_and(|last| now - last >= APART);
        let found = explain(&self.looker.look(pids));
        self.last = Some(now);
        let known = self.hang.take().filter(|(before, ..)| before.finding.threads() == found.finding.threads());
        self.hang = (is_apart && found.is_hang()).then(|| {
            let (since, is_reported) = known.map_or((now, false), |(_, since, is_reported)| (since, is_reported));
            (found, since, is_reported)
        });
    }

    /// Returns the hang in which the processes are at the end.
    pub fn finish(&mut self, pids: &[u32]) -> Option<Explanation> {
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last >= APART) {
            self.look_now(pids, now);
        }
        self.hang.as_ref().map(|(found, ..)| found.clone())
    }
}
