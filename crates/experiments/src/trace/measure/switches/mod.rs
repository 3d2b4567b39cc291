//! When the program's threads did not run: the kernel's own record of their switches, which needs no privilege.
//!
//! A record that is open makes each switch of the program dearer, by about 1 µs, whether or not something is written.
//! So while there are few switches it stays open; while there are many it is opened for short windows, and what is said
//! of holders is said of those.

mod rings;
mod timeline;

use super::time::Time;
use instruments::cpus::CpuSet;
use rings::{Change, Rings};
use std::collections::HashMap;
use std::io;
pub use timeline::{Seen, Timeline};

/// The record.
pub struct Switches {
    rings: Rings,
    threads: HashMap<u32, Timeline>,
    /// Since when the open window is; times in ns since the start.
    window: Option<f64>,
    /// Until when the last one was, and how long all of them were.
    closed: f64,
    open_ns: f64,
    /// The end of the first one, which began with the program: who is not in it was never switched.
    first_end: f64,
    /// Since when records are counted, and how many came.
    counted: (f64, usize),
    /// Records that found no room.
    pub lost: u64,
}

/// Records a second of a CPU above which the program would lose a fiftieth of its time or more.
const MANY: f64 = 40_000.0;
/// How long a window is at least, and the time between two.
const WINDOW_NS: f64 = 20e6;
const PAUSE_NS: f64 = 180e6;

impl Switches {
    /// Opens the record for what this thread starts from now on; it begins with the program.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open(cpus: &CpuSet) -> io::Result<Self> {
        Ok(Self {
            rings: Rings::of_children(cpus)?,
            threads: HashMap::new(),
            window: Some(f64::NEG_INFINITY),
            closed: 0.0,
            open_ns: 0.0,
            first_end: f64::INFINITY,
            counted: (0.0, 0),
            lost: 0,
        })
    }

    /// Reads what there is.
    pub fn drain(&mut self, time: &Time) {
        let (mut changes, lost) = self.rings.drain();
        self.lost += lost;
        self.counted.1 += changes.len();
        changes.sort_by_key(|change| change.raw_ns);
        // What was still under way when the last window ended is of none.
        let Some(window) = self.window else { return };
        for Change { raw_ns, thread, is_out, is_preempted } in changes {
            let at = time.of_raw(raw_ns);
            self.threads.entry(thread).or_default().note(at, is_out, is_preempted, window);
        }
    }

    /// Closes the record where there is too much to record, and opens it again for a while. `threads` says of which.
    pub fn pace(&mut self, now: f64, threads: impl FnOnce() -> Vec<u32>) {
        match self.window {
            Some(since) => {
                let (from, count) = self.counted;
                if now - from < WINDOW_NS {
                    return;
                }
                let rate = count as f64 / (now - from) * 1e9 / self.rings.cpus() as f64;
                self.counted = (now, 0);
                if rate > MANY {
                    self.close(since, now);
                }
            }
            None if now - self.closed >= PAUSE_NS => {
                // A refusal is final: it would be the same the next time.
                if self.rings.follow(&threads()).is_err() {
                    self.closed = f64::INFINITY;
                    return;
                }
                self.window = Some(now);
                self.counted = (now, 0);
            }
            None => {}
        }
    }

    fn close(&mut self, since: f64, now: f64) {
        self.rings.rest();
        self.threads.values_mut().for_each(|timeline| timeline.close(now));
        self.first_end = self.first_end.min(now);
        self.open_ns += now - since.max(0.0);
        (self.window, self.closed) = (None, now);
    }

    /// What is known of a thread in this time.
    pub fn seen(&self, thread: u32, from: f64, to: f64) -> Seen {
        match self.threads.get(&thread) {
            Some(timeline) => timeline.seen(from, to),
            // It was never switched while that would have been seen.
            None => Seen { known: (to.min(self.first_end) - from).max(0.0), ..Seen::default() },
        }
    }

    /// In which part of the time that has passed the record was open.
    pub fn share(&self, now: f64) -> f64 {
        let open = self.open_ns + self.window.map_or(0.0, |since| now - since.max(0.0));
        if now > 0.0 { (open / now).min(1.0) } else { 1.0 }
    }
}
