//! Causes by the activity of the threads that do not wait for a lock, one of which holds it.

use super::super::activity::Activity;
use super::super::inner::{Inner, Inners, called_in, function_in, larger_pool, without_offset};
use super::super::objects::Object;
use super::super::rows::Rows;
use super::super::{Cause, Evidence, Measure};
use super::Limits;
use crate::trace::python_locks::PYTHON;
use crate::trace::record::Row;
use crate::trace::rules::Rule;
use blame::frames::{Frame, Kind as FrameKind, function_of, is_lock_wrapper};
use blame::sampling::waited::{Path, Peers, Wait};
use std::collections::BTreeMap;

/// Activities that are known for less than this part of a wait say nothing of its holder.
const LEAST_SEEN: f64 = 0.2;
/// A thread that is blocked in the function which acquires a lock for more than this part of the wait holds it.
const SURE: f64 = 0.85;

impl Evidence {
    /// Returns the waits of the threads that were in the function which acquires a word, or in the one that releases it:
    /// they hold it, mostly. `is_blocked` if the holder is known to have been blocked.
    ///
    /// Where several of them were blocked there at the same time, they do not hold a lock that excludes. Where none was,
    /// and the program hardly ran, another function holds it. In both cases nothing is known of the holder.
    pub(super) fn peers(&self, object: &Object, rows: &Rows<'_>, is_blocked: bool, limits: &Limits) -> Option<Cause> {
        let acquirer = object.frames.caller()?;
        let name = function_of(&acquirer.site)?;
        // All locks of Python are released in one function of the interpreter.
        let released_in = rows.of(object.wait).filter(|_| object.kind != PYTHON).and_then(released_in_most);
        let released_in = released_in.filter(|function| *function != name && !acquirer.is_runtime);
        // A function that ends with the release jumps to it, so that its caller seems to release the lock.
        let is_caller = |function: &String| object.frames.own().any(|frame| function_of(&frame.site) == Some(function));
        if released_in.as_ref().is_some_and(is_caller)
            && let Some(cause) = self.peers_in(None, (acquirer, name), object, rows, is_blocked, limits)
            && cause.share > 0.5
        {
            return Some(cause);
        }
        self.peers_in(released_in, (acquirer, name), object, rows, is_blocked, limits)
    }

    /// Returns the waits of the threads in a function that releases a word, or else in the one that acquires it.
    fn peers_in(
        &self,
        released_in: Option<String>,
        (acquirer, name): (&Frame, &str),
        object: &Object,
        rows: &Rows<'_>,
        is_blocked: bool,
        limits: &Limits,
    ) -> Option<Cause> {
        let function = match &released_in {
            Some(function) => function.clone(),
            None if acquirer.is_runtime => format!("the closure in {name}"),
            None => name.to_owned(),
        };
        let mut by_wait: BTreeMap<(Activity, String), (f64, Inners)> = BTreeMap::new();
        // The time in which such a thread was blocked and no other ran; times of runnable threads otherwise.
        let (mut whole_s, mut blocked_s, mut runnable) = (0.0, 0.0, Peers::default());
        // The time in which any, and several, were in the function.
        let (mut inside_s, mut several_s) = (0.0, 0.0);
        for (peers, part) in &object.waited.peers {
            let mut inside: Vec<(Wait, Path)> = peers
                .iter()
                .filter(|(_, path)| match &released_in {
                    Some(function) => self.frames(*path).own().any(|frame| function_of(&frame.site) == Some(function)),
                    None => self.is_inside(*path, acquirer),
                })
                .copied()
                .collect();
            inside.retain(|(wait, path)| self.lock_of(*wait, *path) != object.wait);
            whole_s += part.seconds;
            inside_s += if inside.is_empty() { 0.0 } else { part.seconds };
            several_s += if inside.len() > 1 { part.seconds } else { 0.0 };
            if inside.is_empty() {
                runnable.add(part);
            } else {
                blocked_s += part.seconds - part.running_s;
            }
            let each = part.seconds / inside.len().max(1) as f64;
            for (wait, path) in inside {
                let frames = self.frames(path);
                let place = called_in(&frames, Some(&function));
                let lock = rows.of(self.lock_of(wait, path)).filter(|row| row.excludes()).map(|row| row.lock.clone());
                let activity = lock.map_or_else(|| self.activity(wait), Activity::WaitedFor);
                let (seconds, inners) = by_wait.entry((activity, place)).or_default();
                *seconds += each;
                inners.add(Inner::of(&frames, Some(&function)), each);
            }
        }
        let whole_s = whole_s.max(object.waited.seconds);
        let most = by_wait.into_iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0));
        let ((activity, place), (seconds, inners)) =
            most.unwrap_or_else(|| ((Activity::Hidden, String::new()), (0.0, Inners::default())));
        if is_blocked && seconds <= 0.0 || seconds + runnable.running_s + runnable.ready_s < LEAST_SEEN * whole_s {
            return None;
        }
        let excludes = object.kind != FrameKind::RwLock.name() && object.kind != FrameKind::Semaphore.name();
        if excludes && several_s > 0.5 * inside_s && several_s > 0.1 * whole_s {
            return None;
        }
        let is_recorded = object.kind != PYTHON && rows.of(object.wait).and_then(released_in_most).is_some();
        if runnable.running_s + runnable.ready_s > seconds && !is_blocked {
            let blocked = seconds / whole_s;
            return Some(of_runnable_peers(object, &function, &runnable, whole_s, limits, (is_recorded, blocked)));
        }
        let share = seconds / whole_s;
        let called = function_in(&place);
        let called = if called.is_empty() { function.clone() } else { called.to_owned() };
        let lock = &object.name;
        // A semaphore that one thread at a time has acquired is a lock.
        let is_semaphore = object.kind == FrameKind::Semaphore.name();
        let is_pool = self.is_pool(object) || is_semaphore && several_s > 0.1 * inside_s;
        let is_shared = object.kind == FrameKind::RwLock.name() && several_s > 0.1 * inside_s;
        let held = match &released_in {
            _ if is_pool => "the threads that had acquired it",
            // Its other readers released it before, and no call of the kernel shows that.
            Some(_) if is_shared => "the last thread that had acquired it",
            Some(_) => "the holder",
            None => "another thread in the same function",
        };
        let remedy = if is_pool {
            larger_pool(lock, &object.place())
        } else if acquirer.is_runtime {
            let call = activity.call().unwrap_or_else(|| "the call that blocks".into());
            format!("in {function}, call {call} outside of the critical section of {lock}")
        } else if let Some(inner) = inners.main() {
            inner.remedy(lock, &activity)
        } else {
            format!("call {called} outside of the critical section of {lock}")
        };
        // One that holds it is blocked there for nearly all of the wait. Others are in the function as well, outside of the
        // critical section.
        let is_sure = is_pool || !is_shared && (is_recorded || share > SURE);
        let remedy = match (is_sure, is_shared) {
            (true, _) => remedy,
            (false, false) => format!("if it holds {lock} there: {remedy}"),
            // Readers that overlap keep a writer waiting, however short each of them is.
            (false, true) => format!(
                "if it holds {lock} there: {remedy}; if not, its readers overlap: use a lock that lets waiting writers go first"
            ),
        };
        Some(Cause {
            rule: if is_pool { Rule::PoolTooSmall } else { Rule::HolderBlocked },
            object: lock.clone(),
            place: if is_pool || place.is_empty() { object.place() } else { place },
            text: format!("{held} {activity} in {called} for {} of the wait", terminal::percent(share)),
            remedy: Some(activity.unless_job(remedy))
                .filter(|_| share > 0.5 && (is_blocked || blocked_s > 0.5 * whole_s)),
            share,
            measure: Measure::None,
        })
    }

    /// Returns whether a path is in the function that acquires a lock. A function of the language's library, into which a
    /// closure was inlined, is known by its begin: other closures are in functions of the same name.
    pub(in super::super) fn is_inside(&self, path: Path, acquirer: &Frame) -> bool {
        let frames = self.frames(path);
        if acquirer.is_runtime {
            return acquirer.begin != 0 && frames.frames.iter().any(|frame| frame.begin == acquirer.begin);
        }
        frames.own().any(|frame| function_of(&frame.site) == function_of(&acquirer.site))
    }
}

/// Returns the function that released a lock for which others waited, if it is one for most of that time.
fn released_in_most(row: &Row) -> Option<String> {
    let most = row.blocked_by.first().filter(|blocker| blocker.share > 0.5)?;
    // A name can contain parentheses. Where only the file and an offset are known, the function is not.
    let line = most.site.strip_suffix(')').and_then(|site| site.rsplit_once(" ("));
    let function = match line {
        Some((function, _)) => without_offset(function),
        None if most.site.contains("+0x") => return None,
        None => &most.site,
    };
    (!is_lock_wrapper(&most.site)).then(|| function.to_owned())
}

/// Returns the cause of waits for a word, in all `whole_s`, while no thread was blocked in the function that acquires it.
/// `peers` are the times in which the other threads had a CPU, and in which they were ready for one. Unless `is_recorded`,
/// the record does not say who released the word, and perhaps no thread of them holds it. `blocked` is the part in which
/// another thread was blocked in the function.
fn of_runnable_peers(
    object: &Object,
    function: &str,
    peers: &Peers,
    whole_s: f64,
    limits: &Limits,
    (is_recorded, blocked): (bool, f64),
) -> Cause {
    let lock = &object.name;
    let shares = [peers.running_s / whole_s, peers.ready_s / whole_s];
    let [running, ready] = shares.map(terminal::percent);
    let is_inverted = peers.outranked_s > 0.5 * whole_s;
    let (rule, remedy) = if is_inverted {
        (Rule::PriorityInversion, Some(format!("hold {lock} at the priority of the threads that wait for it")))
    } else if !is_recorded {
        // Threads that run while others wait need not be those that hold the lock.
        (Rule::UnknownHolder, None)
    } else if shares[0] > 0.5 {
        (Rule::HolderRan, Some(format!("do less while {lock} is held, or use several locks")))
    } else if shares[1] > 0.5 {
        (Rule::HolderPreempted, Some(limits.fewer_threads()))
    } else {
        (Rule::SeveralCauses, None)
    };
    let condition = if is_recorded { String::new() } else { format!("if one of them holds {lock}: ") };
    let remedy = remedy.map(|remedy| format!("{condition}{remedy}"));
    let share = if rule == Rule::UnknownHolder { 0.0 } else { shares[0] + shares[1] };
    let inside = if is_recorded {
        format!("the holder was not blocked in {function}")
    } else if blocked > 0.0 {
        format!("another thread was blocked in {function} for {} of the wait", terminal::percent(blocked))
    } else {
        format!("no other thread was blocked in {function}")
    };
    let inverted = if is_inverted { ", with a lower priority than the waiters (priority inversion)" } else { "" };
    Cause {
        rule,
        object: lock.clone(),
        place: object.place(),
        text: format!(
            "{inside}; the other threads ran for {running} of the wait and were ready without a CPU for {ready}{inverted}"
        ),
        remedy,
        share,
        measure: Measure::None,
    }
}
