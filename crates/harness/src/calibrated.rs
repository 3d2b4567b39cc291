//! The calibrated instruments that an experiment measures with.

use crate::session::Session;
use instruments::clock::{Calibration, Clock, Quality, quality};
use instruments::grind::Grind;
use instruments::team::on_cpu;
use instruments::warning::{ClockFallback, Warning};
use std::io;
use std::time::Duration;

/// A clock, its calibration, and a calibrated busy loop (a *grind*).
pub struct Calibrated {
    pub calibration: Calibration,
    pub quality: Quality,
    pub grind: Grind,
    /// The CPU of the calibration.
    pub cpu: usize,
}

const CLOCK_SPAN: Duration = Duration::from_millis(200);

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
        let calibrated = session.interruption.unless_requested(move || on_cpu(cpu, calibrate))?.transpose()?;
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
