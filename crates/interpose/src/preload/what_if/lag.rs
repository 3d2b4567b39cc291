//! A thread's lag: its growth, its adoption of another's, and the part of it that was spent waiting for a CPU.

use super::ends::waited_for_cpu;
use crate::layout::{LockLag, Mark, Region, SECTIONS, SHARE_ONE, ThreadLag};
use crate::preload::clock::now;
use crate::preload::external;
use crate::preload::me::{Me, me_on_slow_way};
use core::sync::atomic::Ordering::Relaxed;

/// The shortest pause: a shorter sleep is not worth its cost.
pub const LEAST_NS: u64 = 20_000;
/// The longest pause at once: the rest is owed.
const MOST_NS: u64 = 100_000_000;
/// The last part of a pause, which is waited for at work: a sleep ends late, and a CPU that went idle wakes others
/// late.
const SPUN_NS: u64 = 300_000;

/// The longest time between two waits for the same condition that are the same wait, if the first ended by its time.
const AGAIN_NS: u64 = 1_000_000;

/// The calling thread, and its lag.
#[derive(Clone, Copy)]
pub struct Mine {
    pub me: Me,
    pub own: &'static ThreadLag,
}

/// Returns the calling thread, if it has a place.
pub fn mine() -> Option<Mine> {
    me_on_slow_way().map(Mine::of)
}

impl Mine {
    pub fn of(me: Me) -> Self {
        Self { me, own: &me.region.thread_lags[me.region.place_of(me.thread)] }
    }

    pub fn region(self) -> &'static Region {
        self.me.region
    }

    pub fn lag(self) -> u64 {
        self.own.lag.load(Relaxed)
    }

    /// Returns the ticks that this thread has waited for a CPU since the last call.
    fn cpu_waited(self) -> u64 {
        waited_for_cpu(&self.region().what_if, self.own)
    }

    /// Pauses for the difference between this thread's lag and the largest. The part of a section so far is in its lag
    /// then: an event that it causes, or waits for, within the section uses that lag.
    pub fn pay(self) {
        self.skip(self.cpu_waited());
        self.settle();
        let what_if = &self.region().what_if;
        let owed = what_if.most.load(Relaxed).saturating_sub(self.lag());
        if owed == 0 {
            return;
        }
        let ns = what_if.ns(owed);
        if ns >= LEAST_NS {
            let most = owed as u128 * MOST_NS as u128 / ns as u128;
            self.pause(ns.min(MOST_NS), owed.min(most as u64));
        }
    }

    #[cold]
    #[inline(never)]
    fn pause(self, ns: u64, ticks: u64) {
        let what_if = &self.region().what_if;
        let began = now();
        let mut left = ns;
        // A signal may end a sleep early.
        while left > SPUN_NS {
            external::sleep(left - SPUN_NS);
            left = ns.saturating_sub(what_if.ns(now().saturating_sub(began)));
        }
        let awake = now();
        while now().saturating_sub(began) < ticks {
            core::hint::spin_loop();
        }
        let ended = now();
        let took = ended.saturating_sub(began);
        self.own.lag.store(self.lag() + took, Relaxed);
        what_if.spun_ticks.fetch_add(ended.saturating_sub(awake), Relaxed);
        self.leaves_out(took);
        self.cpu_waited();
    }

    /// Skips ticks that did not pass: the thread waited for a CPU.
    fn skip(self, ticks: u64) {
        if ticks > 0 {
            self.own.lag.store(self.lag() + ticks, Relaxed);
            self.leaves_out(ticks);
        }
    }

    /// Adds to the lag the time by which a wait that no thread ended was longer, for want of a CPU.
    pub fn lags(self, ticks: u64) {
        self.own.lag.store(self.lag() + ticks, Relaxed);
    }

    /// Excludes ticks from the section that the thread is in.
    fn leaves_out(self, ticks: u64) {
        if self.own.depth.load(Relaxed) > 0 {
            self.own.since.store(self.own.since.load(Relaxed) + ticks, Relaxed);
        }
    }

    /// Ends a wait since `began` for an event without virtual time, or a failed wait; returns its part for a CPU.
    pub fn waited(self, began: u64) -> u64 {
        self.leaves_out(now().saturating_sub(began));
        self.cpu_waited()
    }

    /// Returns when the wait began that this one continues: programs wait in parts, and check between them whether to
    /// go on. The last one, for the same condition, ended just now because its time was over.
    pub fn goes_on_since(self, place: u32) -> Option<u64> {
        let own = self.own;
        let was_this = own.gave_up.swap(0, Relaxed) == place + 1;
        let pause = now().saturating_sub(own.gave_up_ended.load(Relaxed));
        (was_this && self.region().what_if.ns(pause) < AGAIN_NS).then(|| own.gave_up_began.load(Relaxed))
    }

    /// Notes that a wait for a condition that began then was over by its time.
    pub fn gave_up(self, place: u32, began: u64) {
        self.own.gave_up_began.store(began, Relaxed);
        self.own.gave_up_ended.store(now(), Relaxed);
        self.own.gave_up.store(place + 1, Relaxed);
    }

    /// Continues where another thread let this one: after a wait since `began`, or without any, which is 0.
    pub fn follow(self, mark: &Mark, began: u64, for_cpu: u64) {
        let (at, theirs, now) = (mark.at.load(Relaxed), mark.lag.load(Relaxed), now());
        // No event was seen that let it go on.
        if at == 0 {
            return;
        }
        if began != 0 && at >= began {
            let handoff = now.saturating_sub(at);
            let for_cpu = for_cpu.min(handoff);
            let without_wait = self.lag() + now.saturating_sub(began);
            if theirs + for_cpu < without_wait {
                self.own.lag.store(theirs + for_cpu, Relaxed);
                self.comes_from(mark, handoff - for_cpu);
            } else {
                self.own.lag.store(without_wait, Relaxed);
            }
            return;
        }
        // Virtually it came before the last one took it: it would have been the first.
        if now.saturating_sub(self.lag()) < mark.taken.load(Relaxed) {
            return;
        }
        let lag = now.saturating_sub(at) + theirs;
        if lag < self.lag() {
            self.own.lag.store(lag, Relaxed);
            self.comes_from(mark, 0);
        }
    }

    /// Notes that this thread has acquired a lock without a wait, while others wait for it.
    pub fn overtakes(self, mark: &Mark) {
        let at = mark.at.load(Relaxed);
        if at != 0 {
            let handoffs = self.own.handoffs.load(Relaxed) + now().saturating_sub(at);
            self.own.handoffs.store(handoffs, Relaxed);
        }
    }

    /// Extends the path to this thread's position by that event, and by a handoff that took these ticks.
    fn comes_from(self, mark: &Mark, handoff: u64) {
        self.own.handoffs.store(mark.handoffs.load(Relaxed) + handoff, Relaxed);
    }

    /// Notes that this thread has acquired a lock that several can have.
    pub fn share(self, mark: &Mark, began: u64, for_cpu: u64) {
        self.follow(mark, began, for_cpu);
        mark.taken.store(now().saturating_sub(self.lag()), Relaxed);
    }

    /// Notes that this thread has acquired a lock that only one can have: after a wait since `began`, or without any,
    /// which is 0.
    ///
    /// Virtually it may have come before the threads that had it in fact. It had it then if there was room for a
    /// section before they acquired it; if there was none, it has it when the last of them released it.
    pub fn take(self, mark: &Mark, began: u64, for_cpu: u64) {
        let (at, theirs, now) = (mark.at.load(Relaxed), mark.lag.load(Relaxed), now());
        let released = at.saturating_sub(theirs);
        if at != 0 && began != 0 && at >= began {
            self.follow(mark, began, for_cpu);
        } else if at != 0 && now.saturating_sub(self.lag()) < released {
            let (taken, free_since) = (mark.taken.load(Relaxed), mark.free_since.load(Relaxed));
            let begins = now.saturating_sub(self.lag()).max(free_since);
            let ends = begins + released.saturating_sub(taken);
            if ends <= taken {
                mark.free_since.store(ends, Relaxed);
                return self.own.lag.store(now.saturating_sub(begins), Relaxed);
            }
            self.own.lag.store(now.saturating_sub(released), Relaxed);
            self.comes_from(mark, 0);
        }
        mark.free_since.store(released, Relaxed);
        mark.taken.store(now.saturating_sub(self.lag()), Relaxed);
    }

    /// Notes that this thread is about to release a lock that only one can have: virtually when it does, or when the
    /// last one did.
    pub fn free(self, mark: &Mark) {
        let released = mark.at.load(Relaxed).saturating_sub(mark.lag.load(Relaxed));
        let now = now();
        let since_last = now.saturating_sub(released);
        if self.lag() <= since_last {
            mark.handoffs.store(self.own.handoffs.load(Relaxed), Relaxed);
        }
        mark.lag.store(self.lag().min(since_last), Relaxed);
        mark.at.store(now, Relaxed);
    }

    /// Notes that this thread lets others go on.
    pub fn mark(self, mark: &Mark) {
        mark.lag.store(self.lag(), Relaxed);
        mark.handoffs.store(self.own.handoffs.load(Relaxed), Relaxed);
        mark.at.store(now(), Relaxed);
    }

    /// Notes that the thread has a lock: if it is one that was chosen, a section begins.
    pub fn enter(self, place: u32, lock: &LockLag) {
        let depth = self.own.depth.load(Relaxed);
        let Some(section) = self.own.sections.get(depth as usize).filter(|_| lock.chosen.load(Relaxed) != 0) else {
            return;
        };
        section.store(place, Relaxed);
        if depth == 0 {
            self.own.since.store(now(), Relaxed);
        }
        self.own.depth.store(depth + 1, Relaxed);
    }

    /// Notes that the thread is about to release a lock; returns whether that was a section.
    pub fn leave(self, place: u32) -> bool {
        self.skip(self.cpu_waited());
        let depth = (self.own.depth.load(Relaxed) as usize).min(SECTIONS);
        let sections = &self.own.sections[..depth];
        let Some(found) = sections.iter().rposition(|section| section.load(Relaxed) == place) else { return false };
        let last = sections[depth - 1].load(Relaxed);
        sections[found].store(last, Relaxed);
        self.own.depth.store(depth as u32 - 1, Relaxed);
        if depth == 1 {
            self.gain(now().saturating_sub(self.own.since.load(Relaxed)));
            self.region().what_if.sections.fetch_add(1, Relaxed);
        }
        true
    }

    /// Accounts for the time that has passed of a section that goes on.
    fn settle(self) {
        if self.own.depth.load(Relaxed) > 0 {
            let now = now();
            let since = self.own.since.load(Relaxed);
            // After a pause, or a wait, it can be ahead by the time between the readings of the clock.
            if now > since {
                self.own.since.store(now, Relaxed);
                self.gain(now - since);
            }
        }
    }

    /// Adds the gain of a section, or a part of one, that took this number of ticks.
    fn gain(self, took: u64) {
        let what_if = &self.region().what_if;
        what_if.section_ticks.fetch_add(took, Relaxed);
        if !self.region().is_first(self.me.thread.process.load(Relaxed)) {
            what_if.elsewhere.store(1, Relaxed);
        }
        let gained = took * what_if.share.load(Relaxed) as u64 / SHARE_ONE;
        // The excess of its pauses is its own, and is not for other threads to pause.
        let before = self.lag().min(what_if.most.load(Relaxed));
        self.own.lag.store(self.lag() + gained, Relaxed);
        what_if.most.fetch_max(before + gained, Relaxed);
    }
}
