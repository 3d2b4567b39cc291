//! One run of an experiment: alone, or as a part of something longer.

use crate::calibrated::Calibrated;
use crate::exit::Interrupted;
use crate::observer::Progress;
use crate::session::{Session, SharedFlags};
use instruments::clock::Calibration;
use instruments::clock::Clock;
use std::cell::OnceCell;
use std::time::Duration;

/// What a run is given.
pub struct Run<'a> {
    pub session: &'a Session,
    /// The flags that mean the same everywhere.
    pub shared: &'a SharedFlags,
    instruments: &'a OnceCell<Calibrated>,
    /// Of the whole that this is a part of.
    whole: Option<Whole<'a>>,
}

/// What a part shares with the others.
struct Whole<'a> {
    progress: Progress,
    passed: &'a mut Passed,
}

/// What one experiment leaves for another that comes later in the same survey.
#[derive(Default)]
pub struct Passed {
    /// The interruptions of the quiet machine.
    pub gaps: Option<WatchedGaps>,
}

/// When a thread did not run.
pub struct WatchedGaps {
    /// Start and duration of each gap, in ns, the oldest first.
    pub gaps: Vec<(f64, f64)>,
    /// For how long it was watched, in ns.
    pub span_ns: f64,
}

const CLOCK_SPAN: Duration = Duration::from_millis(200);

impl<'a> Run<'a> {
    /// One that is all there is.
    pub fn alone(session: &'a Session, shared: &'a SharedFlags, instruments: &'a OnceCell<Calibrated>) -> Self {
        Self { session, shared, instruments, whole: None }
    }

    /// One of several, which share instruments and progress.
    pub fn part(
        session: &'a Session,
        shared: &'a SharedFlags,
        instruments: &'a OnceCell<Calibrated>,
        progress: Progress,
        passed: &'a mut Passed,
    ) -> Self {
        Self { session, shared, instruments, whole: Some(Whole { progress, passed }) }
    }

    /// Whether it is a part: then nothing but the progress is shown while it measures.
    pub fn is_part(&self) -> bool {
        self.whole.is_some()
    }

    /// What parts before it left, and where it leaves its own; `None` alone.
    pub fn passed(&mut self) -> Option<&mut Passed> {
        self.whole.as_mut().map(|whole| &mut *whole.passed)
    }

    /// Tells a person at a terminal how far it is in what was planned; a part is within its whole.
    pub fn progress(&self, planned: Duration) -> Progress {
        match &self.whole {
            Some(whole) => whole.progress.clone(),
            None => {
                let progress = Progress::over(planned, &self.session.interruption, self.session.shows_progress());
                let progress = progress.with_live(&self.session.live);
                if self.session.says_minutes() { progress.with_minutes() } else { progress }
            }
        }
    }

    /// The instruments, calibrated at the first call.
    ///
    /// # Errors
    /// The CPU may not be used after all; the calibration was cut short by a signal, and what it gave is worth nothing.
    pub fn calibrated(&self) -> anyhow::Result<&'a Calibrated> {
        if let Some(instruments) = self.instruments.get() {
            return Ok(instruments);
        }
        let calibrated = Calibrated::calibrate(self.session)?.ok_or(Interrupted)?;
        Ok(self.instruments.get_or_init(|| calibrated))
    }

    /// The clock alone, for who needs no grind.
    pub fn clock(&self) -> Calibration {
        self.instruments
            .get()
            .map_or_else(|| Clock::calibrate(CLOCK_SPAN), |instruments| instruments.calibration.clone())
    }
}
