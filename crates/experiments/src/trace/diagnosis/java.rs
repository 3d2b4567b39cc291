//! The locks of Java programs, by the thread dumps of the virtual machine.

use super::activity::Activity;
use super::inner::{Inner, Inners, larger_pool};
use super::objects::Object;
use super::{Cause, Evidence, Measure};
use crate::trace::rules::Rule;
use blame::frames::{Frame, Frames, OWN_LIBRARY};
use blame::jvm::{JavaHolder, JavaLock, JavaPlace, JavaPool, LockKey, Shares, State};
use blame::names::Site;
use blame::sampling::budget::{Budget, Part};
use blame::sampling::life::Life;
use blame::sampling::waited::{Wait, Waited};
use std::collections::BTreeMap;

/// The type of a lock of `java.util.concurrent`.
const JAVA_LOCK: &str = "java lock";

/// Names of the threads in which HotSpot collects garbage. The last one also does other things while all threads are stopped.
const COLLECTORS: [&str; 6] = ["GC Thread", "G1 ", "ZWorker", "ZDriver", "Shenandoah", "VM Thread"];
/// The part of the CPU time from which the collector is what threads wait for in the virtual machine.
const COLLECTOR_SHARE: f64 = 0.3;

impl Evidence {
    /// Returns the part of the CPU time of Java programs that their garbage collectors used, where it is much.
    pub(super) fn collector_share(&self) -> Option<f64> {
        let lives = || self.samples.lives.iter().filter(|life| self.java.contains_key(&life.process));
        let is_collector = |life: &&Life| COLLECTORS.iter().any(|name| life.name.starts_with(name));
        let used_s: f64 = lives().filter(is_collector).map(Life::ran_s).sum();
        let share = used_s / lives().map(Life::ran_s).sum::<f64>().max(1e-9);
        (share >= COLLECTOR_SHARE).then_some(share)
    }

    /// Returns whether a thread waits in the virtual machine itself while that collects garbage.
    pub(super) fn waits_for_collector(&self, frames: &Frames) -> bool {
        // Contend's library is between the machine's functions and those of the C library.
        let mut inner = frames.outside_c_library().skip_while(|frame| frame.site.label.starts_with(OWN_LIBRARY));
        self.collector_share().is_some() && inner.next().is_some_and(|frame| frame.site.label.contains("libjvm.so"))
    }

    /// Returns the purposes of a thread's waits for futex words, by the dumps. Empty for a thread that is not Java's, and
    /// for one that the dumps show in no wait.
    pub(super) fn java_shares(&self, life: &Life) -> Vec<(Part, f64)> {
        let Some(waits) = self.java.get(&life.process) else { return Vec::new() };
        if waits.are_few() {
            return vec![(Part::Unknown, 1.0)];
        }
        let Some(shares) = waits.threads.get(&life.thread) else { return Vec::new() };
        parts(shares)
    }

    /// Returns the locks that Java threads waited for.
    pub(super) fn java_locks(&self) -> Vec<Object> {
        let all = self.java.values().flat_map(|waits| &waits.locks);
        let object = |(key, lock): (&LockKey, &JavaLock)| {
            let kind = if key.is_monitor { "monitor" } else { JAVA_LOCK };
            Object { name: name(key), kind, ..Object::of_java(lock) }
        };
        all.map(object).collect()
    }

    /// Returns whether the program has virtual threads, whose waits no dump shows.
    pub(super) fn has_virtual_threads(&self) -> bool {
        self.java.values().any(|waits| waits.has_virtual_threads)
    }

    /// Returns why there is no dump of a virtual machine.
    pub(super) fn java_refusal(&self) -> Option<&str> {
        self.java.values().find_map(|waits| waits.refusal.as_deref().filter(|_| waits.dumps == 0))
    }
}

impl Object {
    /// Returns the waits for a lock of Java, which has no name yet.
    pub(super) fn of_java(lock: &JavaLock) -> Self {
        Self {
            wait: Wait::Hidden,
            members: Vec::new(),
            waited: Waited { seconds: lock.seconds, most_waiters: lock.most_waiters, ..Waited::default() },
            name: String::new(),
            kind: "",
            part: Part::Lock,
            spins: false,
            frames: frames(&lock.path),
            unclear: None,
            java: Some(lock.clone()),
        }
    }
}

fn parts(shares: &Shares) -> Vec<(Part, f64)> {
    let blocked = shares.lock + shares.sleep + shares.work;
    // The reference handler, for example, counts as runnable while it waits in the virtual machine.
    if blocked <= 0.0 {
        return Vec::new();
    }
    let parts = [(Part::Lock, shares.lock), (Part::Sleep, shares.sleep), (Part::Work, shares.work)];
    parts.into_iter().map(|(part, seconds)| (part, seconds / blocked)).collect()
}

/// Returns the class of the lock, and the method that acquires it.
fn name(key: &LockKey) -> String {
    let class = key.class.rsplit('.').next().unwrap_or(&key.class);
    let method = &key.waits_in.method;
    if key.is_monitor {
        return format!("the monitor of {} in {method}", key.class);
    }
    // `ReentrantLock$NonfairSync` is a part of the class that the program uses.
    format!("{} in {method}", class.split('$').next().unwrap_or(class))
}

/// Returns the methods of a path as frames.
pub(super) fn frames<'a>(path: impl IntoIterator<Item = &'a blame::jvm::Frame>) -> Frames {
    let frame = |frame: &blame::jvm::Frame| Frame {
        site: Site { symbol: Some(frame.method.clone()), source: frame.source.clone(), label: frame.label() },
        is_runtime: frame.is_of_library(),
        is_in_c_library: false,
        is_of_library: false,
        begin: 0,
    };
    Frames { frames: path.into_iter().map(frame).collect(), ..Frames::default() }
}

/// The activity of threads while they held a lock and were in native code, by the kernel: parts of that time.
#[derive(Debug, PartialEq)]
struct InNativeCode {
    blocked: f64,
    /// The call that they were blocked in.
    activity: Activity,
    ready: f64,
}

impl Evidence {
    /// Returns the activity of the holders while others waited, and the remedy.
    pub(super) fn java_cause(&self, object: &Object, lock: &JavaLock) -> Cause {
        /// Parts that are less of the wait than this say nothing about the rest.
        const LEAST_KNOWN: f64 = 0.2;
        let is_pool = lock.several_s > 0.5 * lock.seconds;
        // Where some dumps name the owners, the others have only suppositions.
        let is_searched = lock.searched_s > 0.0;
        let whole_s = if is_searched { lock.searched_s } else { lock.seconds };
        let is_known = |holder: &JavaHolder| !is_searched || !holder.is_supposed;
        let mut by_method: BTreeMap<(&str, String, bool), Held<'_>> = BTreeMap::new();
        for (holder, seconds) in lock.holders.iter().filter(|(holder, _)| is_known(holder)) {
            let key = (&*holder.inner.method, verb(&holder.state), holder.is_supposed);
            let held = by_method.entry(key).or_insert_with(|| Held::of(holder));
            held.seconds += seconds;
            held.in_native_code_s += if holder.state == State::Native { *seconds } else { 0.0 };
            let section = holder.path.last().map(|section| &*section.method);
            if holder.state != State::Runnable {
                held.inners.add(Inner::of(&frames(&holder.path), section), *seconds);
            }
        }
        let name = &object.name;
        let known_s: f64 = by_method.values().map(|held| held.seconds).sum();
        let most = by_method.into_iter().max_by(|one, other| one.1.seconds.total_cmp(&other.1.seconds));
        let Some(((method, verb, is_supposed), held)) = most.filter(|_| known_s >= LEAST_KNOWN * whole_s) else {
            return Cause {
                rule: Rule::UnknownHolder,
                object: name.clone(),
                place: object.place(),
                text: unknown(object, is_searched),
                remedy: None,
                share: 0.0,
                measure: Measure::None,
            };
        };
        let holder = held.first;
        let share = (held.seconds / whole_s.max(1e-9)).min(1.0);
        let caller = holder.caller.as_ref().filter(|caller| caller.method != method);
        let place = match caller {
            Some(caller) => format!("{}, called by {}", holder.inner.label(), caller.method),
            None => holder.inner.label(),
        };
        let in_native_code = (held.in_native_code_s > 0.0).then(|| self.in_native_code(lock)).flatten();
        let (activity, did, by) = match in_native_code {
            Some(native) => {
                let (activity, did) = native.words(share, held.in_native_code_s / held.seconds, method);
                (activity, did, "thread dumps and the kernel's samples")
            }
            None => {
                let may_be_blocked = if held.in_native_code_s > 0.0 { ", or was in a system call," } else { "" };
                let did = format!("{verb}{may_be_blocked} in {method} for {}", terminal::percent(share));
                (activity(&holder.state), did, "thread dumps")
            }
        };
        let waits_in = lock.path.first().is_some_and(|frame| frame.method == method);
        let remedy = match activity {
            // One that counts jobs is waited for by idle workers. Dumps do not show who releases it.
            _ if name.starts_with(SEMAPHORE) => format!("if it is a pool, {}", larger_pool(name, method)),
            Activity::Ran | Activity::NoCpu => {
                format!("do less in {method} while {name} is held, or use several locks")
            }
            // The method that acquires the lock blocks itself.
            _ if caller.is_none() || waits_in => format!("do not block in {method} while {name} is held"),
            _ => held.inners.main().map_or_else(
                || format!("call {method} outside of the critical section of {name}"),
                |inner| inner.remedy(name, &activity),
            ),
        };
        let (who, condition) = match is_supposed {
            _ if is_pool => ("the threads inside of it".to_owned(), String::new()),
            true if !name.starts_with(SEMAPHORE) => {
                let who = "the only other thread in the method of the lock";
                (who.to_owned(), format!("if it holds {name} there: "))
            }
            _ => ("the holder".to_owned(), String::new()),
        };
        let rule = match activity {
            _ if share <= 0.5 => Rule::SeveralCauses,
            _ if is_pool => Rule::PoolTooSmall,
            Activity::Ran | Activity::NoCpu => Rule::HolderRan,
            _ => Rule::HolderBlocked,
        };
        Cause {
            rule,
            object: name.clone(),
            place,
            text: format!("{who} {did} of the wait, by {by}"),
            remedy: Some(format!("{condition}{remedy}")).filter(|_| share > 0.5),
            share,
            measure: Measure::None,
        }
    }

    /// Returns what the kernel shows of the threads that held a lock in native code, which a dump does not say more of.
    fn in_native_code(&self, lock: &JavaLock) -> Option<InNativeCode> {
        let (mut whole, mut in_native_code_s) = (Budget::default(), 0.0);
        let mut calls: BTreeMap<Wait, f64> = BTreeMap::new();
        let part = |wait: Wait| if let Wait::Call { part, .. } = wait { part } else { Part::Unknown };
        for life in &self.samples.lives {
            let Some(seconds) = lock.in_native_code.get(&life.thread) else { continue };
            in_native_code_s += seconds;
            whole.add(&life.budget(&part, &BTreeMap::new(), &[]));
            for (wait, seconds) in life.waits.iter().filter(|(wait, _)| matches!(wait, Wait::Call { .. })) {
                *calls.entry(*wait).or_default() += seconds;
            }
        }
        let runnable_s = whole.on_cpu_s + whole.ready_s;
        if in_native_code_s <= 0.0 || runnable_s + whole.io_s <= 0.0 {
            return None;
        }
        // Longer than they had a CPU, or were ready for one, they were blocked in any case. I/O is none that they wait for elsewhere.
        let at_least = 1.0 - runnable_s / in_native_code_s;
        let in_io = whole.io_s / (runnable_s + whole.io_s);
        let is_io = |wait: &Wait| matches!(wait, Wait::Call { part: Part::Io, .. });
        let of_call = |(wait, _): &(Wait, f64)| at_least > in_io || is_io(wait);
        let call = calls.into_iter().filter(of_call).max_by(|one, other| one.1.total_cmp(&other.1));
        let blocked = if call.is_some() { at_least.max(in_io) } else { 0.0 };
        Some(InNativeCode {
            blocked,
            activity: call.map_or(Activity::Hidden, |(wait, _)| self.activity(wait)),
            ready: (1.0 - blocked) * whole.ready_s / runnable_s.max(1e-9),
        })
    }

    /// Returns what the thread dumps say of the longest waits for work, and of a pool whose threads all have some.
    pub(super) fn java_work(&self) -> Option<String> {
        let places = self.java.values().flat_map(|waits| waits.places.iter().map(move |(place, s)| (waits, place, *s)));
        let waiting = places.filter(|(_, place, _)| place.state == State::Waiting);
        let (waits, place, _) = waiting.max_by(|one, other| one.2.total_cmp(&other.2))?;
        let longest = format!(" The longest waits for work are those in {}.", label(place));
        // The class library says that they wait for the result of a task.
        const RESULTS: [&str; 3] = ["CompletableFuture.", "FutureTask.", "AbstractExecutorService."];
        let called = place.called.as_deref().and_then(|called| called.strip_prefix("java.util.concurrent."));
        let is_for_result = called.is_some_and(|called| RESULTS.iter().any(|class| called.starts_with(class)));
        let full = waits.pools.iter().filter(|(_, pool)| pool.full_s > 0.5 * pool.seconds);
        let pool = full.max_by(|one, other| one.1.full_s.total_cmp(&other.1.full_s)).filter(|_| is_for_result);
        Some(pool.map_or(longest.clone(), |(name, pool)| longest + &of_pool(name, pool)))
    }

    /// Returns the places of the program in which Java's threads waited or slept, with the time at each.
    pub(super) fn java_places(&self) -> impl Iterator<Item = (&'static str, String, u32, &blame::jvm::Frame, f64)> {
        let all = self.java.iter().flat_map(|(process, waits)| waits.places.iter().map(|place| (*process, place)));
        all.map(|(process, (place, seconds))| {
            let part = if place.state == State::Sleeping { "sleep" } else { "work" };
            (part, label(place), process, &place.own, *seconds)
        })
    }
}

/// The begin of the name of a semaphore.
const SEMAPHORE: &str = "Semaphore ";

/// The time in which a lock was held in a method.
struct Held<'a> {
    seconds: f64,
    in_native_code_s: f64,
    first: &'a JavaHolder,
    inners: Inners,
}

impl<'a> Held<'a> {
    fn of(first: &'a JavaHolder) -> Self {
        Self { seconds: 0.0, in_native_code_s: 0.0, first, inners: Inners::default() }
    }
}

impl InNativeCode {
    /// Returns the main activity of holders, and the words for all of it: they were in a method for this share of the wait, and in native
    /// code for this part of that.
    fn words(self, share: f64, part: f64, method: &str) -> (Activity, String) {
        let Self { blocked, activity, ready } = self;
        let (blocked, ready) = (share * part * blocked, share * part * ready);
        let ran = share - blocked - ready;
        let mut parts = vec![(activity, blocked), (Activity::Ran, ran)];
        // A lack of CPUs is due to other threads, and comes last.
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        parts.push((Activity::NoCpu, ready));
        let main = parts[0].0.clone();
        let words = |(place, (activity, share)): (usize, &(Activity, f64))| {
            let method = if place == 0 { format!(" in {method}") } else { String::new() };
            format!("{activity}{method} for {}", terminal::percent(*share))
        };
        let seen = parts.iter().enumerate().filter(|(place, (_, share))| *place == 0 || *share >= 0.01).map(words);
        (main, seen.collect::<Vec<String>>().join(", "))
    }
}

/// Returns the words for a lock whose holder the dumps do not show.
fn unknown(object: &Object, is_searched: bool) -> String {
    if is_searched {
        return "unknown holder: no thread alone had it in the dumps that name owners, as where readers have it".into();
    }
    let how = match object.kind {
        JAVA_LOCK if !object.name.starts_with(SEMAPHORE) => {
            "; `jcmd PID Thread.print -l` names the owner if one thread alone has it, after a search of the heap"
        }
        _ => "",
    };
    format!("unknown holder: no thread dump shows which thread held it{how}")
}

/// Returns the words for a pool whose threads all had a task for most of the time.
fn of_pool(name: &str, pool: &JavaPool) -> String {
    let share = terminal::percent(pool.full_s / pool.seconds.max(1e-9));
    let all_s: f64 = pool.tasks.values().sum();
    let most = pool.tasks.iter().max_by(|one, other| one.1.total_cmp(other.1)).filter(|most| *most.1 > 0.5 * all_s);
    let tasks =
        most.map_or_else(String::new, |((state, frame), _)| format!(", which {} in {}", verb(state), frame.label()));
    let (threads, none_free) = match pool.workers {
        1 => ("The one thread".to_owned(), "had a task"),
        count => (format!("All {count} threads"), "had a task each"),
    };
    format!(
        " {threads} of the pool `{name}` {none_free} for {share} of the time{tasks}: if those are what the others wait for, make the pool \
         larger, or its tasks shorter."
    )
}

/// Returns a place with the method of the class library that it called.
fn label(place: &JavaPlace) -> String {
    let called = place.called.as_deref().map(|called| {
        let mut names = called.rsplitn(3, '.');
        let (method, class) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        format!(", in {class}.{method}")
    });
    place.own.label() + &called.unwrap_or_default()
}

fn activity(state: &State) -> Activity {
    match state {
        State::Runnable | State::Native => Activity::Ran,
        State::Sleeping => Activity::Slept(None),
        State::Waiting => Activity::Hidden,
        State::Blocked { class } => Activity::WaitedFor(format!("the lock of class {class}")),
    }
}

fn verb(state: &State) -> String {
    match state {
        State::Runnable | State::Native => "ran".into(),
        State::Sleeping => "slept".into(),
        State::Waiting => "waited for another thread".into(),
        State::Blocked { class } => format!("waited for a lock of class {class}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedy_for_a_semaphore_depends_on_its_purpose() {
        let frame = |method: &str| blame::jvm::Frame { method: method.into(), source: None };
        let (inner, caller) = (frame("Store.query"), Some(frame("Store.run")));
        let path = vec![inner.clone(), frame("Store.run")];
        let holder = JavaHolder { state: State::Sleeping, is_supposed: false, inner, caller, path };
        let lock = JavaLock {
            seconds: 1.0,
            holders: [(holder, 0.9)].into(),
            most_waiters: 4,
            path: vec![frame("Store.run")],
            ..JavaLock::default()
        };
        let remedy = |class: &str| {
            let waits_in = frame("Store.run");
            let key = LockKey { class: class.into(), waits_in, is_monitor: false };
            let object = Object { name: name(&key), ..Object::of_java(&lock) };
            Evidence::default().java_cause(&object, &lock).remedy.unwrap()
        };
        let pool = remedy("java.util.concurrent.Semaphore$NonfairSync");
        assert_eq!(
            pool,
            "if it is a pool, raise the limit of Semaphore in Store.run (a larger pool), or hold it for less time in \
             Store.query"
        );
        assert!(remedy("java.util.concurrent.locks.ReentrantLock$NonfairSync").contains("out of the critical section"));
        let supposed =
            lock.holders.iter().map(|(holder, seconds)| (JavaHolder { is_supposed: true, ..holder.clone() }, *seconds));
        let supposed = JavaLock { holders: supposed.collect(), ..lock.clone() };
        let object = Object { name: "ReentrantLock in Store.run".into(), ..Object::of_java(&supposed) };
        let cause = Evidence::default().java_cause(&object, &supposed);
        assert!(cause.text.starts_with("the only other thread in the method of the lock slept"), "{}", cause.text);
        assert!(cause.remedy.unwrap().starts_with("if it holds ReentrantLock in Store.run there: "));
    }

    /// A thread held the lock in native code for 4 s. By the kernel it ran for 1 s in that time, and samples found it in a call.
    #[test]
    fn holder_in_native_code_waits_for_what_the_kernel_shows() {
        let frame = |method: &str| blame::jvm::Frame { method: method.into(), source: None };
        let holder = JavaHolder {
            state: State::Native,
            is_supposed: false,
            inner: frame("Log.persist"),
            caller: Some(frame("Log.append")),
            path: vec![frame("Log.persist"), frame("Log.append")],
        };
        let lock = JavaLock {
            seconds: 8.0,
            holders: [(holder, 8.0)].into(),
            in_native_code: [(7, 4.0)].into(),
            path: vec![frame("Log.append")],
            ..JavaLock::default()
        };
        let of = |call: Option<(i64, Part)>| {
            let waits: Vec<(Wait, f64)> =
                call.map(|(number, part)| (Wait::Call { number, part, file: 0 }, 3.0)).into_iter().collect();
            let mut life = Life::default();
            (life.thread, life.waits) = (7, waits.into_iter().collect());
            let mut life = serde_json::to_value(life).unwrap();
            (life["seen_s"], life["sums"]) = (4.0.into(), vec![1_000_000_000_u64, 0].into());
            let mut evidence = Evidence::default();
            evidence.samples.lives.push(serde_json::from_value(life).unwrap());
            let object = Object { name: "the monitor of Log in Log.append".into(), ..Object::of_java(&lock) };
            evidence.java_cause(&object, &lock)
        };
        let io = of(Some((libc::SYS_fdatasync, Part::Io)));
        assert_eq!(io.rule, Rule::HolderBlocked);
        assert!(io.text.starts_with("the holder waited for I/O (fdatasync) in Log.persist for 75"), "{}", io.text);
        assert!(io.remedy.as_ref().unwrap().starts_with("move Log.persist"), "{:?}", io.remedy);
        // The answer of another process.
        assert_eq!(of(Some((libc::SYS_read, Part::Work))).rule, Rule::HolderBlocked);
        assert_eq!(of(None).rule, Rule::HolderRan, "no sample found it blocked");
    }

    /// Threads wait in the virtual machine for the end of a collection, which its own threads compute.
    #[test]
    fn waits_in_the_machine_are_for_its_collector_where_that_runs() {
        let frame = |label: &str, is_in_c_library| {
            let site = Site { symbol: Some(label.into()), source: None, label: label.into() };
            Frame { site, is_runtime: true, is_in_c_library, is_of_library: true, begin: 0 }
        };
        let wait = ["pthread_mutex_lock (libc.so.6)", "memfd:contend-interpose+0x1a3", "Mutex::lock()+0x4 (libjvm.so)"];
        let frames = wait.iter().enumerate().map(|(place, label)| frame(label, place == 0)).collect();
        let frames = Frames { frames, ..Frames::default() };
        let waits = |collector_s: u64| {
            let life = |name: &str, seconds: u64| {
                let mut life = serde_json::to_value(Life::default()).unwrap();
                (life["process"], life["name"]) = (1.into(), name.into());
                life["sums"] = vec![seconds * 1_000_000_000, 0].into();
                serde_json::from_value(life).unwrap()
            };
            let mut evidence = Evidence { java: [(1, blame::jvm::JavaWaits::default())].into(), ..Evidence::default() };
            evidence.samples.lives = vec![life("GC Thread#0", collector_s), life("shop-0", 2)];
            evidence.waits_for_collector(&frames)
        };
        assert_eq!([waits(0), waits(3)], [false, true]);
    }

    #[test]
    fn owners_that_a_search_found_outweigh_suppositions() {
        let frame = |method: &str| blame::jvm::Frame { method: method.into(), source: None };
        let holder = |method: &str, is_supposed| JavaHolder {
            state: State::Runnable,
            is_supposed,
            inner: frame(method),
            caller: None,
            path: Vec::new(),
        };
        let key = LockKey {
            class: "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync".into(),
            waits_in: frame("Prices.quote"),
            is_monitor: false,
        };
        let lock = JavaLock {
            seconds: 10.0,
            searched_s: 2.0,
            holders: [(holder("Prices.rebuild", false), 1.8), (holder("Prices.quote", true), 8.0)].into(),
            ..JavaLock::default()
        };
        let of = |lock: &JavaLock| {
            let object = Object { name: name(&key), kind: JAVA_LOCK, ..Object::of_java(lock) };
            Evidence::default().java_cause(&object, lock)
        };
        let found = of(&lock);
        assert_eq!((found.rule, &*found.place, found.share), (Rule::HolderRan, "Prices.rebuild", 0.9));
        let none = JavaLock { holders: BTreeMap::new(), ..lock.clone() };
        assert_eq!(of(&none).rule, Rule::UnknownHolder);
        assert!(of(&none).text.contains("readers"));
        assert!(of(&JavaLock { searched_s: 0.0, ..none }).text.contains("Thread.print -l"));
    }

    #[test]
    fn full_pool_is_named_with_its_tasks() {
        let frame = |method: &str| blame::jvm::Frame { method: method.into(), source: None };
        let place = JavaPlace {
            state: State::Waiting,
            own: frame("Client.ask"),
            called: Some("java.util.concurrent.CompletableFuture.join".into()),
        };
        let pool = JavaPool {
            workers: 2,
            seconds: 5.0,
            full_s: 4.5,
            tasks: [((State::Sleeping, frame("Backend.call")), 9.0)].into(),
        };
        let of = |pool: JavaPool| {
            let mut waits = blame::jvm::JavaWaits::default();
            (waits.places, waits.pools) = ([(place.clone(), 40.0)].into(), [("backend".into(), pool)].into());
            Evidence { java: [(1, waits)].into(), ..Evidence::default() }.java_work().unwrap()
        };
        let full = of(pool.clone());
        assert!(full.contains("in Client.ask, in CompletableFuture.join."), "{full}");
        assert!(full.contains("All 2 threads of the pool `backend` had a task each for 90"), "{full}");
        assert!(full.contains("slept in Backend.call"), "{full}");
        assert!(!of(JavaPool { full_s: 1.0, ..pool }).contains("pool"), "it has threads without a task");
    }

    #[test]
    fn thread_that_dumps_show_as_runnable_waits_as_the_kernel_shows() {
        assert_eq!(parts(&Shares { all: 3.0, ..Shares::default() }), []);
        let shares = Shares { all: 4.0, lock: 1.0, sleep: 0.0, work: 1.0 };
        assert_eq!(parts(&shares), [(Part::Lock, 0.5), (Part::Sleep, 0.0), (Part::Work, 0.5)]);
    }
}
