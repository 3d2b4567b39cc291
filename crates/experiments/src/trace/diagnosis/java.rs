//! The locks of Java programs, by the thread dumps of the virtual machine.

use super::activity::Activity;
use super::objects::{Inner, Inners, Object, larger_pool};
use super::{Cause, Evidence, Measure};
use crate::trace::rules::Rule;
use blame::frames::{Frame, Frames};
use blame::jvm::{JavaHolder, JavaLock, LockKey, Shares, State};
use blame::names::Site;
use blame::sampling::budget::Part;
use blame::sampling::life::Life;
use blame::sampling::waited::{Wait, Waited};
use std::collections::BTreeMap;

impl Evidence {
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
            let kind = if key.is_monitor { "monitor" } else { "java lock" };
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

fn frames(path: &[blame::jvm::Frame]) -> Frames {
    let frame = |frame: &blame::jvm::Frame| Frame {
        site: Site { symbol: Some(frame.method.clone()), source: frame.source.clone(), label: frame.label() },
        is_runtime: frame.is_of_library(),
        is_in_c_library: false,
        is_of_library: false,
        begin: 0,
    };
    Frames { frames: path.iter().map(frame).collect(), ..Frames::default() }
}

/// Returns the activity of the holders while others waited, and the remedy.
pub(super) fn cause(object: &Object, lock: &JavaLock) -> Option<Cause> {
    let mut by_method: BTreeMap<(&str, String, bool), (f64, &JavaHolder, Inners)> = BTreeMap::new();
    for (holder, seconds) in &lock.holders {
        let key = (&*holder.inner.method, verb(&holder.state), holder.is_supposed);
        let (sum, _, inners) = by_method.entry(key).or_insert_with(|| (0.0, holder, Inners::default()));
        *sum += seconds;
        let section = holder.path.last().map(|section| &*section.method);
        inners.add(Inner::of(&frames(&holder.path), section), *seconds);
    }
    let ((method, verb, is_supposed), (seconds, holder, inners)) =
        by_method.into_iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0))?;
    let share = (seconds / lock.seconds).min(1.0);
    let name = &object.name;
    let caller = holder.caller.as_ref().filter(|caller| caller.method != method);
    let place = match caller {
        Some(caller) => format!("{}, called by {}", holder.inner.label(), caller.method),
        None => holder.inner.label(),
    };
    let remedy = match holder.state {
        // One that counts jobs is waited for by idle workers. Dumps do not show who releases it.
        _ if name.starts_with("Semaphore ") => format!("if it is a pool, {}", larger_pool(name, method)),
        State::Runnable => format!("do less in {method} while {name} is held, or use several locks"),
        // The method that acquires the lock blocks itself.
        _ if caller.is_none() || lock.path.first().is_some_and(|frame| frame.method == method) => {
            format!("do not block in {method} while {name} is held")
        }
        _ => inners.main().map_or_else(
            || format!("call {method} outside of the critical section of {name}"),
            |inner| inner.remedy(name, &activity(&holder.state)),
        ),
    };
    let (who, condition) = match is_supposed && !name.starts_with("Semaphore ") {
        true => ("the only other thread in the method of the lock", format!("if it holds {name} there: ")),
        false => ("the holder", String::new()),
    };
    let rule = match holder.state {
        _ if share <= 0.5 => Rule::SeveralCauses,
        State::Runnable => Rule::HolderRan,
        State::Sleeping | State::Waiting | State::Blocked { .. } => Rule::HolderBlocked,
    };
    Some(Cause {
        rule,
        object: name.clone(),
        place,
        text: format!("{who} {verb} in {method} for {} of the wait, by thread dumps", terminal::percent(share)),
        remedy: Some(format!("{condition}{remedy}")).filter(|_| share > 0.5),
        share,
        measure: Measure::None,
    })
}

fn activity(state: &State) -> Activity {
    match state {
        State::Runnable => Activity::Ran,
        State::Sleeping => Activity::Slept(None),
        State::Waiting => Activity::Hidden,
        State::Blocked { class } => Activity::WaitedFor(format!("the lock of class {class}")),
    }
}

fn verb(state: &State) -> String {
    match state {
        State::Runnable => "ran, or was in a system call,".into(),
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
        let lock =
            JavaLock { seconds: 1.0, holders: [(holder, 0.9)].into(), most_waiters: 4, path: vec![frame("Store.run")] };
        let remedy = |class: &str| {
            let waits_in = frame("Store.run");
            let key = LockKey { class: class.into(), waits_in, is_monitor: false };
            let object = Object { name: name(&key), ..Object::of_java(&lock) };
            cause(&object, &lock).unwrap().remedy.unwrap()
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
        let cause = cause(&object, &supposed).unwrap();
        assert!(cause.text.starts_with("the only other thread in the method of the lock slept"), "{}", cause.text);
        assert!(cause.remedy.unwrap().starts_with("if it holds ReentrantLock in Store.run there: "));
    }

    #[test]
    fn thread_that_dumps_show_as_runnable_waits_as_the_kernel_shows() {
        assert_eq!(parts(&Shares { all: 3.0, ..Shares::default() }), []);
        let shares = Shares { all: 4.0, lock: 1.0, sleep: 0.0, work: 1.0 };
        assert_eq!(parts(&shares), [(Part::Lock, 0.5), (Part::Sleep, 0.0), (Part::Work, 0.5)]);
    }
}
