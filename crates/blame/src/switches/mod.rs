//! When the program's threads did not run: the kernel's own record of their switches, which needs no privilege.
//!
//! A record that is open makes each switch of the program dearer, by about 2 µs, whether or not something is written.
//! So while there are few switches it stays open; while there are many it is opened for short windows, as often as the
//! program can pay for, and what is said of holders is said of those.

mod ran;
mod rings;
mod timeline;

use crate::time::Time;
use instruments::cpus::CpuSet;
use ran::Ran;
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
    /// When the next one begins, and how long all that are over were.
    next: f64,
    open_ns: f64,
    /// The end of the first one, which began with the program: who is not in it was never switched.
    first_end: f64,
    /// What the program lost since then by what is recorded, on the CPU where that is most.
    lost_ns: (f64, f64),
    /// How long those that are recorded had run when the window began.
    ran: Ran,
    /// Records that found no room.
    pub lost: u64,
}

/// What a record costs the program: half of what a switch does, which are two.
const RECORD_NS: f64 = 1e3;
/// The part of its time that the program can lose.
const BUDGET: f64 = 0.01;
/// How long a window is at least, which is as long as a tick of any kernel; for how long it is asked whether it is too
/// dear; and how long the time between two is at most.
const WINDOW_NS: f64 = 10e6;
const PERIOD_NS: f64 = 100e6;
const PAUSE_NS: f64 = 1e9;

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
            next: f64::INFINITY,
            open_ns: 0.0,
            first_end: f64::INFINITY,
            lost_ns: (0.0, 0.0),
            ran: Ran::default(),
            lost: 0,
        })
    }

    /// Reads what there is.
    pub fn drain(&mut self, time: &Time) {
        self.drain_until(time, f64::INFINITY);
    }

    fn drain_until(&mut self, time: &Time, end: f64) {
        let (mut changes, most, lost) = self.rings.drain();
        self.lost += lost;
        self.lost_ns.1 += most as f64 * RECORD_NS;
        changes.sort_by_key(|change| change.raw_ns);
        let Some(window) = self.window else { return };
        for Change { raw_ns, thread, is_out, is_preempted } in changes {
            let at = time.of_raw(raw_ns);
            if window <= at && at <= end {
                self.threads.entry(thread).or_default().note(at, is_out, is_preempted, window);
            }
        }
    }

    /// Closes the record where there is too much to record, and opens it again for a while. `threads` says of which.
    pub fn pace(&mut self, time: &Time, threads: impl FnOnce() -> Vec<u32>) {
        let now = time.now();
        match self.window {
            Some(_) => {
                let (since, lost) = self.lost_ns;
                if now - since >= WINDOW_NS && lost > BUDGET * (now - since) {
                    self.close(time);
                    self.next = (since + lost / BUDGET).min(now + PAUSE_NS);
                } else if now - since >= PERIOD_NS {
                    self.lost_ns = (now, 0.0);
                }
            }
            None if now >= self.next => self.open_again(time, &threads()),
            None => {}
        }
    }

    fn open_again(&mut self, time: &Time, threads: &[u32]) {
        let began = time.now();
        // A refusal is final: it would be the same the next time.
        if self.rings.follow(threads).is_err() {
            // Those that were opened until then would cost the program as much.
            self.rings.rest();
            self.next = f64::INFINITY;
            return;
        }
        let now = time.now();
        // Within the window: of who is switched meanwhile that is known.
        self.ran = Ran::of(threads);
        self.window = Some(now);
        // To close it takes as long, and is done on one CPU of those that the program could have.
        self.lost_ns = (now, 2.0 * (now - began) / self.rings.cpus() as f64);
    }

    fn close(&mut self, time: &Time) {
        let Some(since) = self.window else { return };
        // As above.
        let gone: Vec<_> = std::mem::take(&mut self.ran).since().collect();
        let now = time.now();
        self.rings.rest();
        self.drain_until(time, now);
        self.threads.values_mut().for_each(|timeline| timeline.close(now));
        for (thread, gone) in gone {
            self.threads.entry(thread).or_default().unswitched(since, now, gone);
        }
        self.first_end = self.first_end.min(now);
        self.open_ns += now - since.max(0.0);
        self.window = None;
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
