//! Assembly of waits from the events of goroutines.
//!
//! The goroutine that releases a semaphore is known. That which ends a wait for a channel is not: the runtime does it on the
//! scheduler's stack. It is taken to be the next one that waits on the same thread, which is wrong only where it loses its CPU
//! or ends in between.

use crate::durations::Times;
use crate::purpose::{self, Block, Purpose, Uses};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Something that a goroutine did.
#[derive(Clone, Debug)]
pub struct Event {
    pub at_ns: u64,
    pub thread: u32,
    /// The address of the goroutine's structure.
    pub goroutine: u64,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// It begins to acquire a semaphore at this address, for example that of a mutex.
    Acquires { semaphore: u64 },
    /// It waits. `object` is the address of a lock of the runtime within the object, or 0. That of a semaphore is in a
    /// table of the runtime.
    Parks { object: u64, is_semaphore: bool, frames: Vec<u64> },
    /// It releases a semaphore, and wakes the goroutine that the thread's next event names.
    Releases,
    /// This thread makes another goroutine ready to run; the event's own goroutine is the scheduler's.
    Readies { goroutine: u64, frames: Vec<u64> },
}

/// A call path by its number.
pub type StackNumber = usize;

/// All goroutines.
#[derive(Default)]
pub struct Follower {
    goroutines: HashMap<u64, Goroutine>,
    /// The goroutine that releases a semaphore, by thread.
    releasing: HashMap<u32, u64>,
    /// The waits for channels that a goroutine has ended on each thread, until it is known which.
    ended: HashMap<u32, Vec<Past>>,
    /// The use of the sides of channels.
    uses: Uses,
    pub stacks: Vec<Vec<u64>>,
    numbers: HashMap<Vec<u64>, StackNumber>,
    /// The last holds of each object.
    holds: HashMap<u64, VecDeque<Hold>>,
    /// Waits, by the object and the call path that waited.
    pub waits: HashMap<(u64, StackNumber), Waits>,
    /// Waits at more places than there is room for.
    pub lost_waits: u64,
    /// The first waits, as many as there is room for.
    kept: Vec<Single>,
    room: usize,
}

/// One wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Single {
    /// The address of the goroutine's structure.
    pub goroutine: u64,
    pub object: u64,
    pub stack: StackNumber,
    pub since_ns: u64,
    pub until_ns: u64,
    pub end: Option<End>,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The call path that made the waiter ready.
    pub stack: StackNumber,
    /// The goroutine that did.
    pub releaser: Option<u64>,
}

#[derive(Default)]
struct Goroutine {
    /// Its number, by which its uses are known.
    number: u32,
    /// The semaphore that it acquires, or acquired last: one that is woken in vain waits for it once more.
    semaphore: Option<u64>,
    parked: Option<Parked>,
    /// The begin of its last wait whose end was not seen: Go's network poller ends waits in another way.
    unseen_wake_ns: Option<u64>,
    /// Its last waits.
    past: VecDeque<Past>,
}

#[derive(Clone, Copy)]
struct Parked {
    goroutine: u64,
    since_ns: u64,
    object: u64,
    /// The place in the runtime if it waits for a channel, which tells those who send from those who receive.
    side: Option<u64>,
    stack: StackNumber,
}

/// A wait that has ended.
#[derive(Clone, Copy)]
struct Past {
    parked: Parked,
    until_ns: u64,
    /// The call path that ended it.
    ended_by: StackNumber,
}

/// A time in which a goroutine had an object, and its waits in that time.
struct Hold {
    /// The release before. Since then it had the object, or others for which no goroutine waited.
    turn_ns: u64,
    /// The time from which on it certainly had it.
    since_ns: u64,
    until_ns: u64,
    /// The call path of the release.
    stack: StackNumber,
    parks: Vec<Past>,
}

/// All waits for an object at a call path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Waits {
    /// In ns.
    pub times: Times,
    /// Time waited, by the call path that released the object: that of each goroutine which had it in turn, up to its release;
    /// or all of it by the one that made the waiter ready.
    pub releasers: BTreeMap<StackNumber, u64>,
    /// Time in which a goroutine had the object and was parked itself, by the call path where.
    pub holder_parked: BTreeMap<StackNumber, u64>,
    /// Time in which a known goroutine had the object.
    pub known_ns: u64,
}

const MOST_GOROUTINES: usize = 65_536;
const MOST_STACKS: usize = 16_384;
const MOST_PLACES: usize = 32_768;
const MOST_PAST: usize = 64;

impl Waits {
    /// Adds the waits of another place.
    pub fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.known_ns += other.known_ns;
        other.releasers.iter().for_each(|(stack, ns)| *self.releasers.entry(*stack).or_default() += ns);
        other.holder_parked.iter().for_each(|(stack, ns)| *self.holder_parked.entry(*stack).or_default() += ns);
    }
}

impl Hold {
    fn new(since_ns: u64, until_ns: u64, stack: StackNumber) -> Self {
        Self { turn_ns: since_ns, since_ns, until_ns, stack, parks: Vec::new() }
    }
}

impl Follower {
    /// Keeps as many of the waits as this.
    pub fn with_room(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    /// Returns the waits that were kept, and whether there was no room for more.
    pub fn take_kept(&mut self) -> (Vec<Single>, bool) {
        let is_full = self.kept.len() >= self.room && self.room > 0;
        (std::mem::take(&mut self.kept), is_full)
    }

    /// Returns what one side of a channel is for: that at which the call path waits.
    pub fn purpose(&self, channel: u64, stack: StackNumber) -> Option<Purpose> {
        self.uses.of(Block::side(channel, *self.stacks.get(stack)?.get(1)?))
    }

    /// Forgets the states of goroutines: a window of the probes begins, or events were lost. Waits that have not ended
    /// count until now.
    pub fn forget_goroutines(&mut self, now_ns: u64) {
        self.settle_all();
        self.uses.interrupt();
        for goroutine in std::mem::take(&mut self.goroutines).into_values() {
            if let Some(parked) = goroutine.parked {
                self.add(parked, now_ns, None);
            }
        }
        self.releasing.clear();
        self.holds.clear();
    }

    /// Counts the waits that have not ended up to now. They go on from now.
    pub fn count_open_waits(&mut self, now_ns: u64) {
        self.settle_all();
        let parked = self.goroutines.values_mut().filter_map(|goroutine| goroutine.parked.as_mut());
        let open = parked.map(|parked| std::mem::replace(parked, Parked { since_ns: now_ns, ..*parked }));
        for parked in open.collect::<Vec<Parked>>() {
            self.add(parked, now_ns, None);
        }
    }

    /// Begins a part of the trace, without the waits so far.
    pub fn begin_part(&mut self) {
        self.waits.clear();
        self.lost_waits = 0;
        if self.stacks.len() > MOST_STACKS / 2 {
            // Nothing may have their numbers any more.
            self.goroutines.clear();
            self.releasing.clear();
            self.ended.clear();
            self.uses = Uses::default();
            self.holds.clear();
            self.stacks.clear();
            self.numbers.clear();
        }
    }

    /// Notes the next event.
    pub fn note(&mut self, event: Event) {
        let Event { at_ns, thread, goroutine, what } = event;
        if self.goroutines.len() >= MOST_GOROUTINES && !self.goroutines.contains_key(&goroutine) {
            self.forget_goroutines(at_ns);
        }
        match what {
            What::Acquires { semaphore } => self.state(goroutine).semaphore = Some(semaphore),
            What::Parks { object, is_semaphore, frames } => {
                self.settle(thread, Some(goroutine));
                let side = frames.get(1).copied().filter(|_| !is_semaphore && object != 0);
                let stack = self.number(frames);
                let state = self.state(goroutine);
                // The object of a wait for a semaphore is the lock of the runtime's table of semaphores.
                let object = if is_semaphore { state.semaphore.unwrap_or(0) } else { object };
                state.unseen_wake_ns = state.parked.map(|before| before.since_ns).or(state.unseen_wake_ns);
                state.parked = Some(Parked { goroutine, since_ns: at_ns, object, side, stack });
                let number = state.number;
                if let Some(side) = side {
                    self.uses.asks(number, Block::side(object, side));
                }
            }
            What::Releases => {
                self.releasing.insert(thread, goroutine);
            }
            What::Readies { goroutine: woken, frames } => {
                let releaser = self.releasing.remove(&thread);
                self.ready(thread, at_ns, woken, releaser, frames);
            }
        }
    }

    fn state(&mut self, goroutine: u64) -> &mut Goroutine {
        let number = self.goroutines.len() as u32;
        self.goroutines.entry(goroutine).or_insert_with(|| Goroutine { number, ..Goroutine::default() })
    }

    fn ready(&mut self, thread: u32, at_ns: u64, woken: u64, releaser: Option<u64>, frames: Vec<u64>) {
        let stack = self.number(frames);
        let Some(state) = self.goroutines.get_mut(&woken) else { return };
        let Some(parked) = state.parked.take() else { return };
        let past = Past { parked, until_ns: at_ns, ended_by: stack };
        state.past.push_back(past);
        if state.past.len() > MOST_PAST {
            state.past.pop_front();
        }
        if let Some(side) = parked.side.filter(|_| releaser.is_none()) {
            let number = state.number;
            self.uses.waited(number, Block::side(parked.object, side), purpose::End::Woken, at_ns);
            let ended = self.ended.entry(thread).or_default();
            ended.push(past);
            if ended.len() >= MOST_PAST {
                self.settle(thread, None);
            }
            return;
        }
        if let Some(releaser) = releaser {
            self.released(parked.object, releaser, at_ns, stack);
        }
        self.add(parked, at_ns, Some(End { stack, releaser }));
    }

    /// Counts the waits for channels that ended on a thread, by the goroutine that now waits there.
    fn settle(&mut self, thread: u32, by: Option<u64>) {
        for past in self.ended.remove(&thread).unwrap_or_default() {
            let Past { parked, until_ns, ended_by } = past;
            // One that was made ready and ran at once there says nothing about the one before.
            let by = by.filter(|by| *by != parked.goroutine);
            if let Some((side, by)) = parked.side.zip(by) {
                let (number, block) = (self.state(by).number, Block::side(parked.object, side));
                let since = self.uses.passes(number, block, until_ns);
                self.uses.woke(number, block, 1);
                if let Some(since_ns) = since {
                    // Several may have it at a time, so that there are no turns.
                    self.held(parked.object, by, Hold { turn_ns: until_ns, ..Hold::new(since_ns, until_ns, ended_by) });
                }
            }
            self.add(parked, until_ns, Some(End { stack: ended_by, releaser: by }));
        }
    }

    fn settle_all(&mut self) {
        let threads: Vec<u32> = self.ended.keys().copied().collect();
        threads.into_iter().for_each(|thread| self.settle(thread, None));
    }

    /// Notes that a goroutine releases a semaphore that others wait for.
    fn released(&mut self, object: u64, goroutine: u64, until_ns: u64, stack: StackNumber) {
        let before = self.holds.get(&object).and_then(|holds| Some(holds.back()?.until_ns));
        let state = self.goroutines.get(&goroutine);
        // It has had the object since it waited for it, and not before the release by the holder before.
        let is_same = |past: &&Past| past.parked.object == object;
        let got = state.and_then(|state| state.past.iter().filter(is_same).map(|past| past.until_ns).max());
        let from = [got, before].into_iter().flatten().max();
        // Nor is it known what the goroutine did if it waited for I/O in that time.
        let unseen = state.and_then(|state| state.parked.map(|parked| parked.since_ns).max(state.unseen_wake_ns));
        let is_known = |since_ns: &u64| state.is_some() && unseen.is_none_or(|at| at < *since_ns);
        let since_ns = from.filter(is_known).unwrap_or(until_ns);
        self.held(object, goroutine, Hold { turn_ns: before.unwrap_or(0), ..Hold::new(since_ns, until_ns, stack) });
    }

    /// Notes a time in which a goroutine had an object, with its waits in that time.
    fn held(&mut self, object: u64, goroutine: u64, mut hold: Hold) {
        if self.holds.len() >= MOST_PLACES && !self.holds.contains_key(&object) {
            self.holds.clear();
        }
        let past = self.goroutines.get(&goroutine).into_iter().flat_map(|state| &state.past);
        let within = |past: &&Past| past.until_ns > hold.since_ns && past.parked.object != object;
        hold.parks = past.filter(within).copied().collect();
        let holds = self.holds.entry(object).or_default();
        holds.push_back(hold);
        if holds.len() > MOST_PAST {
            holds.pop_front();
        }
    }

    /// Adds a wait, and what ended it.
    fn add(&mut self, parked: Parked, until_ns: u64, end: Option<End>) {
        if self.kept.len() < self.room {
            let Parked { goroutine, since_ns, object, stack, .. } = parked;
            self.kept.push(Single { goroutine, object, stack, since_ns, until_ns, end });
        }
        let place = (parked.object, parked.stack);
        if self.waits.len() >= MOST_PLACES && !self.waits.contains_key(&place) {
            self.lost_waits += 1;
            return;
        }
        let ns = until_ns.saturating_sub(parked.since_ns);
        let waits = self.waits.entry(place).or_default();
        waits.times.note(ns);
        // Several goroutines may have had it in that time, one after the other.
        let overlap = |since: u64, until: u64| until.min(until_ns).saturating_sub(since.max(parked.since_ns));
        let mut are_turns = false;
        for hold in self.holds.get(&parked.object).into_iter().flatten() {
            let turn_ns = overlap(hold.turn_ns, hold.until_ns);
            if turn_ns > 0 {
                *waits.releasers.entry(hold.stack).or_default() += turn_ns;
                are_turns = true;
            }
            waits.known_ns += overlap(hold.since_ns, hold.until_ns);
            for past in &hold.parks {
                let ns = overlap(past.parked.since_ns.max(hold.since_ns), past.until_ns.min(hold.until_ns));
                if ns > 0 {
                    *waits.holder_parked.entry(past.parked.stack).or_default() += ns;
                }
            }
        }
        if let Some(End { stack, .. }) = end.filter(|_| !are_turns) {
            *waits.releasers.entry(stack).or_default() += ns;
        }
    }

    fn number(&mut self, mut frames: Vec<u64>) -> StackNumber {
        if self.stacks.len() >= MOST_STACKS && !self.numbers.contains_key(&frames) {
            frames.clear();
        }
        let (stacks, next) = (&mut self.stacks, self.numbers.len());
        *self.numbers.entry(frames).or_insert_with_key(|frames| {
            stacks.push(frames.clone());
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTEX: u64 = 0xf00;

    fn event(at_ns: u64, thread: u32, goroutine: u64, what: What) -> Event {
        Event { at_ns, thread, goroutine, what }
    }

    fn parks(is_semaphore: bool, place: u64) -> What {
        What::Parks { object: 0, is_semaphore, frames: vec![place] }
    }

    fn readies(goroutine: u64) -> What {
        readies_at(goroutine, 0x99)
    }

    fn readies_at(goroutine: u64, place: u64) -> What {
        What::Readies { goroutine, frames: vec![place] }
    }

    /// Go's network poller ends waits for I/O without the functions that are probed.
    #[test]
    fn hold_with_a_wait_whose_end_is_not_seen_is_unknown() {
        let mut follower = Follower::default();
        for event in [
            event(40, 7, 1, What::Acquires { semaphore: MUTEX }),
            event(50, 7, 1, parks(true, 0x10)),
            event(100, 7, 2, What::Acquires { semaphore: MUTEX }),
            event(100, 7, 2, parks(true, 0x11)),
            event(110, 8, 9, What::Releases),
            event(110, 8, 50, readies(1)),
            event(150, 8, 1, parks(false, 0x20)),
            event(500, 8, 1, What::Releases),
            event(500, 8, 50, readies(2)),
        ] {
            follower.note(event);
        }
        let number = |place: u64| follower.stacks.iter().position(|frames| frames == &[place]).unwrap();
        let waits = &follower.waits[&(MUTEX, number(0x11))];
        assert_eq!((waits.times.ticks, waits.known_ns, waits.holder_parked.len()), (400, 0, 0));
    }

    /// Goroutine 1 gets the mutex at 110, sleeps with it until 450, and releases it to 3 at 500, which holds it until 700.
    /// Goroutine 2 waits for it from 100 on.
    #[test]
    fn wait_is_divided_among_the_holds_in_it() {
        let mut follower = Follower::default();
        for event in [
            event(40, 7, 1, What::Acquires { semaphore: MUTEX }),
            event(50, 7, 1, parks(true, 0x10)),
            event(60, 7, 3, What::Acquires { semaphore: MUTEX }),
            event(70, 7, 3, parks(true, 0x10)),
            event(90, 7, 2, What::Acquires { semaphore: MUTEX }),
            event(100, 7, 2, parks(true, 0x11)),
            event(110, 8, 9, What::Releases),
            event(110, 8, 50, readies_at(1, 0x98)),
            event(150, 8, 1, parks(false, 0x20)),
            event(450, 7, 50, readies(1)),
            event(500, 8, 1, What::Releases),
            event(500, 8, 50, readies(3)),
            event(700, 8, 3, What::Releases),
            event(700, 8, 50, readies_at(2, 0x97)),
        ] {
            follower.note(event);
        }
        let number = |place: u64| follower.stacks.iter().position(|frames| frames == &[place]).unwrap();
        let mutex = &follower.waits[&(MUTEX, number(0x11))];
        assert_eq!((mutex.times.count, mutex.times.ticks, mutex.known_ns), (1, 600, 390 + 200));
        assert_eq!(mutex.holder_parked, BTreeMap::from([(number(0x20), 300)]));
        assert_eq!(mutex.releasers, BTreeMap::from([(number(0x98), 10), (number(0x99), 390), (number(0x97), 200)]));
        assert_eq!(follower.waits[&(0, number(0x20))].times.ticks, 300);
        let others = &follower.waits[&(MUTEX, number(0x10))];
        assert_eq!((others.times.count, others.times.most, others.holder_parked[&number(0x20)]), (2, 430, 300));
    }

    const CHANNEL: u64 = 0xc40;
    /// The places of the runtime at which goroutines receive and send.
    const RECEIVES: u64 = 0x2e;
    const SENDS: u64 = 0x5e;

    /// A goroutine waits at one side of the channel, in a function.
    fn parks_at(side: u64, place: u64) -> What {
        What::Parks { object: CHANNEL, is_semaphore: false, frames: vec![0x1, side, place] }
    }

    fn purpose_of(follower: &Follower, side: u64) -> Option<Purpose> {
        let stack = follower.stacks.iter().position(|frames| frames.get(1) == Some(&side))?;
        follower.purpose(CHANNEL, stack)
    }

    /// Three goroutines share two permits, which are messages in a channel; each sleeps for 80 with one.
    #[test]
    fn channel_whose_receivers_give_back_is_a_pool() {
        let mut follower = Follower::default();
        (1..=3).for_each(|goroutine| follower.note(event(0, 7, goroutine, parks_at(RECEIVES, 0x10))));
        for turn in 0..12_u64 {
            // The goroutine of this turn got a permit at the begin, and gives it back when the next one but one gets it.
            let (at, goroutine, next) = (50 * turn, 1 + turn % 3, 1 + (turn + 2) % 3);
            if turn < 2 {
                follower.note(event(at, 7, 9, readies(goroutine)));
            }
            follower.note(event(at + 1, 7, goroutine, parks(false, 0x20)));
            follower.note(event(at + 81, 7, 50, readies(goroutine)));
            follower.note(event(at + 90, 8, 50, readies(next)));
            follower.note(event(at + 91, 8, goroutine, parks_at(RECEIVES, 0x10)));
        }
        assert_eq!(purpose_of(&follower, RECEIVES), Some(Purpose::Pool));
        let place = follower.stacks.iter().position(|frames| frames.last() == Some(&0x10)).unwrap();
        let sleep = follower.stacks.iter().position(|frames| frames.last() == Some(&0x20)).unwrap();
        let waits = &follower.waits[&(CHANNEL, place)];
        assert!(waits.known_ns > waits.times.ticks / 2, "{waits:?}");
        assert!(waits.holder_parked[&sleep] > waits.known_ns / 2, "{waits:?}");
    }

    /// One sends jobs to two others, and waits where both are busy.
    #[test]
    fn channel_of_jobs_is_no_pool_on_either_side() {
        let mut follower = Follower::default();
        for turn in 0..12_u64 {
            let (at, worker) = (100 * turn, 2 + turn % 2);
            follower.note(event(at, 7, worker, parks_at(RECEIVES, 0x10)));
            follower.note(event(at + 10, 8, 50, readies(worker)));
            follower.note(event(at + 20, 8, 1, parks_at(SENDS, 0x30)));
            // The worker takes what waits there.
            follower.note(event(at + 30, 7, 50, readies(1)));
        }
        assert_eq!(purpose_of(&follower, RECEIVES), Some(Purpose::Work));
        assert_eq!(purpose_of(&follower, SENDS), None, "one sender says nothing");
    }

    #[test]
    fn a_part_has_the_waits_in_it() {
        let mut follower = Follower::default();
        let wait = |goroutine, since, until| {
            [event(since, 7, goroutine, parks(false, 0x10)), event(until, 8, 50, readies(goroutine))]
        };
        let sums = |follower: &Follower| {
            let mut sums: Vec<u64> = follower.waits.values().map(|waits| waits.times.ticks).collect();
            sums.sort_unstable();
            sums
        };
        wait(1, 100, 150).into_iter().for_each(|event| follower.note(event));
        follower.note(event(160, 7, 2, parks(false, 0x11)));
        follower.count_open_waits(200);
        assert_eq!(sums(&follower), [40, 50]);
        follower.begin_part();
        wait(3, 210, 240).into_iter().for_each(|event| follower.note(event));
        // That of goroutine 2 goes on.
        follower.note(event(270, 8, 50, readies(2)));
        assert_eq!(sums(&follower), [30, 70]);
    }

    #[test]
    fn single_waits_are_kept_while_there_is_room() {
        let mut follower = Follower::with_room(1);
        for event in [
            event(90, 7, 2, What::Acquires { semaphore: MUTEX }),
            event(100, 7, 2, parks(true, 0x11)),
            event(300, 8, 3, What::Releases),
            event(300, 8, 50, readies(2)),
            event(310, 7, 2, parks(false, 0x12)),
            event(320, 8, 50, readies(2)),
        ] {
            follower.note(event);
        }
        let [stack, end] = [0x11, 0x99].map(|place| follower.stacks.iter().position(|path| path == &[place]).unwrap());
        let end = Some(End { stack: end, releaser: Some(3) });
        let first = Single { goroutine: 2, object: MUTEX, stack, since_ns: 100, until_ns: 300, end };
        assert_eq!(follower.kept, [first]);
    }

    #[test]
    fn holds_whose_begin_is_unknown_do_not_pile_up() {
        let mut follower = Follower::default();
        for time in 0..10 * MOST_PAST as u64 {
            follower.note(event(time * 10, 7, 1, What::Acquires { semaphore: MUTEX }));
            follower.note(event(time * 10, 7, 1, parks(true, 0x10)));
            // A goroutine that waits for I/O, of which no end is seen.
            follower.note(event(time * 10 + 1, 8, 2, parks(false, 0x20)));
            follower.note(event(time * 10 + 2, 8, 2, What::Releases));
            follower.note(event(time * 10 + 3, 8, 50, readies(1)));
        }
        assert!(follower.holds[&MUTEX].len() <= MOST_PAST, "{}", follower.holds[&MUTEX].len());
    }

    #[test]
    fn goroutine_that_is_woken_in_vain_waits_for_the_same_semaphore() {
        let (mut follower, table) = (Follower::default(), 0x5e_3000);
        let parks = || What::Parks { object: table, is_semaphore: true, frames: vec![0x10] };
        follower.note(event(90, 7, 2, What::Acquires { semaphore: MUTEX }));
        for (from, until) in [(100, 150), (160, 200)] {
            follower.note(event(from, 7, 2, parks()));
            follower.note(event(until, 8, 50, readies(2)));
        }
        // The begin of the acquisition of another one was not seen.
        follower.note(event(300, 7, 3, parks()));
        follower.note(event(310, 8, 50, readies(3)));
        let waits: HashMap<u64, u64> =
            follower.waits.iter().map(|((object, _), waits)| (*object, waits.times.ticks)).collect();
        assert_eq!(waits, HashMap::from([(MUTEX, 90), (0, 10)]));
    }

    #[test]
    fn semaphore_that_was_free_is_not_the_object_of_a_later_wait() {
        let mut follower = Follower::default();
        follower.note(event(90, 7, 2, What::Acquires { semaphore: MUTEX }));
        follower.note(event(100, 7, 2, What::Parks { object: 0xc4a, is_semaphore: false, frames: vec![1] }));
        follower.forget_goroutines(160);
        assert_eq!(follower.waits.keys().map(|(object, _)| *object).collect::<Vec<u64>>(), [0xc4a]);
        assert_eq!(follower.waits.values().map(|waits| (waits.times.ticks, waits.known_ns)).next(), Some((60, 0)));
    }
}
