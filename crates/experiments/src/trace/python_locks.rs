//! The Python functions that wait for the locks of Python, which are all acquired in one function of the interpreter.

use blame::frames::{Frames, Kind, function_of};
use blame::names::{Names, Site};
use blame::python::{is_function, waits_for_work};
use blame::sampling::budget::Part;
use blame::sampling::profile::Profile;
use blame::sampling::waited::{Path, Wait};
use std::collections::HashMap;

/// The type of a lock of Python.
pub const PYTHON: &str = "python lock";

/// The place that waits for a lock of Python.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonPlace {
    /// The name of the lock.
    pub name: String,
    pub site: Site,
    is_work: bool,
}

impl PythonPlace {
    /// Returns the place of a path that waits in a lock of Python.
    pub fn of(frames: &Frames) -> Option<Self> {
        let acquires = |frame: &blame::frames::Frame| {
            function_of(&frame.site).is_some_and(|function| function.starts_with("PyThread_acquire_lock"))
        };
        let inner = frames.own().next().filter(|_| frames.frames.iter().any(acquires))?;
        let is_work = is_work(frames);
        let own = frames.own().find(|frame| !frame.is_of_library).unwrap_or(inner);
        let name = match function_of(&inner.site).filter(|_| is_work && own.is_of_library != inner.is_of_library) {
            // A library's function has locks for each of its callers.
            Some(function) => format!("{function} in {}", own.site.label),
            None => format!("threading.Lock of {}", inner.site.label),
        };
        Some(Self { name, site: if is_work { own } else { inner }.site.clone(), is_work })
    }

    /// Returns the reason of its waits.
    pub fn part(&self) -> Part {
        if self.is_work { Part::Work } else { Part::Lock }
    }

    /// Returns the type of the lock.
    pub fn kind(&self) -> &'static str {
        if self.is_work { Kind::Park.name() } else { PYTHON }
    }
}

/// Returns whether a thread in a lock of Python waits for work. Waits for the interpreter's lock are at a condition.
pub fn is_work(frames: &Frames) -> bool {
    let is_in_lock = matches!(frames.kind, Some(Kind::Semaphore | Kind::Park) | None);
    is_in_lock && waits_for_work(frames.frames.iter().map(|frame| &frame.site))
}

/// Returns the places that waited longest for the locks of Python that the library notes, by the locks' slots. `known_as`
/// has the numbers by which the names know the processes. A slot that stands for several locks has a place if they are means to wait
/// for work, and nearly all waits are there.
pub fn places(
    profile: &Profile,
    names: &mut Names,
    known_as: &HashMap<u32, u32>,
    is_folded: impl Fn(u32) -> bool,
) -> HashMap<u32, PythonPlace> {
    const NEARLY_ALL: f64 = 0.9;
    let mut by_path: HashMap<Path, Option<PythonPlace>> = HashMap::new();
    let mut places = HashMap::new();
    for (wait, waited) in profile.waited() {
        let most = waited.paths.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
        let (Wait::Lock(slot), Some((path, _))) = (wait, most) else { continue };
        let place = by_path.entry(*path).or_insert_with(|| {
            let (process, addresses, called) = profile.path(*path);
            if !addresses.iter().any(|address| is_function(*address)) {
                return None;
            }
            let python = |function| profile.python_site(process, function);
            PythonPlace::of(&Frames::of(names, *known_as.get(&process)?, addresses, called, python))
        });
        let (place, most_s) = (place.clone(), waited.paths[path]);
        let is_one = |place: &PythonPlace| place.is_work && most_s >= NEARLY_ALL * waited.seconds;
        places.extend(place.filter(|place| !is_folded(slot) || is_one(place)).map(|place| (slot, place)));
    }
    places
}
