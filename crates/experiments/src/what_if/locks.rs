//! The locks whose critical sections become shorter: the named one, or those with the longest total wait.
//!
//! Only contend knows their names, so it tells the library which locks are meant. While the program runs, locks that
//! were used for the first time are looked up, and those of the name are marked. A program's first milliseconds with a
//! lock may pass before that.

use blame::names::{Names, own_name};
use blame::{Lost, places};
use harness::{Interruption, UsageError};
use interpose::{MAPS, Region};
use launch::{Plan, TracedLock};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// A lock that a run of the program used, and all that are called the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub name: String,
    pub wait_total_s: f64,
    /// The part of the time waited in which its holder slept.
    pub holder_slept: Option<f64>,
    /// Whether it has critical sections, which exclude other threads.
    excludes: bool,
    /// Whether it is a group of locks that are not kept apart.
    is_group: bool,
    /// Whether it is a lock of the language's runtime.
    is_of_runtime: bool,
    is_semaphore: bool,
    is_waited_for: bool,
}

impl Candidate {
    /// Returns whether its critical sections can become shorter.
    fn is_lock(&self) -> bool {
        self.excludes && !self.is_group
    }
}

/// The locks whose sections become shorter, and further candidates.
pub struct Found {
    pub tried: Vec<Candidate>,
    pub left: Vec<String>,
    /// Events that were lost in the run in which they were found.
    pub lost: Lost,
}

/// The number of locks that are tried if none is named.
const TRIED: usize = 3;
const MOST_NAMED: usize = 8;

/// Finds them in a run that is watched.
pub fn find(wanted: Option<&str>, plan: &Plan, interruption: &Interruption) -> anyhow::Result<Found> {
    let traced = plan.rank_locks(interruption)?;
    let refusal = traced.refusal(plan.program.language());
    Ok(Found { lost: traced.lost, ..chosen(wanted, candidates(traced.noted()), refusal)? })
}

/// Returns the locks to try; `refusal` says why the program itself has none.
fn chosen(wanted: Option<&str>, all: Vec<Candidate>, refusal: Option<String>) -> anyhow::Result<Found> {
    if let Some(wanted) = wanted {
        let one = all.iter().find(|lock| lock.name == own_name(wanted));
        return match one {
            Some(lock) if lock.is_group => Err(UsageError(format!(
                "--what-if {wanted}: a group of locks that are too many to be kept apart; {}",
                names(&all)
            ))
            .into()),
            Some(lock) if lock.excludes => {
                Ok(Found { tried: vec![lock.clone()], left: Vec::new(), lost: Lost::default() })
            }
            Some(_) => Err(UsageError(format!(
                "--what-if {wanted}: not a lock with critical sections; its waiters wait for an event"
            ))
            .into()),
            None => {
                let known = refusal.filter(|_| !all.iter().any(Candidate::is_lock)).unwrap_or_else(|| names(&all));
                Err(UsageError(format!("--what-if {wanted}: the program used no lock of this name; {known}")).into())
            }
        };
    }
    let can_be_tried = |lock: &Candidate| lock.is_lock() && !lock.is_semaphore && !lock.is_of_runtime;
    if let Some(refusal) = refusal.filter(|_| !all.iter().any(can_be_tried)) {
        anyhow::bail!(
            "--what-if: no critical section can become shorter: {refusal}; only those of the C library's locks can; \
             `contend trace -- PROGRAM` shows the waits for other locks"
        );
    }
    // A waiter of a semaphore mostly waits for work to arrive, not for the end of a critical section.
    let mut waited = all.into_iter().filter(|lock| can_be_tried(lock) && lock.is_waited_for);
    let tried: Vec<Candidate> = waited.by_ref().take(TRIED).collect();
    anyhow::ensure!(
        !tried.is_empty(),
        "--what-if: no lock was contended in the traced run, so shorter critical sections shorten no wait; to try \
         one anyway, name it with --what-if LOCK"
    );
    Ok(Found { tried, left: waited.map(|lock| lock.name).collect(), lost: Lost::default() })
}

fn names(all: &[Candidate]) -> String {
    let named: Vec<&str> = all.iter().filter(|lock| lock.is_lock()).map(|lock| lock.name.as_str()).collect();
    let more = if named.len() > MOST_NAMED { ", …" } else { "" };
    format!("it used {}{more}", named[..named.len().min(MOST_NAMED)].join(", "))
}

/// Returns the locks in the order of the time waited for them; those of the same name are one.
fn candidates(traced: &[TracedLock]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for lock in traced {
        let (name, wait_total_s) = (own_name(&lock.name).to_owned(), lock.wait_total_s);
        let (is_waited_for, is_semaphore) = (lock.is_waited_for(), lock.is_semaphore());
        let (excludes, is_group) = (lock.excludes() || is_semaphore, lock.folded);
        let holder_slept = lock.holder_slept_share();
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                // The mean of the waits for which it is known.
                known.holder_slept = match (known.holder_slept, holder_slept) {
                    (Some(one), Some(other)) => {
                        let all = (known.wait_total_s + wait_total_s).max(f64::MIN_POSITIVE);
                        Some((one * known.wait_total_s + other * wait_total_s) / all)
                    }
                    (one, other) => one.or(other),
                };
                known.wait_total_s += wait_total_s;
                known.is_waited_for |= is_waited_for;
            }
            None => found.push(Candidate {
                name,
                wait_total_s,
                holder_slept,
                excludes,
                is_group,
                is_of_runtime: lock.is_of_runtime(),
                is_semaphore,
                is_waited_for,
            }),
        }
    }
    found.sort_by(|a, b| b.wait_total_s.total_cmp(&a.wait_total_s));
    found
}

/// Periods of the looks: at first, and later.
const SOON: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_millis(10);
const AT_FIRST: Duration = Duration::from_millis(200);

/// Looks for the locks of one name in one run after another.
#[derive(Default)]
pub struct Chooser {
    names: Names,
    /// The call site by which each lock was named.
    looked_at: HashMap<u32, u64>,
    /// Name of a lock of this type that this place of this file names: to look takes the CPU from the program.
    by_call_site: HashMap<(PathBuf, u64, u32), String>,
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
        let site = |place: u32| region.locks[place as usize].first_site.load(Relaxed);
        let new: Vec<u32> = region
            .pairs()
            .map(|(_, pair)| pair.lock.load(Relaxed))
            .filter(|place| self.looked_at.get(place) != Some(&site(*place)))
            .filter(|&place| region.locks[place as usize].address.load(Acquire) != 0)
            .collect();
        if new.is_empty() {
            return;
        }
        self.read_maps(region);
        for place in new {
            // Another call site may name it by now.
            let now = site(place);
            if self.looked_at.insert(place, now) != Some(now) {
                let is_called = self.is_called(region, place, wanted);
                region.lock_lags[place as usize].chosen.store(u32::from(is_called), Relaxed);
            }
        }
    }

    /// Names by a call site need the debugger's information, and are looked for only if one is meant, once.
    fn is_called(&mut self, region: &Region, place: u32, wanted: &str) -> bool {
        if let Some(variable) = places::variable(region, &mut self.names, place) {
            return variable == wanted;
        }
        let Some((kind, _)) = wanted.split_once(" of ").filter(|_| !places::is_folded(region, place)) else {
            return false;
        };
        let lock = &region.locks[place as usize];
        let number = lock.kind.load(Relaxed);
        if places::type_name(number) != kind {
            return false;
        }
        let at = self.names.in_file(lock.process.load(Relaxed), lock.first_site.load(Relaxed));
        let at = at.map(|(file, place)| (file, place, number));
        if let Some(known) = at.as_ref().and_then(|at| self.by_call_site.get(at)) {
            return known == wanted;
        }
        let name = places::by_call_site(region, &mut self.names, place);
        let is_called = name == wanted;
        self.by_call_site.extend(at.map(|at| (at, name)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lock(name: &str, kind: &str, contended: u64, wait_total_s: f64) -> TracedLock {
        let row = json!({ "lock": name, "type": kind, "contended": contended, "wait_total_s": wait_total_s });
        serde_json::from_value(row).unwrap()
    }

    #[test]
    fn longest_waits_are_tried_and_namesakes_are_one() {
        let locks = [
            lock("mutex of f (a.c:3)", "mutex", 1, 0.5),
            lock("quiet", "mutex", 0, 0.0),
            lock("queue", "sem", 9, 8.0),
            lock("signal", "cond", 9, 9.0),
            lock("mutex of f (a.c:3) #2", "mutex", 1, 0.7),
            lock("hot", "rwlock", 2, 1.0),
            TracedLock { folded: true, ..lock("other locks of g (a.c:9)", "mutex", 9_000, 9.0) },
        ];
        let found = chosen(None, candidates(&locks), None).unwrap();
        let names: Vec<&str> = found.tried.iter().map(|lock| lock.name.as_str()).collect();
        assert_eq!(names, ["mutex of f (a.c:3)", "hot"]);
        assert_eq!(chosen(Some("mutex of f (a.c:3) #2"), candidates(&locks), None).unwrap().tried[0].wait_total_s, 1.2);
        assert_eq!(chosen(Some("quiet"), candidates(&locks), None).unwrap().tried[0].name, "quiet");
        for (wrong, words) in [
            ("nothing", "it used queue, mutex of f (a.c:3), hot, quiet"),
            ("signal", "not a lock with critical sections"),
            ("other locks of g (a.c:9)", "a group of locks that are too many to be kept apart; it used queue"),
        ] {
            let error = chosen(Some(wrong), candidates(&locks), None).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn lock_of_a_runtime_is_tried_only_if_it_is_named() {
        let row = json!({ "lock": "monitor of os::init", "type": "mutex", "contended": 9, "file": "libjvm.so" });
        let locks: [TracedLock; 1] = [serde_json::from_value(row).unwrap()];
        let refusal = || Some("the program's locks are those of Java: EvilLock".to_owned());
        let error = chosen(None, candidates(&locks), refusal()).err().unwrap().to_string();
        assert!(error.contains("those of Java: EvilLock"), "{error}");
        let named = chosen(Some("monitor of os::init"), candidates(&locks), refusal()).unwrap();
        assert_eq!(named.tried.len(), 1);
    }
}
