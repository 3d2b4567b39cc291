//! The recorder: it opens the best source, and turns it on and off around periods.

use super::account::{Bookkeeper, SystemReading, ThreadReading};
use super::names::{Names, is_realtime};
use super::perf::{Drained, Rings, follow_interrupts};
use super::preemption::PreemptionFlag;
use super::quality::{EvidenceQuality, NoInterruptEvidence, Source, WeakerEvidence};
use super::timeline::Timeline;
use super::track::{Event, EventKind, Track, Who};
use crate::clock::{Anchor, Clock};
use crate::cpus::CpuSet;
use crate::warning::Warning;
use std::io;

/// A recorder of the kernel events of some CPUs and of one thread.
pub struct Recorder {
    clock: Clock,
    thread: u32,
    source: Source,
    warnings: Vec<Warning>,
    rings: Option<Rings>,
    names: Names,
    bookkeeper: Bookkeeper,
    begun: Option<Begun>,
}

/// A period that has not ended.
struct Begun {
    system: SystemReading,
    thread: ThreadReading,
    outer: Anchor,
    inner: Anchor,
}

impl Recorder {
    /// Opens the best source that this process may use, for these CPUs and the calling thread.
    ///
    /// It never fails: in the worst case the source is [`Source::None`]. [`Recorder::warnings`] contains the missing
    /// events, and how to get them. The call takes some milliseconds; it allocates and locks the memory for the
    /// events.
    pub fn open(clock: Clock, cpus: &CpuSet) -> Self {
        let best = [Source::CpuRecord, Source::ThreadRecord, Source::PreemptionFlag, Source::Account];
        let mut refused = None;
        for source in best {
            match Self::open_with(clock, cpus, source) {
                Ok(mut recorder) => {
                    recorder.warnings.extend(refused.map(|reason| WeakerEvidence { source, reason }.into()));
                    return recorder;
                }
                // The first reason is that of the best source.
                Err(error) => refused = refused.or(Some(error.to_string())),
            }
        }
        let mut recorder = Self::without_rings(clock, cpus, Source::None);
        recorder.warnings.extend(refused.map(|reason| WeakerEvidence { source: Source::None, reason }.into()));
        recorder
    }

    /// Opens this source, for these CPUs and the calling thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not grant the source, or does not have it.
    pub fn open_with(clock: Clock, cpus: &CpuSet, source: Source) -> io::Result<Self> {
        let mut recorder = Self::without_rings(clock, cpus, source);
        match source {
            Source::CpuRecord => {
                let mut rings = Rings::of_cpus(cpus)?;
                if let Err(error) = follow_interrupts(&mut rings) {
                    recorder.warnings.push(NoInterruptEvidence { reason: error.to_string() }.into());
                }
                recorder.rings = Some(rings);
            }
            Source::ThreadRecord => recorder.rings = Some(Rings::of_thread(recorder.thread)?),
            Source::PreemptionFlag => {
                let flag = PreemptionFlag::of_current_thread();
                // Dropping it would clear a flag that the caller has set already.
                flag.map(std::mem::forget).ok_or_else(|| unsupported("the C library does not register rseq"))?;
            }
            Source::Account if !recorder.bookkeeper.knows_delay() => {
                return Err(unsupported("the kernel does not provide schedstat"));
            }
            Source::Account | Source::None => {}
        }
        Ok(recorder)
    }

    fn without_rings(clock: Clock, cpus: &CpuSet, source: Source) -> Self {
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        Self {
            clock,
            thread,
            source,
            warnings: Vec::new(),
            rings: None,
            names: Names::default(),
            bookkeeper: Bookkeeper::new(thread, cpus.clone()),
            begun: None,
        }
    }

    /// Records the same CPUs and the calling thread from now on, from the same source, or from the best available one
    /// if that one is refused now.
    ///
    /// A period that was started is discarded. A trace of whole CPUs remains open: the kernel waits for a grace
    /// period for each tracepoint that it closes, which is nearly a second for all of them.
    pub fn follow_this_thread(&mut self) {
        let (clock, source, cpus) = (self.clock, self.source, self.bookkeeper.cpus().clone());
        let (rings, warnings) = (self.rings.take(), std::mem::take(&mut self.warnings));
        *self = match source {
            Source::CpuRecord => Self { rings, warnings, ..Self::without_rings(clock, &cpus, source) },
            _ => match Self::open_with(clock, &cpus, source) {
                Ok(opened) => Self { warnings, ..opened },
                Err(_) => Self::open(clock, &cpus),
            },
        };
    }

    /// Returns the source of the events.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the thread that opened it, or that it follows.
    pub fn thread(&self) -> u32 {
        self.thread
    }

    /// Returns the warnings about missing events, and how to get them.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Starts a period. A previous one that was not stopped is discarded.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel does not turn its trace on.
    pub fn start(&mut self) -> io::Result<()> {
        let system = self.bookkeeper.system();
        let outer = Anchor::take(self.clock.source());
        if let Some(rings) = &mut self.rings {
            rings.enable()?;
        }
        let inner = Anchor::take(self.clock.source());
        // The thread's account is read last here and first in `stop`: nearest to the measurement.
        self.begun = Some(Begun { system, thread: self.bookkeeper.thread(), outer, inner });
        Ok(())
    }

    /// Stops the period and returns the recorded events.
    ///
    /// # Errors
    ///
    /// Returns an error if no period was started, or if the kernel does not turn its trace off.
    pub fn stop(&mut self) -> io::Result<Timeline> {
        let begun = self.begun.take().ok_or_else(|| io::Error::other("the recorder was not started"))?;
        let thread = self.bookkeeper.thread();
        let inner = Anchor::take(self.clock.source());
        if let Some(rings) = &mut self.rings {
            rings.disable()?;
        }
        let outer = Anchor::take(self.clock.source());
        let account = self.bookkeeper.between((&begun.thread, &thread), (&begun.system, &self.bookkeeper.system()));
        let line = Alignment::through(self.clock, [begun.outer, begun.inner, inner, outer]);
        let drained = self.rings.as_mut().map(|rings| rings.drain(&mut self.names)).unwrap_or_default();
        self.names.ask_proc();
        let (start, end) = (begun.inner.ticks, inner.ticks);
        let tracks: Vec<Track> = drained.iter().map(|drained| track(drained, &line, start, end)).collect();
        let events = drained.iter().map(|drained| drained.events.len() as u64).sum();
        let realtime = is_realtime(self.thread).unwrap_or(false);
        let names = self.names.clone();
        let spent = self.clock.now().saturating_sub(end) + (start - begun.outer.ticks);
        let quality = EvidenceQuality {
            skipped_events: drained.iter().map(|drained| drained.skipped).sum(),
            clock_residual_ns: line.residual_ns(),
            clock_uncertainty_ns: line.uncertainty_ns(),
            recorder_ns: self.clock.to_ns(spent),
            ring_kib: self.rings.as_ref().map_or(0, Rings::kib),
            account,
            ..EvidenceQuality::of_tracks(self.clock, self.source, start..end, events, &tracks)
        };
        Ok(Timeline { clock: self.clock, start, end, thread: self.thread, realtime, tracks, names, quality })
    }
}

fn unsupported(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, reason)
}

/// Returns the events of one ring in ticks of the measurement's clock.
fn track(drained: &Drained, line: &Alignment, start: u64, end: u64) -> Track {
    let mut events: Vec<Event> =
        drained.events.iter().map(|event| Event { at: line.ticks(event.at), ..*event }).collect();
    if drained.full_since.is_some() {
        // The kernel reports the number of lost events with the next event, if there ever is one.
        events.push(Event { at: end, kind: EventKind::Lost { reports: 0 } });
    }
    let mut track = Track::of(drained.cpu, start, end, &events);
    if !sees_all_tasks() {
        let idle_segments = track.segments.iter_mut().filter(|segment| segment.who == Who::Idle);
        idle_segments.for_each(|segment| segment.who = Who::Other);
    }
    track
}

/// Returns whether this process sees all tasks: inside a separate process-id namespace (a container), the tasks
/// outside have the same number as the idle task.
fn sees_all_tasks() -> bool {
    /// Fixed number of the first namespace in the kernel.
    const FIRST: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST)
}

// Conversion of the kernel's timestamps to ticks: a line through two points in time at which both clocks were read.
//
// The kernel stamps its events with `CLOCK_MONOTONIC_RAW`, which runs at the counter's rate without adjustments, so
// that a line is exact except for the width of the two readings.

/// The line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alignment {
    first: Anchor,
    ticks_per_ns: f64,
    residual_ns: f64,
    uncertainty_ns: f64,
}

impl Alignment {
    /// Returns the line through the outermost of the anchors, which are in order of time; the others determine the
    /// residual.
    pub fn through(clock: Clock, anchors: [Anchor; 4]) -> Self {
        let [first, second, third, last] = anchors;
        let span_ns = last.raw_ns.saturating_sub(first.raw_ns);
        let rate = last.ticks.saturating_sub(first.ticks) as f64 / span_ns as f64;
        let ticks_per_ns = if rate.is_finite() && rate > 0.0 { rate } else { clock.ns_per_tick().recip() };
        let mut line = Self { first, ticks_per_ns, residual_ns: 0.0, uncertainty_ns: 0.0 };
        let miss = |anchor: Anchor| (line.ticks(anchor.raw_ns) as f64 - anchor.ticks as f64).abs();
        line.residual_ns = miss(second).max(miss(third)) / ticks_per_ns;
        line.uncertainty_ns = first.width_ticks.max(last.width_ticks) as f64 / 2.0 / ticks_per_ns;
        line
    }

    /// Converts a kernel timestamp to ticks.
    pub fn ticks(&self, raw_ns: u64) -> u64 {
        let since = raw_ns as f64 - self.first.raw_ns as f64;
        self.first.ticks.saturating_add_signed((since * self.ticks_per_ns).round() as i64)
    }

    /// Returns the deviation of the anchors within the period from the line, in ns.
    pub fn residual_ns(&self) -> f64 {
        self.residual_ns
    }

    /// Returns the uncertainty due to the width of the readings, in ns.
    pub fn uncertainty_ns(&self) -> f64 {
        self.uncertainty_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Source;

    #[test]
    fn timestamp_is_on_the_line_and_residual_is_reported() {
        let clock = Clock::new(Source::ClockGettime, 0.5);
        let anchor = |ticks, raw_ns| Anchor { ticks, raw_ns, width_ticks: 8 };
        // Two ticks per nanosecond; the third anchor deviates by 6 ticks.
        let line =
            Alignment::through(clock, [anchor(1_000, 50), anchor(1_020, 60), anchor(2_806, 950), anchor(2_900, 1_000)]);
        assert_eq!(line.ticks(50), 1_000);
        assert_eq!(line.ticks(550), 2_000);
        assert_eq!(line.ticks(40), 980);
        assert_eq!((line.residual_ns(), line.uncertainty_ns()), (3.0, 2.0));
    }

    #[test]
    fn anchors_at_one_moment_fall_back_to_the_calibrated_rate() {
        let clock = Clock::new(Source::ClockGettime, 0.5);
        let line = Alignment::through(clock, [Anchor { ticks: 7, raw_ns: 7, width_ticks: 0 }; 4]);
        assert_eq!(line.ticks(107), 207);
    }
}
