//! The times when the program's threads did not run: the kernel's own record of their switches, which needs no
//! privilege.
//!
//! A record that is open makes each switch of a thread about 2 µs longer, whether or not something is written. One
//! that was open once makes it 200 ns longer as long as the thread lives. Therefore threads are followed one by one,
//! once it is known how often they are switched: those that are switched too often never are. While those that are
//! followed have few switches the record stays open; while they have many it is opened for short windows, as often as
//! the program can pay for, and the results about holders are from these windows.

mod pick;
mod rings;
mod timeline;

pub use pick::Live;
pub use timeline::{Competitor, Preemption, Schedule, Seen, State, Timeline};

use crate::sampling::name_of;
use crate::time::Time;
use instruments::cpus::CpuSet;
use pick::Pick;
use rings::{Change, Drained, Rings, Succession};
use std::collections::{HashMap, HashSet};
use std::io;

/// The record.
pub struct Switches {
    rings: Rings,
    /// The times when the threads ran.
    pub schedule: Schedule,
    pick: Pick,
    /// Start of the open window; times in ns since the start.
    window: Option<f64>,
    /// Start of the next window, and the length of all that are over.
    next: f64,
    open_ns: f64,
    /// Time that the program lost since then by the recording, on the CPU where that is most.
    lost_ns: (f64, f64),
    /// Records that found no room.
    pub lost: u64,
    /// The threads that left their CPU last, by CPU, and when.
    left: HashMap<usize, (u32, f64)>,
    /// Whether they are seen.
    pub sees_competitors: bool,
}

/// Cost of a record for the program: half of the cost of a switch, which is two records.
const RECORD_NS: f64 = 1e3;
/// The part of its time that the program can lose.
const BUDGET: f64 = 0.01;
/// The least length of a window, which is as long as a tick of any kernel and for which the cost of the window is
/// checked; and the longest time between two windows.
const WINDOW_NS: f64 = 10e6;
const PERIOD_NS: f64 = 100e6;
const PAUSE_NS: f64 = 1e9;
/// Threads whose switches are remembered, unless more are alive.
const MOST_THREADS: usize = 16_384;

/// A thread that comes to a CPU so soon after another left it came directly after it.
const SWITCH_NS: f64 = 20e3;
/// Threads of other programs whose names are kept, and processes of the program.
const MOST_COMPETITORS: usize = 4_096;
const MOST_PROCESSES: usize = 4_096;

impl Switches {
    /// Opens the rings. No thread is followed yet.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn open(cpus: &CpuSet) -> io::Result<Self> {
        let rings = Rings::open(cpus)?;
        Ok(Self {
            pick: Pick::for_cpus(rings.cpus()),
            rings,
            schedule: Schedule::default(),
            window: Some(0.0),
            next: f64::INFINITY,
            open_ns: 0.0,
            lost_ns: (0.0, 0.0),
            lost: 0,
            left: HashMap::new(),
            sees_competitors: false,
        })
    }

    /// Records the threads of other programs that run instead, where the kernel permits it.
    pub fn record_competitors(&mut self) {
        self.sees_competitors = self.rings.record_competitors().is_ok();
    }

    /// Reads what there is.
    pub fn drain(&mut self, time: &Time) {
        self.drain_until(time, f64::INFINITY);
    }

    fn drain_until(&mut self, time: &Time, end: f64) {
        let Drained { mut changes, successions, most, lost } = self.rings.drain();
        self.lost += lost;
        self.lost_ns.1 += most as f64 * RECORD_NS;
        changes.sort_by_key(|change| change.raw_ns);
        let Some(window) = self.window else { return };
        for Change { raw_ns, cpu, process, thread, is_out, is_preempted } in changes {
            if self.schedule.processes.len() < MOST_PROCESSES {
                self.schedule.processes.insert(process);
            }
            let at = time.of_raw(raw_ns);
            if window <= at && at <= end {
                self.schedule.threads.entry(thread).or_default().note(at, is_out, is_preempted);
                self.note_next(cpu, thread, at, is_out);
            }
        }
        for Succession { raw_ns, thread, next: (process, next) } in successions {
            if let Some(timeline) = self.schedule.threads.get_mut(&thread) {
                timeline.followed_by(time.of_raw(raw_ns), next);
                let competitors = &mut self.schedule.competitors;
                if competitors.len() < MOST_COMPETITORS {
                    let name = || name_of(process, next).unwrap_or_else(|| format!("thread {next}"));
                    competitors.entry(next).or_insert_with(|| (process, name()));
                }
            }
        }
    }

    /// Notes that a thread of the program came directly after another one.
    fn note_next(&mut self, cpu: usize, thread: u32, at: f64, is_out: bool) {
        if is_out {
            self.left.insert(cpu, (thread, at));
        } else if let Some((left, since)) = self.left.remove(&cpu)
            && at - since <= SWITCH_NS
            && let Some(timeline) = self.schedule.threads.get_mut(&left)
        {
            timeline.followed_by(since, thread);
        }
    }

    /// Follows new threads; closes the record where there is too much to record, and opens it again for a while.
    pub fn pace(&mut self, time: &Time, live: &[Live]) {
        let now = time.now();
        match self.window {
            Some(_) => {
                let (since, lost) = self.lost_ns;
                if now - since >= WINDOW_NS && lost > BUDGET * (now - since) {
                    self.close(time);
                    self.next = (since + lost / BUDGET).min(now + PAUSE_NS);
                    return;
                }
                if now - since >= PERIOD_NS {
                    self.lost_ns = (now, 0.0);
                    if self.forget_ended(live) {
                        self.close(time);
                        self.window = Some(time.now());
                    }
                }
                self.follow(time, live);
            }
            None if now >= self.next => {
                self.window = Some(now);
                self.follow(time, live);
                // To close it takes as long, and is done on one CPU of those that the program could have.
                self.lost_ns = (now, 2.0 * (time.now() - now) / self.rings.cpus() as f64);
            }
            None => {}
        }
    }

    /// Follows the threads that are not followed yet, and that the program can afford. The kernel itself follows the
    /// threads that a followed thread starts.
    fn follow(&mut self, time: &Time, live: &[Live]) {
        let is_open = |live: &&Live| self.schedule.threads.get(&live.thread).is_none_or(|timeline| !timeline.is_open());
        let new: Vec<Live> = live.iter().filter(is_open).copied().collect();
        for thread in self.pick.calm(&new, time.now()) {
            match self.rings.follow(thread) {
                Ok(()) => self.schedule.threads.entry(thread).or_default().begin(time.now(), timeline::state(thread)),
                // It would be the same the next time.
                Err(_) => self.pick.refuse(thread),
            }
        }
    }

    /// Returns whether the room of threads that ended is needed. Ending the record of one of them also ends the records
    /// of the threads that it started, so then all must be followed again.
    fn forget_ended(&mut self, live: &[Live]) -> bool {
        let live: HashSet<u32> = live.iter().map(|live| live.thread).collect();
        self.pick.keep(|thread| live.contains(&thread));
        if self.schedule.threads.len() > MOST_THREADS {
            self.schedule.threads.retain(|thread, _| live.contains(thread));
        }
        self.rings.is_half_taken_by(|thread| !live.contains(&thread))
    }

    fn close(&mut self, time: &Time) {
        let Some(since) = self.window else { return };
        let now = time.now();
        self.rings.rest();
        self.drain_until(time, now);
        for (&thread, timeline) in &mut self.schedule.threads {
            timeline.close(now, || timeline::ran(thread));
        }
        self.open_ns += now - since;
        self.window = None;
    }

    /// Returns the known state of a thread in this time.
    pub fn seen(&self, thread: u32, from: f64, to: f64) -> Seen {
        self.schedule.seen(thread, from, to)
    }

    /// Returns how long the record has been open by now.
    pub fn open_ns(&self, now: f64) -> f64 {
        self.open_ns + self.window.map_or(0.0, |since| now - since)
    }

    /// Threads that were never followed, since they are switched too often, or are too many.
    pub fn left_out(&self) -> usize {
        self.pick.left_out()
    }
}

#[cfg(test)]
mod measured {
    use super::*;
    use instruments::clock::Clock;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::{scope, sleep};
    use std::time::Duration;

    fn own_number() -> u32 {
        // SAFETY: it asks for a number, and cannot fail.
        unsafe { libc::gettid() as u32 }
    }

    fn spin_until(flag: &AtomicBool) {
        while !flag.load(Relaxed) {
            std::hint::spin_loop();
        }
    }

    /// Returns a thread, as soon as it says its number.
    fn live(said: &Receiver<u32>) -> [Live; 1] {
        [Live { thread: said.recv().unwrap(), since: 0.0 }]
    }

    #[test]
    #[ignore = "measured: needs perf events and a CPU"]
    fn who_was_started_by_a_thread_that_has_ended_is_followed_still() {
        let cpus = instruments::cpus::allowed().unwrap();
        let Ok(mut switches) = Switches::open(&cpus) else { return println!("skipped: needs perf_event_open") };
        let time = Time::begin(Clock::calibrate(Duration::from_millis(10)).clock);
        let [may_start, may_sleep, is_over] = &[const { AtomicBool::new(false) }; 3];
        let (say, said) = channel();
        let seen = scope(|threads| {
            threads.spawn(move || {
                say.send(own_number()).unwrap();
                spin_until(may_start);
                threads.spawn(move || {
                    say.send(own_number()).unwrap();
                    spin_until(may_sleep);
                    say.send(own_number()).unwrap();
                    while !is_over.load(Relaxed) {
                        sleep(Duration::from_millis(20));
                    }
                });
            });
            let parent = live(&said);
            sleep(Duration::from_millis(5));
            switches.pace(&time, &parent);
            may_start.store(true, Relaxed);
            let child = live(&said);
            sleep(Duration::from_nanos(PERIOD_NS as u64));
            switches.drain(&time);
            // The parent has ended.
            switches.pace(&time, &child);
            may_sleep.store(true, Relaxed);
            live(&said);
            sleep(Duration::from_millis(50));
            let from = time.now();
            sleep(Duration::from_millis(100));
            let to = time.now();
            switches.drain(&time);
            is_over.store(true, Relaxed);
            switches.seen(child[0].thread, from, to)
        });
        // It sleeps, which it did not when its parent ended.
        let asleep = seen.off - seen.preempted;
        assert!(seen.known > 99e6 && asleep > 0.5 * seen.known, "{seen:?}");
    }
}
