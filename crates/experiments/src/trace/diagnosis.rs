//! The diagnosis: where the time of the program's threads went, whether locks are the problem, which ones, why the waits
//! were long, and what helps.
//!
//! It is computed once, when the measurement ends, from the sampled states of the threads and from the rows of the
//! locks, and it is a part of the record. Each cause is a share of the whole wait; a remedy is given only where one cause
//! accounts for more than half of it.

use super::plan::Verdict;
use super::record::{Frame, Row, RowKind, SeenBy};
use super::words::whole_percent;
use blame::frames::{Frames, Kind as FrameKind, function_of};
use blame::names::{Names, Site, short};
use blame::places::{lock_at, lock_name, site_label};
use blame::sampling::budget::{Budget, Part, call_name};
use blame::sampling::profile::{Holder, Life, Path, Profile, Wait, Waited};
use interpose::{Kind, Region};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;

/// What the diagnosis is made from.
pub struct Evidence<'a> {
    pub profile: &'a Profile,
    pub names: &'a mut Names,
    /// The number by which `names` knows a process.
    pub known_as: HashMap<u32, u32>,
    /// The memory that the library recorded into, if it was loaded.
    pub region: Option<&'a Region>,
    pub program: &'a [String],
    pub cpus: usize,
    pub elapsed_s: f64,
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
}

/// Locks are the problem from this share of the time in which the threads had something to do.
const LOCKS_SHARE: f64 = 0.1;
/// Less waiting than this part of one thread's run time is no problem, whatever its share of little work.
const LEAST_WAIT: f64 = 0.05;
/// CPUs are short from this share of the busy time on.
const SHORT_OF_CPUS: f64 = 0.15;
/// And from this part of one thread's run time on.
const LEAST_READY: f64 = 0.3;
const MOST_FINDINGS: usize = 3;
/// A lock has a finding if its waits are this part of all waits for locks.
const FINDING_SHARE: f64 = 0.15;
const MOST_THREADS: usize = 100;
const MOST_GROUPS: usize = 50;
const MOST_SAMPLED: usize = 50;
const MOST_FRAMES: usize = 16;
/// Sampled seconds from which holders are known well enough.
const ENOUGH_S: f64 = 0.1;
/// The part of a wait that may be unknown before the samples say instead what the holders did.
const MOST_UNKNOWN: f64 = 0.2;
/// A critical section of this length is long.
const LONG_HOLD_NS: f64 = 20_000.0;

impl Evidence<'_> {
    /// Divides the time, and explains the waits for the locks that were waited for most. `rows` begins with the rows of
    /// the locks in `slots`, which learn their call paths.
    pub fn diagnose(mut self, rows: &mut [Row], slots: &[Vec<u32>]) -> Diagnosis {
        let objects = self.objects(slots);
        let parts: HashMap<Wait, Part> =
            objects.iter().flat_map(|object| object.members.iter().map(|(wait, _)| (*wait, object.part))).collect();
        let part = |wait: Wait| match wait {
            Wait::Call { part, .. } => part,
            wait => parts.get(&wait).copied().unwrap_or(Part::Unknown),
        };
        let (whole, budgets) = self.budgets(&part);
        for object in &objects {
            let row = slots.iter().position(|slots| object.wait == Wait::Lock(slots[0]));
            let Some(row) = row.and_then(|row| rows.get_mut(row)) else { continue };
            row.stack = object.frames.iter().map(frame).collect();
        }
        let sampled = self.sampled(&objects, whole.lived_s);
        let locks: Vec<&Object> = objects.iter().filter(|object| object.part == Part::Lock).collect();
        // Threads that a broadcast woke for nothing, on their way back.
        let vain = |object: &Object| match (self.region, object.wait) {
            (Some(region), Wait::Lock(slot)) => vain_share(region, slot) * object.runnable_s,
            _ => 0.0,
        };
        let vain_s: f64 = objects.iter().map(vain).sum();
        let spun_s = locks.iter().filter(|object| object.spins).map(|object| object.runnable_s).sum::<f64>();
        // Waits that are long because the holder or the woken waiter had no CPU.
        let for_cpus = |object: &&&Object| {
            let row = slots.iter().position(|slots| object.wait == Wait::Lock(slots[0])).and_then(|row| rows.get(row));
            // Threads that are woken all at once wait for a CPU because of that.
            if object.waited.after_condition.values().sum::<f64>() > 0.5 * object.seconds {
                return 0.0;
            }
            Shares::of(&object.waited, row).map_or(0.0, |shares| object.seconds * (shares.preempted + shares.released))
        };
        let all_s: f64 = locks.iter().map(|object| object.seconds).sum();
        let for_cpus_s: f64 = locks.iter().map(|object| for_cpus(&object)).sum();
        let verdict = self.verdict(&whole, spun_s, vain_s, for_cpus_s / all_s.max(1e-9));
        let mut findings = Vec::new();
        if verdict == Some(Verdict::Locks) {
            let long = locks.iter().filter(|object| object.seconds >= FINDING_SHARE * all_s).take(MOST_FINDINGS);
            for object in long {
                let useful_s = (whole.on_cpu_s - spun_s).max(0.0);
                let limits = Limits { busy_s: whole.busy_s(), useful_s, capacity_s: self.cpus as f64 * self.elapsed_s };
                findings.push(self.finding(object, &Rows { rows, slots }, &limits));
            }
        }
        let reason = verdict.map(|verdict| self.reason(verdict, &whole, [spun_s, vain_s], rows));
        Diagnosis { verdict, reason, budgets, locks: sampled, findings }
    }

    /// What was waited for, the longest first. The locks of a class are one.
    fn objects(&mut self, slots: &[Vec<u32>]) -> Vec<Object> {
        let firsts: HashMap<u32, u32> =
            slots.iter().flat_map(|slots| slots.iter().map(|slot| (*slot, slots[0]))).collect();
        // The allocator has several locks, and none of them is the program's.
        let mut allocator = None;
        let mut first = |evidence: &mut Self, wait: Wait, waited: &Waited| match wait {
            Wait::Lock(slot) => Wait::Lock(firsts.get(&slot).copied().unwrap_or(slot)),
            Wait::Word { .. } if evidence.kind_of(waited) == Some(FrameKind::Allocator) => {
                *allocator.get_or_insert(wait)
            }
            wait => wait,
        };
        let profile = self.profile;
        let mut all: Vec<(Wait, &Waited)> = profile.waited().collect();
        all.sort_by_key(|(wait, _)| *wait);
        let mut classes: BTreeMap<Wait, (Vec<(Wait, f64)>, Waited)> = BTreeMap::new();
        for (wait, waited) in all {
            let (members, sum) = classes.entry(first(self, wait, waited)).or_default();
            members.push((wait, waited.seconds));
            sum.add(waited);
        }
        let mut objects: Vec<Object> =
            classes.into_iter().map(|(wait, (members, waited))| self.object(wait, members, waited)).collect();
        objects.sort_by(|one, other| other.seconds.total_cmp(&one.seconds).then(one.wait.cmp(&other.wait)));
        objects
    }

    /// The kind of a word by the path that waited most for it.
    fn kind_of(&mut self, waited: &Waited) -> Option<FrameKind> {
        most_of(waited).and_then(|path| self.frames(path).kind)
    }

    fn object(&mut self, wait: Wait, members: Vec<(Wait, f64)>, waited: Waited) -> Object {
        let frames = most_of(&waited).map(|path| self.frames(path)).unwrap_or_default();
        let site = frames.site().cloned();
        let (name, kind, part, spins) = match wait {
            Wait::Lock(slot) => self.noted_lock(slot, &frames),
            Wait::Word { process, address } => {
                let kind = self.kind_of_word(process, address, frames.kind);
                let part = match kind {
                    Some(kind) if kind.is_lock() => Part::Lock,
                    Some(_) => Part::Work,
                    None => Part::Unknown,
                };
                (
                    self.word_name(process, address, kind, site.as_ref()),
                    kind.map_or("futex", FrameKind::name),
                    part,
                    false,
                )
            }
            Wait::Call { part, .. } => (String::new(), "", part, false),
            Wait::Hidden => (String::new(), "", Part::Unknown, false),
        };
        Object {
            wait,
            members,
            name,
            kind,
            part,
            spins,
            seconds: waited.seconds,
            runnable_s: waited.runnable_s,
            most_waiters: waited.most_waiters,
            waited,
            frames: frames.frames.into_iter().map(|frame| (frame.site, frame.is_runtime)).take(MOST_FRAMES).collect(),
        }
    }

    /// The name, the type and the reason to wait of a lock that the library noted; whether its waiters spin.
    fn noted_lock(&mut self, slot: u32, frames: &Frames) -> (String, &'static str, Part, bool) {
        let Some(region) = self.region else { return (String::new(), "", Part::Unknown, false) };
        let kind = Kind::of(lock_at(region, slot).kind.load(Relaxed));
        let name = lock_name(region, self.names, slot);
        // CPython's global interpreter lock is made of a mutex and a condition of its run-time state.
        let is_interpreter = name.starts_with("_PyRuntime")
            || frames.own().next().and_then(|frame| function_of(&frame.site)).is_some_and(|own| own == "take_gil");
        match kind {
            Some(Kind::Cond) if is_interpreter => {
                (INTERPRETER.into(), FrameKind::Interpreter.name(), Part::Lock, false)
            }
            Some(Kind::Sem) => {
                (name, "sem", if is_used_as_lock(region, slot) { Part::Lock } else { Part::Work }, false)
            }
            Some(kind) if kind.excludes() => {
                let word = if kind == Kind::Mutex {
                    "mutex"
                } else if kind == Kind::Spin {
                    "spin"
                } else {
                    "rwlock"
                };
                (name, word, Part::Lock, kind == Kind::Spin)
            }
            Some(Kind::Barrier) => (name, "barrier", Part::Work, false),
            Some(_) => (name, "cond", Part::Work, false),
            None => (name, "", Part::Unknown, false),
        }
    }

    /// The kind of a word: the C library's streams have variables with telling names.
    fn kind_of_word(&mut self, process: u32, address: u64, kind: Option<FrameKind>) -> Option<FrameKind> {
        let known_as = self.known_as.get(&process).copied();
        let variable = known_as.and_then(|known_as| self.names.variable(known_as, address)).unwrap_or_default();
        match kind {
            Some(FrameKind::Library) if variable.starts_with("main_arena") => Some(FrameKind::Allocator),
            Some(FrameKind::Library) if variable.starts_with("_IO_stdfile") => Some(FrameKind::Stream),
            kind => kind,
        }
    }

    fn word_name(&mut self, process: u32, address: u64, kind: Option<FrameKind>, site: Option<&Site>) -> String {
        let known_as = self.known_as.get(&process).copied();
        if kind == Some(FrameKind::Allocator) {
            return "the allocator's lock".into();
        }
        let variable = known_as.and_then(|known_as| self.names.variable(known_as, address));
        variable.unwrap_or_else(|| {
            let word = kind.map_or("futex", FrameKind::name);
            site.map_or_else(|| format!("{word} {address:#x}"), |site| format!("{word} of {}", site.label))
        })
    }

    fn frames(&mut self, path: Path) -> Frames {
        let (process, addresses) = self.profile.path(path);
        match self.known_as.get(&process) {
            Some(known_as) => Frames::of(self.names, *known_as, addresses),
            None => Frames::default(),
        }
    }

    /// The budget of the whole program, and the rows of all budgets.
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
            let budget = life.budget(part, &waits[name.as_str()]);
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

    /// The group of a thread: the name that it gave itself, without its number, and the function that it began with.
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

    /// The rows of locks that no call of the C library's functions showed.
    fn sampled(&self, objects: &[Object], lived_s: f64) -> Vec<Row> {
        let is_shown = |object: &&Object| matches!(object.wait, Wait::Word { .. }) && object.part != Part::Work;
        let rows = objects.iter().filter(is_shown).take(MOST_SAMPLED).map(|object| {
            let Wait::Word { process, address } = object.wait else { return Row::default() };
            let site = object.own().next();
            Row {
                address: format!("{address:#x}"),
                lock_type: object.kind.to_owned(),
                symbol: site.and_then(|site| site.symbol.clone()),
                source: site.and_then(|site| site.source.clone()),
                wait_total_s: object.seconds,
                wait_share: (lived_s > 0.0).then(|| object.seconds / lived_s),
                seen_by: SeenBy::Sampling,
                stack: object.frames.iter().map(frame).collect(),
                ..Row::new(RowKind::Lock, process, object.name.clone())
            }
        });
        rows.collect()
    }

    /// Whether locks are the problem; `None` without samples. `for_cpus` is the part of the waits for locks that is due to
    /// a lack of CPUs.
    fn verdict(&self, whole: &Budget, spun_s: f64, vain_s: f64, for_cpus: f64) -> Option<Verdict> {
        if whole.lived_s <= 0.0 {
            return None;
        }
        let (busy_s, least_s) = (whole.busy_s(), LEAST_WAIT * self.elapsed_s);
        let locks_s = whole.lock_s + spun_s;
        let is_much = |waited_s: f64| waited_s >= LOCKS_SHARE * busy_s && waited_s >= least_s;
        // Threads that spin keep others from the CPUs, so what these wait then is the lock's as well.
        let is_for_cpus = spun_s < whole.lock_s && locks_s < whole.ready_s && for_cpus > 0.5;
        let locks_s = locks_s + vain_s;
        Some(if is_much(locks_s) {
            if is_for_cpus { Verdict::NotLocks } else { Verdict::Locks }
        } else if is_much(locks_s + whole.unknown_s) {
            Verdict::Undecided
        } else {
            Verdict::NotLocks
        })
    }

    /// Explains the verdict by where the time went.
    fn reason(&self, verdict: Verdict, whole: &Budget, [spun_s, vain_s]: [f64; 2], rows: &[Row]) -> String {
        let (busy_s, percent) = (whole.busy_s().max(1e-9), whole_percent);
        let locks = (whole.lock_s + spun_s + vain_s) / busy_s;
        let how = if spun_s > whole.lock_s + vain_s {
            " (most of it spinning on a CPU)"
        } else if vain_s > whole.lock_s {
            " (most of it woken for nothing, and on the way back)"
        } else {
            ""
        };
        let waited =
            format!("threads waited for locks for {} of the time in which they had something to do", percent(locks));
        match verdict {
            Verdict::Locks => return format!("Locks: {waited}{how}."),
            Verdict::Undecided => {
                return format!("Undecided: {waited}; {} of it is unknown.", percent(whole.unknown_s / busy_s));
            }
            Verdict::NotLocks => {}
        }
        let cpus_used = whole.on_cpu_s / self.elapsed_s.max(1e-9);
        let used = format!("On average {cpus_used:.1} of {} are in use", terminal::counted(self.cpus, "CPU"));
        let is_cpu_bound = cpus_used >= 0.8 || cpus_used >= 0.5 * self.cpus as f64;
        if whole.ready_s >= SHORT_OF_CPUS * busy_s && whole.ready_s >= LEAST_READY * self.elapsed_s {
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
            return format!("Not the locks: {waited}. They waited for I/O for {} of it.", percent(whole.io_s / busy_s));
        }
        let idle = (whole.work_s + whole.sleep_s) / whole.lived_s;
        format!(
            "Not the locks: the threads had nothing to do for {} of their time; {waited}.{}",
            percent(idle),
            work(rows).unwrap_or_default()
        )
    }

    /// What makes the waits for a lock long, and what helps.
    fn finding(&mut self, object: &Object, rows: &Rows<'_>, limits: &Limits) -> Row {
        let row = rows.of(object.wait);
        let cause = match object.wait {
            _ if object.kind == FrameKind::Allocator.name() => Some(of_allocator(object)),
            _ if object.kind == FrameKind::Interpreter.name() => Some(of_interpreter(object)),
            _ if object.kind == FrameKind::Stream.name() => Some(of_stream(object)),
            Wait::Lock(slot) => self.herd(slot, object).or_else(|| self.holders(object, rows)),
            _ => self.peers(object),
        };
        let unexplained = || Cause {
            object: object.name.clone(),
            place: object.place(),
            text: "unexplained: which thread held it meanwhile was not seen".into(),
            remedy: None,
            share: 0.0,
            measure: Measure::None,
        };
        let mut cause = cause.unwrap_or_else(unexplained);
        if let Some(hottest) = row.and_then(|row| object.hottest(row.instances)) {
            cause.text.push_str(&hottest);
        }
        let program = self.program.join(" ");
        let command = match cause.measure {
            Measure::WhatIf => Some(format!("contend trace --what-if {} -- {program}", quoted(&object.name))),
            Measure::Swap => Some(format!("contend trace --swap adaptive,calock -- {program}")),
            Measure::Command(command) => Some(format!("{command} {program}")),
            Measure::None => None,
        };
        Row {
            lock_type: object.kind.to_owned(),
            // The library does not see the waits to get a mutex back after a condition.
            wait_total_s: row.map_or(0.0, |row| row.wait_total_s).max(object.seconds),
            object: Some(cause.object),
            place: Some(cause.place),
            cause: Some(cause.text),
            known_share: Some(cause.share),
            gain: cause.remedy.as_ref().and_then(|_| limits.gain(object.seconds)),
            remedy: cause.remedy,
            command,
            seen_by: if row.is_some() { SeenBy::Call } else { SeenBy::Sampling },
            stack: object.frames.iter().map(frame).collect(),
            ..Row::new(RowKind::Finding, 0, object.name.clone())
        }
    }

    /// A condition whose broadcasts wake threads for nothing, which then meet again at its mutex.
    fn herd(&mut self, slot: u32, object: &Object) -> Option<Cause> {
        const MOST: f64 = 0.5;
        let (region, waited) = (self.region?, &object.waited);
        let (condition, seconds) = waited.after_condition.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        let share = seconds / waited.seconds;
        let pairs = || region.pairs().filter(|(_, pair)| pair.lock.load(Relaxed) == *condition);
        let is = |pair: &interpose::Pair, kind: Kind| Kind::of(pair.kind.load(Relaxed)) == Some(kind);
        let broadcasts = pairs().filter(|(_, pair)| is(pair, Kind::Broadcast));
        let (place, _) = broadcasts.max_by_key(|(_, pair)| pair.signals().load(Relaxed))?;
        let vain_share = vain_share(region, *condition);
        if share < MOST || vain_share < MOST {
            return None;
        }
        let waiting =
            pairs().filter(|(_, pair)| is(pair, Kind::Cond)).max_by_key(|(place, _)| region.acquisitions(*place));
        let (condition, broadcast) = (lock_name(region, self.names, *condition), site_label(region, self.names, place));
        let function = broadcast.split(" (").next().unwrap_or(&broadcast).to_owned();
        let waits_in = waiting.map(|(place, _)| site_label(region, self.names, place));
        let waits_in =
            waits_in.map_or_else(String::new, |site| format!(" in {}", site.split(" (").next().unwrap_or(&site)));
        let mutex = lock_name(region, self.names, slot);
        let percent = |share: f64| terminal::percent(share);
        Some(Cause {
            object: format!("{mutex} / {condition}"),
            place: broadcast,
            text: format!(
                "{function} wakes all waiters of {condition}{waits_in}; {} of the wakes found nothing to do, and the woken \
                 threads queue for {mutex} ({} of its wait)",
                percent(vain_share),
                percent(share)
            ),
            remedy: Some(format!("call pthread_cond_signal instead of pthread_cond_broadcast in {function}")),
            share,
            measure: Measure::None,
        })
    }

    /// What the holders of a lock did while others waited.
    fn holders(&mut self, object: &Object, rows: &Rows<'_>) -> Option<Cause> {
        let row = rows.of(object.wait);
        let shares = Shares::of(&object.waited, row)?;
        let held_at = row.and_then(held_at);
        let lock = &object.name;
        let place = |text: Option<String>| text.unwrap_or_else(|| object.place());
        let percent = terminal::percent;
        let most = [shares.blocked, shares.preempted, shares.running, shares.released];
        let most = most.into_iter().fold(0.0, f64::max);
        if most <= 0.5 && !object.spins {
            let known = shares.words();
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!("no single cause: {known}"),
                remedy: None,
                share: most,
                measure: object.measure(),
            });
        }
        if most == shares.blocked {
            return Some(self.blocked_holder(object, shares.blocked, rows));
        }
        if object.spins {
            let free = if shares.released < 0.1 {
                String::new()
            } else {
                format!("; for {} it was free, and the waiter had no CPU", percent(shares.released))
            };
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!(
                    "the holder was preempted while the others spun for {} of the wait{free}",
                    percent(shares.preempted)
                ),
                remedy: Some("use a lock that sleeps, for example a mutex, and at most as many threads as CPUs".into()),
                share: (shares.preempted + shares.running + shares.released).min(1.0),
                measure: Measure::None,
            });
        }
        if most == shares.preempted {
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!("the holder was preempted for {} of the wait", percent(shares.preempted)),
                remedy: Some("use at most as many busy threads as CPUs".into()),
                share: shares.preempted,
                measure: Measure::None,
            });
        }
        if most == shares.released {
            return Some(Cause {
                object: lock.clone(),
                place: place(held_at),
                text: format!(
                    "the lock was free and the woken thread did not run yet for {} of the wait",
                    percent(shares.released)
                ),
                remedy: Some(format!("hold {lock} less often, or try a lock that spins before it sleeps")),
                share: shares.released,
                measure: Measure::Swap,
            });
        }
        let is_long = row.and_then(|row| row.hold_p50_ns).is_none_or(|hold| hold > LONG_HOLD_NS);
        let hold = row.and_then(|row| row.hold_p50_ns).map(|ns| format!("; median hold {}", terminal::nanoseconds(ns)));
        let remedy = if is_long {
            format!("do less while {lock} is held, or use several locks")
        } else {
            format!("use per-thread data or several locks in place of {lock}: its critical sections are short and many")
        };
        Some(Cause {
            object: lock.clone(),
            place: place(held_at),
            text: format!("the holder ran for {} of the wait{}", percent(shares.running), hold.unwrap_or_default()),
            remedy: Some(remedy),
            share: shares.running,
            measure: object.measure(),
        })
    }

    /// The holder was blocked itself: by what, and called from where. Where it waited for another lock, that lock's holder
    /// is the one that counts.
    fn blocked_holder(&mut self, object: &Object, share: f64, rows: &Rows<'_>) -> Cause {
        let mut by_place: BTreeMap<(String, Wait, bool), (f64, BTreeMap<String, f64>)> = BTreeMap::new();
        let mut sampled_s = 0.0;
        for (holder, seconds) in &object.waited.holders {
            let Holder::Blocked { wait, path, lock } = holder else { continue };
            sampled_s += seconds;
            let held = rows.first_of(Wait::Lock(*lock));
            let acquired_in = rows.of(held).and_then(|row| row.blocked_by.first());
            let acquired_in = acquired_in.and_then(|blocker| blocker.site.split(" (").next());
            let place = path.map(|path| called_in(&self.frames(path), acquired_in)).unwrap_or_default();
            let function = place.split([' ', '(']).next();
            let is_own = acquired_in.is_some_and(|acquired_in| function == acquired_in.split('(').next());
            let (sum, whats) = by_place.entry((place, held, is_own)).or_default();
            *sum += seconds;
            *whats.entry(self.wait_words(*wait)).or_default() += seconds;
        }
        let most = by_place.into_iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0));
        let name = &object.name;
        let Some(((place, held, is_own), (seconds, whats))) =
            most.filter(|(_, (seconds, _))| *seconds > 0.5 * sampled_s)
        else {
            return Cause {
                object: name.clone(),
                place: rows.of(object.wait).and_then(held_at).unwrap_or_else(|| object.place()),
                text: format!("the holder was blocked itself for {} of the wait", terminal::percent(share)),
                remedy: Some(format!("move calls that block out of the critical section of {name}")),
                share,
                measure: object.measure(),
            };
        };
        let share = share * seconds / sampled_s;
        let what =
            whats.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).map_or_else(String::new, |what| what.0);
        let function = place.split([' ', '(']).next().unwrap_or_default();
        let inside = if function.is_empty() { String::new() } else { format!(" in {function}") };
        let other = if held == object.wait { None } else { rows.of(held).map(|row| row.lock.clone()) };
        let holder = other
            .as_ref()
            .map_or("the holder".to_owned(), |other| format!("the holder waited for {other}, whose holder"));
        let section = other.as_ref().unwrap_or(name);
        // The function that acquires the lock blocks itself.
        let call = what.split(['(', ')']).nth(1).filter(|_| is_own);
        let remedy = if let Some(call) = call {
            format!("in {function}, call {call} outside of the critical section of {section}")
        } else if function.is_empty() {
            format!("move the call that blocks out of the critical section of {section}")
        } else {
            format!("call {function} outside of the critical section of {section}")
        };
        Cause {
            object: name.clone(),
            place: if place.is_empty() { object.place() } else { place.clone() },
            text: format!("{holder} {what}{inside} for {} of the wait", terminal::percent(share)),
            remedy: Some(remedy).filter(|_| share > 0.5),
            share,
            measure: object.measure(),
        }
    }

    /// What the threads did that were in the function which acquires a word: a semaphore's holders, mostly.
    fn peers(&mut self, object: &Object) -> Option<Cause> {
        let function = object.own().find_map(function_of)?.to_owned();
        let mut by_wait: BTreeMap<String, f64> = BTreeMap::new();
        let mut explained_s = 0.0;
        let mut most_inside = 0;
        for (peers, seconds) in &object.waited.peers {
            let inside: Vec<Wait> =
                peers.iter().filter(|(_, path)| self.is_inside(*path, &function)).map(|(wait, _)| *wait).collect();
            most_inside = most_inside.max(inside.len());
            if inside.is_empty() {
                continue;
            }
            explained_s += seconds;
            let each = seconds / inside.len() as f64;
            for wait in inside {
                *by_wait.entry(self.wait_words(wait)).or_default() += each;
            }
        }
        let (what, seconds) = by_wait.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
        let share = seconds / object.seconds.max(explained_s);
        let is_pool = object.kind == FrameKind::Semaphore.name();
        let held = if is_pool { "the threads that had acquired it" } else { "another thread in the same function" };
        let remedy = if is_pool {
            format!("raise the limit of {} (a larger pool), or hold it for less time in {function}", object.name)
        } else {
            format!("do not block in {function} while {} is held", object.name)
        };
        Some(Cause {
            object: object.name.clone(),
            place: object.place(),
            text: format!("{held} {what} in {function} for {} of the wait", terminal::percent(share)),
            remedy: Some(remedy).filter(|_| share > 0.5),
            share,
            measure: Measure::None,
        })
    }

    fn is_inside(&mut self, path: Path, function: &str) -> bool {
        let frames = self.frames(path);
        frames.own().any(|frame| function_of(&frame.site) == Some(function))
    }

    /// What a blocked thread does, as a verb.
    fn wait_words(&mut self, wait: Wait) -> String {
        match wait {
            Wait::Call { part: Part::Sleep, number } => format!("slept ({})", call_name(number)),
            Wait::Call { part: Part::Io, number } => format!("waited for I/O ({})", call_name(number)),
            Wait::Call { number, .. } => format!("was blocked ({})", call_name(number)),
            Wait::Lock(slot) => {
                let name = self.region.map(|region| lock_name(region, self.names, slot)).unwrap_or_default();
                format!("waited for {name}")
            }
            Wait::Word { .. } => "waited in a futex call".into(),
            Wait::Hidden => "was blocked".into(),
        }
    }
}

/// The condition, semaphore or barrier that was waited for most, and who ended the waits.
fn work(rows: &[Row]) -> Option<String> {
    let is_work = |row: &&Row| row.kind == RowKind::Lock && !row.excludes() && row.wait_total_s > 0.0;
    let most = rows.iter().filter(is_work).max_by(|one, other| one.wait_total_s.total_cmp(&other.wait_total_s))?;
    let place = most.symbol.as_ref().map_or_else(String::new, |symbol| format!(" in {}", without_arguments(symbol)));
    let by = most.blocked_by.first().map(|by| format!(", woken by {}", without_arguments(&by.site)));
    let lock = without_arguments(&most.lock);
    Some(format!(" The longest waits for work are those for {lock}{place}{}.", by.unwrap_or_default()))
}

/// A name without the arguments of C++ functions in it: `pool::wait(std::unique_lock<std::mutex>&)+0xf0` is
/// `pool::wait()+0xf0`.
fn without_arguments(name: &str) -> String {
    let (mut short, mut depth, mut before) = (String::new(), 0_usize, ' ');
    for letter in name.chars() {
        // What stands in parentheses after a space is a source line.
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

/// The function in the critical section that blocks, and its caller: `write_log (log.c:3), called by request`. It is the
/// one that the function which acquired the lock calls; where that is not on the path, the innermost.
fn called_in(frames: &Frames, acquired_in: Option<&str>) -> String {
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

/// The part of the wakes of a condition that found nothing to do.
fn vain_share(region: &Region, condition: u32) -> f64 {
    let pairs = region.pairs().filter(|(_, pair)| pair.lock.load(Relaxed) == condition);
    let waits = pairs.filter(|(_, pair)| Kind::of(pair.kind.load(Relaxed)) == Some(Kind::Cond));
    let (mut vain, mut wakes) = (0_u64, 0_u64);
    for (place, pair) in waits {
        vain = vain.saturating_add(pair.vain_wakes().load(Relaxed));
        wakes = wakes.saturating_add(region.acquisitions(place));
    }
    vain as f64 / wakes.max(1) as f64
}

/// The path that waited most.
fn most_of(waited: &Waited) -> Option<Path> {
    let most = waited.paths.iter().max_by(|one, other| one.1.total_cmp(other.1).then(other.0.cmp(one.0)));
    most.map(|(path, _)| *path)
}

/// Whether the threads that wait for a semaphore post it themselves, time and again: then it is a lock or a pool, and not
/// a signal.
fn is_used_as_lock(region: &Region, slot: u32) -> bool {
    const FEWEST: u64 = 8;
    let pairs = || region.pairs().filter(|(_, pair)| pair.lock.load(Relaxed) == slot);
    let timed: u64 = pairs().map(|(_, pair)| pair.holds.count.load(Relaxed)).sum();
    let acquired: u64 = pairs().map(|(place, _)| region.acquisitions(place)).sum();
    timed > 0 && acquired >= FEWEST
}

const INTERPRETER: &str = "the GIL of CPython";

/// Where the holders acquired a lock for which others waited longest.
fn held_at(row: &Row) -> Option<String> {
    row.blocked_by.first().map(|blocker| blocker.site.clone())
}

/// The rows of the locks, by their slots.
struct Rows<'a> {
    rows: &'a [Row],
    slots: &'a [Vec<u32>],
}

impl Rows<'_> {
    /// The row of a class, by its first lock.
    fn of(&self, wait: Wait) -> Option<&Row> {
        self.rows.get(self.slots.iter().position(|slots| wait == Wait::Lock(slots[0]))?)
    }

    /// The first lock of the class of a lock.
    fn first_of(&self, wait: Wait) -> Wait {
        let Wait::Lock(slot) = wait else { return wait };
        self.slots.iter().find(|slots| slots.contains(&slot)).map_or(wait, |slots| Wait::Lock(slots[0]))
    }
}

/// What was waited for, with names.
struct Object {
    wait: Wait,
    /// The locks of the class, and how long each was waited for.
    members: Vec<(Wait, f64)>,
    waited: Waited,
    name: String,
    kind: &'static str,
    part: Part,
    /// Whether its waiters use a CPU meanwhile.
    spins: bool,
    seconds: f64,
    runnable_s: f64,
    most_waiters: usize,
    /// The path that waited most, and which of it is a runtime's.
    frames: Vec<(Site, bool)>,
}

impl Object {
    fn own(&self) -> impl Iterator<Item = &Site> {
        self.frames.iter().filter(|(_, is_runtime)| !is_runtime).map(|(site, _)| site)
    }

    /// One lock of a class of so many that has most of its waits.
    fn hottest(&self, instances: u32) -> Option<String> {
        let most = self.members.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        let is_one = instances > 1 && most > 0.5 * self.seconds;
        is_one.then(|| {
            let share = terminal::percent(most / self.seconds);
            format!("; one of {} such locks has {share} of it", terminal::count(instances.into()))
        })
    }

    /// How the gain is measured: virtual speedups are for locks that the library sees being acquired and released.
    fn measure(&self) -> Measure {
        if matches!(self.kind, "mutex" | "rwlock" | "spin") { Measure::WhatIf } else { Measure::None }
    }

    /// The first function of the program's own that waits, and its caller.
    fn place(&self) -> String {
        let mut own = self.own();
        let Some(site) = own.next() else { return "an unknown place".into() };
        let caller = own.find(|caller| function_of(caller) != function_of(site)).and_then(function_of);
        match caller {
            Some(caller) => format!("{}, called by {caller}", site.label),
            None => site.label.clone(),
        }
    }
}

#[derive(Default)]
struct Group {
    budget: Budget,
    spun_s: f64,
    threads: u32,
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

/// How the gain of a remedy is measured.
enum Measure {
    WhatIf,
    Swap,
    /// By running the program under a command.
    Command(&'static str),
    None,
}

fn of_allocator(object: &Object) -> Cause {
    Cause {
        object: "the allocator's lock".into(),
        place: object.place(),
        text: format!("up to {} threads waited for one arena of malloc at the same time", object.most_waiters),
        remedy: Some("allow more arenas (M_ARENA_MAX), use another allocator, or allocate less often".into()),
        share: 1.0,
        measure: Measure::Command("LD_PRELOAD=libjemalloc.so.2"),
    }
}

fn of_stream(object: &Object) -> Cause {
    Cause {
        object: object.name.clone(),
        place: object.place(),
        text: format!("up to {} threads waited for the lock of one stream at the same time", object.most_waiters),
        remedy: Some("collect the output of each thread in a buffer of its own, and write it in few calls".into()),
        share: 1.0,
        measure: Measure::None,
    }
}

fn of_interpreter(object: &Object) -> Cause {
    Cause {
        object: INTERPRETER.into(),
        place: object.place(),
        text: "one thread at a time runs Python code; the others wait for the interpreter's lock".into(),
        remedy: Some("use processes instead of threads, or a free-threaded build of CPython".into()),
        share: 1.0,
        measure: Measure::None,
    }
}

/// Shares of the whole wait for a lock.
struct Shares {
    running: f64,
    preempted: f64,
    blocked: f64,
    released: f64,
}

impl Shares {
    /// By the kernel's record of the holders' switches where that covers the wait, else by the samples.
    fn of(waited: &Waited, row: Option<&Row>) -> Option<Self> {
        let by_record = row.and_then(|row| {
            let unknown = row.unknown_s? / row.wait_total_s;
            let share = |part: Option<f64>| Some(part? / row.wait_total_s);
            let shares = Self {
                running: share(row.held_running_s)?,
                preempted: share(row.held_preempted_s)?,
                blocked: share(row.held_blocked_s)?,
                released: share(row.released_s)?,
            };
            (unknown <= MOST_UNKNOWN).then_some(shares)
        });
        let sampled_s: f64 = waited.holders.values().sum();
        let part = |is: fn(&Holder) -> bool| {
            waited.holders.iter().filter(|(holder, _)| is(holder)).map(|(_, seconds)| seconds).sum::<f64>() / sampled_s
        };
        let by_samples = || Self {
            running: part(|holder| *holder == Holder::Running),
            preempted: part(|holder| *holder == Holder::Ready),
            blocked: part(|holder| matches!(holder, Holder::Blocked { .. })),
            released: part(|holder| *holder == Holder::None),
        };
        by_record.or_else(|| (sampled_s >= ENOUGH_S).then(by_samples))
    }

    fn words(&self) -> String {
        let named = [
            (self.running, "holder running"),
            (self.preempted, "holder preempted"),
            (self.blocked, "holder blocked"),
            (self.released, "released, waiter not yet running"),
            (1.0 - self.running - self.preempted - self.blocked - self.released, "unknown"),
        ];
        let words = named.iter().filter(|(share, _)| *share >= 0.01);
        words.map(|(share, what)| format!("{what} {}", terminal::percent(*share))).collect::<Vec<_>>().join(", ")
    }
}

/// What bounds a gain.
struct Limits {
    /// The time in which threads had something to do.
    busy_s: f64,
    /// The time on a CPU without spinning, and what all CPUs have.
    useful_s: f64,
    capacity_s: f64,
}

impl Limits {
    /// The most that the throughput can gain if a wait vanishes: the threads have so much more time, as far as there are
    /// CPUs for what they then do.
    fn gain(&self, waited_s: f64) -> Option<f64> {
        let left = (self.busy_s - waited_s).max(1e-9);
        let by_threads = self.busy_s / left;
        let by_cpus = if self.useful_s > 0.0 { self.capacity_s / self.useful_s } else { f64::INFINITY };
        Some((by_threads.min(by_cpus) - 1.0).max(0.0)).filter(|gain| gain.is_finite())
    }
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

fn frame((site, _): &(Site, bool)) -> Frame {
    Frame {
        function: function_of(site).map(str::to_owned).or_else(|| Some(site.label.clone())),
        source: site.source.clone(),
    }
}

/// A word of a command for the shell.
fn quoted(word: &str) -> String {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+./:".contains(&byte));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
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

    #[test]
    fn a_gain_is_bounded_by_the_waits_and_by_the_cpus() {
        let limits = Limits { busy_s: 10.0, useful_s: 2.0, capacity_s: 20.0 };
        assert_eq!(limits.gain(5.0), Some(1.0));
        assert_eq!(Limits { capacity_s: 3.0, ..limits }.gain(5.0), Some(0.5));
    }

    #[test]
    fn the_record_of_switches_counts_where_it_covers_the_wait_and_else_the_samples() {
        let mut waited = Waited::default();
        waited.holders.insert(Holder::Running, 3.0);
        waited.holders.insert(Holder::Unknown, 1.0);
        let mut row = Row { wait_total_s: 4.0, ..Row::default() };
        (row.held_running_s, row.held_preempted_s, row.held_blocked_s) = (Some(0.5), Some(0.5), Some(2.5));
        (row.released_s, row.unknown_s) = (Some(0.0), Some(0.5));
        assert_eq!(Shares::of(&waited, Some(&row)).unwrap().blocked, 0.625);
        row.unknown_s = Some(2.0);
        assert_eq!(Shares::of(&waited, Some(&row)).unwrap().running, 0.75);
        assert!(Shares::of(&Waited::default(), None).is_none());
    }
}
