//! Where the members of a team wait for each other.

use crate::clock::Clock;
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// One thread or process of a team.
pub struct Member<'a> {
    /// The CPU that it is pinned to; `None` leaves it where the scheduler wants it.
    pub cpu: Option<usize>,
    /// What it does. It must call [`StartGate::ready`] once and end soon after [`StartGate::stop`].
    pub job: Box<dyn FnOnce(&StartGate) + Send + 'a>,
}

/// Where the members of a team meet.
pub struct StartGate {
    clock: Clock,
    /// The end of the window, in ticks. On a line of its own: the members read it in every round.
    stop: CachePadded<AtomicU64>,
    /// The start, in ticks; 0 until it is announced.
    start: AtomicU64,
    members: usize,
    ready: AtomicUsize,
    cancelled: AtomicBool,
    length_ticks: u64,
}

/// How far ahead the start is announced, beside the time in which every sleeping member looks: long enough to wake.
const HEAD_START: Duration = Duration::from_micros(300);

impl StartGate {
    pub(super) fn new(clock: Clock, members: usize, length: Duration) -> Self {
        Self {
            clock,
            stop: CachePadded::new(AtomicU64::new(0)),
            start: AtomicU64::new(0),
            members,
            ready: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            length_ticks: clock.ticks_in(length),
        }
    }

    /// A gate that is open and stays so, for what a member does before the team works.
    pub fn endless(clock: Clock) -> Self {
        let gate = Self::new(clock, 0, Duration::ZERO);
        gate.stop.store(u64::MAX, Ordering::Relaxed);
        gate
    }

    /// Says that this member is prepared, and waits for the start. Returns the start in ticks, or `None` when the
    /// team does not work after all.
    pub fn ready(&self) -> Option<u64> {
        if self.ready.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            let start = self.clock.now() + self.clock.ticks_in(HEAD_START + 2 * self.look_every());
            self.stop.store(start + self.length_ticks, Ordering::Relaxed);
            self.start.store(start, Ordering::Release);
        }
        // Members may share a CPU with those that still prepare, so waiting gives it away.
        while self.start.load(Ordering::Acquire) == 0 {
            if self.cancelled.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::sleep(self.look_every());
        }
        let start = self.start.load(Ordering::Relaxed);
        while self.clock.now() < start {
            std::thread::yield_now();
        }
        Some(start)
    }

    /// Many that wait look less often, or their looking would keep the others from preparing.
    fn look_every(&self) -> Duration {
        Duration::from_micros(50 + 5 * self.members as u64)
    }

    /// When to stop, in ticks. Cheap enough to ask in every round.
    #[inline(always)]
    pub fn stop(&self) -> u64 {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the window at `ticks` for everyone, unless it ends before.
    pub fn stop_at(&self, ticks: u64) {
        self.stop.fetch_min(ticks, Ordering::Relaxed);
    }

    /// How long the window is still open; nothing before the start is announced.
    pub(super) fn left(&self) -> Duration {
        let ticks = self.stop().saturating_sub(self.clock.now());
        Duration::from_nanos(self.clock.to_ns(ticks) as u64)
    }

    /// How many are prepared.
    pub(super) fn ready_members(&self) -> usize {
        self.ready.load(Ordering::Relaxed)
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}
