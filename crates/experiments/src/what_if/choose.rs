//! Telling the library which locks are meant: only here are their names known.
//!
//! While the program runs, locks that were used for the first time are looked at, and those of the name are marked. A
//! program's first milliseconds with a lock may pass before that.

use blame::names::Names;
use blame::places;
use interpose::{MAPS, Region};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// How often is looked: at first, and later.
const SOON: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_millis(10);
const AT_FIRST: Duration = Duration::from_millis(200);

/// Looks for the locks of one name in one run after another.
#[derive(Default)]
pub struct Chooser {
    names: Names,
    looked_at: HashSet<u32>,
    /// What a lock of this type is called that is first used at this place of this file: to look takes the CPU from the
    /// program.
    by_first_use: HashMap<(PathBuf, u64, u32), String>,
}

impl Chooser {
    /// Marks them until the run is over; a new run begins with new processes.
    pub fn watch(&mut self, region: &Region, wanted: &str, is_over: impl Fn() -> bool) {
        self.names.forget_processes();
        self.looked_at.clear();
        let began = Instant::now();
        while !is_over() {
            self.look(region, wanted);
            std::thread::sleep(if began.elapsed() < AT_FIRST { SOON } else { LATER });
        }
    }

    fn look(&mut self, region: &Region, wanted: &str) {
        let new: Vec<u32> = region
            .pairs()
            .map(|(_, pair)| pair.lock.load(Relaxed))
            .filter(|place| !self.looked_at.contains(place))
            .filter(|&place| region.locks[place as usize].address.load(Acquire) != 0)
            .collect();
        if new.is_empty() {
            return;
        }
        self.read_maps(region);
        for place in new {
            if self.looked_at.insert(place) && self.is_called(region, place, wanted) {
                region.lock_lags[place as usize].chosen.store(1, Relaxed);
            }
        }
    }

    /// Names by the place of first use need the debugger's information, and are looked for only if one is meant, once.
    fn is_called(&mut self, region: &Region, place: u32, wanted: &str) -> bool {
        if let Some(variable) = places::variable(region, &mut self.names, place) {
            return variable == wanted;
        }
        let Some((kind, _)) = wanted.split_once(" of ") else { return false };
        let lock = &region.locks[place as usize];
        let number = lock.kind.load(Relaxed);
        if places::type_name(number) != kind {
            return false;
        }
        let at = self.names.in_file(lock.process.load(Relaxed), lock.first_site.load(Relaxed));
        let at = at.map(|(file, place)| (file, place, number));
        if let Some(known) = at.as_ref().and_then(|at| self.by_first_use.get(at)) {
            return known == wanted;
        }
        let name = places::by_first_use(region, &mut self.names, place);
        let is_called = name == wanted;
        self.by_first_use.extend(at.map(|at| (at, name)));
        is_called
    }

    /// Reads the current memory maps; for a process that has ended, the map that it noted.
    fn read_maps(&mut self, region: &Region) {
        for (place, process) in region.processes().enumerate() {
            let pid = process.pid.load(Relaxed);
            let length = (process.maps_length.load(Acquire) as usize).min(MAPS);
            let noted: Vec<u8> = process.maps[..length].iter().map(|byte| byte.load(Relaxed)).collect();
            self.names.learn(place as u32, None, &noted);
            let is_the_last = region.processes().skip(place + 1).all(|later| later.pid.load(Relaxed) != pid);
            if let Some(now) = std::fs::read(format!("/proc/{pid}/maps")).ok().filter(|_| is_the_last) {
                self.names.learn(place as u32, Some(pid), &now);
            }
        }
    }
}
