//! The diagnosis: where the time of the program's threads went, whether locks are the problem, which ones, why the waits
//! were long, and what helps.
//!
//! It is computed once, when the measurement ends, from the sampled states of the threads and from the rows of the
//! locks, and it is a part of the record. Each cause is a share of the whole wait; a remedy is given only where one cause
//! accounts for more than half of it.

mod activity;
mod causes;
mod contention;
mod doubts;
mod goroutines;
mod java;
mod objects;
mod places;
mod python;
mod work;

use super::evidence::Evidence;
use super::plan::Verdict;
use super::python_locks::PythonPlace;
use super::record::{Frame, LabelLock, Row, RowKind, SeenBy};
use super::rules::Rule;
use super::sharing::rules::Problem;
use super::warnings::{NoSymbols, SparseSamples, StrippedFile};
use super::words::whole_percent;
use blame::frames::{Frames, Kind, function_of, is_of_tokio};
use blame::names::short;
use blame::purpose::block_address;
use blame::sampling::budget::{Budget, Part};
use blame::sampling::life::Life;
use blame::sampling::waited::{Path, Wait};
use causes::{Limits, Shares, vain_share, waited};
use doubts::{Doubt, unclear};
use instruments::statistics::Interval;
use instruments::warning::Warning;
use objects::{Object, Unclear};
use std::collections::{BTreeMap, HashMap};

/// The diagnosis.
#[derive(Debug)]
pub struct Diagnosis {
    pub verdict: Option<Verdict>,
    /// The sentence that explains the verdict.
    pub reason: Option<String>,
    /// The rows of locks, with what samples add to them, those of threads that hang, budgets, findings and places.
    pub rows: Vec<Row>,
    pub warnings: Vec<Warning>,
    /// Whether the verdict is that goroutines wait without being seen.
    lacks_goroutines: bool,
}

/// The diagnosis of the threads alone.
struct OfThreads {
    verdict: Option<Verdict>,
    reason: Option<String>,
    lacks_goroutines: bool,
    /// The rows of the locks that were counted, with what the samples add to them.
    rows: Vec<Row>,
    /// Locks that were seen by sampling only.
    locks: Vec<Row>,
    /// Budgets of the program, of groups of threads and of threads.
    budgets: Vec<Row>,
    findings: Vec<Row>,
    /// Where the threads were when they did not wait for locks.
    places: Vec<Row>,
    /// Functions that matter have no names, since their files were stripped.
    no_symbols: Option<NoSymbols>,
    /// The samples show too little of the time.
    sparse_samples: Option<SparseSamples>,
}

/// A cause, and what helps.
struct Cause {
    rule: Rule,
    object: String,
    place: String,
    text: String,
    remedy: Option<String>,
    /// The part of the whole wait that it explains.
    share: f64,
    measure: Measure,
}

/// A thread, and the time in which it did not wait for other threads.
#[derive(Clone)]
struct Worker<'a> {
    /// The group of the thread.
    name: String,
    /// The seconds that it waited for each object, and those that it held each lock.
    waits: &'a BTreeMap<Wait, f64>,
    holds: &'a BTreeMap<u32, f64>,
    lived_s: f64,
    /// The part of it on a CPU, or ready for one.
    runnable_s: f64,
    /// The part of it in which it worked, or waited for I/O.
    own_s: f64,
}

impl Worker<'_> {
    /// Returns whether it worked all the time without these locks, so that the run can be as long without waits for them.
    fn is_independent(&self, locks: impl IntoIterator<Item = Wait>, elapsed_s: f64) -> bool {
        let mut held_s = 0.0;
        for wait in locks {
            if self.waits.contains_key(&wait) {
                return false;
            }
            let slot = if let Wait::Lock(slot) = wait { Some(slot) } else { None };
            held_s += slot.and_then(|slot| self.holds.get(&slot)).copied().unwrap_or(0.0);
        }
        // Threads that ended can be added up.
        self.lived_s <= 1.05 * elapsed_s && self.own_s - held_s >= WHOLE_RUN * elapsed_s
    }
}

/// The way to measure the gain of a remedy.
enum Measure {
    WhatIf,
    Swap,
    /// Running the program under a command.
    Command(&'static str),
    None,
}

/// Locks are the problem from this share of the time in which the threads had something to do.
const LOCKS_SHARE: f64 = 0.1;
/// Less waiting than this part of one thread's run time is not a problem, whatever its share of little work.
const LEAST_WAIT: f64 = 0.05;
/// CPUs are short from this share of the busy time on.
const SHORT_OF_CPUS: f64 = 0.15;
/// And from this part of one thread's run time on.
const LEAST_READY: f64 = 0.3;
/// Nearly all CPUs are in use from this part of them on.
const MANY_CPUS: f64 = 0.9;
/// The limit of a trace of tasks.
const TASKS: &str = " A task of tokio that waits for an async lock or a channel blocks no thread, so such waits are not \
                     seen: tokio-console shows them.";
/// A thread that works for this part of the run is as long as the run.
const WHOLE_RUN: f64 = 0.9;
/// Work of one thread, from this part of all work on.
const NEARLY_ALL: f64 = 0.8;
const MOST_FINDINGS: usize = 3;
/// A lock has a finding if its waits are this part of all waits for locks.
const FINDING_SHARE: f64 = 0.15;
const MOST_THREADS: usize = 100;
const MOST_GROUPS: usize = 50;
const MOST_SAMPLED: usize = 50;
const MOST_FRAMES: usize = 16;

impl Evidence {
    /// Diagnoses the evidence, and nothing else.
    pub fn diagnose(&self) -> Diagnosis {
        let threads = self.of_threads();
        // Where each futex call was recorded, samples of the same words are not reported once more.
        let is_new = |row: &Row| !self.has_calls || row.address.is_empty();
        let sampled: Vec<Row> = threads.locks.into_iter().filter(is_new).collect();
        let stuck = self.stuck.clone();
        let warnings = threads.no_symbols.map(Warning::from).into_iter();
        let mut diagnosis = Diagnosis {
            verdict: threads.verdict,
            reason: threads.reason,
            rows: [threads.rows, sampled, stuck, threads.budgets, threads.findings, threads.places].concat(),
            warnings: warnings.chain(threads.sparse_samples.map(Warning::from)).collect(),
            lacks_goroutines: threads.lacks_goroutines,
        };
        for process in &self.goroutines {
            process.add_to(&mut diagnosis, self.elapsed_s, self.processes <= 1);
        }
        // What would make a lock faster does not help a thread that waits without an end.
        if let Some(hang) = &self.hang {
            diagnosis.rows.retain(|row| row.kind != RowKind::Finding);
            diagnosis.reason = Some(hang::words::sentence(hang));
        }
        diagnosis
    }

    /// Divides the time of the threads, and explains the waits for the locks that were waited for most.
    fn of_threads(&self) -> OfThreads {
        let (mut counted_rows, slots) = (self.rows.clone(), &self.slots[..]);
        let rows = &mut counted_rows[..];
        let mut objects = self.objects(&Rows { rows, slots });
        let parts: HashMap<Wait, Part> =
            objects.iter().flat_map(|object| object.members.iter().map(|(wait, _)| (*wait, object.part))).collect();
        let part = |wait: Wait| part_of(&parts, wait);
        let (whole, budgets, workers) = self.budgets(&part);
        let covered = self.covered(&whole);
        use_samples_for_wide(rows, &objects, covered);
        let by_class = Rows { rows, slots };
        objects.extend(self.java_locks());
        objects.extend(self.spins(whole.on_cpu_s + whole.ready_s));
        objects.sort_by(|one, other| other.waited.seconds.total_cmp(&one.waited.seconds));
        let mut sampled_rows = self.sampled(&objects, whole.lived_s);
        let locks: Vec<&Object> = objects.iter().filter(|object| object.part == Part::Lock).collect();
        // Threads that a broadcast woke for nothing, on their way back.
        let vain = |object: &Object| {
            let library = self.library.as_ref().filter(|_| object.waited.runnable_s > 0.0 && object.part == Part::Work);
            let slot = |wait: &(Wait, f64)| if let Wait::Lock(slot) = wait.0 { Some(slot) } else { None };
            let conditions: Vec<u32> = object.members.iter().filter_map(slot).collect();
            library.map_or(0.0, |library| vain_share(library, &conditions) * object.waited.runnable_s)
        };
        let vain_s: f64 = objects.iter().map(vain).sum();
        let spun_s = locks
            .iter()
            .filter(|object| object.spins || object.is_polled())
            .map(|object| object.waited.runnable_s)
            .sum::<f64>();
        // Waits that are long because the holder or the woken waiter had no CPU.
        let for_cpus = |object: &&&Object| {
            // Threads that are woken all at once wait for a CPU because of that.
            if object.waited.after_condition.values().sum::<f64>() > 0.5 * object.waited.seconds {
                return 0.0;
            }
            // A library's sections are short: who waits there long is in a convoy, and each hand-over needs a CPU.
            let of_library = [Kind::Library, Kind::Allocator, Kind::Stream].map(Kind::name);
            if of_library.contains(&object.kind) {
                return 0.0;
            }
            let shares = Shares::of(self, &object.waited, by_class.of(object.wait));
            // A holder with a lower priority than its waiters keeps them waiting on any number of CPUs that are in use.
            let for_cpus = |shares: Shares| shares.preempted - shares.outranked + shares.released;
            shares.map_or(0.0, |shares| object.waited.seconds * for_cpus(shares))
        };
        let all_s: f64 = locks.iter().map(|object| object.waited.seconds).sum();
        let for_cpus_s: f64 = locks.iter().map(|object| for_cpus(&object)).sum();
        // Calls say exactly what samples only estimate, and short waits are seen by calls alone.
        let is_lock = |slot: &u32| parts.get(&Wait::Lock(*slot)).is_none_or(|part| *part == Part::Lock);
        let counted = slots.iter().zip(rows.iter()).filter(|(slots, row)| row.excludes() && slots.iter().all(is_lock));
        // They are of all the time, and the samples of a part of it: that part of them is set against the samples.
        let counted_s = covered * counted.clone().map(|(_, row)| row.wait_total_s).sum::<f64>();
        let waited_s = counted_s.max(whole.lock_s + spun_s) + vain_s;
        // The sentence has the sum of the findings and the tables.
        let is_sampled = |slot: u32| locks.iter().any(|object| object.wait == Wait::Lock(slot));
        let unsampled = counted.filter(|(slots, _)| !is_sampled(slots[0])).map(|(_, row)| covered * row.wait_total_s);
        let of_objects = locks.iter().map(|object| match waited(object.waited.seconds, by_class.of(object.wait)) {
            (counted_s, SeenBy::Call) => covered * counted_s,
            (sampled_s, SeenBy::Sampling) => sampled_s,
        });
        let stated_s = of_objects.chain(unsampled).sum::<f64>() + vain_s;
        // Few samples may have found a thread blocked, while the kernel's account says for how long they were.
        let least_locks_s = LOCKS_SHARE * whole.busy_s();
        let stated_s = if stated_s < least_locks_s && waited_s >= least_locks_s { waited_s } else { stated_s };
        let waited_s = waited_s.max(stated_s);
        // The least wait is scaled as the waits are.
        let least_s = covered * LEAST_WAIT * self.elapsed_s;
        // Waits for a lock that may be no problem do not hide those for others.
        let gates_s: f64 = objects
            .iter()
            .filter(|object| object.unclear == Some(Unclear::Gate))
            .map(|object| object.waited.seconds)
            .sum();
        let others = Budget { unknown_s: (whole.unknown_s - gates_s).max(0.0), ..whole };
        let for_cpus = for_cpus_s / all_s.max(1e-9);
        let has_gates = gates_s > 0.5 * whole.unknown_s && gates_s >= LOCKS_SHARE * whole.busy_s();
        // Threads of other programs are not what this one does.
        let is_alone = self.others_s(whole.on_cpu_s).is_none();
        let of_others = verdict(&others, least_s, waited_s, spun_s, for_cpus, is_alone);
        let is_locks = of_others.is_some_and(|(verdict, _)| verdict == Verdict::Locks);
        // All shares are of the time that decides.
        let whole = if is_locks { others } else { whole };
        let judged = if is_locks { of_others } else { verdict(&whole, least_s, waited_s, spun_s, for_cpus, is_alone) };
        let verdict = judged.map(|(verdict, _)| verdict);
        let is_for_cpus = judged.is_some_and(|(_, ground)| ground == Ground::NoCpu);
        let doubt = self.doubt(verdict, &whole, &objects, covered, least_s);
        let lacks_goroutines = doubt.as_ref().is_some_and(Doubt::is_of_goroutines);
        let retries = self.python_retries(rows, &objects, &whole).filter(|_| verdict == Some(Verdict::NotLocks));
        let unseen = retries.or_else(|| doubt.map(|doubt| doubt.reason()));
        let hides_waits = unseen.is_some();
        let verdict = if hides_waits { Some(Verdict::Undecided) } else { verdict };
        let mut findings = Vec::new();
        if verdict == Some(Verdict::Locks) {
            let is_long = |object: &&&Object| object.waited.seconds >= FINDING_SHARE * all_s && !self.is_group(object);
            let long: Vec<&&Object> = locks.iter().filter(is_long).take(MOST_FINDINGS).collect();
            for object in long {
                let (on_cpu_s, ready_s) = (whole.on_cpu_s, whole.ready_s);
                let limits = Limits {
                    on_cpu_s,
                    ready_s,
                    capacity_s: self.allowed_cpus() as f64 * self.elapsed_s,
                    have_others_the_rest: self.others_s(on_cpu_s).is_some(),
                    cpu_limit: self.cpu_limit(on_cpu_s),
                };
                findings.push(self.finding(object, &by_class, &limits, &workers));
            }
        }
        name_python_words(rows, &objects);
        name_by_purpose(rows, &objects);
        let contention = self.contention(&whole, &findings);
        let (verdict, problem) = match (verdict, contention.problems.first()) {
            (Some(Verdict::NotLocks | Verdict::Undecided), Some(problem)) => (Some(Verdict::Contention), Some(problem)),
            (verdict, _) => (verdict, None),
        };
        findings.extend(contention.problems.iter().map(contention::row));
        let mut reason = verdict.map(|verdict| match (&unseen, problem) {
            (Some(reason), None) => reason.clone(),
            _ => self.reason(
                verdict,
                &whole,
                [stated_s, spun_s, vain_s],
                (&objects, &Rows { rows, slots }),
                (&workers, problem),
                is_for_cpus,
            ),
        });
        if let (Some(reason), Some(unseen), Some(_)) = (&mut reason, &unseen, problem) {
            reason.push_str(&format!(" {unseen}"));
        }
        if let (Some(reason), Some(seen)) = (&mut reason, contention.seen) {
            reason.push_str(&format!(" {seen}"));
        }
        let groups = locks.iter().filter(|object| self.is_group(object) && verdict == Some(Verdict::Locks));
        let by_class = Rows { rows, slots };
        for object in groups {
            let row = by_class.of(object.wait);
            let seconds = match waited(object.waited.seconds, row) {
                (counted_s, SeenBy::Call) => covered * counted_s,
                (sampled_s, SeenBy::Sampling) => sampled_s,
            };
            let share = seconds / stated_s.max(1e-9);
            if let (Some(reason), Some(row)) = (&mut reason, row.filter(|_| share >= FINDING_SHARE)) {
                reason.push_str(&group(&object.name, share.min(1.0), row.acquisitions));
            }
        }
        let is_open = !hides_waits && matches!(verdict, Some(Verdict::Locks | Verdict::Undecided));
        let unclear = unclear(&objects).filter(|(unclear, _)| match unclear {
            // Next to other locks it is worth a word if it is much.
            Unclear::Gate => is_open && has_gates,
            _ => is_open && verdict == Some(Verdict::Undecided),
        });
        if let (Some(reason), Some((unclear, object))) = (&mut reason, unclear) {
            reason.push_str(&unclear.sentence(object));
        }
        let has_tasks = reason.is_some() && self.has_tasks();
        reason.iter_mut().filter(|_| has_tasks).for_each(|reason| reason.push_str(TASKS));
        // The path through the waits is not the longest one if a thread works all the time without the lock.
        for (row, slots) in rows.iter_mut().zip(slots).filter(|(row, _)| row.critical_share.is_some()) {
            let locks = || slots.iter().map(|slot| Wait::Lock(*slot));
            if workers.iter().any(|worker| worker.is_independent(locks(), self.elapsed_s)) {
                row.critical_share = None;
            }
        }
        for object in &objects {
            let row = slots.iter().position(|slots| object.wait == Wait::Lock(slots[0]));
            row.and_then(|row| rows.get_mut(row)).into_iter().for_each(|row| row.stack = stack(&object.frames));
        }
        // No thread holds a lock that is a means to wait for work.
        let is_park = |slots: &[u32]| {
            let mut of_row = objects.iter().filter(|object| object.wait == Wait::Lock(slots[0])).peekable();
            of_row.peek().is_some() && of_row.all(|object| object.kind == Kind::Park.name())
        };
        for (row, _) in rows.iter_mut().zip(slots).filter(|(_, slots)| is_park(slots)) {
            row.lock_type = Kind::Park.name().to_owned();
        }
        self.add_labelled(rows, &objects);
        let sparse_samples = SparseSamples::of(self.sampled_s(&whole), self.thread_time_s);
        add_busy_shares(&mut sampled_rows, 1.0, whole.busy_s());
        add_busy_shares(rows, covered, whole.busy_s());
        let no_symbols = self.no_symbols(&objects);
        let places = self.places(&whole, &objects);
        let rows = counted_rows;
        let lacks_goroutines = lacks_goroutines && verdict == Some(Verdict::Undecided);
        OfThreads {
            verdict,
            reason,
            lacks_goroutines,
            rows,
            locks: sampled_rows,
            budgets,
            findings,
            places,
            no_symbols,
            sparse_samples,
        }
    }

    /// Returns the time of threads that the samples cover: of those that [`Self::thread_time_s`] is of.
    fn sampled_s(&self, whole: &Budget) -> f64 {
        if self.library.is_some() { self.samples.noted_s() } else { whole.lived_s }
    }

    /// Returns the part of the threads' time that the samples cover.
    fn covered(&self, whole: &Budget) -> f64 {
        let sampled_s = self.sampled_s(whole);
        if sampled_s > 0.0 { (sampled_s / self.thread_time_s).min(1.0) } else { 1.0 }
    }

    /// Returns the budget of the whole program, the rows of all budgets, and the threads.
    fn budgets(&self, part: &dyn Fn(Wait) -> Part) -> (Budget, Vec<Row>, Vec<Worker<'_>>) {
        let profile = &self.samples;
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        let (mut whole, mut spun_s, mut threads) = (Budget::default(), 0.0, Vec::new());
        let lives: Vec<(&Life, String)> = profile.lives.iter().map(|life| (life, self.group_name(life))).collect();
        let mut waits: HashMap<&str, BTreeMap<Wait, f64>> = HashMap::new();
        for (life, name) in &lives {
            let waits = waits.entry(name).or_default();
            life.waits.iter().for_each(|(wait, seconds)| *waits.entry(*wait).or_default() += seconds);
        }
        let mut workers = Vec::new();
        for (life, name) in &lives {
            let budget = life.budget(part, &waits[name.as_str()], &self.java_shares(life));
            let group = groups.entry(name.clone()).or_default();
            group.budget.add(&budget);
            group.spun_s += life.spun_s;
            group.threads += 1;
            whole.add(&budget);
            spun_s += life.spun_s;
            let runnable_s = budget.on_cpu_s + budget.ready_s;
            // A thread that sleeps has no work that the run is as long as.
            let own_s = runnable_s + budget.io_s;
            let (waits, holds, lived_s) = (&life.waits, &life.holds, budget.lived_s);
            workers.push(Worker { name: name.clone(), waits, holds, lived_s, runnable_s, own_s });
            threads.push((*life, budget));
        }
        let count = threads.len() as u32;
        let program = self.program.first().map_or("the program", |word| short(word)).to_owned();
        let mut rows = vec![Row { name: Some(program), ..budget_row(&whole, spun_s, count) }];
        let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
        groups.sort_by(|one, other| other.1.budget.lived_s.total_cmp(&one.1.budget.lived_s));
        rows.extend(groups.into_iter().take(MOST_GROUPS).map(|(name, group)| {
            let row = budget_row(&group.budget, group.spun_s, group.threads);
            Row { group: Some(name.clone()), name: Some(name), ..row }
        }));
        threads.sort_by(|one, other| other.1.lived_s.total_cmp(&one.1.lived_s).then(one.0.thread.cmp(&other.0.thread)));
        rows.extend(threads.into_iter().take(MOST_THREADS).map(|(life, budget)| Row {
            process: life.process,
            thread: Some(life.thread),
            name: Some(life.name.clone()),
            ..budget_row(&budget, life.spun_s, 1)
        }));
        (whole, rows, workers)
    }

    /// Adds the sampled waits of labelled requests for locks that the library does not note.
    fn add_labelled(&self, rows: &mut [Row], objects: &[Object]) {
        let Some(library) = &self.library else { return };
        let is_lock = |object: &&Object, wait: Wait| {
            object.part == Part::Lock && object.members.iter().any(|(member, _)| *member == wait)
        };
        let noted: Vec<f64> = rows.iter().map(|row| row.lock_s.unwrap_or(0.0)).collect();
        for (&(label, wait), &seconds) in &self.samples.labelled {
            let name = library.labels.get(&label);
            let place = rows.iter().position(|row| row.kind == RowKind::Label && row.name.as_ref() == name);
            let object = objects.iter().find(|object| is_lock(object, wait));
            if let Some((place, object)) = place.filter(|_| name.is_some()).zip(object) {
                add_sampled(&mut rows[place], noted[place], &object.name, seconds);
            }
        }
    }

    /// Returns the stripped files of the functions that acquire the locks which were waited for most.
    fn no_symbols(&self, objects: &[Object]) -> Option<NoSymbols> {
        const MOST_FRAMES: usize = 4;
        let locks = objects.iter().filter(|object| object.part == Part::Lock).take(MOST_FINDINGS);
        let sites = locks.flat_map(|object| object.frames.own().take(MOST_FRAMES).map(|frame| &frame.site));
        let file = |label: &str| label.rsplit_once("+0x").map(|(file, _)| file.to_owned());
        let mut names: Vec<String> =
            sites.filter(|site| site.source.is_none()).filter_map(|site| file(&site.label)).collect();
        names.sort();
        names.dedup();
        let stripped = |name: String| {
            let build_id = self.stripped.get(&name)?.clone();
            Some(StrippedFile { name, build_id })
        };
        let files: Vec<StrippedFile> = names.into_iter().filter_map(stripped).collect();
        (!files.is_empty()).then_some(NoSymbols { files })
    }

    /// Returns whether tokio runs tasks in the program, as far as its functions have names.
    fn has_tasks(&self) -> bool {
        let paths: Vec<Path> = self.samples.lives.iter().filter_map(|life| life.path).collect();
        paths
            .into_iter()
            .any(|path| self.frames(path).frames.iter().filter_map(|frame| function_of(&frame.site)).any(is_of_tokio))
    }

    /// Returns the group of a thread: the name that it gave itself, without its number, and the function that it began
    /// with.
    fn group_name(&self, life: &Life) -> String {
        let frames = life.any_path().map(|path| self.frames(path)).unwrap_or_default();
        let start = frames.start().map(str::to_owned);
        let name = life
            .name
            .trim_end_matches(|end: char| end.is_ascii_digit())
            .trim_end_matches(['-', '_', '#', ':', '/', ' ']);
        let program = self.program.first().map_or("", |word| short(word));
        // The kernel keeps 15 bytes of a name.
        let is_default = program.starts_with(life.name.as_str()) || life.thread == life.process;
        match start {
            Some(start) if is_default => start,
            Some(start) => format!("{name} ({start})"),
            None if is_default && life.thread == life.process => "main".into(),
            None => name.to_owned(),
        }
    }

    /// Returns the rows of locks that no call of the C library's functions showed.
    fn sampled(&self, objects: &[Object], lived_s: f64) -> Vec<Row> {
        let is_shown = |object: &&Object| match object.wait {
            Wait::Word { .. } => object.part != Part::Work && !object.name.is_empty(),
            Wait::Hidden => object.spins || object.java.is_some(),
            Wait::Call { part, .. } => part == Part::Lock,
            _ => false,
        };
        let rows = objects.iter().filter(is_shown).take(MOST_SAMPLED).map(|object| {
            let (process, address) = match object.wait {
                Wait::Word { process, address } => (process, format!("{address:#x}")),
                _ => (0, String::new()),
            };
            let site = object.frames.own().next().map(|frame| &frame.site);
            Row {
                address,
                lock_type: object.type_name().to_owned(),
                symbol: site.and_then(|site| site.symbol.clone()),
                source: site.and_then(|site| site.source.clone()),
                wait_total_s: object.waited.seconds,
                wait_share: (lived_s > 0.0).then(|| object.waited.seconds / lived_s),
                seen_by: SeenBy::Sampling,
                stack: stack(&object.frames),
                ..Row::new(RowKind::Lock, process, object.name.clone())
            }
        });
        rows.collect()
    }

    /// Returns the number of CPUs that the busy threads may use.
    fn allowed_cpus(&self) -> usize {
        self.samples.allowed_cpus().unwrap_or(self.cpus).min(self.cpus)
    }

    /// Returns the CPUs that the control group allows, where that is less than the machine has and nearly all of them are
    /// used.
    fn cpu_limit(&self, on_cpu_s: f64) -> Option<f64> {
        let used = on_cpu_s / self.elapsed_s.max(1e-9);
        self.samples.cpu_limit.filter(|limit| *limit < self.allowed_cpus() as f64 && used >= 0.75 * limit)
    }

    /// Returns the CPU time of other programs, if they had most of what this one left; `on_cpu_s` is its own.
    fn others_s(&self, on_cpu_s: f64) -> Option<f64> {
        others_s(self.busy_cpus_s?, on_cpu_s, self.cpus as f64 * self.elapsed_s)
    }

    /// Explains the verdict by where the time went.
    fn reason(
        &self,
        verdict: Verdict,
        whole: &Budget,
        [waited_s, spun_s, vain_s]: [f64; 3],
        (objects, rows): (&[Object], &Rows<'_>),
        (workers, problem): (&[Worker<'_>], Option<&Problem>),
        is_for_cpus: bool,
    ) -> String {
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
            Verdict::Undecided if is_for_cpus => {
                let used = self.others_s(whole.on_cpu_s).map_or_else(String::new, |others_s| {
                    let used = others_s / self.elapsed_s.max(1e-9);
                    format!(", and other programs used {used:.1} of {}", terminal::counted(self.cpus, "CPU"))
                });
                return format!(
                    "Undecided: {waited}, but for most of that the holder, or the thread that was woken, had no CPU{used}: \
                     measure without them, or give it CPUs that they do not use."
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
            let cpus = causes::limited_cpus(limit);
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
            return format!(
                "Not the locks: {} of thread time was ready without a CPU; {waited}. {advice}{others}",
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
            return format!(
                "Not the locks: {waited}. {used}: the program's own work limits it{limited}{single}{others}"
            );
        }
        let idle = (whole.work_s + whole.sleep_s) / whole.lived_s;
        format!(
            "Not the locks: the threads slept, or waited for work or answers, for {} of their time; {waited}.{}",
            percent(idle),
            self.work(whole, objects, rows, 0.0).unwrap_or_default()
        )
    }
}

/// Returns the CPU time of other programs if it is most of what a program left of all CPUs, of which `busy_s` were used.
fn others_s(busy_s: f64, on_cpu_s: f64, all_s: f64) -> Option<f64> {
    let (others_s, left_s) = ((busy_s - on_cpu_s).max(0.0), (all_s - on_cpu_s).max(0.0));
    (others_s > 0.5 * left_s).then_some(others_s)
}

/// Returns the reason of a wait by the members of the objects that were waited for.
fn part_of(parts: &HashMap<Wait, Part>, wait: Wait) -> Part {
    let known = parts.get(&wait).copied();
    match wait {
        Wait::Call { part, .. } => known.unwrap_or(part),
        // The words of a condition are one member of its object.
        Wait::Word { process, address } => {
            let of_block = || parts.get(&Wait::Word { process, address: block_address(address) }).copied();
            known.or_else(of_block).unwrap_or(Part::Unknown)
        }
        Wait::Lock(_) | Wait::Hidden => known.unwrap_or(Part::Unknown),
    }
}

/// The ground of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ground {
    /// The waits for locks, many or few.
    Waits,
    /// The holders, or the threads that were woken, had no CPU for most of the waits.
    NoCpu,
    /// Waits of an unknown purpose.
    Unknown,
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
        match (is_for_cpus, is_alone) {
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

/// The rows of the locks, by their slots.
struct Rows<'a> {
    rows: &'a [Row],
    slots: &'a [Vec<u32>],
}

impl Rows<'_> {
    /// Returns the row of a class, by its first lock; or of a word.
    fn of(&self, wait: Wait) -> Option<&Row> {
        match wait {
            Wait::Lock(slot) => self.rows.get(self.slots.iter().position(|slots| slots[0] == slot)?),
            // The rows of a process that was attached to are of words. Forked processes have locks at the same addresses.
            Wait::Word { process, address } => {
                let address = format!("{address:#x}");
                let is_it = |row: &&Row| (row.kind, row.process, &row.address) == (RowKind::Lock, process, &address);
                self.rows.iter().find(is_it)
            }
            Wait::Call { .. } | Wait::Hidden => None,
        }
    }

    /// Returns the row of the call site with this label, of the same lock.
    fn site(&self, lock: &Row, label: &str) -> Option<&Row> {
        let is_it = |row: &&Row| {
            let is_in = |text: Option<&str>| text.is_some_and(|text| label.contains(text));
            row.kind == RowKind::Site
                && (row.lock == lock.lock && row.process == lock.process)
                && is_in(row.symbol.as_deref())
                && (row.source.is_none() || is_in(row.source.as_deref().map(short)))
        };
        self.rows.iter().find(is_it)
    }

    /// Returns the part of the waits for a lock that are in a function.
    fn share_in(&self, lock: &Row, function: &str) -> f64 {
        let is_here = |row: &&Row| {
            row.kind == RowKind::Site
                && (row.process, &row.address) == (lock.process, &lock.address)
                && row.symbol.as_deref() == Some(function)
        };
        let here_s: f64 = self.rows.iter().filter(is_here).map(|row| row.wait_total_s).sum();
        here_s / lock.wait_total_s.max(1e-9)
    }

    /// Returns the call site at which a lock was tried in vain most often.
    fn most_tried(&self, wait: Wait) -> Option<String> {
        let lock = self.of(wait)?;
        let is_its = |row: &&Row| row.kind == RowKind::Site && row.lock == lock.lock && row.process == lock.process;
        let most = self.rows.iter().filter(is_its).max_by_key(|row| row.timeouts)?;
        let symbol = most.symbol.clone()?;
        Some(most.source.as_deref().map_or_else(|| symbol.clone(), |source| format!("{symbol} ({})", short(source))))
    }

    /// Returns the first lock of the class of a lock.
    fn first_of(&self, wait: Wait) -> Wait {
        let Wait::Lock(slot) = wait else { return wait };
        self.slots.iter().find(|slots| slots.contains(&slot)).map_or(wait, |slots| Wait::Lock(slots[0]))
    }
}

/// Adds the part of the time in which the threads had something to do; `covered` is the part of the waits that is of it.
fn add_busy_shares(rows: &mut [Row], covered: f64, busy_s: f64) {
    for row in rows.iter_mut().filter(|row| matches!(row.kind, RowKind::Lock | RowKind::Site)) {
        row.wait_busy_share = (busy_s > 0.0).then(|| (covered * row.wait_total_s / busy_s).min(1.0));
    }
}

/// Replaces the waits for the words of locks by those of the samples, where the record was so short a part of the time that
/// it says less. The samples are of the part `covered` of the threads' time.
fn use_samples_for_wide(rows: &mut [Row], objects: &[Object], covered: f64) {
    /// The larger end of an interval, as a multiple of the smaller one.
    const WIDE: f64 = 1.5;
    let is_wide = |row: &Row| row.wait_total_ci_s.filter(|ends| ends.high > WIDE * ends.low && row.wait_total_s > 0.0);
    let wide = (0..rows.len()).filter(|place| rows[*place].kind == RowKind::Lock);
    let wide: Vec<(usize, Interval)> = wide.filter_map(|place| Some((place, is_wide(&rows[place])?))).collect();
    for (place, ends) in wide {
        let (process, address) = (rows[place].process, rows[place].address.clone());
        let Some(sampled_s) = sampled_s(objects, process, &address) else { continue };
        // The recorded part is certain.
        let wait_total_s = (sampled_s / covered).max(ends.low);
        let factor = wait_total_s / rows[place].wait_total_s;
        rows[place].seen_by = SeenBy::Sampling;
        let is_its = |row: &&mut Row| {
            matches!(row.kind, RowKind::Lock | RowKind::Site) && row.process == process && row.address == address
        };
        for row in rows.iter_mut().filter(is_its) {
            (row.wait_total_s, row.wait_total_ci_s) = (row.wait_total_s * factor, None);
            row.wait_share = row.wait_share.map(|share| (share * factor).min(1.0));
            let parts = [&mut row.held_running_s, &mut row.held_preempted_s, &mut row.held_blocked_s];
            let others = [&mut row.released_s, &mut row.unknown_s];
            parts.into_iter().chain(others).flatten().for_each(|part| *part *= factor);
        }
    }
}

/// Returns the sampled waits for the lock at an address; `None` if samples do not show that it is one. The locks of a class
/// have the time of each, and those of parking_lot the sum of the words that its threads wait for.
fn sampled_s(objects: &[Object], process: u32, address: &str) -> Option<f64> {
    let is_it = |wait: Wait| match wait {
        Wait::Word { process: of, address: word } => of == process && format!("{word:#x}") == address,
        _ => false,
    };
    objects.iter().filter(|object| object.part == Part::Lock).find_map(|object| {
        let member = object.members.iter().find(|(wait, _)| is_it(*wait)).map(|(_, seconds)| *seconds);
        member.or_else(|| is_it(object.wait).then_some(object.waited.seconds)).filter(|seconds| *seconds > 0.0)
    })
}

/// Names the rows of words that are locks of Python.
fn name_python_words(rows: &mut [Row], objects: &[Object]) {
    for object in objects {
        let Wait::Word { process, address } = object.wait else { continue };
        let Some(place) = PythonPlace::of(&object.frames) else { continue };
        let address = format!("{address:#x}");
        for row in rows.iter_mut().filter(|row| row.process == process && row.address == address) {
            (row.lock, row.lock_type) = (place.name.clone(), place.kind().to_owned());
            (row.symbol, row.source) = (place.site.symbol.clone(), place.site.source.clone());
            // All are functions of the interpreter.
            row.blocked_by.clear();
        }
    }
}

/// Gives the rows of words that are not known to be locks another type.
fn name_by_purpose(rows: &mut [Row], objects: &[Object]) {
    for object in objects.iter().filter(|object| object.part != Part::Lock) {
        let Wait::Word { process, address } = object.wait else { continue };
        let address = format!("{address:#x}");
        for row in rows.iter_mut().filter(|row| row.process == process && row.address == address && row.excludes()) {
            row.lock_type = object.type_name().to_owned();
        }
    }
}

#[derive(Default)]
struct Group {
    budget: Budget,
    spun_s: f64,
    threads: u32,
}

fn budget_row(budget: &Budget, spun_s: f64, threads: u32) -> Row {
    Row {
        threads: Some(threads),
        lived_s: Some(budget.lived_s),
        on_cpu_s: Some(budget.on_cpu_s),
        ready_s: Some(budget.ready_s),
        lock_s: Some(budget.lock_s),
        work_s: Some(budget.work_s),
        sleep_s: Some(budget.sleep_s),
        io_s: Some(budget.io_s),
        unknown_s: Some(budget.unknown_s),
        spun_s: Some(spun_s),
        ..Row::new(RowKind::Budget, 0, String::new())
    }
}

/// Adds a sampled wait for a lock to the waits of a label, of which `noted_s` were not sampled.
fn add_sampled(row: &mut Row, noted_s: f64, lock: &str, seconds: f64) {
    /// The waits of a label are exact where a smaller part of them was sampled.
    const LITTLE: f64 = 0.1;
    let total_s = row.total_s.unwrap_or(0.0).max(1e-9);
    let lock_s = (row.lock_s.unwrap_or(0.0) + seconds).min(total_s);
    (row.lock_s, row.share) = (Some(lock_s), Some(lock_s / total_s));
    if lock_s - noted_s > LITTLE * lock_s {
        row.seen_by = SeenBy::Sampling;
    }
    match row.label_locks.iter_mut().find(|known| known.lock == lock) {
        Some(known) => known.wait_s += seconds,
        None => {
            row.label_locks.push(LabelLock { lock: lock.to_owned(), wait_s: seconds, share: 0.0, held_by: Vec::new() });
        }
    }
    row.label_locks.sort_by(|one, other| other.wait_s.total_cmp(&one.wait_s));
    row.label_locks.iter_mut().for_each(|lock| lock.share = (lock.wait_s / total_s).min(1.0));
}

/// Returns a call path as rows have it.
fn stack(frames: &Frames) -> Vec<Frame> {
    let frame = |frame: &blame::frames::Frame| Frame {
        function: function_of(&frame.site).or(Some(&frame.site.label)).map(str::to_owned),
        source: frame.site.source.clone(),
    };
    frames.frames.iter().take(MOST_FRAMES).map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use blame::jvm::JavaLock;
    use blame::sampling::waited::Waited;
    use instruments::warning::WarningKind;

    #[test]
    fn other_programs_have_the_rest_only_if_the_cpus_were_busy() {
        // Two CPUs for 10 s, of which the program used 4 s.
        assert_eq!(others_s(19.0, 4.0, 20.0), Some(15.0));
        assert_eq!(others_s(6.0, 4.0, 20.0), None, "the CPUs were idle, or waited for a disk");
        assert_eq!(others_s(3.9, 4.0, 20.0), None);
    }

    #[test]
    fn thread_that_works_all_the_time_without_a_lock_is_independent() {
        let locks = [Wait::Lock(3), Wait::Lock(4)];
        let [none, other, lock] = [vec![], vec![(Wait::Lock(9), 0.1)], vec![(locks[1], 0.1)]].map(BTreeMap::from_iter);
        let [free, holder] = [vec![(9, 9.0)], vec![(3, 2.0), (4, 1.0)]].map(BTreeMap::from_iter);
        let is_independent = |waits, holds, own_s| {
            let worker = Worker { name: "main".into(), waits, holds, lived_s: 10.0, runnable_s: 9.9, own_s };
            worker.is_independent(locks, 10.0)
        };
        assert!(is_independent(&none, &free, 9.9) && is_independent(&other, &free, 9.9));
        assert!(!is_independent(&none, &free, 8.0), "it waits for other threads");
        assert!(!is_independent(&lock, &free, 9.9) && !is_independent(&none, &holder, 9.9), "it uses the lock");
    }

    #[test]
    fn samples_count_where_the_record_covers_too_little() {
        let word = |address| Wait::Word { process: 0, address };
        let members = vec![(word(0x10), 1.0), (word(0x20), 2.0)];
        let waited = Waited { seconds: 3.0, ..Waited::default() };
        let object =
            Object { wait: word(0x10), members, waited, part: Part::Lock, ..Object::of_java(&JavaLock::default()) };
        let row = |kind, address: &str, wait_total_s: f64, ends: [f64; 2]| Row {
            address: address.into(),
            wait_total_s,
            wait_total_ci_s: Some(Interval::new(ends[0], ends[1])),
            held_blocked_s: Some(4.0),
            ..Row::new(kind, 0, "lock".into())
        };
        let mut rows = [
            row(RowKind::Lock, "0x10", 8.0, [1.0, 30.0]),
            row(RowKind::Site, "0x10", 4.0, [0.5, 15.0]),
            row(RowKind::Lock, "0x20", 8.0, [7.0, 9.0]),
            row(RowKind::Lock, "0x10", 0.0, [0.0, 30.0]),
            row(RowKind::Lock, "0x30", 8.0, [1.0, 30.0]),
        ];
        use_samples_for_wide(&mut rows, &[object], 0.5);
        let seen = rows.each_ref().map(|row| (row.wait_total_s, row.held_blocked_s, row.seen_by == SeenBy::Sampling));
        assert_eq!(seen[0], (2.0, Some(1.0), true), "of one member, in all of the time");
        assert_eq!(seen[1].0, 1.0, "its call sites follow");
        assert_eq!(seen[2], (8.0, Some(4.0), false), "the record says enough");
        assert_eq!((seen[3].0, seen[4].0), (0.0, 8.0), "nothing to scale, and no samples");
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

    #[test]
    fn both_words_of_a_condition_are_waited_for_with_one_reason() {
        let word = |address| Wait::Word { process: 7, address };
        let parts = HashMap::from([(word(0x40), Part::Work), (word(0x4c), Part::Lock)]);
        assert_eq!([word(0x40), word(0x44)].map(|wait| part_of(&parts, wait)), [Part::Work; 2]);
        assert_eq!([word(0x4c), word(0x48)].map(|wait| part_of(&parts, wait)), [Part::Lock, Part::Unknown]);
    }

    /// With and without another program on the CPUs: the answer may become weaker, and never contrary.
    #[test]
    fn preempted_holders_next_to_other_programs_decide_nothing() {
        let whole = Budget { lived_s: 10.0, on_cpu_s: 2.0, ready_s: 5.0, lock_s: 3.0, ..Budget::default() };
        let found = |for_cpus, is_alone| verdict(&whole, 0.1, 3.0, 0.0, for_cpus, is_alone);
        assert_eq!(found(0.9, false), Some((Verdict::Undecided, Ground::NoCpu)));
        assert_eq!(found(0.9, true), Some((Verdict::NotLocks, Ground::NoCpu)), "its own threads have the CPUs");
        assert_eq!([found(0.1, false), found(0.1, true)], [Some((Verdict::Locks, Ground::Waits)); 2]);
        // A lock was waited for a little, and the rest is not known: no CPU was missing.
        let unknown = Budget { lived_s: 10.0, lock_s: 0.2, unknown_s: 1.0, ..Budget::default() };
        assert_eq!(verdict(&unknown, 0.3, 0.2, 0.0, 0.9, true), Some((Verdict::Undecided, Ground::Unknown)));
    }

    #[test]
    fn equal_addresses_of_two_processes_are_two_locks() {
        let row = |process| Row { address: "0x40".into(), ..Row::new(RowKind::Lock, process, format!("of {process}")) };
        let (rows, word) = ([row(7), row(8)], |process| Wait::Word { process, address: 0x40 });
        let rows = Rows { rows: &rows, slots: &[] };
        let lock = |process| rows.of(word(process)).map(|row| row.lock.as_str());
        assert_eq!([lock(7), lock(8), lock(9)], [Some("of 7"), Some("of 8"), None]);
    }

    #[test]
    fn samples_of_half_of_the_time_are_said_to_be() {
        assert_eq!(SparseSamples::of(2.5, 2.69), None);
        assert_eq!(SparseSamples::of(0.0, 0.05), None, "a short run");
        assert!(SparseSamples::of(0.0, 0.5).is_some());
        let message = SparseSamples::of(1.34, 2.69).unwrap().message();
        assert!(message.contains("cover 1.34 s of the 2.69 s"), "{message}");
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
