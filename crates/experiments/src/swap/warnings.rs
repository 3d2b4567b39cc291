//! Warnings for the reader of a comparison.

use super::record::WatchedLock;
use super::variant::PLAIN;
use instruments::warning::WarningKind;
use serde::Serialize;
use terminal::percent;

/// Other programs had the CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyCpus {
    pub share: f64,
}

impl WarningKind for BusyCpus {
    const CODE: &'static str = "busy_cpus";

    fn message(&self) -> String {
        format!("other programs used {} of the CPUs during the compared runs", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "stop other programs and repeat: these runs do not show whether a lock is better"
    }
}

/// The holder of a lock sleeps while others wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SleepingHolder {
    pub lock: String,
    pub share: f64,
    /// The place whose holds were waited for most.
    pub held_at: Option<String>,
}

impl WarningKind for SleepingHolder {
    const CODE: &'static str = "sleeping_holder";

    fn message(&self) -> String {
        let Self { lock, share, held_at } = self;
        let place = held_at.as_ref().map_or_else(String::new, |place| format!("; it was mostly acquired at {place}"));
        format!(
            "{lock}: its holder slept or waited for {} of the time that other threads waited{place}",
            percent(*share)
        )
    }

    fn remedy(&self) -> &'static str {
        "move the sleep out of the critical section: another lock cannot shorten it"
    }
}

/// A lock that does not sleep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpinningLock {
    pub lock: String,
}

impl WarningKind for SpinningLock {
    const CODE: &'static str = "spinning_lock";

    fn message(&self) -> String {
        format!(
            "{}: its waiters do not sleep, and take CPU time from the holder if there are more threads than CPUs",
            self.lock
        )
    }

    fn remedy(&self) -> &'static str {
        "use it for contrast only; a run is stopped after ten times the longest plain run plus 10 s"
    }
}

/// A lock with which the program did not end well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedWithLock {
    pub lock: String,
    pub how: String,
}

impl WarningKind for FailedWithLock {
    const CODE: &'static str = "failed_with_lock";

    fn message(&self) -> String {
        format!("with {}, the program {}; it was not run again with this lock", self.lock, self.how)
    }

    fn remedy(&self) -> &'static str {
        "report this if the program succeeds unmodified and with pass: it relies on behaviour that POSIX does not \
         guarantee, or the library has a bug"
    }
}

/// A lock that no mutex has had.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NothingExchanged {
    pub lock: String,
}

impl WarningKind for NothingExchanged {
    const CODE: &'static str = "nothing_exchanged";

    fn message(&self) -> String {
        format!("with {}: no mutex was initialised or first acquired in the functions named by --swap-only", self.lock)
    }

    fn remedy(&self) -> &'static str {
        "name their callers, or compile with -fno-inline: the compiler may have inlined these functions"
    }
}

/// Returns the locks whose holders slept while others waited, by the plain watched run.
pub fn sleeping(watched: &[WatchedLock]) -> impl Iterator<Item = SleepingHolder> {
    const MUCH: f64 = 0.3;
    let plain = watched.iter().filter(|lock| lock.lock == PLAIN && lock.wait_total_s > 0.0);
    plain.filter_map(|lock| {
        let share = lock.holder_slept_share.filter(|share| *share >= MUCH)?;
        Some(SleepingHolder { lock: lock.name.clone(), share, held_at: lock.held_at.clone() })
    })
}
