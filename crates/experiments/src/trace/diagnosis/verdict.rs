//! The verdict, and the sentences that explain it by where the time went.

use super::causes::limited_cpus;
use super::doubts::{Doubt, unclear};
use super::objects::{Object, Unclear};
use super::rows::Rows;
use super::sums::{LockWaits, stated_s};
use super::{FINDING_SHARE, LEAST_READY, LEAST_WAIT, LOCKS_SHARE, MANY_CPUS, Worker};
use crate::trace::evidence::Evidence;
use crate::trace::plan::Verdict;
use crate::trace::sharing::rules::Problem;
use crate::trace::words::whole_percent;
use blame::sampling::budget::{Budget, Part};
use blame::sampling::modes::Modes;

/// The limit of a trace of tasks.
const TASKS: &str = " A task of tokio that waits for an async lock or a channel blocks no thread, so such waits are not \
                     seen: tokio-console shows them.";
/// CPUs are short from this share of the busy time on.
const SHORT_OF_CPUS: f64 = 0.15;
/// Work of one thread, from this part of all work on.
const NEARLY_ALL: f64 = 0.8;

/// The ground of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ground {
    /// The waits for locks, many or few.
    Waits,
    /// The holders, or the threads that were woken, had no CPU for most of the waits.
    NoCpu,
    /// Waits of an unknown purpose.
    Unknown,
}

/// The verdict, and what it rests on.
pub(super) struct Judgement {
    pub(super) verdict: Option<Verdict>,
    /// The budget of the time that decides: all shares are of it.
    pub(super) whole: Budget,
    /// Whether most of the waits for locks were due to a lack of CPUs.
    is_for_cpus: bool,
    /// The sentence that says which waits may not have been seen.
    unseen: Option<String>,
    pub(super) lacks_goroutines: bool,
    /// Whether much of the unknown waiting is for locks whose holders may wait for work.
    has_gates: bool,
}

/// The material of the sentences.
pub(super) struct Seen<'a> {
    pub(super) objects: &'a [Object],
    pub(super) rows: &'a Rows<'a>,
    pub(super) waits: &'a LockWaits,
    pub(super) workers: &'a [Worker<'a>],
}

/// Returns whether locks are the problem; `None` without samples. `least_s` is the shortest wait that is one, and `for_cpus`
/// the part of the waits for locks that is due to a lack of CPUs: of the program's own making if it `is_alone`.
fn verdict(
    whole: &Budget,
    least_s: f64,
    waited_s: f64,
    spun_s: f64,
    for_cpus: f64,
    is_alone: bool,
) -> Option<(Verdict, Ground)> {
    if whole.lived_s <= 0.0 {
        return None;
    }
    let is_much = |waited_s: f64| waited_s >= LOCKS_SHARE * whole.busy_s() && waited_s >= least_s;
    // Threads that spin keep others from the CPUs, so what these wait then is the lock's as well.
    let is_for_cpus = spun_s < whole.lock_s && waited_s < whole.ready_s && for_cpus > 0.5;
    Some(if is_much(waited_s) {
        // Next to waits that are as long, a lack of CPUs may be the reason of them, or the locks of both.
        let is_mostly_ready = 2.0 * waited_s < whole.ready_s;
        match (is_for_cpus, is_alone && is_mostly_ready) {
            (false, _) => (Verdict::Locks, Ground::Waits),
            (true, true) => (Verdict::NotLocks, Ground::NoCpu),
            // Without the others the same waits may be short, or not.
            (true, false) => (Verdict::Undecided, Ground::NoCpu),
        }
    } else if is_much(waited_s + whole.unknown_s) && whole.ready_s < 2.0 * (waited_s + whole.unknown_s) {
        (Verdict::Undecided, Ground::Unknown)
    } else {
        (Verdict::NotLocks, Ground::Waits)
    })
}

impl Evidence {
    /// Judges whether locks are the problem.
    pub(super) fn judge(
        &self,
        objects: &[Object],
        rows: &Rows<'_>,
        waits: &LockWaits,
        (whole, covered): (Budget, f64),
    ) -> Judgement {
        // The least wait is scaled as the waits are.
        let least_s = covered * LEAST_WAIT * self.elapsed_s;
        // Waits for a lock that may be no problem do not hide those for others.
        let gates = objects.iter().filter(|object| object.unclear == Some(Unclear::Gate));
        let gates_s: f64 = gates.map(|object| object.waited.seconds).sum();
        let others = Budget { unknown_s: (whole.unknown_s - gates_s).max(0.0), ..whole };
        let has_gates = gates_s > 0.5 * whole.unknown_s && gates_s >= LOCKS_SHARE * whole.busy_s();
        // Threads of other programs are not what this one does.
        let is_alone = self.others_s(whole.on_cpu_s).is_none();
        let of = |budget: &Budget| verdict(budget, least_s, waits.waited_s, waits.spun_s, waits.for_cpus, is_alone);
        let is_locks = |judged: &Option<(Verdict, Ground)>| matches!(judged, Some((Verdict::Locks, _)));
        let (whole, judged) = match of(&others) {
            judged if is_locks(&judged) => (others, judged),
            _ => (whole, of(&whole)),
        };
        let found = judged.map(|(verdict, _)| verdict);
        let doubt = self.doubt(found, &whole, objects, covered, least_s);
        let lacks_goroutines = doubt.as_ref().is_some_and(Doubt::is_of_goroutines);
        let retries = self.python_retries(rows.rows, objects, &whole).filter(|_| found == Some(Verdict::NotLocks));
        let unseen = retries.or_else(|| doubt.map(|doubt| doubt.reason()));
        Judgement {
            verdict: if unseen.is_some() { Some(Verdict::Undecided) } else { found },
            whole,
            is_for_cpus: judged.is_some_and(|(_, ground)| ground == Ground::NoCpu),
            unseen,
            lacks_goroutines,
            has_gates,
        }
    }

    /// Explains the verdict: by where the time went, and by what was not seen. `contention` says what cache lines show.
    pub(super) fn explanation(
        &self,
        verdict: Verdict,
        problem: Option<&Problem>,
        judgement: &Judgement,
        seen: &Seen<'_>,
        contention: Option<String>,
    ) -> String {
        let mut reason = match (&judgement.unseen, problem) {
            (Some(unseen), None) => unseen.clone(),
            (Some(unseen), Some(_)) => format!("{} {unseen}", self.reason(verdict, judgement, seen, problem)),
            (None, _) => self.reason(verdict, judgement, seen, problem),
        };
        reason.extend(contention.map(|contention| format!(" {contention}")));
        if verdict == Verdict::Locks {
            reason.push_str(&self.groups(seen));
        }
        let is_open = judgement.unseen.is_none() && matches!(verdict, Verdict::Locks | Verdict::Undecided);
        let unclear = unclear(seen.objects).filter(|(unclear, _)| match unclear {
            // Next to other locks it is worth a word if it is much.
            Unclear::Gate => is_open && judgement.has_gates,
            _ => is_open && verdict == Verdict::Undecided,
        });
        reason.extend(unclear.map(|(unclear, object)| unclear.sentence(object)));
        if self.has_tasks() {
            reason.push_str(TASKS);
        }
        reason
    }

    /// Returns sentences for the locks that are not kept apart, where they are much of the waits.
    fn groups(&self, seen: &Seen<'_>) -> String {
        let groups = seen.objects.iter().filter(|object| object.part == Part::Lock && self.is_group(object));
        let sentence = |object: &Object| {
            let share = stated_s(object, seen.rows, seen.waits.covered) / seen.waits.stated_s.max(1e-9);
            let row = seen.rows.of(object.wait).filter(|_| share >= FINDING_SHARE)?;
            Some(group(&object.name, share.min(1.0), row.acquisitions))
        };
        groups.filter_map(sentence).collect()
    }

    /// Returns the number of CPUs that the busy threads may use.
    pub(super) fn allowed_cpus(&self) -> usize {
        self.samples.allowed_cpus().unwrap_or(self.cpus).min(self.cpus)
    }

    /// Returns the CPUs that the control group allows, where that is less than the machine has and nearly all of them are
    /// used.
    pub(super) fn cpu_limit(&self, on_cpu_s: f64) -> Option<f64> {
        let used = on_cpu_s / self.elapsed_s.max(1e-9);
        self.samples.cpu_limit.filter(|limit| *limit < self.allowed_cpus() as f64 && used >= 0.75 * limit)
    }

    /// Returns the CPU time of other programs, if they had most of what this one left; `on_cpu_s` is its own.
    pub(super) fn others_s(&self, on_cpu_s: f64) -> Option<f64> {
        others_s(self.busy_cpus_s?, on_cpu_s, self.cpus as f64 * self.elapsed_s)
    }

    /// Returns the sentence on CPU time in the kernel, where that is most of it; empty elsewhere.
    fn kernel(&self) -> String {
        /// A page fault takes some 1 to 4 µs. Where there are that many, they are a good part of the kernel's time.
        const LONGEST_FAULT_S: f64 = 10e-6;
        let Modes { own_s, kernel_s, faults } = self.samples.modes;
        if kernel_s < own_s || kernel_s < LEAST_WAIT * self.elapsed_s {
            return String::new();
        }
        let faults = (faults as f64 * LONGEST_FAULT_S >= kernel_s).then(|| {
            format!(
                ", and it has {} page faults per second: memory that is kept for reuse has none (M_MMAP_THRESHOLD, \
                 M_TRIM_THRESHOLD)",
                terminal::count((faults as f64 / self.elapsed_s) as u64)
            )
        });
        let share = whole_percent(kernel_s / (own_s + kernel_s));
        format!(" {share} of its CPU time is in the kernel{}.", faults.unwrap_or_default())
    }

    /// Explains the verdict by where the time went.
    fn reason(
        &self,
        verdict: Verdict,
        Judgement { whole, is_for_cpus, .. }: &Judgement,
        Seen { objects, rows, waits, workers }: &Seen<'_>,
        problem: Option<&Problem>,
    ) -> String {
        let (waited_s, spun_s, vain_s) = (waits.stated_s, waits.spun_s, waits.vain_s);
        let (busy_s, percent) = (whole.busy_s().max(1e-9), whole_percent);
        // A thread that was woken has the lock only once it has a CPU: it is ready, and waits by its call.
        let locks = (waited_s / busy_s).min(1.0);
        let how = if spun_s > whole.lock_s + vain_s {
            " (most of it spinning on a CPU)"
        } else if vain_s > whole.lock_s {
            " (most of it woken for nothing, and on the way back)"
        } else {
            ""
        };
        let waited = format!(
            "threads waited for locks for {} of their busy time (all but sleep and waiting for work)",
            percent(locks)
        );
        if let Some(problem) = problem {
            let without = if locks < LOCKS_SHARE { " without waiting" } else { "" };
            return format!("Contention{without}: {}. The {waited}.", problem.verdict());
        }
        match verdict {
            Verdict::Locks => {
                // Work that is waited for longer than locks may be the reason of the waits for these.
                let longer = self.work(whole, objects, rows, waited_s);
                return format!("Locks: {waited}{how}.{}", longer.unwrap_or_default());
            }
            Verdict::Undecided if self.java_refusal().is_some() => {
                let why = self.java_refusal().unwrap_or_default();
                return format!(
                    "Undecided: Java's locks are not known, since the virtual machine gave no thread dump: {why}."
                );
            }
            Verdict::Undecided if self.java.values().any(|waits| waits.are_few()) => {
                return "Undecided: Java's locks are not known, since the virtual machine gave too few thread dumps in this \
                        time. Trace it for longer."
                    .into();
            }
            Verdict::Undecided if *is_for_cpus => {
                let remedy = match self.others_s(whole.on_cpu_s) {
                    Some(others_s) => format!(
                        ", and other programs used {:.1} of {}: measure without them, or give it CPUs that they do not use",
                        others_s / self.elapsed_s.max(1e-9),
                        terminal::counted(self.cpus, "CPU")
                    ),
                    None => ": with as many busy threads as CPUs, the waits that remain are the lock's".to_owned(),
                };
                return format!(
                    "Undecided: {waited}, but for most of that the holder, or the thread that was woken, had no CPU{remedy}."
                );
            }
            Verdict::Undecided => {
                return format!("Undecided: {waited}; {} of that time is unknown.", percent(whole.unknown_s / busy_s));
            }
            Verdict::NotLocks | Verdict::Contention => {}
        }
        let cpus_used = whole.on_cpu_s / self.elapsed_s.max(1e-9);
        let allowed = self.allowed_cpus();
        let is_bound = allowed < self.cpus;
        let cpus = terminal::counted(allowed, "CPU");
        let used = if is_bound {
            format!(
                "On average {cpus_used:.1} of the {cpus} that its busy threads may use (of {}) are in use",
                self.cpus
            )
        } else {
            format!("On average {cpus_used:.1} of {cpus} are in use")
        };
        let single = single(workers, self.elapsed_s);
        let limit = self.cpu_limit(whole.on_cpu_s);
        let limited = limit.map(|limit| {
            let cpus = limited_cpus(limit);
            format!("its control group allows {cpus} (cpu.max): raise that, or run fewer busy threads.")
        });
        // Many threads that have little work each can use a CPU together, and are not limited by it.
        let have_little = single.is_empty() && whole.work_s + whole.sleep_s > 0.8 * whole.lived_s;
        let is_cpu_bound = cpus_used >= 0.5 * allowed as f64 || cpus_used >= 0.8 && !have_little || limit.is_some();
        // A program that hardly runs is not limited by CPUs, though it may wait for them.
        let is_idle = cpus_used < 0.1 && whole.work_s + whole.sleep_s > 0.5 * whole.lived_s;
        if !is_idle && whole.ready_s >= SHORT_OF_CPUS * busy_s && whole.ready_s >= LEAST_READY * self.elapsed_s {
            let has_all = cpus_used >= 0.75 * allowed as f64;
            let advice = if let Some(limited) = limited {
                format!("{used}, and {limited}")
            } else if has_all && is_bound {
                format!("{used}: let them use more CPUs (affinity), or run fewer busy threads.")
            } else if has_all && single.is_empty() {
                format!("{used}: run fewer busy threads, or give the program more CPUs.")
            } else {
                let others = self.others_s(whole.on_cpu_s).map(|others_s| {
                    let others = others_s / self.elapsed_s.max(1e-9);
                    format!(
                        ", and {others:.1} by other programs: measure without them, or give it CPUs that they do not use"
                    )
                });
                format!("{used} by it{}.{single}", others.unwrap_or_default())
            };
            let others = (whole.work_s > whole.ready_s)
                .then(|| self.work(whole, objects, rows, 0.0))
                .flatten()
                .unwrap_or_default();
            let kernel = self.collector().unwrap_or_else(|| self.kernel());
            return format!(
                "Not the locks: {} of thread time was ready without a CPU; {waited}. {advice}{kernel}{others}",
                percent(whole.ready_s / whole.lived_s)
            );
        }
        // Where CPUs are idle as well, they are not what limits it.
        let has_all = cpus_used >= MANY_CPUS * allowed as f64 || limit.is_some();
        if !has_all && whole.io_s >= 0.3 * busy_s && whole.io_s >= LEAST_WAIT * self.elapsed_s {
            return format!(
                "Not the locks: {waited}. They waited for I/O for {} of that time.",
                percent(whole.io_s / busy_s)
            );
        }
        if is_cpu_bound {
            // Threads that wait for each other leave CPUs idle.
            let others = (cpus_used < 0.9 * allowed as f64)
                .then(|| self.work(whole, objects, rows, 0.0))
                .flatten()
                .unwrap_or_default();
            let limited = limited.map_or_else(|| ".".to_owned(), |limited| format!(", and {limited}"));
            let kernel = self.collector().unwrap_or_else(|| self.kernel());
            return format!(
                "Not the locks: {waited}. {used}: the program's own work limits it{limited}{single}{kernel}{others}"
            );
        }
        let idle = (whole.work_s + whole.sleep_s) / whole.lived_s;
        format!(
            "Not the locks: the threads slept, or waited for work or answers, for {} of their time; {waited}.{}",
            percent(idle),
            self.collector().unwrap_or_else(|| self.work(whole, objects, rows, 0.0).unwrap_or_default())
        )
    }

    /// Returns the sentence on the garbage collector of Java, where that is much of the CPU time.
    fn collector(&self) -> Option<String> {
        self.collector_share().map(|share| {
            format!(
                " The garbage collector has {} of the CPU time: give it a larger heap (-Xmx), or allocate less.",
                whole_percent(share)
            )
        })
    }
}

/// Returns the CPU time of other programs if it is most of what a program left of all CPUs, of which `busy_s` were used.
fn others_s(busy_s: f64, on_cpu_s: f64, all_s: f64) -> Option<f64> {
    let (others_s, left_s) = ((busy_s - on_cpu_s).max(0.0), (all_s - on_cpu_s).max(0.0));
    (others_s > 0.5 * left_s).then_some(others_s)
}

/// Returns the words for the waits for locks that are not kept apart.
fn group(name: &str, share: f64, acquisitions: u64) -> String {
    let (share, acquisitions) = (whole_percent(share), terminal::count(acquisitions));
    format!(
        " {share} of that wait is for {name}: {acquisitions} acquisitions of locks that are too many to be kept apart."
    )
}

/// Returns the words for a thread that has nearly all of the work; empty if there is none.
fn single(workers: &[Worker<'_>], elapsed_s: f64) -> String {
    let all_s: f64 = workers.iter().map(|worker| worker.runnable_s).sum();
    let most = workers.iter().max_by(|one, other| one.runnable_s.total_cmp(&other.runnable_s));
    let is_single = |worker: &&Worker<'_>| worker.runnable_s >= NEARLY_ALL * all_s.max(elapsed_s);
    let words = |worker: &Worker<'_>| {
        format!(" Nearly all of its work is that of one thread ({}), which more CPUs do not make faster.", worker.name)
    };
    most.filter(is_single).map_or_else(String::new, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blame::sampling::samples::Samples;
    use std::collections::BTreeMap;

    #[test]
    fn other_programs_have_the_rest_only_if_the_cpus_were_busy() {
        // Two CPUs for 10 s, of which the program used 4 s.
        assert_eq!(others_s(19.0, 4.0, 20.0), Some(15.0));
        assert_eq!(others_s(6.0, 4.0, 20.0), None, "the CPUs were idle, or waited for a disk");
        assert_eq!(others_s(3.9, 4.0, 20.0), None);
    }

    #[test]
    fn kernel_with_most_of_the_time_is_named_with_page_faults() {
        let said = |own_s, kernel_s, faults| {
            let samples = Samples { modes: Modes { own_s, kernel_s, faults }, ..Samples::default() };
            Evidence { elapsed_s: 2.0, samples, ..Evidence::default() }.kernel()
        };
        let both = said(1.0, 3.0, 1_000_000);
        assert!(both.starts_with(" 75 % ") && both.contains("500,000 page faults"), "{both}");
        assert!(said(1.0, 3.0, 1_000).ends_with(" in the kernel."), "reads and writes, say");
        assert_eq!([said(3.0, 1.0, 1_000_000), said(0.0, 0.001, 10)], ["", ""]);
    }

    /// Threads that end within milliseconds: samples cover a hundredth of 10 s of thread time in a second, in which waits
    /// took 2 s.
    #[test]
    fn waits_of_hardly_sampled_threads_are_a_problem() {
        let (covered, elapsed_s) = (0.01, 1.0);
        let whole = Budget { lived_s: 0.1, on_cpu_s: 0.08, lock_s: 0.02, ..Budget::default() };
        let found = |least_s| verdict(&whole, least_s, covered * 2.0, 0.0, 0.0, true);
        assert_eq!(found(covered * LEAST_WAIT * elapsed_s), Some((Verdict::Locks, Ground::Waits)));
        assert_eq!(
            found(covered * LEAST_WAIT * 1e3),
            Some((Verdict::NotLocks, Ground::Waits)),
            "a short wait in a long run"
        );
    }

    /// With and without another program on the CPUs: the answer may become weaker, and never contrary.
    #[test]
    fn preempted_holders_next_to_other_programs_decide_nothing() {
        let whole = Budget { lived_s: 10.0, on_cpu_s: 2.0, ready_s: 6.0, lock_s: 2.0, ..Budget::default() };
        let found = |for_cpus, is_alone| verdict(&whole, 0.1, 2.0, 0.0, for_cpus, is_alone);
        assert_eq!(found(0.9, false), Some((Verdict::Undecided, Ground::NoCpu)));
        assert_eq!(found(0.9, true), Some((Verdict::NotLocks, Ground::NoCpu)), "its own threads have the CPUs");
        let longer = Budget { ready_s: 4.0, lock_s: 4.0, ..whole };
        assert_eq!(
            verdict(&longer, 0.1, 3.5, 0.0, 0.9, true),
            Some((Verdict::Undecided, Ground::NoCpu)),
            "short sections"
        );
        assert_eq!([found(0.1, false), found(0.1, true)], [Some((Verdict::Locks, Ground::Waits)); 2]);
        // A lock was waited for a little, and the rest is not known: no CPU was missing.
        let unknown = Budget { lived_s: 10.0, lock_s: 0.2, unknown_s: 1.0, ..Budget::default() };
        assert_eq!(verdict(&unknown, 0.3, 0.2, 0.0, 0.9, true), Some((Verdict::Undecided, Ground::Unknown)));
    }

    #[test]
    fn thread_with_nearly_all_work_is_named() {
        let (waits, holds) = (BTreeMap::new(), BTreeMap::new());
        let worker = |name: &str, runnable_s| {
            let name = name.into();
            Worker { name, waits: &waits, holds: &holds, lived_s: 10.0, runnable_s, own_s: runnable_s }
        };
        let words = single(&[worker("compress", 9.5), worker("send", 0.5), worker("send", 0.5)], 10.0);
        assert!(words.contains("one thread (compress), which more CPUs do not make faster"), "{words}");
        assert_eq!(single(&[worker("compress", 9.5), worker("send", 5.0)], 10.0), "");
        assert_eq!(single(&[worker("compress", 2.0)], 10.0), "");
    }
}
