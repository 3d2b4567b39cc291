//! Causes by the activity of the holders, which the samples or the record of the switches show.

use super::super::activity::Activity;
use super::super::inner::{Inner, Inners, called_in, function_in, larger_pool, without_offset};
use super::super::objects::Object;
use super::super::rows::Rows;
use super::super::{Cause, Evidence, Measure, python};
use super::Limits;
use super::priorities::inverted;
use super::shares::Shares;
use crate::trace::python_locks::PYTHON;
use crate::trace::record::{Row, RowKind};
use crate::trace::rules::Rule;
use blame::frames::{Kind as FrameKind, is_lock_wrapper};
use blame::sampling::waited::{Holder, Wait};
use record::Bin;
use std::collections::BTreeMap;

/// A critical section of this length is long.
const LONG_HOLD_NS: f64 = 20_000.0;

/// Critical sections up to this length are shorter than the wait of a thread that sleeps and is woken.
const SHORT_HOLD_NS: f64 = 2_000.0;

/// Holds from which a wait is no longer one for readers that happen to overlap: the lock passes its writers over. Writers waited
/// for 28 to 82 holds where the readers' sections were too long, and for 1,500 where nothing else was wrong.
const STARVED: u64 = 200;

/// Parts of a wait that are less of it than this say nothing about the rest.
const LEAST_KNOWN: f64 = 0.05;

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
    activities: BTreeMap<Activity, f64>,
    inners: Inners,
}

impl Blocked {
    /// Returns its activity for most of the time.
    fn activity(&self) -> Activity {
        let most = self.activities.iter().max_by(|one, other| one.1.total_cmp(other.1));
        most.map_or(Activity::Hidden, |(activity, _)| activity.clone())
    }
}

/// Adds the time of which no call path is known to the place where most of the same activity was.
fn place_unplaced(by_place: &mut BTreeMap<Blocking, Blocked>) {
    let unplaced: Vec<Wait> = by_place.keys().filter(|at| at.place.is_empty()).map(|at| at.held).collect();
    for held in unplaced {
        let Some(blocked) = by_place.remove(&Blocking { place: String::new(), held }) else { continue };
        let is_alike = |at: &Blocking, other: &Blocked| at.held == held && other.activity() == blocked.activity();
        let alike = by_place.iter_mut().filter(|(at, other)| is_alike(at, other));
        match alike.max_by(|one, other| one.1.seconds.total_cmp(&other.1.seconds)) {
            Some((_, most)) => most.seconds += blocked.seconds,
            None => _ = by_place.insert(Blocking { place: String::new(), held }, blocked),
        }
    }
}

impl Evidence {
    /// Returns the cause by the activity of a lock's holders while others waited.
    pub(super) fn holders(&self, object: &Object, rows: &Rows<'_>, limits: &Limits) -> Option<Cause> {
        let row = rows.of(object.wait);
        let shares = Shares::of(self, &object.waited, row.filter(|_| !object.is_polled()))?;
        let is_python = object.is_of_python();
        let held_at = if is_python { self.ran_in(object) } else { row.and_then(held_at) };
        let lock = &object.name;
        let place = |text: Option<String>| text.unwrap_or_else(|| object.place());
        let percent = terminal::percent;
        let most = [shares.blocked, shares.preempted, shares.running, shares.released];
        let most = most.into_iter().fold(0.0, f64::max);
        let is_by_running = shares.running + shares.preempted > 0.5 && shares.running >= shares.preempted;
        if most <= 0.5 && !object.spins && (!is_by_running || shares.is_inverted()) {
            let (known, known_share) = (shares.words(), shares.known());
            if known_share < LEAST_KNOWN {
                return None;
            }
            let short = row.filter(|row| shares.blocked < 0.1 && has_short_holds(row));
            let holds = short.map_or_else(String::new, |row| {
                let count = terminal::count(row.acquisitions);
                format!(
                    "; acquired {count} times, median hold {}",
                    terminal::nanoseconds(row.hold_p50_ns.unwrap_or_default())
                )
            });
            return Some(Cause {
                rule: if short.is_some() { Rule::ShortSections } else { Rule::SeveralCauses },
                object: lock.clone(),
                place: place(held_at),
                text: format!("no single cause; parts of the wait: {known}{holds}"),
                // Whatever its holders did, fewer acquisitions are fewer waits.
                remedy: short.map(|_| many_short_sections(lock)),
                share: most,
                // Nothing is known that shorter sections could be tried on.
                measure: if known_share > 0.5 { measure(object) } else { Measure::None },
            });
        }
        let known = shares.known() - shares.released;
        let overlaps = row.filter(|row| row.lock_type == FrameKind::RwLock.name() && known > 0.5);
        let times = overlaps.and_then(|row| holds_in_a_wait(row, object.waited.most_waiters));
        if let Some(times) = times.filter(|times| *times >= STARVED) {
            return Some(Cause {
                rule: Rule::Starvation,
                object: lock.clone(),
                place: place(held_at),
                text: format!(
                    "others acquired it again and again while threads waited: half of the wait is in waits of {times} holds or \
                     more"
                ),
                remedy: Some(fair(lock, FrameKind::RwLock.name())),
                share: known,
                measure: Measure::None,
            });
        }
        if most == shares.blocked && most > 0.5 {
            return Some(self.blocked_holder(object, shares.blocked, rows, limits));
        }
        // A mutex that inherits priorities lends its holder the waiter's, which the kernel does not show.
        let inherits = row.is_some_and(|row| row.attributes.iter().any(|word| word == "priority_inheritance"));
        if most == shares.preempted && shares.is_inverted() && !inherits {
            return Some(inverted(object, &shares, place(held_at)));
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
                rule: Rule::SpinningWaiters,
                object: lock.clone(),
                place: place(held_at),
                text: format!("the holder {what} while the others spun for {} of the wait{free}", percent(part)),
                remedy: Some(remedy),
                share: (shares.preempted + shares.running + shares.released).min(1.0),
                measure: Measure::None,
            });
        }
        if most == shares.preempted && most > 0.5 {
            return Some(Cause {
                rule: Rule::HolderPreempted,
                object: lock.clone(),
                place: place(held_at),
                text: format!("the holder was preempted for {} of the wait", percent(shares.preempted)),
                remedy: Some(limits.fewer_threads()),
                share: shares.preempted,
                measure: Measure::None,
            });
        }
        if most == shares.released && most > 0.5 {
            return Some(Cause {
                rule: Rule::LateWaiter,
                object: lock.clone(),
                place: place(held_at),
                text: format!(
                    "the lock was free and the woken thread did not run yet for {} of the wait",
                    percent(shares.released)
                ),
                remedy: Some(format!("hold {lock} less often, or try a lock that spins before it sleeps")),
                share: shares.released,
                measure: if matches!(object.wait, Wait::Lock(_)) { Measure::Swap } else { Measure::None },
            });
        }
        // Critical sections of other places may be shorter by far.
        let holding = row.and_then(|row| rows.site(row, held_at.as_deref()?));
        let hold_ns = holding.or(row).and_then(|row| row.hold_p50_ns);
        let held_in = holding.and_then(|row| row.symbol.as_deref());
        let held_in = held_in.or_else(|| held_at.as_deref().map(function_in));
        let remedy = match object.is_of_library() {
            true => format!(
                "{lock} is a library's, which one thread at a time executes: call the library from fewer threads, or use \
                 several processes"
            ),
            false => {
                // One of many places is not the one to change.
                let held_in = held_in.filter(|_| is_python || row.is_some_and(has_main_holder));
                shorter_sections(lock, row, hold_ns, held_in)
            }
        };
        let is_rare = row.is_some_and(has_long_holds) && hold_ns.is_some_and(|hold| hold <= LONG_HOLD_NS);
        let longest = row.and_then(|row| row.hold_max_ns).filter(|_| is_rare);
        let longest = longest.map_or_else(String::new, |ns| format!(", longest {}", terminal::nanoseconds(ns)));
        let hold = hold_ns.map(|ns| format!("; median hold {}{longest}", terminal::nanoseconds(ns)));
        let starved = row.filter(|row| shares.running > 0.5 && row.kind == RowKind::Lock).and_then(|row| {
            let times = holds_in_a_wait(row, object.waited.most_waiters)?;
            Some((format!("; half of the wait is in waits of {times} holds or more"), fair(lock, &row.lock_type)))
        });
        let is_short = hold_ns.is_some_and(|ns| ns <= LONG_HOLD_NS) && !is_rare;
        let rule = match starved {
            Some(_) => Rule::Starvation,
            None if is_short => Rule::ShortSections,
            None => Rule::HolderRan,
        };
        let (barged, remedy) = starved.map_or((String::new(), remedy), |(barged, fair)| (barged, fair));
        let ran = percent(shares.running);
        let (activity, share) = if most <= 0.5 {
            let ready = percent(shares.preempted);
            (format!("ran for {ran} and was ready without a CPU for {ready}"), shares.running + shares.preempted)
        } else {
            (format!("ran for {ran}"), shares.running)
        };
        Some(Cause {
            rule,
            object: lock.clone(),
            place: place(held_at),
            text: format!(
                "the holder {activity} of the wait{}{barged}{}",
                hold.unwrap_or_default(),
                shares.outranked_words()
            ),
            remedy: Some(remedy),
            share,
            measure: measure(object),
        })
    }

    /// Returns the cause for a holder that was blocked itself: the blocking function, and its caller. Where it waited
    /// for another lock, that lock's holder is the one that counts.
    fn blocked_holder(&self, object: &Object, share: f64, rows: &Rows<'_>, limits: &Limits) -> Cause {
        let mut by_place: BTreeMap<Blocking, Blocked> = BTreeMap::new();
        let (mut sampled_s, mut by_itself_s) = (0.0, 0.0);
        for (holder, seconds) in &object.waited.holders {
            let (held, pair) = match holder {
                Holder::Blocked { held, pair, .. } | Holder::Chained { held, pair, .. } => (*held, *pair),
                _ => continue,
            };
            sampled_s += seconds;
            // The turns of a word can have a part of the holder's own wait for it.
            if pair.is_some() && matches!(holder, Holder::Blocked { wait, .. } if *wait == held) {
                by_itself_s += seconds;
            }
            let held = object.as_member(rows.first_of(held));
            let acquired_at = pair.and_then(|pair| self.site_label(pair)).map(str::to_owned);
            let (wait, path) = match holder {
                Holder::Blocked { wait, path, .. } => (wait, path),
                Holder::Chained { is_running, .. } => {
                    let blocked =
                        by_place.entry(Blocking { place: acquired_at.unwrap_or_default(), held }).or_default();
                    blocked.seconds += seconds;
                    let activity = if *is_running { Activity::Ran } else { Activity::NoCpu };
                    *blocked.activities.entry(activity).or_default() += seconds;
                    continue;
                }
                _ => continue,
            };
            let acquired_in = acquired_at.as_deref().and_then(|site| site.split(" (").next()).map(without_offset);
            let frames = path.map(|path| self.frames(path)).unwrap_or_default();
            let python = python::section(&frames, &object.frames).filter(|_| held == object.wait);
            // A thread acquires a word in a function of the path that waits for it.
            let shared = object.shared_function(&frames).filter(|_| pair.is_none());
            let acquired_in = python.as_deref().or(acquired_in).or(shared.as_deref());
            let place = called_in(&frames, acquired_in);
            let activity = match self.activity(*wait) {
                Activity::WaitedFor(object) if rows.of(*wait).is_some_and(|row| !row.excludes()) => {
                    Activity::Awaited(object)
                }
                activity => activity,
            };
            let blocked = by_place.entry(Blocking { place, held }).or_default();
            blocked.seconds += seconds;
            *blocked.activities.entry(activity).or_default() += seconds;
            let inner = Inner::of(&frames, acquired_in);
            let is_outside = |inner: &Inner| python::is_outside(&inner.function, &frames, &object.frames);
            blocked.inners.add(inner.filter(|inner| object.kind != PYTHON || !is_outside(inner)), *seconds);
        }
        if by_itself_s > 0.5 * sampled_s {
            let by_itself = share * by_itself_s / sampled_s;
            return Cause {
                rule: Rule::HolderWaitsItself,
                object: object.name.clone(),
                place: object.place(),
                text: format!(
                    "the thread that holds it waited for it itself for {} of the wait",
                    terminal::percent(by_itself)
                ),
                remedy: None,
                share: by_itself,
                measure: Measure::None,
            };
        }
        place_unplaced(&mut by_place);
        let most = by_place.into_iter().max_by(|one, other| one.1.seconds.total_cmp(&other.1.seconds));
        let name = &object.name;
        let Some((Blocking { place, held }, blocked)) = most.filter(|(_, blocked)| blocked.seconds > 0.5 * sampled_s)
        else {
            let row = rows.of(object.wait);
            let waited = row.and_then(|row| row.holder_waits.first()).filter(|wait| wait.share > 0.5);
            let waited = waited.map_or_else(String::new, |wait| {
                format!(
                    "; for {} of it the holder waited in {} ({})",
                    terminal::percent(wait.share),
                    wait.site,
                    wait.lock_type
                )
            });
            return Cause {
                rule: Rule::HolderBlocked,
                object: name.clone(),
                place: row.and_then(held_at).unwrap_or_else(|| object.place()),
                text: format!("the holder was blocked itself for {} of the wait{waited}", terminal::percent(share)),
                remedy: Some(format!("move calls that block out of the critical section of {name}")),
                share,
                measure: measure(object),
            };
        };
        let activity = blocked.activity();
        let is_chained = activity.is_runnable();
        // A thread that ran also had no CPU at times.
        let seconds = if is_chained { blocked.activities[&activity] } else { blocked.seconds };
        let (share, inners) = (share * seconds / sampled_s, blocked.inners);
        let function = function_in(&place);
        let inside = if function.is_empty() { String::new() } else { format!(" in {function}") };
        let other = if held == object.wait { None } else { rows.of(held).map(|row| row.lock.clone()) };
        let holder = match &other {
            Some(other) => format!("the holder waited for {other}, whose holder"),
            None if is_chained => "the holder waited for another such lock, whose holder".to_owned(),
            None => object.holder(),
        };
        let section = other.as_ref().unwrap_or(name);
        // Several readers hold a lock at the same time as well.
        let is_pool = other.is_none() && self.is_pool(object);
        let waits_at = object.place();
        let remedy = if is_pool {
            larger_pool(section, &waits_at)
        } else if activity == Activity::Ran {
            less_in_chain(function, section, other.as_ref().map(|_| &**name))
        } else if activity == Activity::NoCpu {
            limits.fewer_threads()
        } else if let Some(inner) = inners.main() {
            inner.remedy(section, &activity)
        } else if function.is_empty() {
            format!("move the call that blocks out of the critical section of {section}")
        } else {
            format!("call {function} outside of the critical section of {section}")
        };
        Cause {
            rule: if is_pool { Rule::PoolTooSmall } else { Rule::HolderBlocked },
            object: name.clone(),
            place: if place.is_empty() || is_pool { waits_at } else { place.clone() },
            text: format!("{holder} {activity}{inside} for {} of the wait", terminal::percent(share)),
            remedy: Some(activity.unless_job(remedy)).filter(|_| share > 0.5),
            share,
            measure: measure(object),
        }
    }
}

/// Returns where the holders acquired a lock for which others waited longest; `None` where that is a function that only
/// locks.
fn held_at(row: &Row) -> Option<String> {
    let site = row.blocked_by.first().map(|blocker| blocker.site.clone())?;
    (!is_lock_wrapper(&site)).then_some(site)
}

/// Returns the remedy for a lock whose holders ran. `hold` is the median hold of the place with the longest waits, in ns, and
/// `held_in` is the function there.
fn shorter_sections(lock: &str, row: Option<&Row>, hold: Option<f64>, held_in: Option<&str>) -> String {
    match hold.is_none_or(|hold| hold > LONG_HOLD_NS) {
        true => {
            let held_in = held_in.map(|function| function.split('(').next().unwrap_or(function));
            let held_in = held_in.map_or_else(String::new, |function| format!(" in {function}"));
            format!("do less{held_in} while {lock} is held, or use several locks")
        }
        false if row.is_some_and(has_long_holds) => {
            format!("shorten the longest critical sections of {lock}, or use several locks")
        }
        false => many_short_sections(lock),
    }
}

/// Returns whether one place has most of the time in which others wait.
fn has_main_holder(row: &Row) -> bool {
    row.blocked_by.first().is_some_and(|blocker| blocker.share > 0.5)
}

/// Returns whether long holds have most of the time of all, however few they are: others wait in these.
fn has_long_holds(row: &Row) -> bool {
    match median_by_time(&row.holds) {
        Some(median) => median > LONG_HOLD_NS,
        None => [row.hold_p99_ns, row.hold_max_ns].into_iter().flatten().any(|ns| ns > LONG_HOLD_NS),
    }
}

/// Returns the time of which longer ones have half of the sum; `None` without any.
fn median_by_time(bins: &[Bin]) -> Option<f64> {
    let time = |bin: &Bin| bin.count as f64 * (bin.from_ns + bin.to_ns) / 2.0;
    let all: f64 = bins.iter().map(time).sum();
    let mut sum = 0.0;
    let bin = bins.iter().rev().find(|bin| {
        sum += time(bin);
        sum >= 0.5 * all
    });
    bin.filter(|_| all > 0.0).map(|bin| bin.from_ns)
}

/// Returns how many holds the longest waits last, which are half of the whole wait, if that is far more than there are
/// waiters: other threads acquire the lock again and again in the meantime.
fn holds_in_a_wait(row: &Row, most_waiters: usize) -> Option<u64> {
    const FAR_MORE: f64 = 10.0;
    // Waits for a rare long hold are waits for one hold.
    let hold = row.hold_p50_ns?.max(row.hold_p99_ns?).max(median_by_time(&row.holds).unwrap_or(0.0));
    let wait = median_by_time(&row.waits)?;
    let times = wait / hold.max(1.0);
    (hold > SHORT_HOLD_NS && times > FAR_MORE * most_waiters.max(1) as f64).then_some(times as u64)
}

/// Returns the remedy for a lock that passes over its waiters.
fn fair(lock: &str, lock_type: &str) -> String {
    let writers = if lock_type == "rwlock" {
        "let writers go first (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), or "
    } else {
        ""
    };
    format!(
        "{writers}use a fair lock in place of {lock} (one that admits its waiters in turn): others acquire it again before a \
         waiter runs"
    )
}

/// Returns the remedy for holders of a lock `outer` that wait for `inner`, which is held in a function that computes.
fn less_in_chain(function: &str, inner: &str, outer: Option<&str>) -> String {
    let place = if function.is_empty() || function == "?" { String::new() } else { format!(" in {function}") };
    let apart = outer
        .map_or_else(String::new, |outer| format!(", or acquire {inner} outside of the critical section of {outer}"));
    format!("do less{place} while {inner} is held{apart}")
}

/// Returns the remedy for a lock that is held often, and never for long.
fn many_short_sections(lock: &str) -> String {
    format!("use per-thread data or several locks in place of {lock}: its critical sections are short and many")
}

/// Returns whether nearly all of many holds were short.
fn has_short_holds(row: &Row) -> bool {
    row.holds_timed >= 1_000 && row.hold_p99_ns.is_some_and(|p99| p99 <= SHORT_HOLD_NS) && !has_long_holds(row)
}

/// Returns how the gain is measured: virtual speedups are for locks that the library sees being acquired and released.
fn measure(object: &Object) -> Measure {
    let is_noted = matches!(object.wait, Wait::Lock(_));
    if is_noted && matches!(object.kind, "mutex" | "rwlock" | "spin") { Measure::WhatIf } else { Measure::None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::record::Blocker;

    #[test]
    fn holds_are_short_if_many_are_known_and_nearly_all_are() {
        let row =
            |holds_timed, p99| Row { holds_timed, hold_p99_ns: p99, ..Row::new(RowKind::Lock, 1, "stats_lock".into()) };
        assert!(has_short_holds(&row(5_000, Some(160.0))));
        assert!(!has_short_holds(&row(5_000, Some(160_000.0))));
        assert!(!has_short_holds(&row(50, Some(160.0))) && !has_short_holds(&row(5_000, None)));
    }

    #[test]
    fn chain_of_locks_has_a_remedy_for_each_of_them() {
        let both = less_in_chain("flush", "inner_lock", Some("outer_lock"));
        let words =
            "do less in flush while inner_lock is held, or acquire inner_lock outside of the critical section of ";
        assert_eq!(both, format!("{words}outer_lock"));
        assert_eq!(less_in_chain("?", "account", None), "do less while account is held");
    }

    #[test]
    fn wait_of_hundreds_of_holds_is_starvation() {
        // A wait of each length; the longest one has most of the time.
        let waits = |longest: f64| {
            let bin = |ns: f64, count| Bin { from_ns: ns, to_ns: 1.1 * ns, count };
            vec![bin(0.002 * longest, 20), bin(longest, 1)]
        };
        let row = |wait, hold| Row {
            waits: waits(wait),
            hold_p50_ns: Some(hold),
            hold_p99_ns: Some(1.1 * hold),
            ..Row::new(RowKind::Lock, 1, "frame_lock".into())
        };
        assert_eq!(holds_in_a_wait(&row(300e6, 1e6), 2), Some(272));
        assert_eq!(holds_in_a_wait(&row(7e6, 1e6), 7), None, "each of seven waiters in turn");
        // A thread that sleeps is woken late, however short the holds are.
        assert_eq!(holds_in_a_wait(&row(50e3, 100.0), 2), None);
        let rare = vec![Bin { from_ns: 3e3, to_ns: 3.1e3, count: 499 }, Bin { from_ns: 4e6, to_ns: 4.1e6, count: 1 }];
        assert_eq!(holds_in_a_wait(&Row { holds: rare, ..row(4e6, 3e3) }, 2), None, "a wait for one long hold");
        assert!(fair("rows", "rwlock").starts_with("let writers go first"));
    }

    #[test]
    fn rare_long_holds_count_by_their_time() {
        let bin = |ns: f64, count| Bin { from_ns: ns, to_ns: 1.1 * ns, count };
        let row = |holds| Row {
            holds_timed: 5_000,
            hold_p99_ns: Some(600.0),
            hold_max_ns: Some(4.1e6),
            holds,
            ..Row::new(RowKind::Lock, 1, "cache_lock".into())
        };
        // One hold of 4 ms in 200 of 0.5 us has nearly all of the time, and one in a million has nearly none.
        for (holds, is_long) in
            [(vec![bin(500.0, 199), bin(4e6, 1)], true), (vec![bin(500.0, 999_999), bin(4e6, 1)], false)]
        {
            let row = row(holds);
            let remedy = shorter_sections("cache_lock", Some(&row), Some(600.0), None);
            assert_eq!(remedy.starts_with("shorten the longest critical sections"), is_long, "{remedy}");
            assert_eq!(has_short_holds(&row), !is_long);
        }
    }

    #[test]
    fn remedy_for_running_holders_fits_the_long_holds() {
        let row = |p99, share| Row {
            hold_p99_ns: Some(p99),
            blocked_by: vec![Blocker { site: "put (a.c:10)".into(), share }],
            ..Row::new(RowKind::Lock, 1, "cache_lock".into())
        };
        let remedy = |p50, p99, share| {
            let row = row(p99, share);
            shorter_sections("cache_lock", Some(&row), Some(p50), Some("put(int)").filter(|_| has_main_holder(&row)))
        };
        assert!(remedy(1e3, 1.5e3, 0.9).contains("critical sections are short and many"));
        assert!(remedy(1e3, 5e7, 0.9).starts_with("shorten the longest critical sections of cache_lock"));
        assert!(remedy(5e7, 6e7, 0.9).starts_with("do less in put while cache_lock is held"));
        assert!(remedy(5e7, 6e7, 0.17).starts_with("do less while cache_lock is held"), "five places have the rest");
    }
}
