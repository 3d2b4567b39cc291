//! The rows of the observed waits, with names.

use super::targets::Targets;
use crate::trace::aggregate::{bins, shares, time_spikes};
use crate::trace::measure::NamedWait;
use crate::trace::measure::preempted::Counted;
use crate::trace::record::{Blocker, HolderWait, LongWait, Row, RowKind, Runner};
use crate::trace::words::IDLE;
use blame::durations::Times;
use blame::frames::{Frames, Kind, kind_by_use};
use blame::futexes::follow::{Follower, Path, Word};
use blame::futexes::waits::{LONGEST, StackNumber, Wait, Waits};
use blame::names::{Names, Site};
use blame::places::other_locks;
use blame::purpose::block_address;
use blame::time::Nanoseconds;
use instruments::statistics::Interval;
use std::collections::{BTreeMap, HashMap, HashSet};

const MOST: usize = 300;
const MOST_HISTOGRAMS: usize = 60;
const MOST_HOLDER_WAITS: usize = 10;
/// The type of a word that nothing is known of.
const FUTEX: &str = "futex";

/// The data that the rows are made of.
pub struct Builder<'a> {
    pub targets: &'a Targets,
    pub follower: &'a Follower,
    pub names: &'a mut Names,
    pub began: u64,
    pub thread_time_s: f64,
    /// The ratio of the time of the trace to that of the windows in which calls were recorded.
    pub scale: f64,
    /// Locks of parking_lot, by the process and the word that a thread blocks in.
    pub parked: HashMap<(u32, u64), u64>,
}

/// The place where a stack entered the kernel, and the kind of lock that its functions are of.
pub struct Place {
    site: Site,
    kind: Option<Kind>,
    /// Whether only the name of a function of the program's own says that it is a lock.
    is_named: bool,
    /// Whether each of its threads blocks in its own word.
    is_in_parking_lot: bool,
}

impl Builder<'_> {
    /// Returns the places of all stacks.
    pub fn places(&mut self) -> Vec<Place> {
        let stacks = self.follower.stacks.iter();
        stacks.map(|path| place(self.names, slot_of(self.targets, path.process), path)).collect()
    }

    /// Returns a row for each word, then for each word at a place; the longest waited for first. Folded words of one
    /// place have one row.
    pub fn rows(&mut self, places: &[Place]) -> Vec<Row> {
        let mut firsts: HashMap<(u32, &str), StackNumber> = HashMap::new();
        let mut words: BTreeMap<Word, Waits> = BTreeMap::new();
        let mut sites: BTreeMap<(Word, String), (StackNumber, Waits)> = BTreeMap::new();
        for ((word, stack), waits) in self.follower.waits.iter().filter(|(_, waits)| !waits.is_empty()) {
            let label = places[*stack].site.label.as_str();
            let word = match *word {
                Word::Folded { process, .. } => {
                    let stack = *firsts.entry((process, label)).or_insert(*stack);
                    Word::Folded { process, stack }
                }
                word @ Word::At { .. } => self.lock_of(word, &places[*stack]),
            };
            words.entry(word).or_default().merge(waits);
            let site = sites.entry((word, label.to_owned()));
            site.or_insert_with(|| (*stack, Waits::default())).1.merge(waits);
        }
        let first = |word: Word| {
            let here = sites.range((word, String::new())..).take_while(|((other, _), _)| *other == word);
            here.max_by_key(|(_, (_, waits))| waits.times.ticks).map_or(0, |(_, (stack, _))| *stack)
        };
        let locks: Vec<(Word, StackNumber, Waits)> =
            words.into_iter().map(|(word, waits)| (word, first(word), waits)).collect();
        let sites = sites.into_iter().map(|((word, _), (stack, waits))| (word, stack, waits)).collect();
        let mut rows = self.of(locks, RowKind::Lock, places);
        rows.extend(self.of(sites, RowKind::Site, places));
        rows
    }

    /// Returns the address of the lock that a thread waits for in this word.
    fn lock_of(&self, word: Word, place: &Place) -> Word {
        match word {
            Word::At { process, address } if place.is_in_parking_lot => {
                Word::At { process, address: self.parked.get(&(process, address)).copied().unwrap_or(address) }
            }
            // The C library's condition has two words, which it uses in turn.
            Word::At { process, address } if place.kind == Some(Kind::Condition) => {
                Word::At { process, address: block_address(address) }
            }
            word => word,
        }
    }

    /// Returns the type of the object that a thread waits for in this word at this place.
    fn lock_type(&self, word: Word, place: &Place) -> &'static str {
        kind_by_use(self.follower.purpose(word), place.kind, place.is_named).map_or(FUTEX, Kind::name)
    }

    /// Returns whether a thread that waited for this word at this place waited for a lock.
    fn excludes(&self, word: Word, place: &Place) -> bool {
        Row { lock_type: self.lock_type(word, place).into(), ..Row::default() }.excludes()
    }

    /// Returns the longest waits for a lock.
    fn longest(&self, lock: Word, places: &[Place]) -> Vec<LongWait> {
        let longest = &self.follower.longest;
        let own = longest.get(&lock).into_iter().flatten();
        let parked = self.parked.iter().map(|((process, address), lock)| {
            (Word::At { process: *process, address: *address }, Word::At { process: *process, address: *lock })
        });
        let words = parked.filter(|(word, of)| *of == lock && *word != lock).filter_map(|(word, _)| longest.get(&word));
        let parked = words.flatten().filter(|wait| places[wait.stack].is_in_parking_lot);
        let mut waits: Vec<&Wait> = own.chain(parked).collect();
        waits.sort_by_key(|wait| std::cmp::Reverse(wait.ended - wait.began));
        waits.into_iter().take(LONGEST).map(|wait| long_wait(wait, self.began, places)).collect()
    }

    /// Returns the waits that were kept, with names.
    pub fn waits(&mut self, places: &[Place]) -> Vec<NamedWait> {
        let (began, follower) = (self.began, self.follower);
        let since = |raw: u64| raw.saturating_sub(began) as f64;
        let named = |(word, wait): &(Word, Wait)| {
            let label = |stack: StackNumber| places[stack].site.label.clone();
            let released = wait.waker.and_then(|_| Some(wait.ended.saturating_sub(wait.wake_ns?)));
            NamedWait {
                process: word.process(),
                thread: wait.thread,
                are_goroutines: false,
                began: since(wait.began),
                ended: since(wait.ended),
                in_vain: false,
                releaser: wait.waker.map(|(thread, _)| thread),
                released: released.map(since),
                lock: self.name(*word, &places[wait.stack]),
                site: label(wait.stack),
                holder: wait.waker.and_then(|(_, stack)| stack).map(label),
            }
        };
        follower.kept.iter().map(named).collect()
    }

    /// Returns the name of a word that this stack waited for.
    pub fn word_name(&mut self, word: Word, stack: StackNumber) -> String {
        let follower = self.follower;
        let path = &follower.stacks[stack];
        let place = place(self.names, slot_of(self.targets, path.process), path);
        self.name(word, &place)
    }

    /// Returns the preempted holders: their sites are those that woke the waiters.
    pub fn preempted(&mut self, elapsed_s: f64, rows: &[Row], places: &[Place]) -> Counted {
        // A thread that signals a condition, or posts a semaphore, holds nothing.
        let is_lock = |(word, stack): &&(Word, StackNumber)| self.excludes(*word, &places[*stack]);
        let locks: HashSet<Word> = self.follower.waits.keys().filter(is_lock).map(|(word, _)| *word).collect();
        let waited = rows.iter().filter(|row| row.kind == RowKind::Lock && row.excludes());
        let mut counted = Counted {
            known_s: elapsed_s / self.scale,
            elapsed_s,
            waited_s: waited.map(|row| row.wait_total_s).sum(),
            sees_competitors: true,
            ..Counted::default()
        };
        for (&(word, stack), sums) in self.follower.preempted.iter().filter(|((word, _), _)| locks.contains(word)) {
            let path = &self.follower.stacks[stack];
            let place = place(self.names, slot_of(self.targets, path.process), path);
            let key = (self.name(word, &place), place.site.label);
            counted.sums.entry(key).or_default().merge(sums);
        }
        counted
    }

    fn runner(&self, thread: u32) -> Option<String> {
        if thread == 0 { Some(IDLE.into()) } else { self.follower.runner(thread).map(str::to_owned) }
    }

    fn of(&mut self, mut groups: Vec<(Word, StackNumber, Waits)>, kind: RowKind, places: &[Place]) -> Vec<Row> {
        groups.sort_by_key(|(word, stack, waits)| {
            (std::cmp::Reverse((self.excludes(*word, &places[*stack]), waits.times.ticks)), *word)
        });
        groups.truncate(MOST);
        let rows = groups.into_iter().enumerate();
        rows.map(|(rank, group)| self.row(&group, kind, places, rank < MOST_HISTOGRAMS)).collect()
    }

    fn row(&mut self, group: &(Word, StackNumber, Waits), kind: RowKind, places: &[Place], is_first: bool) -> Row {
        let (word, stack, waits) = (group.0, group.1, &group.2);
        let (place, of_lock) = (&places[stack], kind == RowKind::Lock);
        let times = &waits.times;
        let quantile = |times: &Times, share: f64| times.quantile_ns(share, &Nanoseconds);
        let scale = self.scale;
        let whole = |count: u64| (count as f64 * scale).round() as u64;
        let wait_total_s = times.ticks as f64 / 1e9 * scale;
        let (lock_type, excludes) = (self.lock_type(word, place), self.excludes(word, place));
        let part_s = |ns: f64| excludes.then_some(ns / 1e9 * scale);
        let released_ns = waits.wakes.ticks as f64;
        let drawn = Some(times).filter(|_| of_lock && is_first);
        let longest = if of_lock && is_first { self.longest(word, places) } else { Vec::new() };
        Row {
            address: match word {
                Word::At { address, .. } => format!("{address:#x}"),
                Word::Folded { .. } => String::new(),
            },
            instances: waits.instances.max(1),
            folded: matches!(word, Word::Folded { .. }),
            lock_type: lock_type.to_owned(),
            symbol: place.site.symbol.clone(),
            source: place.site.source.clone(),
            contended: whole(times.count),
            timeouts: whole(waits.timeouts),
            wait_total_s,
            wait_total_ci_s: self.wait_total_ci(waits),
            wait_share: (self.thread_time_s > 0.0).then(|| wait_total_s / self.thread_time_s),
            wait_p50_ns: quantile(times, 0.5),
            wait_p99_ns: quantile(times, 0.99),
            wait_max_ns: times.most_ns(&Nanoseconds),
            held_running_s: part_s(waits.seen.known - waits.seen.off),
            held_preempted_s: part_s(waits.seen.preempted),
            held_blocked_s: part_s(waits.seen.off - waits.seen.preempted),
            released_s: part_s(released_ns),
            unknown_s: part_s((times.ticks as f64 - waits.seen.known - released_ns).max(0.0)),
            holder_off_cpu_share: waits.seen.off_share(),
            holder_preempted_share: waits.seen.preempted_share(),
            blocked_by: blockers(waits, excludes, places),
            holder_waits: holder_waits(waits, places),
            wake_p50_ns: quantile(&waits.wakes, 0.5),
            wake_p99_ns: quantile(&waits.wakes, 0.99),
            wake_max_ns: waits.wakes.most_ns(&Nanoseconds),
            ran_instead: self.instead(waits),
            waits: drawn.map(|times| bins(times, &Nanoseconds)).unwrap_or_default(),
            wait_spikes: drawn.map(|times| time_spikes(times, &Nanoseconds)).unwrap_or_default(),
            longest,
            ..Row::new(kind, word.process(), self.name(word, place))
        }
    }

    /// Returns the interval of the sum of all waits, by the scatter of the slices of the record; `None` where all of the
    /// time was recorded.
    fn wait_total_ci(&self, waits: &Waits) -> Option<Interval> {
        let (slices, seen_s) = (self.follower.slices(), waits.times.ticks as f64 / 1e9);
        if self.scale <= 1.0 {
            return None;
        }
        let Some(deviation_ns) = waits.deviation_ns(slices) else {
            // One slice says nothing of the time that was not recorded: no thread may have waited in it, or all.
            return Some(Interval::new(seen_s, seen_s + self.thread_time_s * (1.0 - 1.0 / self.scale)));
        };
        let (deviation_s, count) = (deviation_ns / 1e9, slices.count);
        // The recorded part has no error.
        let deviation_s = deviation_s * (1.0 - 1.0 / self.scale).sqrt();
        let interval = Interval::of_mean(seen_s / count as f64, deviation_s, count, 0.95)?;
        let whole = interval.scaled(count as f64 * self.scale);
        Some(Interval::new(whole.low.max(seen_s), whole.high))
    }

    /// Returns the variable that contains the word, or the call site that waits for it.
    fn name(&mut self, word: Word, place: &Place) -> String {
        let lock_type = self.lock_type(word, place);
        let by_use = || format!("{lock_type} of {}", place.site.label);
        let Word::At { process, address } = self.lock_of(word, place) else { return other_locks(&place.site) };
        let slot = slot_of(self.targets, process);
        let number = u64::from(slot) << 48 ^ address;
        self.names.lock(number, |names| names.variable(slot, address).unwrap_or_else(by_use))
    }

    fn instead(&mut self, waits: &Waits) -> Vec<Runner> {
        let name = |thread: &u32| self.runner(*thread).unwrap_or_else(|| format!("thread {thread}"));
        let runners = shares(waits.ran_instead.iter().map(|(thread, ns)| (name(thread), *ns))).into_iter();
        runners.filter(|(_, share)| *share > 0.0).map(|(name, share)| Runner { name, share }).collect()
    }
}

/// Returns where the holders released a lock; for what has no holder, and where none is known, where the waiters were woken.
fn blockers(waits: &Waits, excludes: bool, places: &[Place]) -> Vec<Blocker> {
    let by_stack = if excludes && !waits.holders.is_empty() { &waits.holders } else { &waits.wakers };
    let by_site = by_stack.iter().map(|(stack, ns)| (places[*stack].site.label.clone(), *ns));
    shares(by_site).into_iter().map(|(site, share)| Blocker { site, share }).collect()
}

/// Returns where the holders waited for something else, the longest first.
fn holder_waits(waits: &Waits, places: &[Place]) -> Vec<HolderWait> {
    let mut by_place: BTreeMap<(&str, &str, bool), f64> = BTreeMap::new();
    for ((stack, after_wake), ns) in &waits.holder_waits {
        let place = &places[*stack];
        *by_place.entry((place.kind.map_or(FUTEX, Kind::name), &place.site.label, *after_wake)).or_default() += ns;
    }
    let share = |ns: f64| (ns / waits.times.ticks.max(1) as f64).min(1.0);
    let of_place = |((lock_type, site, after_wake), ns): ((&str, &str, bool), f64)| HolderWait {
        lock_type: lock_type.to_owned(),
        site: site.to_owned(),
        after_wake,
        share: share(ns),
    };
    let mut all: Vec<HolderWait> = by_place.into_iter().map(of_place).collect();
    all.sort_by(|one, other| other.share.total_cmp(&one.share));
    all.truncate(MOST_HOLDER_WAITS);
    all
}

fn long_wait(wait: &Wait, began: u64, places: &[Place]) -> LongWait {
    LongWait {
        began_s: wait.began.saturating_sub(began) as f64 / 1e9,
        wait_ns: (wait.ended - wait.began) as f64,
        thread: wait.thread,
        site: places[wait.stack].site.label.clone(),
        holder: wait.waker.and_then(|(_, stack)| Some(places[stack?].site.label.clone())),
        holder_thread: wait.waker.map(|(thread, _)| thread),
        holder_off_cpu_share: wait.seen.off_share(),
        handoff_ns: wait.wake_ns.map(|ns| ns as f64),
        in_vain: false,
    }
}

/// Returns the number by which the names know a process.
fn slot_of(targets: &Targets, process: u32) -> u32 {
    // A later process can have the number of an earlier one.
    targets.all().filter(|(_, target)| target.pid == process).last().map_or(0, |(slot, _)| slot)
}

/// Returns the first call of the program's own, and the kind of lock that the calls within it are of.
fn place(names: &mut Names, slot: u32, path: &Path) -> Place {
    let frames = Frames::of(names, slot, &path.frames, &[], |_| None);
    let nowhere = || Site { symbol: None, source: None, label: "an unknown place".into() };
    let by_itself = path.is_join.then_some(Kind::Join);
    let site = frames.site().cloned().unwrap_or_else(nowhere);
    let is_in_parking_lot = frames.is_in_parking_lot();
    Place { site, kind: frames.kind.or(by_itself), is_named: frames.is_named_lock, is_in_parking_lot }
}
