//! When the program's threads did not run: the kernel's own record of their switches, which needs no privilege.

use super::time::Time;
use instruments::cpus::CpuSet;
use perf_event::events::Software;
use perf_event::{Builder, Clock, ReadFormat, SampleFlag, Sampler};
use std::collections::HashMap;
use std::io;

/// The record, a ring for each CPU.
pub struct Switches {
    rings: Vec<Sampler>,
    threads: HashMap<u32, Absences>,
    /// Records that found no room.
    pub lost: u64,
}

/// When a thread did not run, the earliest first.
#[derive(Default)]
struct Absences {
    over: Vec<(f64, f64)>,
    /// Since when it does not.
    since: Option<f64>,
}

/// As much memory as anybody may lock, and the least that is of use.
const LARGEST: usize = 512 << 10;
const SMALLEST: usize = 32 << 10;
/// Absences that are kept of a thread.
const MOST: usize = 200_000;

const LOST: u32 = 2;
const SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;

impl Switches {
    /// Opens the record for what this thread starts from now on; it begins with the program.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open(cpus: &CpuSet) -> io::Result<Self> {
        let rings = cpus.iter().map(ring).collect::<io::Result<_>>()?;
        Ok(Self { rings, threads: HashMap::new(), lost: 0 })
    }

    /// Reads what there is.
    pub fn drain(&mut self, time: &Time) {
        let mut found = Vec::new();
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                let (kind, misc, body) = (record.ty(), record.misc(), record.to_contiguous());
                let word =
                    |from_end: usize, length: usize| body.len().checked_sub(from_end).map(|at| &body[at..at + length]);
                match kind {
                    SWITCH => {
                        let (Some(thread), Some(at)) = (word(12, 4), word(8, 8)) else { continue };
                        let thread = u32::from_ne_bytes(thread.try_into().unwrap_or_default());
                        let at = u64::from_ne_bytes(at.try_into().unwrap_or_default());
                        found.push((time.of_raw(at), thread, misc & SWITCH_OUT != 0));
                    }
                    LOST => {
                        let count = body.get(8..16).map_or([0; 8], |bytes| bytes.try_into().unwrap_or_default());
                        self.lost += u64::from_ne_bytes(count);
                    }
                    _ => {}
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.into_iter().for_each(|(at, thread, is_out)| self.threads.entry(thread).or_default().note(at, is_out));
    }

    /// How long a thread did not run in this time.
    pub fn off(&self, thread: u32, from: f64, to: f64) -> f64 {
        self.threads.get(&thread).map_or(0.0, |absences| absences.within(from, to))
    }
}

impl Absences {
    fn note(&mut self, at: f64, is_out: bool) {
        match (self.since, is_out) {
            (None, true) => self.since = Some(at),
            (Some(since), false) => {
                if self.over.len() >= MOST {
                    self.over.drain(..MOST / 2);
                }
                self.over.push((since, at));
                self.since = None;
            }
            _ => {}
        }
    }

    fn within(&self, from: f64, to: f64) -> f64 {
        let first = self.over.partition_point(|absence| absence.1 <= from);
        let over = self.over[first..].iter().take_while(|absence| absence.0 < to);
        let over: f64 = over.map(|absence| absence.1.min(to) - absence.0.max(from)).sum();
        over + self.since.map_or(0.0, |since| (to - since.max(from)).max(0.0))
    }
}

fn ring(cpu: usize) -> io::Result<Sampler> {
    let mut bytes = LARGEST;
    loop {
        let mut builder = Builder::new(Software::DUMMY);
        builder.observe_self().one_cpu(cpu).inherit(true).enabled(false).enable_on_exec(true).exclude_kernel(true);
        builder.context_switch(true).sample(SampleFlag::TID | SampleFlag::TIME).sample_id_all(true);
        builder.clockid(Clock::MONOTONIC_RAW).read_format(ReadFormat::empty()).wakeup_watermark(u32::MAX as usize);
        match builder.build()?.sampled(bytes) {
            Ok(ring) => return Ok(ring),
            Err(error) if bytes <= SMALLEST => return Err(error),
            Err(_) => bytes /= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absences_are_counted_as_far_as_they_lie_within() {
        let mut absences = Absences::default();
        for (at, is_out) in [(5.0, false), (10.0, true), (20.0, false), (30.0, true), (40.0, false), (50.0, true)] {
            absences.note(at, is_out);
        }
        assert_eq!(absences.within(0.0, 100.0), 70.0);
        assert_eq!(absences.within(15.0, 35.0), 10.0);
        assert_eq!(absences.within(20.0, 30.0), 0.0);
        assert_eq!(absences.within(60.0, 70.0), 10.0);
    }
}
