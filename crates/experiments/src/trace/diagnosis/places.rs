//! The places of the program where its threads spent their time, but for waits for locks: asleep, in I/O, waiting for other
//! threads, and on a CPU. What limits a program that hardly waits for locks is among them.

use super::java::frames;
use super::objects::Object;
use super::{Evidence, stack};
use crate::trace::record::{Row, RowKind, SeenBy};
use crate::trace::words::without_arguments;
use blame::frames::{Frame, Frames, Kind, function_of};
use blame::sampling::budget::{Budget, Part};
use blame::sampling::waited::{Path, Wait};
use std::collections::BTreeMap;

/// Places with a smaller part of the threads' time explain little.
const LEAST_SHARE: f64 = 0.05;
const MOST_PLACES: usize = 8;

/// The name, in records, of being on a CPU.
pub(super) const ON_CPU: &str = "on_cpu";

/// The time at a place, and the call path that has most of it.
#[derive(Default)]
struct Place {
    seconds: f64,
    most_s: f64,
    label: String,
    frames: Frames,
    process: u32,
}

impl Evidence {
    /// Returns the places with a part of the threads' time that is worth a line, the largest part first.
    pub(super) fn places(&self, whole: &Budget, objects: &[Object]) -> Vec<Row> {
        let profile = &self.samples;
        let blocked = objects.iter().filter_map(|object| Some((name_of(object)?, &object.waited.paths)));
        let blocked =
            blocked.flat_map(|(name, paths)| paths.iter().map(move |(path, seconds)| (name, *path, *seconds)));
        let running = profile.running.iter().map(|(path, share)| (ON_CPU, *path, share * whole.on_cpu_s));
        let in_python = profile.ran_python.iter().map(|(path, seconds)| (ON_CPU, *path, *seconds));
        let times: Vec<(&str, Path, f64)> = blocked.chain(running).chain(in_python).collect();
        let mut places: BTreeMap<(&str, String), Place> = BTreeMap::new();
        for (name, path, seconds) in times {
            let frames = self.frames(path);
            let label = label(&frames);
            // A thread is blocked at a line, and runs in many of a function.
            let key = if name == ON_CPU { function_label(&frames) } else { label.clone() };
            let place = places.entry((name, key)).or_default();
            place.seconds += seconds;
            if seconds > place.most_s {
                (place.most_s, place.process) = (seconds, self.paths.process(path));
                (place.frames, place.label) = (frames, label);
            }
        }
        for (name, label, process, own, seconds) in self.java_places().filter(|_| whole.lived_s > 0.0) {
            let place = places.entry((name, label.clone())).or_default();
            place.seconds += seconds;
            if seconds > place.most_s {
                (place.most_s, place.process) = (seconds, process);
                (place.frames, place.label) = (frames([own]), label);
            }
        }
        let lived_s = whole.lived_s.max(1e-9);
        let is_much =
            |((_, label), place): &((&str, String), Place)| !label.is_empty() && place.seconds >= LEAST_SHARE * lived_s;
        let mut places: Vec<((&str, String), Place)> = places.into_iter().filter(is_much).collect();
        places.sort_by(|(_, one), (_, other)| other.seconds.total_cmp(&one.seconds));
        let row = |((name, _), Place { seconds, label, frames, process, .. }): ((&str, String), Place)| {
            let site = frames.own().next().map(|frame| &frame.site);
            Row {
                lock_type: name.to_owned(),
                symbol: site.and_then(|site| site.symbol.clone()),
                source: site.and_then(|site| site.source.clone()),
                wait_total_s: seconds,
                wait_share: Some((seconds / lived_s).min(1.0)),
                seen_by: SeenBy::Sampling,
                stack: stack(&frames),
                ..Row::new(RowKind::Place, process, label)
            }
        };
        places.into_iter().take(MOST_PLACES).map(row).collect()
    }
}

/// Returns the innermost function of the program's own with its caller, or with the function of a library that it called.
pub(super) fn label(frames: &Frames) -> String {
    labelled(frames, &|inner| without_arguments(&inner.site.label))
}

/// Returns the same without the line of a function that has a name.
fn function_label(frames: &Frames) -> String {
    labelled(frames, &|inner| without_arguments(function_of(&inner.site).unwrap_or(&inner.site.label)))
}

fn name_of_function(frame: &Frame) -> String {
    let site = &frame.site;
    // An offset in a file without names tells the reader nothing.
    let name = function_of(site).or_else(|| Some(site.label.split_once("+0x")?.0)).unwrap_or(&site.label);
    without_arguments(name)
}

/// Returns a label that names the innermost function by `inner_name`.
fn labelled(frames: &Frames, inner_name: &dyn Fn(&Frame) -> String) -> String {
    // An address in no file is none of a call: Go's goroutines have stacks that the threads' samples do not follow.
    let is_known = |frame: &&Frame| function_of(&frame.site).is_some() || frame.site.label.contains("+0x");
    let Some(inner) = frames.own().next().filter(is_known) else { return String::new() };
    let name = name_of_function;
    let is_another = |frame: &&Frame| function_of(&frame.site) != function_of(&inner.site);
    let callers = || frames.own().skip(1).filter(is_another);
    if !inner.is_of_library {
        // The functions of a header serve many: the first that is in no header is the one whose work it is.
        let outside = || callers().find(|caller| !is_in_header(caller));
        let caller = if is_in_header(inner) { outside().or_else(|| callers().next()) } else { callers().next() };
        let called_by = caller.map_or_else(String::new, |caller| format!(", called by {}", name(caller)));
        return inner_name(inner) + &called_by;
    }
    let own = || frames.own().filter(|frame| !frame.is_of_library);
    // Between a function of Python and the library that it calls is a module of the interpreter.
    match own().find(|frame| frame.is_python()).or_else(|| own().next()) {
        Some(own) => format!("{}, in {}", inner_name(own), name(inner)),
        None => inner_name(inner),
    }
}

/// Returns whether a function's source is a header of C or C++.
fn is_in_header(frame: &Frame) -> bool {
    let file = frame.site.source.as_deref().and_then(|source| source.rsplit_once(':')).map_or("", |(file, _)| file);
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    matches!(extension, "h" | "hh" | "hpp" | "hxx" | "inl" | "ipp" | "tcc")
}

/// Returns the name of what the threads do that wait for an object; `None` for a lock, which has rows already.
fn name_of(object: &Object) -> Option<&'static str> {
    match (object.part, object.wait) {
        (Part::Lock, _) => None,
        // The thread dumps say what threads of Java wait for, and its machine's own have no part in the program.
        _ if object.kind == Kind::Machine.name() => None,
        // A lock that sleeps between two tries, as it seems.
        (_, Wait::Call { part: Part::Sleep, .. }) => Some("sleep"),
        (Part::Sleep, _) => Some("sleep"),
        (Part::Io, _) => Some("io"),
        (Part::Work, _) => Some("work"),
        (Part::Unknown, _) => Some("unknown"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use blame::names::Site;

    /// Returns a path of functions, innermost first, each with whether it is of a library.
    pub(in super::super) fn path(frames: &[(&str, bool)]) -> Frames {
        let frame = |(function, is_of_library): &(&str, bool)| {
            let site = Site { symbol: Some((*function).into()), source: None, label: (*function).into() };
            Frame { site, is_runtime: false, is_in_c_library: false, is_of_library: *is_of_library, begin: 0 }
        };
        Frames { frames: frames.iter().map(frame).collect(), ..Frames::default() }
    }

    #[test]
    fn place_is_the_innermost_function_and_the_programs_own_caller() {
        let of = |frames: &[(&str, bool)]| label(&path(frames));
        assert_eq!(of(&[("lib:busy", true), ("lib:step", true), ("save", false)]), "save, in lib:busy");
        assert_eq!(of(&[("report", false), ("report", false), ("run", false)]), "report, called by run");
        let mut helpers = path(&[("now", false), ("spin", false), ("pack", false), ("run", false)]);
        for (place, file) in ["/src/time.h:4", "/src/time.h:9", "/src/pack.c:7", "/src/run.c:3"].into_iter().enumerate()
        {
            helpers.frames[place].site.source = Some(file.into());
        }
        assert_eq!(label(&helpers), "now, called by pack");
        helpers.frames[0].site.label = "now (time.h:4)".into();
        assert_eq!(function_label(&helpers), "now, called by pack", "a function runs in many lines");
        assert_eq!(of(&[]), "");
    }
}
