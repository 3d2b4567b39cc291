//! What a reader of a comparison must know.

use instruments::warning::WarningKind;
use serde::Serialize;

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
