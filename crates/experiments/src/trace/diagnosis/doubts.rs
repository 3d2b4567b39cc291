//! Doubts: waits whose purpose is not seen. They turn "not the locks" into "undecided", with the place and what would decide.

use super::objects::{Object, Unclear};
use super::places::label;
use super::{LOCKS_SHARE, MANY_CPUS};
use crate::trace::evidence::Evidence;
use crate::trace::plan::Verdict;
use crate::trace::words::whole_percent;
use blame::frames::{Frames, function_of};
use blame::sampling::budget::{Budget, Part};
use blame::sampling::waited::{Path, Wait};
use std::collections::BTreeMap;

/// Samples of less than this part of the threads' time say nothing about what limits the program.
const MOST_OF_TIME: f64 = 0.5;
/// Fewer samples show by chance what is not so: a tenth of the time is expected in one of ten.
const LEAST_SAMPLES: u64 = 10;
/// A process whose threads have something to do for less of their time does nothing itself.
const IDLE: f64 = 0.05;
/// Processes that a sentence names.
const MOST_NAMED: usize = 8;
/// Samples hardly find a thread that lives for a shorter time.
const SHORT_LIFE_S: f64 = 0.05;

/// Returns the object with the longest waits whose purpose is not known, and why.
pub(super) fn unclear(objects: &[Object]) -> Option<(Unclear, &Object)> {
    objects.iter().find_map(|object| Some((object.unclear?, object)))
}

impl Unclear {
    /// Returns the sentence that follows a verdict.
    pub(super) fn sentence(self, object: &Object) -> String {
        match self {
            Self::Gate => {
                // Where the library saw the lock, there is nothing more to see.
                let is_noted = matches!(object.wait, Wait::Lock(_));
                let more = if is_noted { "" } else { "; the futex calls do (`contend trace --pid PID` as root)" };
                format!(
                    " A thread that waited for a message may have held {}: for work, or for the answer to a request. Samples do \
                     not show that{more}.",
                    object.name
                )
            }
            Self::Channel => format!(
                " The threads that read from the pipe or eventfd in {} hardly ever waited for it all at once: it may be a lock \
                 that they pass on, or bring them work. Samples do not show which.",
                object.place()
            ),
            Self::Turns => format!(
                " Threads wake each other in turn at {}: it may be a lock that they pass on, or a request and its answer. Their order \
                 does not show which.",
                object.name
            ),
        }
    }
}

/// The reason why waits for locks may not have been seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Doubt {
    /// Waits that need no thread of the kernel: those of a Go program, unless its goroutines were followed.
    Goroutines,
    VirtualThreads,
    /// Threads that sleep for moments again and again: how many, the part of their time, the length of a sleep in ns, and the
    /// place.
    Naps {
        threads: usize,
        share: f64,
        nap_ns: f64,
        place: String,
    },
    /// A library sleeps that the program called for something else: the part of all thread time, and the place.
    LibrarySleeps {
        share: f64,
        place: String,
    },
    /// Threads that give up their CPU again and again: the part of the busy time, and the place.
    Yields {
        share: f64,
        place: String,
    },
    /// The samples are of this part of the threads' time alone: most threads ended too soon, or contend had no CPU for more.
    FewSamples {
        covered: f64,
        are_short: bool,
    },
    /// The processes hardly did anything themselves: their children do, which were not watched.
    Children {
        children: Vec<u32>,
    },
    /// Locks are known by samples alone, and the threads were hardly looked at.
    TooFew {
        count: u64,
    },
}

impl Doubt {
    pub(super) fn is_of_goroutines(&self) -> bool {
        *self == Self::Goroutines
    }

    /// Returns the sentence that explains the verdict "undecided".
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Goroutines => {
                "Undecided: goroutines wait for sync.Mutex and channels without a thread, so the kernel does not see these waits. \
                 The program's own profile shows them: call runtime.SetMutexProfileFraction(1), then run `go tool pprof` on \
                 /debug/pprof/mutex."
                    .to_owned()
            }
            Self::VirtualThreads => {
                "Undecided: virtual threads of Java wait for locks without a thread of the kernel, and a thread dump does not list \
                 them. `jcmd PID Thread.dump_to_file FILE` writes the calls in which each of them waits."
                    .to_owned()
            }
            Self::Naps { threads, share, nap_ns, place } => format!(
                "Undecided: {} slept for {} of their time, about {} at a time, mostly in {place}, and ran in between. Samples do not \
                 show whether they try again and again to get a lock or work: then one that blocks wakes them as soon as it is there.",
                terminal::counted(*threads, "thread"),
                whole_percent(*share),
                terminal::nanoseconds(*nap_ns)
            ),
            Self::LibrarySleeps { share, place } => format!(
                "Undecided: for {} of thread time threads slept in a library, mostly in {place}. A library that sleeps may try again \
                 and again to get what another thread or process has: samples do not show that.",
                whole_percent(*share)
            ),
            Self::Yields { share, place } => format!(
                "Undecided: for {} of their busy time, threads gave up their CPU to try again, as sched_yield does, mostly in {place}. \
                 Samples do not show whether they wait for a lock or for work; a lock or a condition that blocks leaves the CPU to the \
                 thread that they wait for.",
                whole_percent(*share)
            ),
            Self::Children { children } => {
                let named: Vec<String> = children.iter().take(MOST_NAMED).map(u32::to_string).collect();
                format!(
                    "Undecided: this process does next to nothing itself, and its {} not watched: contend trace --pid {}.",
                    if children.len() == 1 { "child is".to_owned() } else { format!("{} children are", children.len()) },
                    named.join(",")
                )
            }
            Self::TooFew { count } => format!(
                "Undecided: threads were looked at {} only: trace it for longer, or on a machine with an idle CPU.",
                terminal::counted(*count as usize, "time")
            ),
            Self::FewSamples { covered, are_short } => format!(
                "Undecided: the samples are of {} of the time that threads lived{}",
                whole_percent(*covered),
                match are_short {
                    true => {
                        ", since most of these ended within milliseconds. To begin and end threads may be what it does: a pool \
                         keeps them."
                    }
                    false => ": trace it for longer, or on a machine with an idle CPU.",
                }
            ),
        }
    }
}

impl Evidence {
    /// Returns the reason why locks may be a problem all the same, if there is one. `covered` is the part of the threads' time that the
    /// samples are of, and `least_s` the shortest wait that is a problem.
    pub(super) fn doubt(
        &self,
        verdict: Option<Verdict>,
        whole: &Budget,
        objects: &[Object],
        covered: f64,
        least_s: f64,
    ) -> Option<Doubt> {
        let count = self.samples.count;
        let is_by_few = !self.has_calls && self.library.is_none() && count < LEAST_SAMPLES;
        match verdict {
            Some(Verdict::NotLocks | Verdict::Locks) if is_by_few => return Some(Doubt::TooFew { count }),
            Some(Verdict::NotLocks) => {}
            _ => return None,
        }
        if !self.unwatched.is_empty() && whole.busy_s() < IDLE * whole.lived_s {
            return Some(Doubt::Children { children: self.unwatched.clone() });
        }
        // Where all CPUs are in use, such waits cost nothing.
        let uses_all_cpus = whole.on_cpu_s >= MANY_CPUS * self.cpus as f64 * self.elapsed_s;
        let sleeps = || self.sleeps(whole, objects, least_s);
        let hidden = (!uses_all_cpus).then(|| self.hidden_waits().or_else(sleeps)).flatten();
        let are_short = self.thread_time_s < SHORT_LIFE_S * f64::from(self.threads);
        let few = (covered < MOST_OF_TIME).then_some(Doubt::FewSamples { covered, are_short });
        hidden.or_else(|| self.yields(whole)).or(few)
    }

    /// Returns the reason why waits can be without a thread that the kernel knows; `None` where there is none.
    fn hidden_waits(&self) -> Option<Doubt> {
        let virtual_threads = self.has_virtual_threads().then_some(Doubt::VirtualThreads);
        virtual_threads.or_else(|| self.is_go().then_some(Doubt::Goroutines))
    }

    /// Returns whether it is a Go program: its threads wait in the scheduler of Go's runtime.
    fn is_go(&self) -> bool {
        let is_scheduler = |function: &str| matches!(function, "runtime.mcall" | "runtime.mstart" | "runtime.mstart1");
        self.samples
            .lives
            .iter()
            .filter_map(|life| life.path)
            .any(|path| self.frames(path).frames.iter().filter_map(|frame| function_of(&frame.site)).any(is_scheduler))
    }

    /// Returns the sleeps between which threads may try to get something: those of libraries on behalf of the program, which called
    /// a function for something else than to sleep; and those of several threads of the program itself that sleep for moments.
    fn sleeps(&self, whole: &Budget, objects: &[Object], least_s: f64) -> Option<Doubt> {
        let is_sleep = |object: &&Object| matches!(object.wait, Wait::Call { part: Part::Sleep, .. });
        let paths: Vec<(Path, f64)> = objects
            .iter()
            .filter(is_sleep)
            .flat_map(|object| object.waited.paths.iter().map(|(path, seconds)| (*path, *seconds)))
            .collect();
        let by_library = |(path, _): &&(Path, f64)| sleeps_for_caller(&self.frames(*path));
        let (seconds, place) = self.most(paths.iter().filter(by_library));
        let is_much = seconds >= LOCKS_SHARE * (whole.busy_s() + seconds) && seconds >= least_s;
        if is_much && !place.is_empty() {
            return Some(Doubt::LibrarySleeps { share: seconds / whole.lived_s.max(1e-9), place });
        }
        let is_of_sleep = |wait: &Wait| matches!(wait, Wait::Call { part: Part::Sleep, .. });
        let napping: Vec<_> = self.samples.lives.iter().filter_map(|life| life.naps(is_of_sleep)).collect();
        let sum = |part: fn(&blame::sampling::life::Naps) -> f64| napping.iter().map(part).sum::<f64>();
        let (slept_s, lived_s) = (sum(|naps| naps.slept_s), sum(|naps| naps.lived_s));
        let (_, place) = self.most(paths.iter());
        // One alone does not wait for another. Where threads wait longer for work that others bring, these say what limits it.
        let is_most = slept_s >= least_s && slept_s > Self::work_s(objects);
        (napping.len() > 1 && is_most && !place.is_empty()).then(|| Doubt::Naps {
            threads: napping.len(),
            share: slept_s / lived_s.max(1e-9),
            nap_ns: 1e9 * slept_s / sum(|naps| naps.count as f64).max(1.0),
            place,
        })
    }

    /// Returns what is known of threads that give up their CPU again and again to wait, where that is much of what they do.
    fn yields(&self, whole: &Budget) -> Option<Doubt> {
        let yielded_s: f64 = self.samples.lives.iter().map(|life| life.yielded_s).sum();
        let share = yielded_s / whole.busy_s().max(1e-9);
        let yielding: Vec<(Path, f64)> = self.samples.yielding.iter().map(|(path, share)| (*path, *share)).collect();
        let (_, place) = self.most(yielding.iter());
        let place = if place.is_empty() { "an unknown place".to_owned() } else { place };
        (share >= LOCKS_SHARE).then_some(Doubt::Yields { share, place })
    }

    /// Returns the sum of these times, and the place with most of it.
    fn most<'a>(&self, paths: impl Iterator<Item = &'a (Path, f64)>) -> (f64, String) {
        let (mut by_place, mut sum): (BTreeMap<String, f64>, f64) = (BTreeMap::new(), 0.0);
        for (path, seconds) in paths {
            *by_place.entry(label(&self.frames(*path))).or_default() += seconds;
            sum += seconds;
        }
        let most = by_place.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        (sum, most.map(|(place, _)| place).unwrap_or_default())
    }
}

/// Returns whether a function of a library sleeps that the program called.
fn sleeps_for_caller(frames: &Frames) -> bool {
    let mut outside = frames.own();
    outside.next().is_some_and(|inner| inner.is_of_library) && outside.any(|frame| !frame.is_of_library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::diagnosis::places::tests::path;

    /// The parent of worker processes waits for them, and is all that was watched.
    #[test]
    fn idle_process_with_busy_children_says_nothing_of_them() {
        let doubt = |unwatched: &[u32], on_cpu_s| {
            let (unwatched, has_calls) = (unwatched.to_vec(), true);
            let evidence = Evidence { cpus: 2, elapsed_s: 4.0, unwatched, has_calls, ..Evidence::default() };
            let whole = Budget { lived_s: 4.0, on_cpu_s, sleep_s: 4.0 - on_cpu_s, ..Budget::default() };
            evidence.doubt(Some(Verdict::NotLocks), &whole, &[], 1.0, 0.1)
        };
        assert_eq!(doubt(&[7, 8], 0.1), Some(Doubt::Children { children: vec![7, 8] }));
        assert_eq!(doubt(&[7, 8], 2.0), None, "it has work itself");
        assert_eq!(doubt(&[], 0.1), None);
    }

    /// Seven samples of a busy second found a lock that was none, and two found none where there was one.
    #[test]
    fn few_samples_alone_decide_nothing() {
        for verdict in [Verdict::Locks, Verdict::NotLocks] {
            let found = |count, has_calls| {
                let samples = blame::sampling::samples::Samples { count, ..Default::default() };
                let evidence = Evidence { samples, has_calls, ..Evidence::default() };
                evidence.doubt(Some(verdict), &Budget::default(), &[], 1.0, 0.0)
            };
            assert_eq!(found(7, false), Some(Doubt::TooFew { count: 7 }));
            let others = [found(7, true), found(LEAST_SAMPLES, false)];
            assert_eq!(others, [None, None], "each call was recorded, or they are enough");
        }
    }

    #[test]
    fn library_sleeps_for_the_program_only_where_that_called_it() {
        assert!(sleeps_for_caller(&path(&[("lib:busy", true), ("lib:step", true), ("save", false)])));
        assert!(!sleeps_for_caller(&path(&[("pause", false), ("lib:run", true), ("main", false)])), "it sleeps itself");
        assert!(!sleeps_for_caller(&path(&[("lib:timer", true)])), "a thread of the library");
        assert!(!sleeps_for_caller(&path(&[])));
    }
}
