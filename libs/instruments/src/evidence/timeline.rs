//! Who had each CPU during a stretch.

use super::event::Event;
use super::names::Names;
use super::quality::EvidenceQuality;
use super::source::Source;
use super::track::Track;
use crate::clock::Clock;

/// All that is known of a stretch.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Converts its ticks.
    pub clock: Clock,
    /// When it began, in ticks.
    pub start: u64,
    /// When it ended, in ticks.
    pub end: u64,
    /// The thread that opened the recorder.
    pub thread: u32,
    /// It had real-time priority at the end.
    pub realtime: bool,
    /// One for each CPU; one without a CPU for [`Source::ThreadRecord`]; none for the sources that see no events.
    pub tracks: Vec<Track>,
    /// Who is who.
    pub names: Names,
    /// What the evidence may lack.
    pub quality: EvidenceQuality,
}

impl Timeline {
    /// Whether it has any interrupt, or anything that one left for later.
    pub fn has_handlers(&self) -> bool {
        self.tracks.iter().any(|track| track.segments.iter().any(|segment| segment.handler.is_some()))
    }

    /// A timeline from events whose times are in ticks already. They may be in any order, and on several CPUs.
    pub fn of_events(
        clock: Clock,
        source: Source,
        span: std::ops::Range<u64>,
        thread: u32,
        names: Names,
        events: &[(Option<usize>, Vec<Event>)],
    ) -> Self {
        let tracks: Vec<Track> =
            events.iter().map(|(cpu, events)| Track::of(*cpu, span.start, span.end, events)).collect();
        let count = events.iter().map(|(_, events)| events.len() as u64).sum();
        let quality = EvidenceQuality::of_tracks(clock, source, span.clone(), count, &tracks);
        Self { clock, start: span.start, end: span.end, thread, realtime: false, tracks, names, quality }
    }

    /// How far a time of an event may be off, in ticks.
    pub fn slack(&self) -> u64 {
        self.clock.to_ticks(self.quality.clock_residual_ns + self.quality.clock_uncertainty_ns) + 1
    }
}
