//! Causes of long waits for a lock, and remedies.

use super::objects::{INTERPRETER, Inner, Inners, MAP, Object, called_in, without_offset};
use super::{Cause, Evidence, LEAST_READY, Measure, Rows, stack};
use crate::trace::measure::aggregate::Window;
use crate::trace::record::{Row, RowKind, SeenBy};
use blame::frames::{Frame, Kind as FrameKind, function_of, is_lock_wrapper};
use blame::places::{lock_name, site_label};
use blame::sampling::budget::{Part, call_name};
use blame::sampling::profile::{Holder, Path, Wait, Waited};
use interpose::{Kind, Region};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Sampled seconds from which holders are known well enough.
const ENOUGH_S: f64 = 0.1;
/// The part of a wait that may be unknown before the samples are used instead for the holders' activity.
const MOST_UNKNOWN: f64 = 0.2;
/// A critical section of this length is long.
const LONG_HOLD_NS: f64 = 20_000.0;
/// Critical sections up to this length are shorter than the wait of a thread that sleeps and is woken.
const SHORT_HOLD_NS: f64 = 2_000.0;

/// The place where a holder was blocked: the function and its caller, and the lock that it held.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Blocking {
    place: String,
    held: Wait,
}

/// The time for which a holder was blocked, its objects, and the innermost functions.
#[derive(Default)]
struct Blocked {
    seconds: f64,
    whats: BTreeMap<String, f64>,
    inners: Inners,
}

impl Evidence<'_> {
    /// Returns the cause of the long waits for a lock, and the remedy.
    pub(super) fn finding(&mut self, object: &Object, rows: &Rows<'_>, limits: &Limits) -> Row {
        let row = rows.of(object.wait);
        let cause = match object.wait {
            _ if object.kind == FrameKind::Allocator.name() => Some(self.of_allocator(object)),
            _ if object.kind == FrameKind::Interpreter.name() => Some(of_interpreter(object)),
            _ if object.kind == FrameKind::Stream.name() => Some(self.of_stream(object)),
            Wait::Hidden if object.java.is_some() => {
                object.java.as_ref().and_then(|lock| super::java::cause(object, lock))
            }
            Wait::Call { .. } if object.name == MAP => Some(of_map(object)),
            Wait::Hidden if object.spins => Some(self.of_spin(object, limits)),
            Wait::Lock(slot) => self.herd(slot, object).or_else(|| self.holders(object, rows)),
            // The record knows the thread that released the word; samples know where it was blocked.
            _ if row.and_then(Shares::by_record).is_some_and(|shares| !shares.is_mostly_blocked()) => {
                self.holders(object, rows)
            }
            _ => {
                let is_blocked = row.and_then(Shares::by_record).is_some();
                match self.peers(object, is_blocked) {
                    Some(cause) if cause.remedy.is_some() => Some(cause),
                    cause => self.holders(object, rows).or(cause),
                }
            }
        };
        let unexplained = || Cause {
            object: object.name.clone(),
            place: object.place(),
            text: "unexplained: no sample shows which thread held it".into(),
            remedy: None,
            share: 0.0,
            measure: Measure::None,
        };
        let mut cause = cause.unwrap_or_else(unexplained);
        if let Some(hottest) = row.and_then(|row| object.hottest(row.instances)) {
            cause.text.push_str(&hottest);
        }
        let program = self.program.join(" ");
        let command = match cause.measure {
            Measure::WhatIf => Some(format!("contend trace --what-if {} -- {program}", quoted(&object.name))),
            Measure::Swap => Some(format!("contend trace --swap adaptive,calock -- {program}")),
            Measure::Command(command) => Some(format!("{command} {program}")),
            Measure::None => None,
        };
        Row {
            lock_type: object.kind.to_owned(),
            // The library does not see the waits to get a mutex back after a condition.
            wait_total_s: row.map_or(0.0, |row| row.wait_total_s).max(object.waited.seconds),
            object: Some(cause.object),
            place: Some(cause.place),
            cause: Some(cause.text),
            known_share: Some(cause.share),
            gain: cause.remedy.as_ref().and_then(|_| limits.gain(object.waited.seconds)),
            remedy: cause.remedy,
            command,
            seen_by: if row.is_some() { SeenBy::Call } else { SeenBy::Sampling },
            stack: stack(&object.frames),
            ..Row::new(RowKind::Finding, 0, object.name.clone())
        }
    }

    /// Returns the cause if broadcasts of a condition wake threads for nothing, which then meet again at its mutex.
    fn herd(&mut self, slot: u32, object: &Object) -> Option<Cause> {
        const MOST: f64 = 0.5;
        let (region, waited) = (self.region?, &object.waited);
        let (condition, seconds) = waited.after_condition.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        let share = seconds / waited.seconds;
        let counts = |place: u32| self.window.counts(place);
        let pairs = || region.pairs().filter(|(_, pair)| pair.lock.load(Relaxed) == *condition);
        let is = |pair: &interpose::Pair, kind: Kind| Kind::of(pair.kind.load(Relaxed)) == Some(kind);
        let broadcasts = pairs().filter(|(_, pair)| is(pair, Kind::Broadcast));
        let (place, _) = broadcasts.max_by_key(|(place, _)| counts(*place).signals())?;
        let vain_share = vain_share(region, self.window, &[*condition]);
        if share < MOST || vain_share < MOST {
            return None;
        }
        let waiting =
            pairs().filter(|(_, pair)| is(pair, Kind::Cond)).max_by_key(|(place, _)| counts(*place).acquisitions);
        let (condition, broadcast) = (lock_name(region, self.names, *condition), site_label(region, self.names, place));
        let function = broadcast.split(" (").next().unwrap_or(&broadcast).to_owned();
        let waits_in = waiting.map(|(place, _)| site_label(region, self.names, place));
        let waits_in =
            waits_in.map_or_else(String::new, |site| format!(" in {}", site.split(" (").next().unwrap_or(&site)));
        let mutex = lock_name(region, self.names, slot);
        let percent = |share: f64| terminal::percent(share);
        Some(Cause {
            object: format!("{mutex} / {condition}"),
            place: broadcast,
            text: format!(
                "{function} wakes all waiters of {condition}{waits_in}; {} of the wakes found nothing to do, and the woken \
                 threads queue for {mutex} ({} of its wait)",
                percent(vain_share),
                percent(share)
            ),
            remedy: Some(format!("call pthread_cond_signal instead of pthread_cond_broadcast in {function}")),
            share,
            measure: Measure::None,
        })
    }

    fn of_allocator(&mut self, object: &Object) -> Cause {
        let arenas = terminal::counted(object.members.len(), "arena");
        let most = object.waited.most_waiters;
        Cause {
            object: object.name.clone(),
            place: object.place(),
            text: format!("up to {most} threads waited for {arenas} of malloc at the same time"),
            remedy: Some("allow more arenas (M_ARENA_MAX), use another allocator, or allocate less often".into()),
            share: object.share_of(self, FrameKind::Allocator),
            measure: Measure::Command("LD_PRELOAD=libjemalloc.so.2"),
        }
    }

    fn of_stream(&mut self, object: &Object) -> Cause {
        let most = object.waited.most_waiters;
        Cause {
            object: object.name.clone(),
            place: object.place(),
            text: format!("up to {most} threads waited for the lock of one stream at the same time"),
            remedy: Some("collect the output of each thread in a separate buffer, and write it in few calls".into()),
            share: object.share_of(self, FrameKind::Stream),
            measure: Measure::None,
        }
    }

    /// Returns the cause for a spin loop of the program itself, whose holder is not known.
    fn of_spin(&self, object: &Object, limits: &Limits) -> Cause {
        let share = object.waited.seconds / (limits.on_cpu_s + limits.ready_s).max(1e-9);
        let is_short_of_cpus = limits.ready_s >= LEAST_READY * self.elapsed_s;
        let cpus = terminal::counted(self.cpus, "CPU");
        let short = if is_short_of_cpus { format!(", with more threads than {cpus}") } else { String::new() };
        let remedy = if is_short_of_cpus {
            "use a lock that sleeps, for example a mutex, and at most as many threads as CPUs"
        } else {
            "use a lock that sleeps, for example a mutex, or do less while it is held"
        };
        Cause {
            object: object.name.clone(),
            place: object.place(),
            text: format!("threads spun in it for {} of their time on a CPU{short}", terminal::percent(share)),
            remedy: Some(remedy.into()),
            // All of this wait is the spinning.
            share: 1.0,
            measure: Measure::None,
        }
    }

    /// Returns the cause by the activity of a lock's holders while others waited.
    fn holders(&mut self, object: &Object, rows: &Rows<'_>) -> Option<Cause> {
        let row = rows.of(object.wait);
        let shares = Shares::of(&object.waited, row)?;
        let held_at = row.and_then(held_at);
        let lock = &object.name;
        let place = |text: Option<String>| text.unwrap_or_else(|| object.place());
        let percent = terminal::percent;
        let most = [shares.blocked, shares.preempted, shares.running, shares.released];
        let most = most.into_iter().fold(0.0, f64::max);
        if most <= 0.5 && !object.spins {
            let known = shares.words();
            let short = row.filter(|row| shares.blocked < 0.1 && has_short_holds(row));
            let holds = short.map_or_else(String::new, |row| {
                let count = terminal::count(row.acquisitions);
                format!(
                    "; acquired {count} times, median hold {}",
                    terminal::nanoseconds(row.hold_p50_ns.unwrap_or_default())
                )
            });
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!("no single cause; parts of the wait: {known}{holds}"),
                // Whatever its holders did, fewer acquisitions are fewer waits.
                remedy: short.map(|_| many_short_sections(lock)),
                share: most,
                measure: measure(object),
            });
        }
        if most == shares.blocked {
            return Some(self.blocked_holder(object, shares.blocked, rows));
        }
        if object.spins {
            let free = if shares.released < 0.1 {
                String::new()
            } else {
                format!("; for {} of it the lock was free, and the waiter had no CPU", percent(shares.released))
            };
            // A spinlock is at its best where its holders run.
            let is_for_cpus = shares.preempted + shares.released > 0.1;
            let (what, part, remedy) = if is_for_cpus {
                let remedy = "use a lock that sleeps, for example a mutex, and at most as many threads as CPUs";
                ("was preempted", shares.preempted, remedy.to_owned())
            } else {
                ("ran", shares.running, format!("do less while {lock} is held, or use a lock that sleeps"))
            };
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!("the holder {what} while the others spun for {} of the wait{free}", percent(part)),
                remedy: Some(remedy),
                share: (shares.preempted + shares.running + shares.released).min(1.0),
                measure: Measure::None,
            });
        }
        if most == shares.preempted {
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!("the holder was preempted for {} of the wait", percent(shares.preempted)),
                remedy: Some("use at most as many busy threads as CPUs".into()),
                share: shares.preempted,
                measure: Measure::None,
            });
        }
        if most == shares.released {
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!(
                    "the lock was free and the woken thread did not run yet for {} of the wait",
                    percent(shares.released)
                ),
                remedy: Some(format!("hold {lock} less often, or try a lock that spins before it sleeps")),
                share: shares.released,
                measure: Measure::Swap,
            });
        }
        // Critical sections of other places may be shorter by far.
        let holding = row.and_then(|row| rows.site(row, held_at.as_deref()?));
        let hold = holding.or(row).and_then(|row| row.hold_p50_ns);
        let is_long = hold.is_none_or(|hold| hold > LONG_HOLD_NS);
        let hold = hold.map(|ns| format!("; median hold {}", terminal::nanoseconds(ns)));
        let remedy = if is_long {
            let held_in = holding.and_then(|row| row.symbol.as_deref());
            let held_in = held_in
                .map_or_else(String::new, |function| format!(" in {}", function.split('(').next().unwrap_or(function)));
            format!("do less{held_in} while {lock} is held, or use several locks")
        } else {
            many_short_sections(lock)
        };
        Some(Cause {
            object: lock.clone(),
            place: place(held_at),
            text: format!("the holder ran for {} of the wait{}", percent(shares.running), hold.unwrap_or_default()),
            remedy: Some(remedy),
            share: shares.running,
            measure: measure(object),
        })
    }

    /// Returns the cause for a holder that was blocked itself: the blocking function, and its caller. Where it waited
    /// for another lock, that lock's holder is the one that counts.
    fn blocked_holder(&mut self, object: &Object, share: f64, rows: &Rows<'_>) -> Cause {
        let mut by_place: BTreeMap<Blocking, Blocked> = BTreeMap::new();
        let mut sampled_s = 0.0;
        for (holder, seconds) in &object.waited.holders {
            let Holder::Blocked { wait, path, lock } = holder else { continue };
            sampled_s += seconds;
            let held = rows.first_of(Wait::Lock(*lock));
            let acquired_in = rows.of(held).and_then(|row| row.blocked_by.first());
            let acquired_in = acquired_in.and_then(|blocker| blocker.site.split(" (").next()).map(without_offset);
            let frames = path.map(|path| self.frames(path)).unwrap_or_default();
            let place = called_in(&frames, acquired_in);
            let what = self.wait_words(*wait);
            let blocked = by_place.entry(Blocking { place, held }).or_default();
            blocked.seconds += seconds;
            *blocked.whats.entry(what).or_default() += seconds;
            blocked.inners.add(Inner::of(&frames, acquired_in), *seconds);
        }
        let most = by_place.into_iter().max_by(|one, other| one.1.seconds.total_cmp(&other.1.seconds));
        let name = &object.name;
        let Some((Blocking { place, held }, Blocked { seconds, whats, inners })) =
            most.filter(|(_, blocked)| blocked.seconds > 0.5 * sampled_s)
        else {
            return Cause {
                object: name.clone(),
                place: rows.of(object.wait).and_then(held_at).unwrap_or_else(|| object.place()),
                text: format!("the holder was blocked itself for {} of the wait", terminal::percent(share)),
                remedy: Some(format!("move calls that block out of the critical section of {name}")),
                share,
                measure: measure(object),
            };
        };
        let share = share * seconds / sampled_s;
        let what =
            whats.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).map_or_else(String::new, |what| what.0);
        let function = place.split([' ', '(', ',']).next().unwrap_or_default();
        let inside = if function.is_empty() { String::new() } else { format!(" in {function}") };
        let other = if held == object.wait { None } else { rows.of(held).map(|row| row.lock.clone()) };
        let holder = other
            .as_ref()
            .map_or("the holder".to_owned(), |other| format!("the holder waited for {other}, whose holder"));
        let section = other.as_ref().unwrap_or(name);
        // Several readers hold a lock at the same time as well.
        let is_pool = object.kind == FrameKind::Semaphore.name() && object.waited.most_holders > 1 && other.is_none();
        let waits_at = object.place();
        let remedy = if is_pool {
            larger_pool(section, &waits_at)
        } else if let Some(inner) = inners.main() {
            inner.remedy(section, &what)
        } else if function.is_empty() {
            format!("move the call that blocks out of the critical section of {section}")
        } else {
            format!("call {function} outside of the critical section of {section}")
        };
        Cause {
            object: name.clone(),
            place: if place.is_empty() || is_pool { waits_at } else { place.clone() },
            text: format!("{holder} {what}{inside} for {} of the wait", terminal::percent(share)),
            remedy: Some(remedy).filter(|_| share > 0.5),
            share,
            measure: measure(object),
        }
    }

    /// Returns the waits of the threads that were in the function which acquires a word: they hold it, mostly.
    /// `is_blocked` if the holder is known to have been blocked.
    fn peers(&mut self, object: &Object, is_blocked: bool) -> Option<Cause> {
        let acquirer = object.frames.caller()?;
        let name = function_of(&acquirer.site)?;
        let function = if acquirer.is_runtime { format!("the closure in {name}") } else { name.to_owned() };
        let mut by_wait: BTreeMap<(String, String), (f64, Inners)> = BTreeMap::new();
        // The time in which such a thread was blocked and no other ran; times of runnable threads otherwise.
        let (mut whole_s, mut blocked_s, mut running_s, mut ready_s) = (0.0, 0.0, 0.0, 0.0);
        for (peers, part) in &object.waited.peers {
            let mut inside: Vec<(Wait, Path)> =
                peers.iter().filter(|(_, path)| self.is_inside(*path, acquirer)).copied().collect();
            inside.retain(|(wait, path)| self.lock_of(*wait, *path) != object.wait);
            whole_s += part.seconds;
            if inside.is_empty() {
                running_s += part.running_s;
                ready_s += part.ready_s;
            } else {
                blocked_s += part.seconds - part.running_s;
            }
            let each = part.seconds / inside.len().max(1) as f64;
            for (wait, path) in inside {
                let frames = self.frames(path);
                let place = called_in(&frames, Some(&function));
                let (seconds, inners) = by_wait.entry((self.wait_words(wait), place)).or_default();
                *seconds += each;
                inners.add(Inner::of(&frames, Some(&function)), each);
            }
        }
        let whole_s = whole_s.max(object.waited.seconds);
        let ((what, place), (seconds, inners)) =
            by_wait.into_iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0)).unwrap_or_default();
        if is_blocked && seconds <= 0.0 {
            return None;
        }
        if running_s + ready_s > seconds && !is_blocked {
            return Some(of_runnable_peers(object, &function, [running_s / whole_s, ready_s / whole_s]));
        }
        let share = seconds / whole_s;
        let called = place.split([' ', '(', ',']).next().unwrap_or_default();
        let called = if called.is_empty() { function.clone() } else { called.to_owned() };
        let lock = &object.name;
        let is_pool = object.kind == FrameKind::Semaphore.name();
        let held = if is_pool { "the threads that had acquired it" } else { "another thread in the same function" };
        let remedy = if is_pool {
            larger_pool(lock, &object.place())
        } else if acquirer.is_runtime {
            let call = what.split(['(', ')']).nth(1).unwrap_or("the call that blocks");
            format!("in {function}, call {call} outside of the critical section of {lock}")
        } else if let Some(inner) = inners.main() {
            inner.remedy(lock, &what)
        } else {
            format!("call {called} outside of the critical section of {lock}")
        };
        Some(Cause {
            object: lock.clone(),
            place: if is_pool || place.is_empty() { object.place() } else { place },
            text: format!("{held} {what} in {called} for {} of the wait", terminal::percent(share)),
            remedy: Some(remedy).filter(|_| share > 0.5 && (is_blocked || blocked_s > 0.5 * whole_s)),
            share,
            measure: Measure::None,
        })
    }

    /// Returns whether a path is in the function that acquires a lock. A function of the language's library, into which a
    /// closure was inlined, is known by its begin: other closures are in functions of the same name.
    fn is_inside(&mut self, path: Path, acquirer: &Frame) -> bool {
        let frames = self.frames(path);
        if acquirer.is_runtime {
            return acquirer.begin != 0 && frames.frames.iter().any(|frame| frame.begin == acquirer.begin);
        }
        frames.own().any(|frame| function_of(&frame.site) == function_of(&acquirer.site))
    }

    /// Returns the activity of a blocked thread, as a verb.
    fn wait_words(&mut self, wait: Wait) -> String {
        match wait {
            Wait::Call { part: Part::Sleep, number } => format!("slept ({})", call_name(number)),
            Wait::Call { part: Part::Io, number } => format!("waited for I/O ({})", call_name(number)),
            Wait::Call { number, .. } => format!("was blocked ({})", call_name(number)),
            Wait::Lock(slot) => {
                let name = self.region.map(|region| lock_name(region, self.names, slot)).unwrap_or_default();
                format!("waited for {name}")
            }
            Wait::Word { .. } => "waited in a futex call".into(),
            Wait::Hidden => "was blocked".into(),
        }
    }
}

/// Shares of the whole wait for a lock.
pub(super) struct Shares {
    pub(super) running: f64,
    pub(super) preempted: f64,
    pub(super) blocked: f64,
    pub(super) released: f64,
}

impl Shares {
    /// Returns the parts by the kernel's record of the holders' switches where that covers the wait, else by the
    /// samples.
    pub(super) fn of(waited: &Waited, row: Option<&Row>) -> Option<Self> {
        let sampled_s: f64 = waited.holders.values().sum();
        let part = |is: fn(&Holder) -> bool| {
            waited.holders.iter().filter(|(holder, _)| is(holder)).map(|(_, seconds)| seconds).sum::<f64>() / sampled_s
        };
        let by_samples = || Self {
            running: part(|holder| *holder == Holder::Running),
            preempted: part(|holder| *holder == Holder::Ready),
            blocked: part(|holder| matches!(holder, Holder::Blocked { .. })),
            released: part(|holder| *holder == Holder::None),
        };
        row.and_then(Self::by_record).or_else(|| (sampled_s >= ENOUGH_S).then(by_samples))
    }

    /// Returns the parts by the kernel's record of the switches, if it covers the wait.
    fn by_record(row: &Row) -> Option<Self> {
        let unknown = row.unknown_s? / row.wait_total_s;
        let share = |part: Option<f64>| Some(part? / row.wait_total_s);
        let shares = Self {
            running: share(row.held_running_s)?,
            preempted: share(row.held_preempted_s)?,
            blocked: share(row.held_blocked_s)?,
            released: share(row.released_s)?,
        };
        (unknown <= MOST_UNKNOWN).then_some(shares)
    }

    fn is_mostly_blocked(&self) -> bool {
        self.blocked > 0.5
    }

    fn words(&self) -> String {
        let named = [
            (self.running, "holder running"),
            (self.preempted, "holder preempted"),
            (self.blocked, "holder blocked"),
            (self.released, "released, waiter not yet running"),
            (1.0 - self.running - self.preempted - self.blocked - self.released, "unknown"),
        ];
        let words = named.iter().filter(|(share, _)| *share >= 0.01);
        words.map(|(share, what)| format!("{what} {}", terminal::percent(*share))).collect::<Vec<_>>().join(", ")
    }
}

/// The limits of a gain.
pub(super) struct Limits {
    pub(super) on_cpu_s: f64,
    pub(super) ready_s: f64,
    /// The time in which threads had something to do.
    pub(super) busy_s: f64,
    /// The time on a CPU without spinning, and what all CPUs have.
    pub(super) useful_s: f64,
    pub(super) capacity_s: f64,
}

impl Limits {
    /// Returns the most that the throughput can gain if a wait vanishes: the threads gain the time of the wait, as far
    /// as there are CPUs for the additional work.
    fn gain(&self, waited_s: f64) -> Option<f64> {
        let left = (self.busy_s - waited_s).max(1e-9);
        let by_threads = self.busy_s / left;
        let by_cpus = if self.useful_s > 0.0 { self.capacity_s / self.useful_s } else { f64::INFINITY };
        Some((by_threads.min(by_cpus) - 1.0).max(0.0)).filter(|gain| gain.is_finite())
    }
}

/// Returns the part of the wakes of some conditions that found nothing to do.
pub(super) fn vain_share(region: &Region, window: Window<'_>, conditions: &[u32]) -> f64 {
    let pairs = region.pairs().filter(|(_, pair)| Kind::of(pair.kind.load(Relaxed)) == Some(Kind::Cond));
    let (mut vain, mut wakes) = (0_u64, 0_u64);
    for (place, _) in pairs.filter(|(_, pair)| conditions.contains(&pair.lock.load(Relaxed))) {
        let counts = window.counts(place);
        vain = vain.saturating_add(counts.vain_wakes());
        wakes = wakes.saturating_add(counts.acquisitions);
    }
    vain as f64 / wakes.max(1) as f64
}

/// Returns where the holders acquired a lock for which others waited longest; `None` where that is a function that only
/// locks.
fn held_at(row: &Row) -> Option<String> {
    let site = row.blocked_by.first().map(|blocker| blocker.site.clone())?;
    (!is_lock_wrapper(&site)).then_some(site)
}

fn of_map(object: &Object) -> Cause {
    let most = object.waited.most_waiters;
    Cause {
        object: MAP.into(),
        place: object.place(),
        text: format!(
            "up to {most} threads waited in page faults or calls such as munmap while another one changed the map of the \
             process"
        ),
        remedy: Some("map and unmap memory less often: keep it for reuse (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)".into()),
        share: 1.0,
        measure: Measure::None,
    }
}

fn of_interpreter(object: &Object) -> Cause {
    Cause {
        object: INTERPRETER.into(),
        place: object.place(),
        text: "one thread at a time runs Python code; the others wait for the interpreter's lock".into(),
        remedy: Some("use processes instead of threads, or a free-threaded build of CPython".into()),
        // The lock has no other purpose.
        share: 1.0,
        measure: Measure::None,
    }
}

/// Returns a word of a command for the shell.
fn quoted(word: &str) -> String {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+./:".contains(&byte));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Returns the remedy for a lock that is held often, and never for long.
fn many_short_sections(lock: &str) -> String {
    format!("use per-thread data or several locks in place of {lock}: its critical sections are short and many")
}

/// Returns whether nearly all of many holds were short.
fn has_short_holds(row: &Row) -> bool {
    row.holds_timed >= 1_000 && row.hold_p99_ns.is_some_and(|p99| p99 <= SHORT_HOLD_NS)
}

/// Returns the remedy for a semaphore that limits the number of active threads. `place` is where they acquire it.
fn larger_pool(semaphore: &str, place: &str) -> String {
    let function = place.split([' ', ',']).next().unwrap_or_default();
    format!("raise the limit of {semaphore} (a larger pool), or hold it for less time in {function}")
}

/// Returns the cause of waits for a word while no thread was blocked in the function that acquires it. `shares` are the
/// parts of the wait in which the other threads had a CPU, and in which they were ready for one.
fn of_runnable_peers(object: &Object, function: &str, shares: [f64; 2]) -> Cause {
    let lock = &object.name;
    let [running, ready] = shares.map(terminal::percent);
    let remedy = if shares[0] > 0.5 {
        Some(format!("do less while {lock} is held, or use several locks"))
    } else {
        (shares[1] > 0.5).then(|| "use at most as many busy threads as CPUs".into())
    };
    Cause {
        object: lock.clone(),
        place: object.place(),
        text: format!(
            "the holder was not blocked in {function}; the other threads ran for {running} of the wait and were ready \
             without a CPU for {ready}"
        ),
        remedy,
        share: shares[0] + shares[1],
        measure: Measure::None,
    }
}

/// Returns how the gain is measured: virtual speedups are for locks that the library sees being acquired and released.
fn measure(object: &Object) -> Measure {
    if matches!(object.kind, "mutex" | "rwlock" | "spin") { Measure::WhatIf } else { Measure::None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_are_short_if_many_are_known_and_nearly_all_are() {
        let row =
            |holds_timed, p99| Row { holds_timed, hold_p99_ns: p99, ..Row::new(RowKind::Lock, 1, "stats_lock".into()) };
        assert!(has_short_holds(&row(5_000, Some(160.0))));
        assert!(!has_short_holds(&row(5_000, Some(160_000.0))));
        assert!(!has_short_holds(&row(50, Some(160.0))) && !has_short_holds(&row(5_000, None)));
    }

    #[test]
    fn a_gain_is_bounded_by_the_waits_and_by_the_cpus() {
        let limits = Limits { on_cpu_s: 2.0, ready_s: 0.0, busy_s: 10.0, useful_s: 2.0, capacity_s: 20.0 };
        assert_eq!(limits.gain(5.0), Some(1.0));
        assert_eq!(Limits { capacity_s: 3.0, ..limits }.gain(5.0), Some(0.5));
    }

    #[test]
    fn switch_record_counts_where_it_covers_the_wait() {
        let mut waited = Waited::default();
        waited.holders.insert(Holder::Running, 3.0);
        waited.holders.insert(Holder::Unknown, 1.0);
        let mut row = Row { wait_total_s: 4.0, ..Row::default() };
        (row.held_running_s, row.held_preempted_s, row.held_blocked_s) = (Some(0.5), Some(0.5), Some(2.5));
        (row.released_s, row.unknown_s) = (Some(0.0), Some(0.5));
        assert_eq!(Shares::of(&waited, Some(&row)).unwrap().blocked, 0.625);
        row.unknown_s = Some(2.0);
        assert_eq!(Shares::of(&waited, Some(&row)).unwrap().running, 0.75);
        assert!(Shares::of(&Waited::default(), None).is_none());
    }
}
