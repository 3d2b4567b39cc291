//! The waits of Python programs: for the interpreter's lock, for work, and the critical sections of locks.

use super::LOCKS_SHARE;
use super::inner::{called_in, function_in};
use super::objects::Object;
use super::places::label;
use crate::trace::evidence::Evidence;
use crate::trace::python_locks::{PYTHON, is_work};
use crate::trace::record::{Row, RowKind};
use crate::trace::words::whole_percent;
use blame::frames::{Frame, Frames, Kind, function_of};
use blame::sampling::budget::{Budget, Part};
use blame::sampling::waited::{Path, Wait};
use std::collections::BTreeMap;

impl Evidence {
    /// Returns whether the threads with this path wait for work in a lock of Python.
    pub(super) fn waits_for_work(&self, path: Path) -> bool {
        self.paths.is_python(path) && is_work(&self.frames(path))
    }

    /// Returns whether a word is a part of the condition at which threads wait for the interpreter's lock.
    pub(super) fn is_interpreter(&self, wait: Wait, path: Path) -> bool {
        let Wait::Word { process, address } = wait else { return false };
        let frames = self.frames(path);
        if frames.kind != Some(Kind::Condition) {
            return false;
        }
        if frames.frames.iter().any(|frame| function_of(&frame.site) == Some("take_gil")) {
            return true;
        }
        self.variable(process, address).is_some_and(|variable| variable.starts_with("_PyRuntime"))
    }
}

impl Evidence {
    /// Returns the place in Python's functions where threads ran for most of the time that they ran there, and its part of that.
    pub(super) fn python_on_cpu(&self) -> Option<(String, f64)> {
        let mut by_place: BTreeMap<String, f64> = BTreeMap::new();
        for (path, seconds) in &self.samples.ran_python {
            *by_place.entry(label(&self.frames(*path))).or_default() += seconds;
        }
        let all_s: f64 = by_place.values().sum();
        let most = by_place.into_iter().filter(|(place, _)| !place.is_empty());
        let (place, seconds) = most.max_by(|one, other| one.1.total_cmp(&other.1))?;
        (seconds > 0.5 * all_s).then(|| (place, seconds / all_s))
    }

    /// Returns the function of Python in which the holders of a lock ran for most of the time that others waited, with its caller. All
    /// locks of Python are acquired and released in functions of the interpreter.
    pub(super) fn ran_in(&self, object: &Object) -> Option<String> {
        let mut by_function: BTreeMap<String, (f64, f64, String)> = BTreeMap::new();
        for (path, seconds) in &object.waited.ran_in {
            let mut frames = self.frames(*path);
            // A function that calls both has no section: it may be the thread's loop.
            let waits_in = object.frames.own().find(|frame| frame.is_python() && !frame.is_of_library);
            let waits_in = waits_in.and_then(|frame| function_of(&frame.site));
            let section = section(&frames, &object.frames).filter(|section| Some(section.as_str()) == waits_in);
            let own = frames.frames.iter().position(|frame| !frame.is_of_library);
            frames.frames.drain(..own.unwrap_or(0));
            let place = called_in(&frames, section.as_deref());
            let (sum, most, of_most) = by_function.entry(function_in(&place).to_owned()).or_default();
            *sum += seconds;
            if seconds > most {
                (*most, *of_most) = (*seconds, place);
            }
        }
        let all_s: f64 = object.waited.ran_in.values().sum();
        let most = by_function.into_values().max_by(|one, other| one.0.total_cmp(&other.0))?;
        (most.0 > 0.5 * all_s).then_some(most.2)
    }
}

impl Evidence {
    /// Returns the doubt that remains where threads slept, and tried in vain to acquire locks of Python more often than they
    /// acquired them: `acquire(blocking=False)` in a loop that sleeps. A thread that waits tries once before it does, and a condition
    /// tries once each time that a thread has its lock.
    pub(super) fn python_retries(&self, rows: &[Row], objects: &[Object], whole: &Budget) -> Option<String> {
        let is_python = |row: &&Row| {
            let is_named = row.symbol.as_deref().is_some_and(|symbol| symbol.starts_with("PyThread_acquire_lock"));
            row.kind == RowKind::Lock && (is_named || row.lock_type == PYTHON)
        };
        let (tried, acquired) = rows.iter().filter(is_python).fold((0, 0), |(tried, acquired), row| {
            (tried + row.timeouts.saturating_sub(row.contended), acquired + row.acquisitions)
        });
        let is_sleep = |object: &&Object| matches!(object.wait, Wait::Call { part: Part::Sleep, .. });
        let mut by_place: BTreeMap<String, f64> = BTreeMap::new();
        for (path, seconds) in objects.iter().filter(is_sleep).flat_map(|object| &object.waited.paths) {
            if self.paths.is_python(*path) {
                *by_place.entry(label(&self.frames(*path))).or_default() += seconds;
            }
        }
        let slept_s: f64 = by_place.values().sum();
        let (place, _) = by_place.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let is_much = slept_s >= LOCKS_SHARE * (whole.busy_s() + slept_s);
        (is_much && 2 * tried > 3 * acquired).then(|| {
            format!(
                "Undecided: threads tried {} times in vain to acquire locks of Python without waiting, {} times with success, and slept \
                 for {} of thread time, mostly in {place}. If that sleeps between two tries, let it wait: acquire() without \
                 blocking=False.",
                terminal::count(tried),
                terminal::count(acquired),
                whole_percent(slept_s / whole.lived_s.max(1e-9))
            )
        })
    }
}

/// Returns the Python function that has the critical section of a lock: the innermost one on the paths of its holder and
/// of a waiter, unless it is a library's. All locks of Python are acquired in the same functions of the interpreter.
pub(super) fn section(holder: &Frames, waiter: &Frames) -> Option<String> {
    let is_on = |frame: &&Frame| {
        let function = function_of(&frame.site);
        function.is_some() && waiter.own().any(|other| function_of(&other.site) == function)
    };
    let section = holder.own().filter(|frame| frame.is_python()).find(is_on).filter(|frame| !frame.is_of_library)?;
    function_of(&section.site).map(str::to_owned)
}

/// Returns whether a function on the path of a holder is outside of the critical section: the innermost function that
/// is on the paths of the holder and of the waiters has the section.
pub(super) fn is_outside(function: &str, holder: &Frames, waiter: &Frames) -> bool {
    let functions =
        |frames: &Frames| frames.own().filter_map(|frame| function_of(&frame.site)).map(str::to_owned).collect();
    let (holder, waiter): (Vec<String>, Vec<String>) = (functions(holder), functions(waiter));
    let section = holder.iter().position(|function| waiter.contains(function));
    let place = holder.iter().position(|other| other == function);
    section.zip(place).is_some_and(|(section, place)| place > section)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blame::names::Site;
    use blame::sampling::waited::Waited;

    fn path(functions: &[&str]) -> Frames {
        let frame = |function: &&str| {
            let source = Some("/srv/app.py:7".to_owned());
            let site = Site { symbol: Some((*function).into()), source, label: (*function).into() };
            Frame { site, is_runtime: false, is_in_c_library: false, is_of_library: false, begin: 0 }
        };
        Frames { frames: functions.iter().map(frame).collect(), ..Frames::default() }
    }

    /// Evidence whose tries in vain, without a wait, and acquisitions of a Python lock are these; half of the time a thread slept.
    fn tried(tried: u64, acquired: u64) -> Option<String> {
        let row = Row {
            symbol: Some("PyThread_acquire_lock_timed".into()),
            timeouts: tried + 5,
            contended: 5,
            acquisitions: acquired,
            ..Row::new(RowKind::Lock, 1, "sem".into())
        };
        let site = |function: &str| Site {
            symbol: Some(function.into()),
            source: Some("/srv/app.py:7".into()),
            label: format!("{function} (app.py:7)"),
        };
        let called = |function: &str| blame::frames::Called {
            site: site(function),
            file: String::new(),
            begin: 0,
            is_python: true,
        };
        let mut evidence = Evidence::default();
        evidence.paths.insert(3, 1, vec![called("claim"), called("work")]);
        let wait = Wait::Call { number: 230, part: Part::Sleep, file: 0 };
        let waited = Waited { seconds: 4.0, paths: [(3, 4.0)].into(), ..Waited::default() };
        evidence.samples.waited.insert(wait, waited);
        let objects = evidence.objects(&super::super::Rows { rows: &[], slots: &[] });
        evidence.python_retries(&[row], &objects, &Budget { lived_s: 8.0, on_cpu_s: 1.0, ..Budget::default() })
    }

    #[test]
    fn tries_in_vain_leave_a_doubt_if_they_outnumber_acquisitions() {
        let doubt = tried(3_000, 700).unwrap();
        assert!(doubt.contains("3,000 times in vain") && doubt.contains("mostly in claim (app.py:7)"), "{doubt}");
        // A condition tries once for each time that a thread has its lock.
        assert_eq!(tried(700, 700), None);
    }

    #[test]
    fn functions_outside_of_the_section_are_those_that_call_it() {
        let log = ["Handler.handle", "Logger.info", "handle", "Thread.run"];
        let holder = path(&[&["StreamHandler.flush", "StreamHandler.emit"][..], &log].concat());
        let waiter = path(&[&["Handler.acquire"][..], &log].concat());
        for (function, is_out) in [("StreamHandler.emit", false), ("Handler.handle", false), ("handle", true)] {
            assert_eq!(is_outside(function, &holder, &waiter), is_out, "{function}");
        }
        let [holder, waiter] = [path(&["remote_call", "update", "worker"]), path(&["update", "worker"])];
        assert_eq!(section(&holder, &waiter).as_deref(), Some("update"));
        assert_eq!(section(&path(&["work", "run"]), &path(&["work", "run"])).as_deref(), Some("work"));
        assert_eq!(section(&path(&["refresh"]), &waiter), None);
        assert!(!is_outside("remote_call", &holder, &waiter) && !is_outside("update", &waiter, &waiter));
        assert!(!is_outside("compact", &path(&["compact", "loop"]), &path(&["handle", "loop"])));
    }
}
