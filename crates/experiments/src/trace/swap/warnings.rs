//! What a reader of a comparison must know.

use instruments::warning::WarningKind;
use serde::Serialize;
use terminal::percent;

/// The program's own runs differ much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnsteadyProgram {
    /// The longest plain run over the shortest.
    pub spread: f64,
}

impl WarningKind for UnsteadyProgram {
    const CODE: &'static str = "unsteady_program";

    fn message(&self) -> String {
        format!("the longest run of the program as it is took {:.1} times the shortest", self.spread)
    }

    fn remedy(&self) -> &'static str {
        "what differs between its runs hides what locks do: a fixed amount of work, a --prepare that sets it back, more \
         --runs"
    }
}

/// Other programs had the CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyCpus {
    pub share: f64,
}

impl WarningKind for BusyCpus {
    const CODE: &'static str = "busy_cpus";

    fn message(&self) -> String {
        format!("other programs had {} of the CPUs while runs that are compared went on", percent(self.share))
    }

    fn remedy(&self) -> &'static str {
        "stop what else runs and repeat: these runs do not show whether a lock is better"
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
        format!("{lock}: its holder slept or waited for {} of the time that others waited{place}", percent(*share))
    }

    fn remedy(&self) -> &'static str {
        "no other lock shortens that sleep: take it out of the critical section"
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
            "{}: who waits for it does not sleep, and with more threads than CPUs takes them from the holder",
            self.lock
        )
    }

    fn remedy(&self) -> &'static str {
        "it is for contrast; a run with it is ended when it lasts ten times as long as the longest plain one and 10 s"
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
        format!("with {} the program {}, and had no more runs", self.lock, self.how)
    }

    fn remedy(&self) -> &'static str {
        "if it ends well plainly and with pass, it relies on what POSIX does not promise, or the library is at fault: \
         report it"
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
        format!("with {}: no mutex was initialised or first taken in the functions that --swap-only names", self.lock)
    }

    fn remedy(&self) -> &'static str {
        "the compiler may have put them into their callers: name those, or compile with -fno-inline"
    }
}
