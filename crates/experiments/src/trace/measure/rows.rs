//! The rows, with the names of locks and places.

use super::class::{Class, class_of};
use super::cycles;
use super::deadlocks::{Hang, Hangs, Stuck};
use super::orders::{Cycles, Orders};
use crate::trace::aggregate::{self, Sum, Window, shares, time_spikes};
use crate::trace::labels;
use crate::trace::python_locks::PythonPlace;
use crate::trace::record::{Blocker, Cause, CycleVerdict, IN_TURN, LabelLock, LongWait, Row, RowKind, Step};
use blame::Exhausted;
use blame::durations::Times;
use blame::frames::{Kind as FrameKind, is_java_machine};
use blame::names::Names;
use blame::places::{attributes, is_folded, lock_at, lock_name, process_of, site_label, type_name};
use blame::purpose::{Purpose, Tally};
use blame::switches::Seen;
use blame::time::{Ticks, Time};
use blame::waits::{Split, Wait, Waits, lock_of};
use interpose::{Kind, Region};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

/// A wait with the names of its objects.
#[derive(Clone)]
pub struct NamedWait {
    pub process: u32,
    /// The waiter, by the number of its thread; that of a goroutine is contend's.
    pub thread: u32,
    /// Whether the waiter, and the one that released the lock, are goroutines.
    pub are_goroutines: bool,
    /// Times in ns since the trace began.
    pub began: f64,
    pub ended: f64,
    /// Whether it ended without the lock.
    pub in_vain: bool,
    /// The thread that released the lock at last, and when.
    pub releaser: Option<u32>,
    pub released: Option<f64>,
    pub lock: String,
    pub site: String,
    /// The place where the releasing thread had acquired it.
    pub holder: Option<String>,
}

/// All of a record.
pub struct Built {
    pub rows: Vec<Row>,
    /// The slots of the locks that the first rows are of.
    pub slots: Vec<Vec<u32>>,
    pub locks_left_out: u64,
    pub sites_left_out: u64,
    pub waits: Vec<NamedWait>,
    /// Why cycles of locks can be missing, if they can.
    pub cycles_cut: Option<Exhausted>,
}

/// Rows of each kind at most, and histograms: a record is to be read.
const MOST_LOCKS: usize = 300;
/// The number of classes whose numbers do not depend on their waits.
const MOST_NUMBERED: usize = 1_000;
const MOST_SITES: usize = 600;
const MOST_HISTOGRAMS: usize = 60;
/// Locks of each label.
const MOST_LABEL_LOCKS: usize = 16;
/// Waits of each row that are recorded.
const LONGEST: usize = 5;

/// Returns how long the threads that used locks lived, all together.
pub fn thread_time_s(region: &Region, time: &Time) -> f64 {
    let of = |thread: &interpose::Thread| {
        let before = time.span_ns(thread.lived.load(Relaxed));
        let is_there = thread.tid.load(Relaxed) != 0;
        before + if is_there { (time.now() - time.of_ticks(thread.started.load(Relaxed))).max(0.0) } else { 0.0 }
    };
    region.threads().map(of).sum::<f64>() / 1e9
}

/// The counts of the library in the part of the trace that the rows are of.
pub struct Span<'a> {
    pub region: &'a Region,
    pub window: Window<'a>,
    pub labels: Vec<labels::Group>,
    pub thread_time_s: f64,
    /// Whether each wait was recorded.
    pub is_whole: bool,
    /// The Python places that wait for locks, by the locks' slots.
    pub python: &'a HashMap<u32, PythonPlace>,
}

/// Puts the rows together. Unless the record of single waits is whole, it stands for waits that were only counted.
pub fn build(span: Span<'_>, names: &mut Names, waits: &Waits, hangs: &Hangs, time: &Time) -> Built {
    let Span { region, window, labels, thread_time_s, is_whole, python } = span;
    let critical = if is_whole { waits.critical.shares() } else { HashMap::new() };
    let blame = by_waiter(&waits.blame);
    let causes = by_waiter(&waits.causes.by_pair);
    let mut caused = HashMap::new();
    let factor = if is_whole { 1.0 } else { missing_factor(window, waits, time) };
    waits.causes.by_pair.iter().for_each(|((_, root), ns)| *caused.entry(*root).or_default() += ns * factor);
    let (classes, firsts) = (HashMap::new(), HashMap::new());
    let mut builder = Builder {
        region,
        window,
        names,
        waits,
        critical,
        blame,
        causes,
        caused,
        time,
        thread_time_s,
        is_whole,
        python,
        python_names: Vec::new(),
        classes,
        firsts,
        passed_on: passed_on(region, window),
    };
    let (locks, slots, locks_left_out) = builder.locks();
    let (sites, _, sites_left_out) = builder.sites();
    let Cycles { found, cut } = Orders::of(region).cycles(builder.names.allowance());
    let cycles = cycles::grouped(region, builder.names, found);
    let mut orders: Vec<Row> = cycles.iter().map(|group| cycles::row(region, builder.names, group)).collect();
    let hangs = of_hangs(region, builder.names, &hangs.found);
    mark_reached(&mut orders, &hangs);
    let labels: Vec<Row> = labels.into_iter().map(|group| builder.label(group)).collect();
    let kept = waits.kept.iter().map(|wait| builder.named(wait)).collect();
    let rows = locks.into_iter().chain(sites).chain(orders).chain(hangs).chain(labels).collect();
    Built { rows, slots, locks_left_out, sites_left_out, waits: kept, cycles_cut: cut }
}

/// Returns the conditions that are passed on by the threads that wait for one, or by those that each wait for one of the same
/// mutex: as those of a lock, or by two threads in turn.
fn passed_on(region: &Region, window: Window<'_>) -> HashMap<u32, Purpose> {
    let mut tallies: HashMap<u32, Tally> = HashMap::new();
    // The waits for each condition, by the mutex that the waiters release.
    let mut guarded: HashMap<(u32, u64), Tally> = HashMap::new();
    let mut handed: HashMap<u32, u64> = HashMap::new();
    for (place, pair) in region.pairs() {
        let kind = Kind::of(pair.kind.load(Relaxed)).filter(|kind| kind.is_of_condition());
        let Some(kind) = kind.filter(|_| !is_folded(region, pair.lock.load(Relaxed))) else { continue };
        let lock = pair.lock.load(Relaxed);
        let (counts, tally) = (window.counts(place), tallies.entry(lock).or_default());
        if kind == Kind::Cond {
            // Each thread has a separate pair.
            let here = Tally {
                waiters: u64::from(counts.acquisitions + counts.timeouts > 0),
                waits: counts.acquisitions,
                woken: counts.acquisitions,
                timeouts: counts.timeouts,
                ..Tally::default()
            };
            tally.add(&here);
            guarded.entry((lock, pair.guard().load(Relaxed))).or_default().add(&here);
        } else {
            tally.wakes += counts.signals();
            tally.wakes_by_waiters += counts.signals();
            tally.passed += counts.passed();
            *handed.entry(lock).or_default() += counts.handed();
        }
    }
    let mut groups: HashMap<u64, (Tally, Vec<u32>)> = HashMap::new();
    for ((lock, guard), tally) in guarded.into_iter().filter(|((_, guard), tally)| *guard > 0 && tally.waiters == 1) {
        let (sum, locks) = groups.entry(guard).or_default();
        let passed = handed.get(&lock).copied().unwrap_or(0).min(tally.waits);
        sum.add(&Tally { passed, wakes: tally.waits, wakes_by_waiters: tally.waits, ..tally });
        locks.push(lock);
    }
    let purpose = |tally: &Tally| {
        let kept = tally.waits.saturating_sub(tally.passed);
        Tally { kept, ..*tally }.purpose().filter(|purpose| matches!(purpose, Purpose::Exclusion | Purpose::Turns))
    };
    let groups = groups.into_values().filter_map(|(sum, locks)| Some((purpose(&sum)?, locks)));
    let of_groups = groups.flat_map(|(purpose, locks)| locks.into_iter().map(move |lock| (lock, purpose)));
    of_groups.chain(tallies.iter().filter_map(|(lock, tally)| Some((*lock, purpose(tally)?)))).collect()
}

/// The pairs that caused waits, and for how long, by the pair that waited.
type ByWaiter = HashMap<u32, Vec<(u32, f64)>>;

fn by_waiter(pairs: &HashMap<(u32, u32), f64>) -> ByWaiter {
    let mut by_waiter = ByWaiter::new();
    pairs.iter().for_each(|((waiter, other), ns)| by_waiter.entry(*waiter).or_default().push((*other, *ns)));
    by_waiter
}

/// Returns how many times longer all waits for locks were than those that were recorded one by one.
fn missing_factor(window: Window<'_>, waits: &Waits, time: &Time) -> f64 {
    let recorded: f64 = waits.splits.values().map(Split::sum).sum();
    let all: f64 = waits.splits.keys().map(|pair| waited_ns(window, *pair, time)).sum();
    if recorded > 0.0 { all / recorded } else { 1.0 }
}

/// Returns how long threads waited by a pair, those that got no lock among them.
fn waited_ns(window: Window<'_>, pair: u32, time: &Time) -> f64 {
    let counts = window.counts(pair);
    time.span_ns(counts.waits[1].saturating_add(counts.vain_ticks))
}

struct Builder<'a> {
    region: &'a Region,
    window: Window<'a>,
    names: &'a mut Names,
    waits: &'a Waits,
    /// The share of the critical path, by the slot of the lock.
    critical: HashMap<u32, f64>,
    blame: ByWaiter,
    causes: ByWaiter,
    /// Time that others waited because of the locks held from a pair.
    caused: HashMap<u32, f64>,
    time: &'a Time,
    thread_time_s: f64,
    is_whole: bool,
    python: &'a HashMap<u32, PythonPlace>,
    /// The names of the places, by their numbers.
    python_names: Vec<String>,
    classes: HashMap<u32, Class>,
    firsts: HashMap<Class, u32>,
    /// The conditions whose threads pass on what they waited for: they are a part of a lock.
    passed_on: HashMap<u32, Purpose>,
}

/// The locks of one class, or these at a call site, and the pairs that they are made of.
struct Group {
    /// The first of the locks.
    lock: u32,
    locks: Vec<u32>,
    /// The process that the call site is in, and its address.
    site: Option<(u32, u64)>,
    pairs: Vec<u32>,
    /// Sums of the waits in ticks, of the acquisitions, and of the failed attempts. Histograms are added up only for
    /// groups that have a row: there can be tens of thousands of others.
    waited: u64,
    acquisitions: u64,
    timeouts: u64,
}

impl Builder<'_> {
    fn locks(&mut self) -> (Vec<Row>, Vec<Vec<u32>>, u64) {
        let groups = self.groups(|_, _| None);
        self.name_in_order(&groups);
        self.rows_of(groups, RowKind::Lock, MOST_LOCKS)
    }

    fn sites(&mut self) -> (Vec<Row>, Vec<Vec<u32>>, u64) {
        let groups = self.groups(|builder, pair| Some(builder.site(pair)));
        self.rows_of(groups, RowKind::Site, MOST_SITES)
    }

    /// Returns the call site of a pair. Processes that share a lock have the same one where it has the same name in both.
    fn site(&mut self, pair: &interpose::Pair) -> (u32, u64) {
        let (own, site) = (pair.process.load(Relaxed), pair.site.load(Relaxed));
        let first = lock_at(self.region, pair.lock.load(Relaxed)).process.load(Relaxed);
        let is_same = own == first || self.names.site(own, site) == self.names.site(first, site);
        (if is_same { first } else { own }, site)
    }

    /// Returns the requests of a label, with the locks that they waited for.
    fn label(&mut self, group: labels::Group) -> Row {
        let mut by_lock: BTreeMap<String, (f64, Vec<(String, f64)>)> = BTreeMap::new();
        for (pair, labelled) in group.waits {
            let (waited, holders) = by_lock.entry(self.name(lock_of(self.region, pair))).or_default();
            *waited += labelled.waited / 1e9;
            let named = labelled.blame.iter().map(|(pair, ns)| (site_label(self.region, self.names, *pair), *ns));
            holders.extend(named);
        }
        let total_s = group.row.total_s.unwrap_or(0.0);
        let recorded_s: f64 = by_lock.values().map(|(waited, _)| waited).sum();
        if !self.is_whole && recorded_s > 0.0 {
            let factor = group.row.lock_s.unwrap_or(0.0) / recorded_s;
            by_lock.values_mut().for_each(|(waited, _)| *waited *= factor);
        }
        let lock = |(lock, (wait_s, holders)): (String, (f64, Vec<(String, f64)>))| {
            let held_by = shares(holders.into_iter()).into_iter().map(|(site, share)| Blocker { site, share });
            LabelLock { lock, wait_s, share: (wait_s / total_s.max(1e-9)).min(1.0), held_by: held_by.collect() }
        };
        let mut label_locks: Vec<LabelLock> = by_lock.into_iter().map(lock).collect();
        label_locks.sort_by(|one, other| other.wait_s.total_cmp(&one.wait_s));
        label_locks.truncate(MOST_LABEL_LOCKS);
        Row { label_locks, ..group.row }
    }

    /// Returns the groups: those that were waited for most first, then those that were acquired most.
    fn groups(&mut self, site_of: impl Fn(&mut Self, &interpose::Pair) -> Option<(u32, u64)>) -> Vec<Group> {
        let mut groups = BTreeMap::new();
        for (place, pair) in self.region.pairs() {
            let counts = self.window.counts(place);
            let (lock, site) = (pair.lock.load(Relaxed), site_of(self, pair));
            let group = groups.entry((self.class(lock), site));
            let new =
                || Group { lock, locks: Vec::new(), site, pairs: Vec::new(), waited: 0, acquisitions: 0, timeouts: 0 };
            let group = group.or_insert_with(new);
            group.pairs.push(place);
            group.locks.push(lock);
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            add(&mut group.waited, counts.waits[1]);
            add(&mut group.acquisitions, counts.acquisitions);
            add(&mut group.timeouts, counts.timeouts);
        }
        let used = |group: &Group| group.acquisitions > 0 || group.timeouts > 0;
        let mut groups: Vec<Group> = groups.into_values().filter(used).collect();
        for group in &mut groups {
            group.locks.sort_unstable();
            group.locks.dedup();
            group.lock = group.locks[0];
        }
        groups.sort_by_key(|group| std::cmp::Reverse((self.excludes(group), group.waited, group.acquisitions)));
        groups
    }

    /// Names the classes in the order of their places in the files, so that locks with equal names have the same numbers
    /// in each run. Each needs the debugger's information, so a program with very many has numbers by wait time.
    fn name_in_order(&mut self, groups: &[Group]) {
        if groups.len() > MOST_NUMBERED {
            return;
        }
        let mut slots: Vec<u32> = groups.iter().map(|group| group.lock).collect();
        slots.sort_by_cached_key(|slot| self.place_in_file(*slot));
        slots.into_iter().for_each(|slot| drop(self.name(slot)));
    }

    /// Returns the place of a variable in its file, or that of the call site which names the lock.
    fn place_in_file(&mut self, slot: u32) -> (Option<(PathBuf, u64)>, u32, u32) {
        let lock = lock_at(self.region, slot);
        let process = lock.process.load(Relaxed);
        let place = match self.class(slot) {
            Class::Slot(_) => &lock.address,
            Class::CallSite(..) | Class::Python(..) => &lock.first_site,
        };
        (self.names.in_file(process, place.load(Relaxed)), process, lock.kind.load(Relaxed))
    }

    /// Returns the class of a lock, which is looked up once.
    fn class(&mut self, slot: u32) -> Class {
        if let Some(class) = self.classes.get(&slot) {
            return *class;
        }
        let class = match self.python.get(&slot) {
            Some(place) => {
                let known = self.python_names.iter().position(|name| *name == place.name);
                let number = known.unwrap_or(self.python_names.len());
                self.python_names.extend(known.is_none().then(|| place.name.clone()));
                Class::Python(lock_at(self.region, slot).process.load(Relaxed), number)
            }
            None => class_of(self.region, self.names, slot),
        };
        self.classes.insert(slot, class);
        class
    }

    /// Returns whether the group's waits count as waits for a lock: a wait for a signal is often one for work, and does
    /// not.
    fn excludes(&self, group: &Group) -> bool {
        let kind = self.region.locks.get(group.lock as usize).and_then(|lock| Kind::of(lock.kind.load(Relaxed)));
        kind.is_some_and(Kind::excludes)
    }

    /// Returns the rows, the slots of their locks, and how many found no room.
    fn rows_of(&mut self, groups: Vec<Group>, kind: RowKind, most: usize) -> (Vec<Row>, Vec<Vec<u32>>, u64) {
        let left_out = groups.len().saturating_sub(most) as u64;
        let slots = groups.iter().take(most).map(|group| group.locks.clone()).collect();
        // A class is named by its first lock, so before the name of any other lock of it is requested.
        groups.iter().take(most).for_each(|group| drop(self.name(group.lock)));
        let rows = groups.into_iter().take(most).enumerate();
        (rows.map(|(place, group)| self.row(&group, kind, place < MOST_HISTOGRAMS)).collect(), slots, left_out)
    }

    /// Returns the name of a lock's class, which is that of the first lock of it whose name was requested.
    fn name(&mut self, slot: u32) -> String {
        let class = self.class(slot);
        if let Class::Python(_, number) = class {
            return self.python_names[number].clone();
        }
        let first = *self.firsts.entry(class).or_insert(slot);
        lock_name(self.region, self.names, first)
    }

    fn row(&mut self, group: &Group, kind: RowKind, has_histograms: bool) -> Row {
        let name = self.name(group.lock);
        let lock = lock_at(self.region, group.lock);
        let (time, sum) = (self.time, &Sum::of(self.region, self.window, &group.pairs));
        let first_use = || (lock.process.load(Relaxed), lock.first_site.load(Relaxed));
        let (process, site) = group.site.unwrap_or_else(first_use);
        let file = self.names.in_file(process, site).map(|(path, _)| path.display().to_string());
        let site = self.names.site(process, site);
        let of_lock = group.site.is_none();
        let python = self.python.get(&group.lock);
        let is_of_python = site.symbol.as_deref().is_some_and(|symbol| symbol.starts_with("PyThread_acquire_lock"));
        let lock_type = match python {
            Some(place) => place.kind(),
            // Those of which no sample shows the place are locks and means to wait for work: no thread is known to hold one.
            None if is_of_python && group.locks.len() > 1 => FrameKind::Park.name(),
            None => self.lock_type(group, file.as_deref()),
        };
        // All locks of Python are acquired at one place of the interpreter.
        let site = python.filter(|_| of_lock).map_or(site, |place| place.site.clone());
        let is_drawn = of_lock && has_histograms;
        let longest = group.locks.iter().filter(|_| is_drawn).filter_map(|lock| self.waits.longest.get(lock));
        let mut longest: Vec<&Wait> = longest.flatten().collect();
        longest.sort_by(|one, other| (other.ended - other.began).total_cmp(&(one.ended - one.began)));
        let longest = longest.into_iter().take(LONGEST).map(|wait| self.long_wait(wait)).collect();
        // A wait that ends in a timeout is waited time as well.
        let wait_total_s = group.pairs.iter().map(|pair| waited_ns(self.window, *pair, time)).sum::<f64>() / 1e9;
        let split = self.split(group, wait_total_s * 1e9);
        let part_s = |ns: fn(&Split) -> f64| split.map(|split| ns(&split) / 1e9);
        let known_s = split.map(|split| (split.running + split.preempted + split.blocked + split.released) / 1e9);
        let (seen, hold_total) = (self.seen(group), sum.hold_total(time));
        let spikes = |times: &Times| if is_drawn { time_spikes(times, time) } else { Vec::new() };
        let bins = |times: &Times| if has_histograms { aggregate::bins(times, time) } else { Vec::new() };
        Row {
            wait_total_s,
            // A wait is counted when it ends, so it can be longer than the part of the trace.
            wait_share: (self.thread_time_s > 0.0)
                .then(|| wait_total_s / self.thread_time_s)
                .filter(|share| *share <= 1.0),
            wait_p50_ns: sum.waits.quantile_ns(0.5, time),
            wait_p99_ns: sum.waits.quantile_ns(0.99, time),
            wait_max_ns: sum.waits.most_ns(time),
            hold_total_s: hold_total.map(|total| total.ns / 1e9),
            hold_total_ci_s: hold_total.map(|total| total.interval_ns.scaled(1e-9)),
            hold_p50_ns: sum.holds.quantile_ns(0.5, time),
            hold_p99_ns: sum.holds.quantile_ns(0.99, time),
            hold_max_ns: sum.holds.most_ns(time),
            holds_timed: sum.holds.count,
            holder_off_cpu_share: seen.off_share(),
            holder_preempted_share: seen.preempted_share(),
            blocked_by: self.blockers(group),
            caused_by: self.causes(group),
            caused_total_s: self.caused_s(group),
            critical_share: self.critical_share(group).filter(|_| of_lock),
            instances: group.locks.len() as u32,
            folded: lock.is_folded(),
            file: file.filter(|_| of_lock),
            wait_spikes: spikes(&sum.waits),
            hold_spikes: spikes(&sum.holds),
            waits: bins(&sum.waits),
            holds: bins(&sum.holds),
            longest,
            held_running_s: part_s(|split| split.running),
            held_preempted_s: part_s(|split| split.preempted),
            held_blocked_s: part_s(|split| split.blocked),
            released_s: part_s(|split| split.released),
            unknown_s: known_s.map(|known| (wait_total_s - known).max(0.0)),
            vain_wakes: self.vain_wakes(group),
            acquisitions: sum.acquisitions,
            contended: sum.contended,
            timeouts: sum.timeouts,
            symbol: site.symbol,
            source: site.source,
            lock_type: lock_type.to_owned(),
            attributes: attributes(lock.kind.load(Relaxed), lock.attributes.load(Relaxed)),
            lock: name,
            ..empty(self.region, self.names, kind, group.lock)
        }
    }

    /// Returns the type of a lock. A condition whose threads pass on what they waited for is a lock's, but for those in the file of a
    /// Java virtual machine.
    fn lock_type(&self, group: &Group, file: Option<&str>) -> &'static str {
        let kind = lock_at(self.region, group.lock).kind.load(Relaxed);
        if matches!(Kind::of(kind), Some(Kind::Cond | Kind::Sem)) && file.is_some_and(is_java_machine) {
            return FrameKind::Machine.name();
        }
        // A class is what most of its waits are.
        let waits = |purpose: Purpose| {
            let is_it = |pair: &&u32| self.passed_on.get(&lock_of(self.region, **pair)) == Some(&purpose);
            group.pairs.iter().filter(is_it).map(|pair| self.window.counts(*pair).acquisitions).sum::<u64>()
        };
        match type_name(kind) {
            "cond" if 2 * waits(Purpose::Exclusion) > group.acquisitions => FrameKind::Lock.name(),
            "cond" if 2 * waits(Purpose::Turns) > group.acquisitions => IN_TURN,
            name => name,
        }
    }

    /// Returns whether the holders ran while it was waited for.
    fn seen(&self, group: &Group) -> Seen {
        let mut seen = Seen::default();
        group.pairs.iter().filter_map(|pair| self.waits.seen.get(pair)).for_each(|one| seen.add(*one));
        seen
    }

    fn critical_share(&self, group: &Group) -> Option<f64> {
        let shares: Vec<f64> = group.locks.iter().filter_map(|lock| self.critical.get(lock)).copied().collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>().min(1.0))
    }

    /// Returns the parts of the waits for a lock, which were this long.
    fn split(&self, group: &Group, waited_ns: f64) -> Option<Split> {
        let mut split = Split::default();
        group.pairs.iter().filter_map(|pair| self.waits.splits.get(pair)).for_each(|one| split.add(one));
        let is_scaled = !self.is_whole && split.sum() > 0.0;
        let split = if is_scaled { split.scaled(waited_ns / split.sum()) } else { split };
        self.excludes(group).then_some(split)
    }

    /// Wakes for nothing, of a condition.
    fn vain_wakes(&self, group: &Group) -> Option<u64> {
        let kind = |pair: u32| Kind::of(self.region.pairs[pair as usize].kind.load(Relaxed));
        let waiting = group.pairs.iter().filter(|pair| kind(**pair) == Some(Kind::Cond));
        let counts: Vec<u64> = waiting.map(|pair| self.window.counts(*pair).vain_wakes()).collect();
        (!counts.is_empty()).then(|| counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count)))
    }

    fn blockers(&mut self, group: &Group) -> Vec<Blocker> {
        let blamed = group.pairs.iter().filter_map(|pair| self.blame.get(pair)).flatten();
        let by_site = blamed.map(|(holder, ns)| (site_label(self.region, self.names, *holder), *ns));
        shares(by_site).into_iter().map(|(site, share)| Blocker { site, share }).collect()
    }

    /// Returns the call sites that acquired the locks which kept the group waiting in the end.
    fn causes(&mut self, group: &Group) -> Vec<Cause> {
        let roots = group.pairs.iter().filter_map(|pair| self.causes.get(pair)).flatten();
        let roots: Vec<(u32, f64)> = roots.copied().collect();
        let by_place = roots.into_iter().map(|(root, ns)| {
            let lock = self.name(lock_of(self.region, root));
            ((lock, site_label(self.region, self.names, root)), ns)
        });
        shares(by_place).into_iter().map(|((lock, site), share)| Cause { lock, site, share }).collect()
    }

    /// Returns how long others waited in the end for the group's locks.
    fn caused_s(&self, group: &Group) -> f64 {
        group.pairs.iter().filter_map(|pair| self.caused.get(pair)).sum::<f64>() / 1e9
    }

    fn long_wait(&mut self, wait: &Wait) -> LongWait {
        let holder = wait.releaser.filter(|(thread, _)| *thread != wait.thread && !wait.in_vain);
        LongWait {
            began_s: wait.began / 1e9,
            wait_ns: wait.ended - wait.began,
            thread: wait.thread,
            site: site_label(self.region, self.names, wait.pair),
            holder: holder.map(|(_, pair)| site_label(self.region, self.names, pair)),
            holder_thread: holder.map(|(thread, _)| thread),
            holder_off_cpu_share: wait.seen.off_share(),
            handoff_ns: wait.released.map(|released| wait.ended - released),
            in_vain: wait.in_vain,
        }
    }

    fn named(&mut self, wait: &Wait) -> NamedWait {
        let lock = lock_of(self.region, wait.pair);
        let holder = wait.releaser.filter(|(thread, _)| *thread != wait.thread);
        NamedWait {
            thread: wait.thread,
            are_goroutines: false,
            began: wait.began,
            ended: wait.ended,
            in_vain: wait.in_vain,
            releaser: wait.releaser.map(|(thread, _)| thread),
            released: wait.released,
            process: process_of(self.region, lock),
            lock: self.name(lock),
            site: site_label(self.region, self.names, wait.pair),
            holder: holder.map(|(_, pair)| site_label(self.region, self.names, pair)),
        }
    }
}

/// Returns a row of the lock in this slot, without figures.
fn empty(region: &Region, names: &mut Names, kind: RowKind, place: u32) -> Row {
    let lock = lock_at(region, place);
    let row = Row::new(kind, process_of(region, place), lock_name(region, names, place));
    let lock_type = type_name(lock.kind.load(Relaxed)).to_owned();
    Row { address: format!("{:#x}", lock.address.load(Relaxed)), lock_type, ..row }
}

/// Marks the cycles as reached of which the run had a deadlock.
pub fn mark_reached(rows: &mut [Row], hangs: &[Row]) {
    rows.iter_mut().for_each(|row| mark_if_reached(row, hangs));
}

fn mark_if_reached(order: &mut Row, hangs: &[Row]) {
    let wanted = |row: &Row| {
        let mut steps: Vec<(String, String)> =
            row.steps.iter().map(|step| (step.takes.clone(), step.taken_site.clone())).collect();
        steps.sort();
        steps
    };
    let is_it = |row: &&Row| row.kind == RowKind::Deadlock && wanted(row) == wanted(order);
    if order.verdict == Some(CycleVerdict::Possible) && hangs.iter().any(|row| is_it(&row)) {
        order.verdict = Some(CycleVerdict::Reached);
    }
}

/// Makes a row of each hang.
pub fn of_hangs(region: &Region, names: &mut Names, hangs: &[Hang]) -> Vec<Row> {
    let row = |hang: &Hang| match hang {
        Hang::Circle(circle) => {
            let held_by = |place: usize| &circle[(place + 1) % circle.len()];
            let steps = circle.iter().enumerate().map(|(place, one)| step(region, names, one, Some(held_by(place))));
            let steps = steps.collect();
            Row { steps, ..waiting_row(region, names, RowKind::Deadlock, &circle[0]) }
        }
        Hang::Alone(one, holder) => {
            let steps = vec![step(region, names, one, holder.as_ref())];
            Row { steps, ..waiting_row(region, names, RowKind::Hang, one) }
        }
    };
    hangs.iter().map(row).collect()
}

fn waiting_row(region: &Region, names: &mut Names, kind: RowKind, one: &Stuck) -> Row {
    Row { wait_total_s: one.waited / 1e9, wait_max_ns: Some(one.waited), ..empty(region, names, kind, one.lock) }
}

/// Returns the lock that `one` waits for, and its holder: the thread of the step is the one that waits.
fn step(region: &Region, names: &mut Names, one: &Stuck, holder: Option<&Stuck>) -> Step {
    let taken =
        holder.and_then(|holder| holder.holds.iter().find(|(_, lock)| *lock == one.lock).map(|held| (holder, held)));
    Step {
        thread: one.thread,
        takes: lock_name(region, names, one.lock),
        taken_site: site_label(region, names, one.pair),
        holds: taken.map_or_else(|| "unknown".into(), |(holder, _)| format!("thread {}", holder.thread)),
        held_site: taken.map_or_else(String::new, |(_, (pair, _))| site_label(region, names, *pair)),
    }
}
