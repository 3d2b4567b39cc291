//! One run of an experiment, alone or as a part of a longer run, and the calibrated instruments that it measures with.

use crate::exit::Interrupted;
use crate::finished::AnyFinished;
use crate::observer::Progress;
use crate::session::{Session, SharedFlags};
use instruments::clock::{Calibration, Clock, Quality, quality};
use instruments::grind::Grind;
use instruments::team::on_cpu;
use instruments::warning::{ClockFallback, Warning};
use std::cell::OnceCell;
use std::io;
use std::time::Duration;

/// The environment of a run.
pub struct Run<'a> {
    pub session: &'a Session,
    /// The flags that mean the same everywhere.
    pub shared: &'a SharedFlags,
    instruments: &'a OnceCell<Calibrated>,
    /// The state of the whole run that this is a part of.
    parent: Option<ParentRun<'a>>,
    interim: Option<Interim<'a>>,
}

/// Delivers the record of a part of a run while the run goes on.
pub type Interim<'a> = &'a dyn Fn(AnyFinished) -> anyhow::Result<()>;

/// The state that a part shares with the others.
struct ParentRun<'a> {
    progress: Progress,
    passed: &'a mut Passed,
}

/// Results of one experiment for a later one in the same survey.
#[derive(Default)]
pub struct Passed {
    /// The interruptions of the quiet machine.
    pub gaps: Option<WatchedGaps>,
}

/// The times at which a thread did not run.
pub struct WatchedGaps {
    /// The start and the duration of each gap, in ns, the oldest first.
    pub gaps: Vec<(f64, f64)>,
    /// The time for which it was sampled, in ns.
    pub span_ns: f64,
}

const CLOCK_SPAN: Duration = Duration::from_millis(200);

impl<'a> Run<'a> {
    /// Creates a run that is not a part of another.
    pub fn alone(session: &'a Session, shared: &'a SharedFlags, instruments: &'a OnceCell<Calibrated>) -> Self {
        Self { session, shared, instruments, parent: None, interim: None }
    }

    /// Returns a run whose parts have records, which are delivered in this way.
    pub fn with_interim(self, interim: Interim<'a>) -> Self {
        Self { interim: Some(interim), ..self }
    }

    /// Returns the way to deliver the record of a part of the run, if there is one.
    pub fn interim(&self) -> Option<Interim<'a>> {
        self.interim
    }

    /// Creates one of several runs, which share instruments and progress.
    pub fn part(
        session: &'a Session,
        shared: &'a SharedFlags,
        instruments: &'a OnceCell<Calibrated>,
        progress: Progress,
        passed: &'a mut Passed,
    ) -> Self {
        Self { session, shared, instruments, parent: Some(ParentRun { progress, passed }), interim: None }
    }

    /// Returns whether it is a part, which shows only the progress while it measures.
    pub fn is_part(&self) -> bool {
        self.parent.is_some()
    }

    /// Returns the results of earlier parts, where this run adds its own; `None` for a run that is not a part.
    pub fn passed(&mut self) -> Option<&mut Passed> {
        self.parent.as_mut().map(|parent| &mut *parent.passed)
    }

    /// Returns the progress in the planned time, for a user at a terminal; a part is within its whole run.
    pub fn progress(&self, planned: Duration) -> Progress {
        match &self.parent {
            Some(parent) => parent.progress.clone(),
            None => {
                let progress = Progress::over(planned, &self.session.interruption, self.session.shows_progress());
                let progress = progress.with_live(&self.session.live);
                if self.session.says_minutes() { progress.with_minutes() } else { progress }
            }
        }
    }

    /// Returns the instruments, calibrated at the first call.
    ///
    /// # Errors
    /// The CPU may not be used after all; or a signal cut the calibration short, so that its result is invalid.
    pub fn calibrated(&self) -> anyhow::Result<&'a Calibrated> {
        if let Some(instruments) = self.instruments.get() {
            return Ok(instruments);
        }
        let calibrated = Calibrated::calibrate(self.session)?.ok_or(Interrupted)?;
        Ok(self.instruments.get_or_init(|| calibrated))
    }

    /// Returns the clock alone, for an experiment that needs no busy loop.
    pub fn clock(&self) -> Calibration {
        self.instruments
            .get()
            .map_or_else(|| Clock::calibrate(CLOCK_SPAN), |instruments| instruments.calibration.clone())
    }
}

/// A clock, its calibration, and a calibrated busy loop (a *grind*).
pub struct Calibrated {
    pub calibration: Calibration,
    pub quality: Quality,
    pub grind: Grind,
    /// The CPU of the calibration.
    pub cpu: usize,
}

impl Calibrated {
    /// Calibrates on the first of the session's CPUs, for a third of a second.
    ///
    /// It does so on a separate thread, so that the caller's affinity stays as it is.
    ///
    /// `None` after a signal, which cuts the calibration short.
    ///
    /// # Errors
    /// The CPU may not be used after all.
    pub fn calibrate(session: &Session) -> io::Result<Option<Self>> {
        let cpu = session.cpus.first().ok_or_else(|| io::Error::other("no CPU to measure on"))?;
        let interruption = session.interruption.clone();
        let calibrate = move || {
            let calibration = Clock::calibrate(CLOCK_SPAN);
            let quality = quality(calibration.clock);
            let grind = Grind::calibrate(calibration.clock, || interruption.is_requested());
            Self { calibration, quality, grind, cpu }
        };
        let calibrated = session
            .interruption
            .unless_requested(session.last_moment(), move || on_cpu(cpu, calibrate))?
            .transpose()?;
        Ok(calibrated.filter(|_| !session.interruption.is_requested()))
    }

    pub fn clock(&self) -> Clock {
        self.calibration.clock
    }

    /// Returns the warnings about the clock.
    pub fn warnings(&self) -> Vec<Warning> {
        let fallback = self.calibration.fallback.clone();
        fallback.map(|reason| Warning::from(ClockFallback { reason })).into_iter().collect()
    }
}
