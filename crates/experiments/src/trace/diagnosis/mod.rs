//! The diagnosis: where the time of the program's threads went, whether locks are the problem, which ones, why the waits
//! were long, and what helps.
//!
//! It is computed once, when the measurement ends, from the sampled states of the threads and from the rows of the
//! locks, and it is a part of the record. Each cause is a share of the whole wait; a remedy is given only where one cause
//! accounts for more than half of it.

mod activity;
mod added;
mod causes;
mod contention;
mod doubts;
mod goroutines;
mod inner;
mod java;
mod objects;
mod places;
mod python;
mod rows;
mod sums;
mod verdict;
mod work;

use super::evidence::Evidence;
use super::plan::Verdict;
use super::record::{Frame, Row, RowKind, SeenBy};
use super::rules::Rule;
use super::warnings::{NoSymbols, SparseSamples, StrippedFile};
use added::{add_busy_shares, add_paths, add_sampled, name_by_purpose, name_python_words, use_samples_for_wide};
use blame::frames::{Frames, function_of, is_of_tokio};
use blame::names::short;
use blame::purpose::block_address;
use blame::sampling::budget::{Budget, Part};
use blame::sampling::life::Life;
use blame::sampling::waited::{Path, Wait};
use causes::Limits;
use instruments::warning::Warning;
use objects::Object;
use rows::Rows;
use std::collections::{BTreeMap, HashMap};
use sums::LockWaits;
use verdict::{Judgement, Seen};

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

/// The reasons of waits, by the members of the objects that were waited for.
type Parts = HashMap<Wait, Part>;

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
/// Sampled seconds from which holders are known well enough.
const ENOUGH_S: f64 = 0.1;
/// Threads that were ready lacked CPUs if they were so for this part of one thread's run time.
const LEAST_READY: f64 = 0.3;
/// Nearly all CPUs are in use from this part of them on.
const MANY_CPUS: f64 = 0.9;
/// A thread that works for this part of the run is as long as the run.
const WHOLE_RUN: f64 = 0.9;
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
        let (mut rows, slots) = (self.rows.clone(), &self.slots[..]);
        let mut objects = self.objects(&Rows { rows: &rows, slots });
        let parts: Parts =
            objects.iter().flat_map(|object| object.members.iter().map(|(wait, _)| (*wait, object.part))).collect();
        let (whole, budgets, workers) = self.budgets(&|wait| part_of(&parts, wait));
        let covered = self.covered(&whole);
        use_samples_for_wide(&mut rows, &objects, covered);
        objects.extend(self.java_locks());
        objects.extend(self.spins(whole.on_cpu_s + whole.ready_s));
        objects.sort_by(|one, other| other.waited.seconds.total_cmp(&one.waited.seconds));
        let mut sampled_rows = self.sampled(&objects, whole.lived_s);
        let waits = self.lock_waits(&objects, &Rows { rows: &rows, slots }, &parts, (&whole, covered));
        let judgement = self.judge(&objects, &Rows { rows: &rows, slots }, &waits, (whole, covered));
        let mut findings = self.findings(&judgement, &objects, &Rows { rows: &rows, slots }, &waits, &workers);
        name_python_words(&mut rows, &objects);
        name_by_purpose(&mut rows, &objects);
        let contention = self.contention(&judgement.whole, &findings);
        findings.extend(contention.problems.iter().map(contention::row));
        let is_contention = matches!(judgement.verdict, Some(Verdict::NotLocks | Verdict::Undecided));
        let problem = contention.problems.first().filter(|_| is_contention);
        let verdict = if problem.is_some() { Some(Verdict::Contention) } else { judgement.verdict };
        let all = Seen { objects: &objects, rows: &Rows { rows: &rows, slots }, waits: &waits, workers: &workers };
        let reason = verdict.map(|verdict| self.explanation(verdict, problem, &judgement, &all, contention.seen));
        add_paths(&mut rows, slots, &objects);
        // The path through the waits is not the longest one if a thread works all the time without the lock.
        for (row, slots) in rows.iter_mut().zip(slots).filter(|(row, _)| row.critical_share.is_some()) {
            let locks = || slots.iter().map(|slot| Wait::Lock(*slot));
            if workers.iter().any(|worker| worker.is_independent(locks(), self.elapsed_s)) {
                row.critical_share = None;
            }
        }
        self.add_labelled(&mut rows, &objects);
        add_busy_shares(&mut sampled_rows, 1.0, judgement.whole.busy_s());
        add_busy_shares(&mut rows, covered, judgement.whole.busy_s());
        OfThreads {
            verdict,
            reason,
            lacks_goroutines: judgement.lacks_goroutines && verdict == Some(Verdict::Undecided),
            locks: sampled_rows,
            budgets,
            findings,
            places: self.places(&judgement.whole, &objects),
            no_symbols: self.no_symbols(&objects),
            sparse_samples: SparseSamples::of(self.sampled_s(&judgement.whole), self.thread_time_s),
            rows,
        }
    }

    /// Returns the findings: each of the locks that were waited for most, with its cause and what helps.
    fn findings(
        &self,
        Judgement { verdict, whole, .. }: &Judgement,
        objects: &[Object],
        rows: &Rows<'_>,
        waits: &LockWaits,
        workers: &[Worker<'_>],
    ) -> Vec<Row> {
        if *verdict != Some(Verdict::Locks) {
            return Vec::new();
        }
        let limits = Limits {
            on_cpu_s: whole.on_cpu_s,
            ready_s: whole.ready_s,
            capacity_s: self.allowed_cpus() as f64 * self.elapsed_s,
            have_others_the_rest: self.others_s(whole.on_cpu_s).is_some(),
            cpu_limit: self.cpu_limit(whole.on_cpu_s),
        };
        let is_long = |object: &&Object| {
            object.part == Part::Lock
                && object.waited.seconds >= FINDING_SHARE * waits.sampled_s
                && !self.is_group(object)
        };
        let long = objects.iter().filter(is_long).take(MOST_FINDINGS);
        long.map(|object| self.finding(object, rows, &limits, workers)).collect()
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
}

/// Returns the reason of a wait by the members of the objects that were waited for.
fn part_of(parts: &Parts, wait: Wait) -> Part {
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
    use instruments::warning::WarningKind;

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
    fn both_words_of_a_condition_are_waited_for_with_one_reason() {
        let word = |address| Wait::Word { process: 7, address };
        let parts = Parts::from([(word(0x40), Part::Work), (word(0x4c), Part::Lock)]);
        assert_eq!([word(0x40), word(0x44)].map(|wait| part_of(&parts, wait)), [Part::Work; 2]);
        assert_eq!([word(0x4c), word(0x48)].map(|wait| part_of(&parts, wait)), [Part::Lock, Part::Unknown]);
    }

    #[test]
    fn samples_of_half_of_the_time_are_said_to_be() {
        assert_eq!(SparseSamples::of(2.5, 2.69), None);
        assert_eq!(SparseSamples::of(0.0, 0.05), None, "a short run");
        assert!(SparseSamples::of(0.0, 0.5).is_some());
        let message = SparseSamples::of(1.34, 2.69).unwrap().message();
        assert!(message.contains("cover 1.34 s of the 2.69 s"), "{message}");
    }
}
