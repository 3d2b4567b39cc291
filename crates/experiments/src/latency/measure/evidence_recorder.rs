//! The kernel's record of the slices with evidence.

use instruments::clock::Clock;
use instruments::cpus::{self, CpuSet};
use instruments::evidence::{Recorder, Source, Timeline};
use instruments::warning::Warning;
use std::io;

/// Keeps the kernel's record of the slices with evidence.
pub struct EvidenceRecorder {
    source: Source,
    /// Of whole CPUs.
    recorder: Option<Recorder>,
    pub warnings: Vec<Warning>,
}

impl EvidenceRecorder {
    /// Opens the best record of these CPUs. A record of single threads is opened by each of them.
    pub fn open(clock: Clock, cpus: &CpuSet) -> Self {
        let recorder = Recorder::open(clock, cpus);
        let (source, warnings) = (recorder.source(), recorder.warnings().to_vec());
        match source {
            Source::CpuRecord => Self { source, recorder: Some(recorder), warnings },
            Source::ThreadRecord => Self { source, recorder: None, warnings },
            // The others know nothing of single waits; the threads' own timestamps still do.
            _ => Self { source: Source::None, recorder: None, warnings },
        }
    }

    pub fn source(&self) -> Source {
        self.source
    }

    pub fn begin(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::start)
    }

    /// The timeline of all CPUs, where that is what is recorded.
    pub fn end(&mut self) -> io::Result<Option<Timeline>> {
        self.recorder.as_mut().map(Recorder::stop).transpose()
    }
}

/// A recorder of the calling thread's own switches, started; `None` where that is not granted either: then nothing is
/// known of this thread.
pub fn own_recorder(clock: Clock) -> Option<Recorder> {
    let cpus = cpus::allowed().ok()?;
    let mut recorder = Recorder::open_with(clock, &cpus, Source::ThreadRecord).ok()?;
    recorder.start().ok()?;
    Some(recorder)
}
