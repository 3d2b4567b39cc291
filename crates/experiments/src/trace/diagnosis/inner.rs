//! The function in a critical section that blocks: its place, and the remedy that names it.

use super::activity::Activity;
use blame::frames::{Frame, Frames, function_of};
use blame::names::{Site, short};
use std::collections::BTreeMap;

/// Returns the function in the critical section that blocks, and its caller: `write_log (log.c:3), called by request`.
/// It is the one that the function which acquired the lock calls; where that is not on the path, the innermost.
pub(super) fn called_in(frames: &Frames, acquired_in: Option<&str>) -> String {
    let own: Vec<&Site> = frames.own().map(|frame| &frame.site).collect();
    let acquired = own.iter().position(|site| acquired_in.is_some() && function_of(site) == acquired_in);
    let inner = acquired.map_or(0, |acquired| acquired.saturating_sub(1));
    let Some(site) = own.get(inner) else { return String::new() };
    let caller = own[inner + 1..].iter().find(|caller| function_of(caller) != function_of(site));
    match caller.and_then(|caller| function_of(caller)) {
        Some(caller) => format!("{}, called by {caller}", site.label),
        None => site.label.clone(),
    }
}

/// Returns the function of a place: `write_log` of `write_log (log.c:3), called by request`.
pub(super) fn function_in(place: &str) -> &str {
    plain(place.split(", called by ").next().unwrap_or(place)).trim_end()
}

/// The function of the program's own that blocks, for a remedy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Inner {
    pub(super) function: String,
    /// `file:line` of the call that blocks.
    pub(super) source: Option<String>,
    /// Its caller, and the function that acquired the lock: `, called by load_all in refresh,`.
    pub(super) callers: String,
    /// Whether it is the function that acquired the lock.
    pub(super) is_section: bool,
    /// The function of a library that it calls.
    pub(super) calls: Option<String>,
}

impl Inner {
    /// Returns the innermost function of the program's own on a path; `None` if the path has none.
    pub(super) fn of(frames: &Frames, acquired_in: Option<&str>) -> Option<Self> {
        let own: Vec<&Frame> = frames.own().collect();
        let place = own.iter().position(|frame| !frame.is_of_library)?;
        let name = |frame: &Frame| function_of(&frame.site).map_or(&*frame.site.label, plain).to_owned();
        let outer: Vec<String> = own[place + 1..].iter().map(|frame| name(frame)).collect();
        let function = name(own[place]);
        let caller = outer.iter().find(|caller| **caller != function);
        let section = acquired_in.map(plain).filter(|section| outer.iter().any(|outer| outer == section));
        let callers = match (caller, section) {
            (Some(caller), Some(section)) if caller != section => format!(", called by {caller} in {section},"),
            (Some(caller), _) => format!(", called by {caller},"),
            (None, _) => String::new(),
        };
        Some(Self {
            is_section: acquired_in.map(plain) == Some(&*function),
            source: own[place].site.source.as_deref().map(|source| short(source).to_owned()),
            calls: place.checked_sub(1).map(|library| name(own[library])),
            function,
            callers,
        })
    }

    /// Returns the function with its line: `query_database (server.c:41)`.
    fn label(&self) -> String {
        self.source.as_ref().map_or_else(|| self.function.clone(), |source| format!("{} ({source})", self.function))
    }

    /// Returns the remedy for a lock that is held while this function does something that blocks.
    pub(super) fn remedy(&self, lock: &str, activity: &Activity) -> String {
        if self.is_section {
            if let Some(other) = activity.other_lock() {
                return format!("in {}, acquire {other} outside of the critical section of {lock}", self.label());
            }
            if matches!(activity, Activity::Awaited(_)) {
                return format!("in {}, wait for that thread outside of the critical section of {lock}", self.label());
            }
            let call = self.calls.clone().or_else(|| activity.call());
            let call = call.as_deref().unwrap_or("the function that blocks");
            return format!("in {}, call {call} outside of the critical section of {lock}", self.label());
        }
        format!(
            "move {}{} out of the critical section of {lock}: it {} while it holds the lock. If it writes data that the \
             lock protects, those writes still need the lock",
            self.label(),
            self.callers,
            activity.verb()
        )
    }
}

/// Returns the remedy for a semaphore that limits the number of active threads. `place` is where they are active.
pub fn larger_pool(semaphore: &str, place: &str) -> String {
    let function = function_in(place);
    format!("raise the limit of {semaphore} (a larger pool), or hold it for less time in {function}")
}

/// The innermost functions that blocked, and for how long.
#[derive(Default)]
pub(super) struct Inners(BTreeMap<Inner, f64>);

impl Inners {
    pub(super) fn add(&mut self, inner: Option<Inner>, seconds: f64) {
        *self.0.entry(inner.unwrap_or_default()).or_default() += seconds;
    }

    /// Returns the function that blocked for more than half of the time, with the line and the callers of most of its
    /// time.
    pub(super) fn main(self) -> Option<Inner> {
        let whole_s: f64 = self.0.values().sum();
        let mut by_function: BTreeMap<String, (f64, f64, Inner)> = BTreeMap::new();
        for (inner, seconds) in self.0 {
            let (sum, most, of_most) = by_function.entry(inner.function.clone()).or_default();
            *sum += seconds;
            if seconds > *most {
                (*most, *of_most) = (seconds, inner);
            }
        }
        let main = by_function.into_values().find(|(sum, ..)| *sum > 0.5 * whole_s)?.2;
        (!main.function.is_empty()).then_some(main)
    }
}

/// Returns a function without the offset in it that stands for a missing line.
pub(super) fn without_offset(function: &str) -> &str {
    function.rsplit_once("+0x").map_or(function, |(function, _)| function)
}

/// Returns a function without its arguments and the offset in it. Parentheses of an anonymous namespace, of a lambda, of
/// `operator()` and of a template's argument are parts of its name.
pub(super) fn plain(function: &str) -> &str {
    let function = without_offset(function);
    let mut depth = 0_usize;
    for (place, letter) in function.char_indices() {
        let (before, rest) = function.split_at(place);
        match letter {
            '{' | '<' if !before.ends_with("operator") => depth += 1,
            '}' | '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !rest.starts_with("(anonymous namespace)") && !before.ends_with("operator") => {
                return before;
            }
            _ => {}
        }
    }
    function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_of_a_place_keeps_the_arguments_of_its_template() {
        for (place, function) in [
            ("write_log (log.c:3), called by request", "write_log"),
            (
                "Cache<int, long>::load(int) (cache.cpp:28), called by Cache<int, long>::get(int)",
                "Cache<int, long>::load",
            ),
            ("server+0x1f2a", "server"),
            ("", ""),
        ] {
            assert_eq!(function_in(place), function);
        }
    }

    #[test]
    fn arguments_are_cut_off_and_parts_of_names_stay() {
        for (function, name) in [
            ("query_database", "query_database"),
            ("store::query(int, char const*)", "store::query"),
            ("app::(anonymous namespace)::query(int)", "app::(anonymous namespace)::query"),
            ("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
            ("run<std::function<void (int)> >(std::function<void (int)>&)", "run<std::function<void (int)> >"),
            ("refresh+0x1f", "refresh"),
        ] {
            assert_eq!(plain(function), name);
        }
    }

    /// Returns a path of functions with their files; those of libraries begin with "lib:".
    fn path(functions: &[&str]) -> Frames {
        let frame = |(line, function): (usize, &&str)| {
            let (name, is_of_library) = function.strip_prefix("lib:").map_or((*function, false), |name| (name, true));
            let (symbol, source) = (Some(name.to_owned()), Some(format!("/srv/server.c:{line}")));
            let site = Site { symbol, source, label: format!("{name} (server.c:{line})") };
            Frame { site, is_runtime: name == "nanosleep", is_in_c_library: false, is_of_library, begin: 0 }
        };
        Frames { frames: functions.iter().enumerate().map(frame).collect(), ..Frames::default() }
    }

    fn remedy(functions: &[&str], section: Option<&str>) -> Option<String> {
        Inner::of(&path(functions), section)
            .map(|inner| inner.remedy("table_lock", &Activity::Slept(Some(libc::SYS_nanosleep))))
    }

    #[test]
    fn remedy_names_innermost_function_of_the_program() {
        let rest = "out of the critical section of table_lock: it sleeps while it holds the lock. If it writes data that the \
                    lock protects, those writes still need the lock";
        let moved = |which: &str| Some(format!("move {which} {rest}"));
        let deep = ["nanosleep", "query_database", "load_all", "refresh", "work"];
        assert_eq!(
            remedy(&deep, Some("refresh")),
            moved("query_database (server.c:1), called by load_all in refresh,")
        );
        assert_eq!(remedy(&deep[1..], Some("load_all")), moved("query_database (server.c:0), called by load_all,"));
        // The function that acquired the lock has returned.
        assert_eq!(remedy(&deep, Some("guard_enter")), moved("query_database (server.c:1), called by load_all,"));
        let library = ["lib:poll_socket", "lib:PQexec", "query_database", "refresh"];
        assert_eq!(remedy(&library, Some("refresh")), moved("query_database (server.c:2), called by refresh,"));
        assert_eq!(
            remedy(&library, Some("query_database(int)")).as_deref(),
            Some("in query_database (server.c:2), call PQexec outside of the critical section of table_lock")
        );
        assert_eq!(
            remedy(&["nanosleep", "refresh", "work"], Some("refresh+0x1c")).as_deref(),
            Some("in refresh (server.c:1), call nanosleep outside of the critical section of table_lock")
        );
        assert_eq!(remedy(&[], Some("refresh")), None);
        assert_eq!(remedy(&["nanosleep", "lib:run"], None), None);
    }

    #[test]
    fn function_without_most_of_the_time_is_not_named() {
        let main = |parts: &[(&str, f64)]| {
            let mut inners = Inners::default();
            parts
                .iter()
                .for_each(|(function, seconds)| inners.add(Inner::of(&path(&[function, "refresh"]), None), *seconds));
            inners.main().map(|inner| inner.function)
        };
        assert_eq!(main(&[("read_row", 2.0), ("read_row", 1.0), ("write_row", 2.5)]).as_deref(), Some("read_row"));
        assert_eq!(main(&[("read_row", 1.0), ("write_row", 1.0), ("sync", 1.0)]), None);
        assert_eq!(main(&[("lib:poll", 1.0)]).as_deref(), Some("refresh"));
        assert_eq!(main(&[]), None);
    }
}
