//! The waits as they come: the threads that had the lock in the meantime, and whether they ran.

use crate::preempted::Preempted;
use crate::switches::{Seen, Switches};
use crate::time::Time;
use interpose::{Event, Kind, Lock, RING, Region, holder};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// One wait; times in ns since the start.
#[derive(Clone, Debug)]
pub struct Wait {
    pub began: f64,
    pub ended: f64,
    pub thread: u32,
    pub pair: u32,
    /// The place of the label of the request in which it was, if any.
    pub label: Option<u32>,
    pub in_vain: bool,
    /// The thread that had the lock when it began.
    holder: Option<Taker>,
    /// The thread that had it last.
    pub releaser: Option<Taker>,
    pub released: Option<f64>,
    /// Known parts of the time that others had it, in which they ran or did not run.
    pub seen: Seen,
    /// Time in which known other threads had it.
    pub blamed: f64,
}

/// The parts of the waits for locks, in ns, by what kept the waiter from the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Split {
    /// The holder ran.
    pub running: f64,
    /// The holder was ready and had no CPU.
    pub preempted: f64,
    /// The holder was blocked itself.
    pub blocked: f64,
    /// A thread held the lock; whether it ran is not known.
    pub held: f64,
    /// The lock was released, and the waiter did not run yet.
    pub released: f64,
    /// No holder is known.
    pub unknown: f64,
}

impl Split {
    /// Returns the whole.
    pub fn sum(&self) -> f64 {
        self.running + self.preempted + self.blocked + self.held + self.released + self.unknown
    }

    /// Returns the parts of a whole that is longer by this factor.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            running: self.running * factor,
            preempted: self.preempted * factor,
            blocked: self.blocked * factor,
            held: self.held * factor,
            released: self.released * factor,
            unknown: self.unknown * factor,
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.running += other.running;
        self.preempted += other.preempted;
        self.blocked += other.blocked;
        self.held += other.held;
        self.released += other.released;
        self.unknown += other.unknown;
    }
}

/// Sums of all waits.
#[derive(Default)]
pub struct Waits {
    /// Time that a pair waited while another had the lock.
    pub blame: HashMap<(u32, u32), f64>,
    /// The blame, passed on to the threads that the holders waited for themselves.
    pub causes: Causes,
    pub critical: Critical,
    /// Times in which the holders ran or did not run, by the pair that waited.
    pub seen: HashMap<u32, Seen>,
    /// Parts of the waits, those that ended in a timeout among them, by the pair that waited for a lock.
    pub splits: HashMap<u32, Split>,
    /// Waits for locks in labelled requests, by the place of the label and the pair that waited.
    pub labelled: HashMap<(u32, u32), Labelled>,
    /// The first of them, for exports, as many as there is room for; and how many there were.
    pub kept: Vec<Wait>,
    pub count: u64,
    room: usize,
    /// The longest of each lock, by place.
    pub longest: HashMap<u32, Vec<Wait>>,
    /// Recent holders of a lock while others waited, with the begin and the end of each hold.
    holds: HashMap<u32, VecDeque<Hold>>,
    /// Number of all these holds.
    held: usize,
    /// Waits that are not judged yet: the releasing thread notes the release before, but may be read after.
    fresh: Vec<Wait>,
    older: Vec<Wait>,
    /// The preempted holders, if they are wanted.
    pub preempted: Option<Preempted>,
}

/// Waits of labelled requests, in ns.
#[derive(Clone, Debug, Default)]
pub struct Labelled {
    pub waited: f64,
    /// Known holders, by the pair that acquired the lock.
    pub blame: HashMap<u32, f64>,
}

struct Hold {
    from: f64,
    to: f64,
    taker: Taker,
}

const MOST_HOLDS: usize = 4_096;
/// Holds that are remembered of all locks together.
const MOST_HOLDS_OF_ALL: usize = 1 << 20;
/// Number of longest waits that are kept for each lock.
const LONGEST: usize = 5;

impl Waits {
    /// Keeps as many of the waits as this.
    pub fn with_room(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    /// Begins the next part of the trace, at this time: the sums are those of its waits alone.
    pub fn begin_part(&mut self, at: f64) {
        let before = std::mem::take(self);
        let Self { mut causes, holds, held, fresh, older, room, .. } = before;
        causes.begin_part();
        let critical = Critical::since(at);
        *self = Self { causes, critical, holds, held, fresh, older, room, ..Self::default() };
    }

    /// Reads the threads' notes since the last time.
    pub fn read(&mut self, region: &Region, time: &Time) {
        self.older.append(&mut self.fresh);
        self.preempted.iter_mut().for_each(Preempted::next_reading);
        for thread in region.threads() {
            let (head, tail) = (thread.head.load(Acquire), thread.tail.load(Relaxed));
            for place in tail..head.min(tail.saturating_add(RING as u64)) {
                self.take(region, &thread.ring[place as usize % RING], time);
            }
            thread.tail.store(head, Relaxed);
        }
        if self.held > MOST_HOLDS_OF_ALL {
            self.forget_holds();
        }
    }

    /// Forgets the older half of each lock's holds.
    fn forget_holds(&mut self) {
        self.holds.retain(|_, holds| {
            holds.drain(..holds.len().div_ceil(2));
            !holds.is_empty()
        });
        self.held = self.holds.values().map(VecDeque::len).sum();
    }

    fn take(&mut self, region: &Region, event: &Event, time: &Time) {
        if event.pair.load(Relaxed) & Event::HOLD == 0 {
            return self.fresh.extend(wait(region, event, time));
        }
        let Some(pair) = (event.pair.load(Relaxed) & !Event::HOLD).checked_sub(1) else { return };
        let (began, thread) = (event.began.load(Relaxed), event.thread.load(Relaxed));
        // Other locks have the same place.
        if is_folded(region, pair) {
            return;
        }
        let from = if began == 0 { f64::NEG_INFINITY } else { time.of_ticks(began) };
        let to = time.of_ticks(event.ended.load(Relaxed));
        if let Some(preempted) = &mut self.preempted
            && kind_of(region, pair).is_some_and(Kind::excludes)
        {
            preempted.held(thread, pair, from, to);
        }
        let holds = self.holds.entry(lock_of(region, pair)).or_default();
        // Those of different threads come nearly in order.
        let place = holds.partition_point(|hold| hold.to <= to);
        holds.insert(place, Hold { from, to, taker: (thread, pair) });
        self.held += 1;
        if holds.len() > MOST_HOLDS {
            holds.pop_front();
            self.held -= 1;
        }
    }

    /// Attributes the waits that were read the last time; the switches up to then are known.
    pub fn judge(&mut self, region: &Region, switches: Option<&Switches>) {
        let mut waits = std::mem::take(&mut self.older);
        // Holders' own waits ended before those that they caused.
        waits.sort_by(|one, other| one.ended.total_cmp(&other.ended));
        for wait in waits {
            self.blame(region, wait, switches);
        }
        if let Some((preempted, switches)) = self.preempted.as_mut().zip(switches) {
            preempted.judge(&switches.schedule);
        }
    }

    fn blame(&mut self, region: &Region, mut wait: Wait, switches: Option<&Switches>) {
        let stretches = self.stretches(region, &wait);
        let excludes = kind_of(region, wait.pair).is_some_and(Kind::excludes);
        for &Stretch { taker: (thread, pair), from, to } in &stretches {
            *self.blame.entry((wait.pair, pair)).or_default() += to - from;
            wait.blamed += to - from;
            if let Some(switches) = switches.filter(|_| excludes) {
                let seen = switches.seen(thread, from, to);
                self.preempted.iter_mut().for_each(|preempted| preempted.waited(pair, seen.preempted));
                wait.seen.add(seen);
            }
        }
        self.seen.entry(wait.pair).or_default().add(wait.seen);
        if let Some(label) = wait.label.filter(|_| excludes) {
            let labelled = self.labelled.entry((label, wait.pair)).or_default();
            labelled.waited += wait.ended - wait.began;
            for stretch in &stretches {
                *labelled.blame.entry(stretch.taker.1).or_default() += stretch.to - stretch.from;
            }
        }
        if excludes {
            self.splits.entry(wait.pair).or_default().add(&split(&wait));
        }
        if excludes {
            self.causes.judge((wait.thread, wait.pair), &stretches);
        }
        self.walk(region, &wait, stretches.last().filter(|_| excludes));
        let longest = self.longest.entry(lock_of(region, wait.pair)).or_default();
        let after = longest.partition_point(|other| other.ended - other.began >= wait.ended - wait.began);
        if after < LONGEST {
            longest.insert(after, wait.clone());
            longest.truncate(LONGEST);
        }
        self.count += 1;
        if self.kept.len() < self.room {
            self.kept.push(wait);
        }
    }

    /// Extends the longest path through this wait.
    fn walk(&mut self, region: &Region, wait: &Wait, last: Option<&Stretch>) {
        let by = wait.releaser.filter(|releaser| releaser.0 != wait.thread);
        let (Some((by, _)), Some(released)) = (by, wait.released) else {
            return self.critical.seen(wait.thread, wait.ended);
        };
        let lock = last.filter(|last| last.taker.0 == by).map(|last| (lock_of(region, wait.pair), last.from));
        self.critical.note(&Ended { thread: wait.thread, at: wait.ended, by, released, lock });
    }

    /// Returns the threads that had the lock during a wait, and when.
    fn stretches(&self, region: &Region, wait: &Wait) -> Vec<Stretch> {
        if is_folded(region, wait.pair) {
            return Vec::new();
        }
        let end = wait.released.unwrap_or(wait.ended);
        if !kind_of(region, wait.pair).is_some_and(Kind::excludes) {
            // No thread holds the object that is waited for here: the thread that gave the word is to blame.
            let stretch = |taker: Taker| Stretch { taker, from: wait.began, to: end };
            // One that ended by its time limit was ended by no thread.
            return wait.releaser.filter(|_| !wait.in_vain).map(stretch).into_iter().collect();
        }
        if wait.in_vain {
            let stretch = |taker: Taker| Stretch { taker, from: wait.began, to: wait.ended };
            return wait.holder.map(stretch).into_iter().collect();
        }
        let holds = self.holds.get(&lock_of(region, wait.pair));
        let first = holds.map_or(0, |holds| holds.partition_point(|hold| hold.to <= wait.began));
        // Readers do not keep each other waiting: what held this one up was a writer.
        let is_reader = |pair: u32| kind_of(region, pair) == Some(Kind::Read);
        let reads = is_reader(wait.pair);
        let overlap = |hold: &Hold| {
            let (from, to) = (hold.from.max(wait.began), hold.to.min(wait.ended));
            let blocks = hold.taker.0 != wait.thread && !(reads && is_reader(hold.taker.1));
            (blocks && to > from).then_some(Stretch { taker: hold.taker, from, to })
        };
        // The holds that kept it waiting were over when it had the lock. A later hold may have begun before any thread
        // waited, at a time that is not known.
        let over = holds.into_iter().flat_map(|holds| holds.range(first..)).take_while(|hold| hold.to <= wait.ended);
        apart(over.filter_map(overlap).collect())
    }
}

/// Returns the stretches, which are in the order of their ends, without those parts in which another one lasts longer:
/// several readers hold a lock at the same time, one thread holds a recursive mutex several times, and the hold that
/// ends last is the one that keeps the lock. So their sum is at most the wait.
fn apart(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    // The begin of the holds that end later: what follows it is theirs.
    let mut begun = f64::INFINITY;
    for stretch in stretches.iter_mut().rev() {
        stretch.to = stretch.to.min(begun);
        begun = begun.min(stretch.from);
    }
    stretches.retain(|stretch| stretch.to > stretch.from);
    stretches
}

/// Returns the parts of a wait whose holders were judged. The time between the release that was noted last and the end
/// is the waiter's way back; holders before it are known by their holds.
fn split(wait: &Wait) -> Split {
    let Seen { known, off, preempted } = wait.seen;
    let waited = wait.ended - wait.began;
    let released = wait.released.map_or(0.0, |released| wait.ended - released).min(waited - wait.blamed).max(0.0);
    Split {
        running: known - off,
        preempted,
        blocked: off - preempted,
        held: wait.blamed - known,
        released,
        unknown: (waited - wait.blamed - released).max(0.0),
    }
}

/// Returns the place of a pair's lock.
pub fn lock_of(region: &Region, pair: u32) -> u32 {
    region.pairs.get(pair as usize).map_or(u32::MAX, |pair| pair.lock.load(Relaxed))
}

/// Returns whether the lock of a pair is one of several that share a place: its holders are not known.
fn is_folded(region: &Region, pair: u32) -> bool {
    region.locks.get(lock_of(region, pair) as usize).is_some_and(Lock::is_folded)
}

fn kind_of(region: &Region, pair: u32) -> Option<Kind> {
    Kind::of(region.pairs.get(pair as usize)?.kind.load(Relaxed))
}

fn wait(region: &Region, event: &Event, time: &Time) -> Option<Wait> {
    let noted = event.pair.load(Relaxed);
    let pair = (noted & !Event::IN_VAIN).checked_sub(1)?;
    let (began, ended) = (event.began.load(Relaxed), event.ended.load(Relaxed));
    let released = event.released.load(Relaxed);
    let released = (began < released && released <= ended).then(|| time.of_ticks(released));
    // A thread that released a mutex before any thread waited did not note it; the noted time is of an earlier release.
    let is_folded = is_folded(region, pair);
    let released = released.filter(|_| !is_folded);
    let is_told = !is_folded && (released.is_some() || kind_of(region, pair) != Some(Kind::Mutex));
    Some(Wait {
        began: time.of_ticks(began),
        ended: time.of_ticks(ended),
        thread: event.thread.load(Relaxed),
        pair,
        label: event.label.load(Relaxed).checked_sub(1),
        in_vain: noted & Event::IN_VAIN != 0,
        holder: holder::parts(event.holder.load(Relaxed)).filter(|(_, pair)| *pair != holder::SOMEWHERE && !is_folded),
        releaser: holder::parts(event.releaser.load(Relaxed)).filter(|_| is_told),
        released,
        seen: Seen::default(),
        blamed: 0.0,
    })
}

// The hold that caused a wait in the end: a thread that waits for a lock may wait for a thread that waits for another
// lock itself, and then the holder of that other lock keeps both waiting (blame shifting: Tallent, Mellor-Crummey and
// Porterfield, PPoPP 2010).

/// A thread that took a lock, and the pair that says where.
pub type Taker = (u32, u32);

/// A period in which a thread held the object that was waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub taker: Taker,
    pub from: f64,
    pub to: f64,
}

/// The blame of all waits.
#[derive(Default)]
pub struct Causes {
    /// Time waited, by the pair that waited and the pair that was the cause.
    pub by_pair: HashMap<(u32, u32), f64>,
    /// Recent causes of a thread's waits, in order of time, without gaps where it waited; each with the time of that
    /// wait.
    lately: HashMap<u32, VecDeque<(Span, Stretch)>>,
}

/// The time after which the causes of a thread's waits are forgotten where room is needed.
const RECENT_NS: f64 = 10e9;

#[derive(Clone, Copy)]
struct Span {
    from: f64,
    to: f64,
}

/// Number of kept stretches of each thread.
const MOST: usize = 256;
/// Threads whose causes are remembered: a program can start threads for as long as it runs.
const MOST_THREADS: usize = 16_384;

impl Causes {
    /// Attributes a thread's wait at a pair to the threads that had the lock. The waits of those threads themselves
    /// were judged before, since they ended before.
    pub fn judge(&mut self, (thread, pair): Taker, stretches: &[Stretch]) {
        let mut roots = Vec::new();
        stretches.iter().for_each(|stretch| self.follow(*stretch, &mut roots));
        for root in &roots {
            *self.by_pair.entry((pair, root.taker.1)).or_default() += root.to - root.from;
        }
        let (from, to) = (stretches.iter().map(|one| one.from), stretches.iter().map(|one| one.to));
        let span = Span { from: from.fold(f64::INFINITY, f64::min), to: to.fold(f64::NEG_INFINITY, f64::max) };
        if self.lately.len() >= MOST_THREADS {
            self.forget_before(span.from - RECENT_NS);
        }
        let lately = self.lately.entry(thread).or_default();
        lately.extend(roots.into_iter().map(|root| (span, root)));
        lately.drain(..lately.len().saturating_sub(MOST));
    }

    /// Forgets the threads whose last wait ended before this time, and all threads if those are few.
    fn forget_before(&mut self, time: f64) {
        self.lately.retain(|_, lately| lately.back().is_some_and(|(wait, _)| wait.to >= time));
        if self.lately.len() > MOST_THREADS / 2 {
            self.lately.clear();
        }
    }

    /// Forgets the sums, but not the recent causes.
    pub fn begin_part(&mut self) {
        self.by_pair.clear();
    }

    /// Adds what a stretch is due to: where its taker waited, to what kept that one waiting.
    fn follow(&self, stretch: Stretch, roots: &mut Vec<Stretch>) {
        let Stretch { taker, mut from, to } = stretch;
        let mut push = |taker: Taker, from: f64, to: f64| {
            if to > from {
                roots.push(Stretch { taker, from, to });
            }
        };
        // A thread's waits come one after another, so those that are meant are found without looking at all.
        let own = self.lately.get(&taker.0);
        let first = own.map_or(0, |own| own.partition_point(|(wait, _)| wait.to <= stretch.from));
        let own = own.into_iter().flat_map(|own| own.range(first..)).take_while(|(wait, _)| wait.from < to);
        for (_, cause) in own.filter(|(_, cause)| cause.to > stretch.from && cause.from < to) {
            push(taker, from, cause.from);
            push(cause.taker, cause.from.max(from), cause.to.min(to));
            from = from.max(cause.to);
        }
        push(taker, from, to);
    }
}

// The longest path through the run: from its end back through each wait to the thread that ended it, and so to the
// beginning (critical lock analysis: Chen and Stenström, SC 2012). A change that shortens the path shortens the run;
// shorter waits outside the path do not.
//
// It is found forwards: each thread knows of the path that leads to where it is how much of it lay in the holds of
// each lock that a thread waited for, and in the lock's handoffs. A thread whose wait ends goes on with the path of
// the thread that ended it.

/// The time of a path that each lock has, by its place.
type Spent = Vec<(u32, f64)>;

/// All paths that may become the longest.
#[derive(Default)]
pub struct Critical {
    threads: HashMap<u32, VecDeque<Segment>>,
    /// Begin of the paths.
    began: f64,
    /// The last time that something was seen, and of which thread.
    last: (f64, u32),
}

/// A part of a path, from the end of a thread's wait on.
#[derive(Clone)]
struct Segment {
    since: f64,
    spent: Spent,
}

/// A wait that another ended; times in ns since the start.
pub struct Ended {
    pub thread: u32,
    pub at: f64,
    pub by: u32,
    pub released: f64,
    /// The lock that was waited for, and the time since which the thread that ended the wait was seen to have it;
    /// `None` for a signal.
    pub lock: Option<(u32, f64)>,
}

/// Segments of a thread that are remembered: one that ended a wait may have waited itself before that is read.
const SEGMENTS: usize = 4;
/// Locks of a path that are remembered.
const LOCKS: usize = 32;
/// Threads that are remembered: a program can start threads for as long as it runs.
const THREADS: usize = 16_384;

impl Critical {
    /// Creates paths that begin at this time.
    pub fn since(began: f64) -> Self {
        Self { began, ..Self::default() }
    }

    /// Notes the next wait, in the order of the waits' ends.
    pub fn note(&mut self, wait: &Ended) {
        let origin = self.threads.get(&wait.by).and_then(|all| all.iter().rev().find(|one| one.since <= wait.released));
        let (since, mut spent) = origin.map_or((self.began, Vec::new()), |origin| (origin.since, origin.spent.clone()));
        if let Some((lock, held_since)) = wait.lock {
            add(&mut spent, lock, wait.at - held_since.max(since).min(wait.released));
        }
        if self.threads.len() >= THREADS {
            self.forget_half();
        }
        let segments = self.threads.entry(wait.thread).or_default();
        segments.push_back(Segment { since: wait.at, spent });
        if segments.len() > SEGMENTS {
            segments.pop_front();
        }
        if wait.at >= self.last.0 {
            self.last = (wait.at, wait.thread);
        }
    }

    /// Forgets the threads whose last wait ended the longest ago.
    fn forget_half(&mut self) {
        let last = |all: &VecDeque<Segment>| all.back().map_or(0.0, |segment| segment.since);
        let mut times: Vec<f64> = self.threads.values().map(last).collect();
        let half = times.len() / 2;
        let middle = *times.select_nth_unstable_by(half, f64::total_cmp).1;
        self.threads.retain(|_, all| last(all) > middle);
    }

    /// Notes that a thread was seen, since the run may end with it.
    pub fn seen(&mut self, thread: u32, at: f64) {
        if at >= self.last.0 {
            self.last = (at, thread);
        }
    }

    /// Returns the part of the longest path that was in a lock's holds and handoffs, by the lock's place.
    pub fn shares(&self) -> HashMap<u32, f64> {
        let (end, thread) = self.last;
        let spent = self.threads.get(&thread).and_then(|all| all.back()).map(|segment| &segment.spent);
        spent.into_iter().flatten().map(|&(lock, ns)| (lock, (ns / (end - self.began)).min(1.0))).collect()
    }
}

fn add(spent: &mut Spent, lock: u32, ns: f64) {
    match spent.iter_mut().find(|one| one.0 == lock) {
        Some(one) => one.1 += ns,
        None => spent.push((lock, ns)),
    }
    if spent.len() > LOCKS {
        spent.sort_by(|one, other| other.1.total_cmp(&one.1));
        spent.truncate(LOCKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_at_the_same_time_share_a_wait_without_overlap() {
        let stretch = |thread, from, to| Stretch { taker: (thread, 0), from, to };
        let parts = |stretches: Vec<Stretch>| -> Vec<(u32, f64, f64)> {
            let apart = apart(stretches).into_iter();
            apart.map(|stretch| (stretch.taker.0, stretch.from, stretch.to)).collect()
        };
        // A reader within another's time, and one that ends before it.
        let readers = vec![stretch(1, 0.0, 30.0), stretch(2, 40.0, 50.0), stretch(3, 20.0, 60.0)];
        assert_eq!(parts(readers), [(1, 0.0, 20.0), (3, 20.0, 60.0)]);
        // Holds one after the other stay as they are.
        let holds = vec![stretch(1, 0.0, 10.0), stretch(2, 10.0, 20.0), stretch(1, 25.0, 30.0)];
        assert_eq!(parts(holds), [(1, 0.0, 10.0), (2, 10.0, 20.0), (1, 25.0, 30.0)]);
        // A recursive mutex: two inner holds in an outer one.
        let nested = vec![stretch(1, 1.0, 4.0), stretch(1, 5.0, 9.0), stretch(1, 0.0, 10.0)];
        assert_eq!(parts(nested), [(1, 0.0, 10.0)]);
    }

    #[test]
    fn the_parts_of_a_wait_sum_to_it() {
        let seen = Seen { known: 50.0, off: 30.0, preempted: 10.0 };
        let wait = Wait {
            began: 100.0,
            ended: 200.0,
            thread: 1,
            pair: 0,
            label: None,
            in_vain: false,
            holder: None,
            releaser: None,
            released: Some(180.0),
            seen,
            blamed: 70.0,
        };
        let parts = split(&wait);
        let expected =
            Split { running: 20.0, preempted: 10.0, blocked: 20.0, held: 20.0, released: 20.0, unknown: 10.0 };
        assert_eq!(parts, expected);
        // Without a noted release, what no hold covers is unknown.
        assert_eq!(split(&Wait { released: None, ..wait }).unknown, 30.0);
    }

    fn stretch(taker: Taker, from: f64, to: f64) -> Stretch {
        Stretch { taker, from, to }
    }

    #[test]
    fn who_waits_for_a_waiting_holder_waits_for_whom_that_one_waits() {
        let mut causes = Causes::default();
        // Thread 2 waits for what 1 has from 10 to 30, with what 3 waits for in hand from 5 to 40.
        causes.judge((2, 20), &[stretch((1, 10), 10.0, 30.0)]);
        causes.judge((3, 30), &[stretch((2, 21), 5.0, 40.0)]);
        assert_eq!(causes.by_pair[&(20, 10)], 20.0);
        assert_eq!(causes.by_pair[&(30, 10)], 20.0);
        assert_eq!(causes.by_pair[&(30, 21)], 15.0);
        // And so on: 4 waits for 3.
        causes.judge((4, 40), &[stretch((3, 31), 0.0, 50.0)]);
        assert_eq!([10, 21, 31].map(|root| causes.by_pair[&(40, root)]), [20.0, 15.0, 15.0]);
    }

    #[test]
    fn a_path_goes_on_with_that_of_who_ended_the_wait() {
        let mut critical = Critical::default();
        let ended = |thread, at, by, released, lock| Ended { thread, at, by, released, lock };
        // 1 holds lock 7 from 10 to 40, for which 2 waits; 2 holds lock 8 from 50 to 90, for which 3 waits.
        critical.note(&ended(2, 41.0, 1, 40.0, Some((7, 10.0))));
        critical.note(&ended(3, 91.0, 2, 90.0, Some((8, 50.0))));
        // Another lock that is waited for outside the path does not count.
        critical.note(&ended(5, 95.0, 4, 94.0, Some((9, 1.0))));
        critical.seen(3, 100.0);
        let shares = critical.shares();
        assert_eq!((shares[&7], shares[&8], shares.get(&9)), (0.31, 0.41, None));
    }

    #[test]
    fn of_a_hold_only_what_lies_on_the_path_counts() {
        let mut critical = Critical::default();
        // 1 has lock 7 from 0 to 80, and waits within it for 2, which signals at 60.
        critical.note(&Ended { thread: 1, at: 60.0, by: 2, released: 60.0, lock: None });
        critical.note(&Ended { thread: 3, at: 80.0, by: 1, released: 80.0, lock: Some((7, 0.0)) });
        assert_eq!(critical.shares()[&7], 0.25);
    }
}
