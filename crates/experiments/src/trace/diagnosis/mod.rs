//! The diagnosis: where the time of the program's threads went, whether locks are the problem, which ones, why the waits
//! were long, and what helps.
//!
//! It is computed once, when the measurement ends, from the sampled states of the threads and from the rows of the
//! locks, and it is a part of the record. Each cause is a share of the whole wait; a remedy is given only where one cause
//! accounts for more than half of it.

mod causes;
mod java;
mod objects;

use super::measure::aggregate::Window;
use super::measure::labels;
use super::plan::Verdict;
use super::record::{Frame, LabelLock, Row, RowKind, SeenBy};
use super::warnings::{NoSymbols, StrippedFile};
use super::words::whole_percent;
use blame::frames::{Frames, function_of};
use blame::jvm::Machines;
use blame::names::{Names, short};
use blame::sampling::budget::{Budget, Part};
use blame::sampling::profile::{Life, Path, Profile, Wait};
use causes::{Limits, Shares, vain_share};
use interpose::Region;
use objects::Object;
use std::collections::{BTreeMap, HashMap};

/// The data that the diagnosis is made from.
pub struct Evidence<'a> {
    pub profile: &'a Profile,
    pub names: &'a mut Names,
    /// The number by which `names` knows a process.
    pub known_as: HashMap<u32, u32>,
    /// The memory that the library recorded into, if it was loaded.
    pub region: Option<&'a Region>,
    /// The counts in that memory.
    pub window: Window<'a>,
    pub program: &'a [String],
    pub cpus: usize,
    pub elapsed_s: f64,
    /// The Java virtual machines among the processes.
    pub java: &'a Machines,
    /// Call paths that have names already.
    pub named: HashMap<Path, Frames>,
    /// Locks of parking_lot, by the process and the word that a thread blocks in.
    pub parked: HashMap<(u32, u64), u64>,
}

/// The diagnosis.
pub struct Diagnosis {
    pub verdict: Option<Verdict>,
    /// The sentence that explains the verdict.
    pub reason: Option<String>,
    /// Budgets of the program, of groups of threads and of threads.
    pub budgets: Vec<Row>,
    /// Locks that were seen by sampling only.
    pub locks: Vec<Row>,
    pub findings: Vec<Row>,
    /// Functions that matter have no names, since their files were stripped.
    pub no_symbols: Option<NoSymbols>,
}

/// A cause, and what helps.
struct Cause {
    object: String,
    place: String,
    text: String,
    remedy: Option<String>,
    /// The part of the whole wait that it explains.
    share: f64,
    measure: Measure,
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
/// The verdict on a Go program whose threads hardly wait for each other.
const GO: &str = "Undecided: goroutines wait for sync.Mutex and channels without a thread, so the kernel does not see these \
                  waits. Run contend as root, or with CAP_PERFMON, to see them, or use the program's own profile: call \
                  runtime.SetMutexProfileFraction(1), then run `go tool pprof` on /debug/pprof/mutex.";
const MOST_FINDINGS: usize = 3;
/// A lock has a finding if its waits are this part of all waits for locks.
const FINDING_SHARE: f64 = 0.15;
const MOST_THREADS: usize = 100;
const MOST_GROUPS: usize = 50;
const MOST_SAMPLED: usize = 50;
const MOST_FRAMES: usize = 16;

impl Evidence<'_> {
    /// Divides the time, and explains the waits for the locks that were waited for most. `rows` begins with the rows of
    /// the locks in `slots`, which learn their call paths.
    pub fn diagnose(mut self, rows: &mut [Row], slots: &[Vec<u32>]) -> Diagnosis {
        let by_class = Rows { rows, slots };
        let mut objects = self.objects(&by_class);
        let parts: HashMap<Wait, Part> =
            objects.iter().flat_map(|object| object.members.iter().map(|(wait, _)| (*wait, object.part))).collect();
        let part = |wait: Wait| match wait {
            Wait::Call { part, .. } => part,
            wait => parts.get(&wait).copied().unwrap_or(Part::Unknown),
        };
        let (whole, budgets) = self.budgets(&part);
        objects.extend(self.java_locks());
        objects.extend(self.spins(whole.on_cpu_s + whole.ready_s));
        objects.sort_by(|one, other| other.waited.seconds.total_cmp(&one.waited.seconds));
        let mut sampled_rows = self.sampled(&objects, whole.lived_s);
        let locks: Vec<&Object> = objects.iter().filter(|object| object.part == Part::Lock).collect();
        // Threads that a broadcast woke for nothing, on their way back.
        let vain = |object: &Object| {
            let region = self.region.filter(|_| object.waited.runnable_s > 0.0 && object.part == Part::Work);
            let slot = |wait: &(Wait, f64)| if let Wait::Lock(slot) = wait.0 { Some(slot) } else { None };
            let conditions: Vec<u32> = object.members.iter().filter_map(slot).collect();
            region.map_or(0.0, |region| vain_share(region, self.window, &conditions) * object.waited.runnable_s)
        };
        let vain_s: f64 = objects.iter().map(vain).sum();
        let spun_s = locks.iter().filter(|object| object.spins).map(|object| object.waited.runnable_s).sum::<f64>();
        // Waits that are long because the holder or the woken waiter had no CPU.
        let for_cpus = |object: &&&Object| {
            // Threads that are woken all at once wait for a CPU because of that.
            if object.waited.after_condition.values().sum::<f64>() > 0.5 * object.waited.seconds {
                return 0.0;
            }
            let shares = Shares::of(&object.waited, by_class.of(object.wait));
            shares.map_or(0.0, |shares| object.waited.seconds * (shares.preempted + shares.released))
        };
        let all_s: f64 = locks.iter().map(|object| object.waited.seconds).sum();
        let for_cpus_s: f64 = locks.iter().map(|object| for_cpus(&object)).sum();
        // Calls say exactly what samples only estimate, and short waits are seen by calls alone.
        let is_work = |slot: u32| parts.get(&Wait::Lock(slot)) == Some(&Part::Work);
        let counted = slots.iter().zip(rows.iter()).filter(|(slots, row)| row.excludes() && !is_work(slots[0]));
        let counted_s: f64 = counted.map(|(_, row)| row.wait_total_s).sum();
        let waited_s = counted_s.max(whole.lock_s + spun_s) + vain_s;
        let verdict = self.verdict(&whole, waited_s, spun_s, for_cpus_s / all_s.max(1e-9));
        // Goroutines wait for each other without a thread. Where all CPUs are in use, such waits cost nothing.
        let uses_all_cpus = whole.on_cpu_s >= MANY_CPUS * self.cpus as f64 * self.elapsed_s;
        let hides_waits = verdict == Some(Verdict::NotLocks) && !uses_all_cpus && self.is_go();
        let verdict = if hides_waits { Some(Verdict::Undecided) } else { verdict };
        let mut findings = Vec::new();
        if verdict == Some(Verdict::Locks) {
            let long = locks.iter().filter(|object| object.waited.seconds >= FINDING_SHARE * all_s).take(MOST_FINDINGS);
            for object in long {
                let useful_s = whole.on_cpu_s * (1.0 - spun_s / (whole.on_cpu_s + whole.ready_s)).max(0.0);
                let (on_cpu_s, ready_s) = (whole.on_cpu_s, whole.ready_s);
                let limits = Limits {
                    on_cpu_s,
                    ready_s,
                    busy_s: whole.busy_s(),
                    useful_s,
                    capacity_s: self.cpus as f64 * self.elapsed_s,
                };
                findings.push(self.finding(object, &by_class, &limits));
            }
        }
        let reason = verdict.map(|verdict| match hides_waits {
            true => GO.to_owned(),
            false => self.reason(verdict, &whole, [waited_s, spun_s, vain_s], rows),
        });
        for object in &objects {
            let row = slots.iter().position(|slots| object.wait == Wait::Lock(slots[0]));
            row.and_then(|row| rows.get_mut(row)).into_iter().for_each(|row| row.stack = stack(&object.frames));
        }
        self.add_labelled(rows, &objects);
        let busy_s = whole.busy_s();
        let waited = sampled_rows.iter_mut().chain(rows.iter_mut());
        waited.filter(|row| matches!(row.kind, RowKind::Lock | RowKind::Site)).for_each(|row| {
            row.wait_busy_share = (busy_s > 0.0).then(|| (row.wait_total_s / busy_s).min(1.0));
        });
        let no_symbols = self.no_symbols(&objects);
        Diagnosis { verdict, reason, budgets, locks: sampled_rows, findings, no_symbols }
    }

    /// Returns the budget of the whole program, and the rows of all budgets.
    fn budgets(&mut self, part: &dyn Fn(Wait) -> Part) -> (Budget, Vec<Row>) {
        let profile = self.profile;
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        let (mut whole, mut spun_s, mut threads) = (Budget::default(), 0.0, Vec::new());
        let lives: Vec<(&Life, String)> = profile.lives().map(|life| (life, self.group_name(life))).collect();
        let mut waits: HashMap<&str, HashMap<Wait, f64>> = HashMap::new();
        for (life, name) in &lives {
            let waits = waits.entry(name).or_default();
            life.waits.iter().for_each(|(wait, seconds)| *waits.entry(*wait).or_default() += seconds);
        }
        for (life, name) in &lives {
            let budget = life.budget(part, &waits[name.as_str()], &self.java_shares(life));
            let group = groups.entry(name.clone()).or_default();
            group.budget.add(&budget);
            group.spun_s += life.spun_s;
            group.threads += 1;
            whole.add(&budget);
            spun_s += life.spun_s;
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
        (whole, rows)
    }

    /// Adds the sampled waits of labelled requests for locks that the library does not note.
    fn add_labelled(&self, rows: &mut [Row], objects: &[Object]) {
        let Some(region) = self.region else { return };
        let is_lock = |object: &&Object, wait: Wait| {
            object.part == Part::Lock && object.members.iter().any(|(member, _)| *member == wait)
        };
        let noted: Vec<f64> = rows.iter().map(|row| row.lock_s.unwrap_or(0.0)).collect();
        for (label, wait, seconds) in self.profile.labelled() {
            let name = labels::name_at(region, label);
            let place = rows.iter().position(|row| row.kind == RowKind::Label && row.name == name);
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
        let stripped = |name: String| self.names.stripped(&name).map(|build_id| StrippedFile { name, build_id });
        let files: Vec<StrippedFile> = names.into_iter().filter_map(stripped).collect();
        (!files.is_empty()).then_some(NoSymbols { files })
    }

    /// Returns whether it is a Go program: its threads wait in the scheduler of Go's runtime.
    fn is_go(&mut self) -> bool {
        let paths: Vec<Path> = self.profile.lives().filter_map(|life| life.path).collect();
        let is_scheduler = |function: &str| matches!(function, "runtime.mcall" | "runtime.mstart" | "runtime.mstart1");
        paths
            .into_iter()
            .any(|path| self.frames(path).frames.iter().filter_map(|frame| function_of(&frame.site)).any(is_scheduler))
    }

    /// Returns the group of a thread: the name that it gave itself, without its number, and the function that it began
    /// with.
    fn group_name(&mut self, life: &Life) -> String {
        let frames = life.path.map(|path| self.frames(path)).unwrap_or_default();
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
                lock_type: object.kind.to_owned(),
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

    /// Returns whether locks are the problem; `None` without samples. `for_cpus` is the part of the waits for locks
    /// that is due to a lack of CPUs.
    fn verdict(&self, whole: &Budget, waited_s: f64, spun_s: f64, for_cpus: f64) -> Option<Verdict> {
        if whole.lived_s <= 0.0 {
            return None;
        }
        let (busy_s, least_s) = (whole.busy_s(), LEAST_WAIT * self.elapsed_s);
        let is_much = |waited_s: f64| waited_s >= LOCKS_SHARE * busy_s && waited_s >= least_s;
        // Threads that spin keep others from the CPUs, so what these wait then is the lock's as well.
        let is_for_cpus = spun_s < whole.lock_s && waited_s < whole.ready_s && for_cpus > 0.5;
        Some(if is_much(waited_s) {
            if is_for_cpus { Verdict::NotLocks } else { Verdict::Locks }
        } else if is_much(waited_s + whole.unknown_s) && whole.ready_s < 2.0 * (waited_s + whole.unknown_s) {
            Verdict::Undecided
        } else {
            Verdict::NotLocks
        })
    }

    /// Explains the verdict by where the time went.
    fn reason(&self, verdict: Verdict, whole: &Budget, [waited_s, spun_s, vain_s]: [f64; 3], rows: &[Row]) -> String {
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
        match verdict {
            Verdict::Locks => return format!("Locks: {waited}{how}."),
            Verdict::Undecided if self.java_refusal().is_some() => {
                let why = self.java_refusal().unwrap_or_default();
                return format!(
                    "Undecided: Java's locks are not known, since the virtual machine gave no thread dump: {why}."
                );
            }
            Verdict::Undecided => {
                return format!("Undecided: {waited}; {} of that time is unknown.", percent(whole.unknown_s / busy_s));
            }
            Verdict::NotLocks => {}
        }
        let cpus_used = whole.on_cpu_s / self.elapsed_s.max(1e-9);
        let used = format!("On average {cpus_used:.1} of {} are in use", terminal::counted(self.cpus, "CPU"));
        let is_cpu_bound = cpus_used >= 0.8 || cpus_used >= 0.5 * self.cpus as f64;
        // A program that hardly runs is not limited by CPUs, though it may wait for them.
        let is_idle = cpus_used < 0.1 && whole.work_s + whole.sleep_s > 0.5 * whole.lived_s;
        if !is_idle && whole.ready_s >= SHORT_OF_CPUS * busy_s && whole.ready_s >= LEAST_READY * self.elapsed_s {
            let has_all = cpus_used >= 0.75 * self.cpus as f64;
            let advice = if has_all {
                format!("{used}: run fewer busy threads, or give the program more CPUs.")
            } else {
                format!("{used} by it, so other programs had the rest: measure without them, or give it more CPUs.")
            };
            return format!(
                "Not the locks: {} of thread time was ready without a CPU; {waited}. {advice}",
                percent(whole.ready_s / whole.lived_s)
            );
        }
        if is_cpu_bound {
            // Threads that wait for each other leave CPUs idle.
            let others = (cpus_used < 0.9 * self.cpus as f64).then(|| work(rows)).flatten().unwrap_or_default();
            return format!("Not the locks: {waited}. {used}: the program's own work limits it.{others}");
        }
        if whole.io_s >= 0.3 * busy_s && whole.io_s >= LEAST_WAIT * self.elapsed_s {
            return format!(
                "Not the locks: {waited}. They waited for I/O for {} of that time.",
                percent(whole.io_s / busy_s)
            );
        }
        let idle = (whole.work_s + whole.sleep_s) / whole.lived_s;
        format!(
            "Not the locks: the threads had nothing to do for {} of their time; {waited}.{}",
            percent(idle),
            work(rows).unwrap_or_default()
        )
    }
}

/// Returns the condition, semaphore or barrier that was waited for most, and who ended the waits.
fn work(rows: &[Row]) -> Option<String> {
    let is_work = |row: &&Row| row.kind == RowKind::Lock && !row.excludes() && row.wait_total_s > 0.0;
    let most = rows.iter().filter(is_work).max_by(|one, other| one.wait_total_s.total_cmp(&other.wait_total_s))?;
    let place = most.symbol.as_ref().map_or_else(String::new, |symbol| format!(" in {}", without_arguments(symbol)));
    let by = most.blocked_by.first().map(|by| format!(", woken by {}", without_arguments(&by.site)));
    let lock = without_arguments(&most.lock);
    Some(format!(" The longest waits for work are those for {lock}{place}{}.", by.unwrap_or_default()))
}

/// Returns a name without the arguments of C++ functions in it: `pool::wait(std::unique_lock<std::mutex>&)+0xf0` is
/// `pool::wait()+0xf0`.
fn without_arguments(name: &str) -> String {
    let (mut short, mut depth, mut before) = (String::new(), 0_usize, ' ');
    for letter in name.chars() {
        // Text in parentheses after a space is a source line.
        let opens = letter == '(' && (depth > 0 || before != ' ');
        if letter == ')' && depth > 0 {
            depth -= 1;
        }
        if depth == 0 {
            short.push(letter);
        }
        depth += usize::from(opens);
        before = letter;
    }
    short
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
            // The rows of a process that was attached to are of words.
            Wait::Word { address, .. } => {
                let address = format!("{address:#x}");
                self.rows.iter().find(|row| row.kind == RowKind::Lock && row.address == address)
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

    /// Returns the first lock of the class of a lock.
    fn first_of(&self, wait: Wait) -> Wait {
        let Wait::Lock(slot) = wait else { return wait };
        self.slots.iter().find(|slots| slots.contains(&slot)).map_or(wait, |slots| Wait::Lock(slots[0]))
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

    #[test]
    fn arguments_of_functions_are_left_out_and_lines_stay() {
        let name = "cond of tpool::wait(std::unique_lock<std::mutex>&, f(int))+0xf0 (mariadbd)";
        assert_eq!(without_arguments(name), "cond of tpool::wait()+0xf0 (mariadbd)");
        assert_eq!(without_arguments("take (queue.c:4)"), "take (queue.c:4)");
        assert_eq!(without_arguments("operator() (tbb.cpp:6)"), "operator() (tbb.cpp:6)");
    }
}
