//! The rules on recorded snapshots: of a program for each kind of hang, and of idle ones.

use super::explain;
use crate::explanation::{Again, Class, Explanation, Finding, Gone, Unseen};
use crate::snapshot::{Language, Owner, Presence, Process, Reason, Seen, Snapshot, Thread, Wait};

/// Reads a snapshot that was recorded from a program.
macro_rules! recorded {
    ($name:literal) => {
        serde_json::from_str::<Snapshot>(include_str!(concat!("recorded/", $name, ".json"))).unwrap()
    };
}

/// Returns the functions in which the threads of a finding wait.
fn places(found: &Explanation) -> Vec<String> {
    let members = match &found.finding {
        Finding::Cycle { members }
        | Finding::Pool { members, .. }
        | Finding::NoWaker { members }
        | Finding::OwnerGone { members, .. } => members.clone(),
        Finding::SelfDeadlock { member, .. } => vec![member.clone()],
        Finding::HeldLock { owner, .. } => vec![owner.clone()],
        Finding::Peer { member, peers } => [std::slice::from_ref(member), peers].concat(),
        Finding::Going { members } => members.clone(),
        other => panic!("{other:?}"),
    };
    members.iter().filter_map(|member| member.place.as_ref()).map(|place| place.function.clone()).collect()
}

fn likely(found: &Explanation, reason: Reason) -> bool {
    let Finding::Cycle { members } = &found.finding else { return false };
    let is_it = |wait: &Wait| matches!(wait, Wait::Lock(lock) if matches!(lock.owner, Owner::Likely { reason: of, .. } if of == reason));
    members.iter().any(|member| is_it(&member.wait))
}

#[test]
fn cycles_name_each_thread_once() {
    for (snapshot, expected) in [
        (recorded!("cycle"), ["pay", "audit"]),
        (recorded!("pipe"), ["main", "main"]),
        (recorded!("python_cycle"), ["pay", "audit"]),
        (recorded!("interpreter"), ["initialize", "submit"]),
        (recorded!("rust_cycle"), ["abba::pay", "abba::audit"]),
        (recorded!("java_cycle"), ["Hangs.payMixed", "Hangs.auditMixed"]),
        (recorded!("go_cycle"), ["main.pay", "main.audit"]),
        (recorded!("java_classes"), ["Hangs$Left.<clinit>", "Hangs$Right.<clinit>"]),
    ] {
        let found = explain(&snapshot);
        assert_eq!(found.class, Class::Deadlock);
        assert!(matches!(found.finding, Finding::Cycle { .. }), "{found:?}");
        assert_eq!(places(&found), expected);
    }
    assert!(likely(&explain(&recorded!("rust_cycle")), Reason::Stack));
    assert!(likely(&explain(&recorded!("go_cycle")), Reason::Goroutine));
    assert!(likely(&explain(&recorded!("python_cycle")), Reason::With));
    assert!(likely(&explain(&recorded!("interpreter")), Reason::Interpreter));
    assert!(!likely(&explain(&recorded!("cycle")), Reason::Stack), "glibc names the owner");
}

#[test]
fn own_lock_is_found_with_the_way_to_it() {
    let again = |snapshot: &Snapshot| match explain(snapshot).finding {
        Finding::SelfDeadlock { again, waiters, .. } => (again, waiters),
        other => panic!("{other:?}"),
    };
    assert_eq!(again(&recorded!("kept")), (Again::Kept, 1));
    let (Again::Caller { place }, 0) = again(&recorded!("recursion")) else { panic!("not by its caller") };
    assert_eq!(place.function, "refill");
    let (Again::Handler { handler, interrupted, .. }, 0) = again(&recorded!("handler")) else {
        panic!("not by a signal")
    };
    assert_eq!(handler.unwrap().function, "tick");
    assert_eq!(interrupted.unwrap().function, "refill");
}

#[test]
fn missing_owner_has_ended_or_is_the_parents() {
    let gone = |snapshot: &Snapshot| match explain(snapshot).finding {
        Finding::OwnerGone { gone, .. } => gone,
        other => panic!("{other:?}"),
    };
    assert_eq!(gone(&recorded!("ended")), Gone::Ended);
    assert_eq!(gone(&recorded!("java_ended")), Gone::Ended);
    let mut fork = recorded!("fork");
    assert!(matches!(gone(&fork), Gone::Inherited { is_alive: true, .. }));
    // The parent's thread has ended since: the number alone shows that it is older than the child.
    fork.processes
        .iter_mut()
        .for_each(|process| process.threads.retain(|thread| matches!(thread.wait, Wait::Lock(_) | Wait::Child { .. })));
    assert!(matches!(gone(&fork), Gone::Inherited { is_alive: false, .. }));
}

#[test]
fn owner_that_waits_is_reported_with_its_wait() {
    let held = |snapshot: &Snapshot| match explain(snapshot).finding {
        Finding::HeldLock { is_elsewhere, ref waiters, .. } => (is_elsewhere, waiters.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(held(&recorded!("leaked")), (true, 1));
    let mut slow = recorded!("slow");
    assert_eq!(held(&slow), (false, 1), "its function acquires the lock");
    for thread in slow.processes.iter_mut().flat_map(|process| &mut process.threads) {
        if let Wait::Time { span_s } = &mut thread.wait {
            *span_s = Some(0.5);
        }
    }
    assert_eq!(explain(&slow).class, Class::NotHung, "a short sleep ends by itself");
}

#[test]
fn pool_needs_all_of_its_workers() {
    for (snapshot, workers, task) in [
        (recorded!("pool"), 2, "parent"),
        (recorded!("python_pool"), 3, "parent"),
        (recorded!("java_pool"), 1, "Hangs.lambda$main$3"),
    ] {
        let Finding::Pool { members, task: found, .. } = explain(&snapshot).finding else { panic!("not a pool") };
        assert_eq!((members.len(), &*found.function), (workers, task));
        // One worker that runs can do the tasks of the others.
        let mut running = snapshot.clone();
        let one = members[0].thread;
        let thread =
            running.processes.iter_mut().flat_map(|one| &mut one.threads).find(|thread| thread.tid == one).unwrap();
        (thread.wait, thread.has_moved) = (Wait::Nothing, true);
        assert_eq!(explain(&running).class, Class::NotHung);
    }
}

#[test]
fn lost_wake_up_needs_that_no_thread_is_left() {
    let mut lost = recorded!("lost");
    let found = explain(&lost);
    assert!(matches!(found.finding, Finding::NoWaker { .. }), "{found:?}");
    assert_eq!(places(&found)[0], "consume");
    let asleep = Thread { tid: 9, state: 'S', wait: Wait::Time { span_s: None }, ..Thread::default() };
    lost.processes[0].threads.push(asleep);
    assert_eq!(explain(&lost).class, Class::NotHung, "the thread that sleeps may signal");
    lost.processes[0].threads.pop();
    lost.processes[0].language = Language::Go;
    let found = explain(&lost);
    assert_eq!(found.class, Class::Unknown, "goroutines are not seen");
    assert!(matches!(found.unseen[..], [Unseen::Runtime { language: Language::Go, .. }]));
}

/// A pool of Java with a worker that has no task can do the tasks of the others; one of another pool cannot.
#[test]
fn java_pools_are_kept_apart_by_the_names_of_their_threads() {
    let mut snapshot = recorded!("java_pool");
    let work = Wait::Event { object: "work".into(), name: None, address: 0, is_timed: false, is_shared: false };
    let threads = &mut snapshot.processes[0].threads;
    let worker = threads.iter().find(|thread| thread.name == "pool-1-thread-1").unwrap();
    let outside = worker.frames.iter().rposition(|frame| frame.is_own).unwrap();
    let idle = |name: &str| Thread {
        tid: 9,
        name: name.into(),
        wait: work.clone(),
        frames: worker.frames[outside + 1..].to_vec(),
        ..worker.clone()
    };
    let [same, other] = ["pool-1-thread-2", "pool-2-thread-1"].map(idle);
    threads.push(other);
    assert!(matches!(explain(&snapshot).finding, Finding::Pool { .. }));
    snapshot.processes[0].threads.pop();
    snapshot.processes[0].threads.push(same);
    assert!(matches!(explain(&snapshot).finding, Finding::NoWaker { .. }), "the task waits for something else");
}

/// A timer, a connection or a goroutine that runs could wake any other.
#[test]
fn goroutines_hang_only_if_all_of_them_wait() {
    let mut channels = recorded!("go_channels");
    let found = explain(&channels);
    let Finding::NoWaker { members } = &found.finding else { panic!("{found:?}") };
    assert!(members.len() == 6 && members.iter().all(|member| member.is_goroutine), "{members:?}");
    let is_last_an_end = matches!(&members[5].wait, Wait::Event { object, .. } if object == "group");
    assert!(is_last_an_end, "the wait for the others says less");
    assert_eq!(crate::words::lines(&found).len(), 2, "those at one place have one line");
    let asleep = Thread { tid: 99, is_goroutine: true, wait: Wait::Time { span_s: None }, ..Thread::default() };
    channels.processes[0].threads.push(asleep);
    assert_eq!(explain(&channels).class, Class::NotHung);
    channels.processes[0].threads.pop();
    channels.processes[0].left_out = 1;
    assert_ne!(explain(&channels).class, Class::Hang, "one that was not looked at");
    assert_eq!(explain(&recorded!("go_server")).class, Class::NotHung);
}

/// A hook could wake the only thread with code of the program, as in a server that waits for its end.
#[test]
fn lone_thread_of_java_is_in_no_hang() {
    let mut lost = recorded!("java_lost");
    assert_eq!(explain(&lost).class, Class::Unknown);
    let waits = |thread: &&Thread| matches!(thread.wait, Wait::Event { .. });
    let second = lost.processes[0].threads.iter().find(waits).unwrap().clone();
    lost.processes[0].threads.push(Thread { tid: 9, ..second });
    assert!(matches!(explain(&lost).finding, Finding::NoWaker { .. }));
    lost.processes[0].seen = Seen::Partly;
    assert_eq!(explain(&lost).class, Class::Unknown, "virtual threads are not seen");
    assert_eq!(explain(&recorded!("java_idle")).class, Class::NotHung);
}

#[test]
fn peer_is_reported_only_if_it_stands_still() {
    let mut silent = recorded!("silent");
    let found = explain(&silent);
    assert!(matches!(found.finding, Finding::Peer { .. }), "{found:?}");
    silent.processes[1].threads[0].wait = Wait::Terminal;
    assert_eq!(explain(&silent).class, Class::NotHung, "it waits for its user");
}

#[test]
fn requests_do_not_clear_a_runtime_whose_waits_are_not_seen() {
    let mut server = recorded!("server");
    assert_eq!(explain(&server).class, Class::NotHung);
    server.processes[0].language = Language::Go;
    assert_eq!(explain(&server).class, Class::Unknown);
    server.processes[0].threads[0].wait = Wait::Nothing;
    assert_eq!(explain(&server).class, Class::NotHung, "it runs");
}

#[test]
fn threads_that_moved_are_in_no_hang() {
    for mut snapshot in
        [recorded!("cycle"), recorded!("kept"), recorded!("ended"), recorded!("slow"), recorded!("lost")]
    {
        snapshot
            .processes
            .iter_mut()
            .flat_map(|process| &mut process.threads)
            .for_each(|thread| thread.has_moved = true);
        assert_eq!(explain(&snapshot).class, Class::NotHung);
    }
    assert!(matches!(explain(&recorded!("server")).finding, Finding::Going { .. }));
}

#[test]
fn process_that_cannot_run_is_not_hung() {
    let of = |process: Process| explain(&Snapshot { asked: vec![7], processes: vec![process], apart_s: 0.5 });
    let stopped = || vec![Thread { tid: 7, state: 'T', wait: Wait::Signal, ..Thread::default() }];
    let process = || Process { pid: 7, ..Process::default() };
    let missing = of(Process { presence: Presence::Missing, ..process() });
    assert_eq!((missing.class, missing.finding), (Class::Unknown, Finding::Missing { process: 7 }));
    let found = of(Process { threads: stopped(), ..process() });
    assert!(matches!(found.finding, Finding::Stopped { tracer: None, .. }), "{found:?}");
    let found = of(Process { threads: stopped(), tracer: Some((8, "gdb".into())), ..process() });
    assert!(matches!(found.finding, Finding::Stopped { tracer: Some(_), .. }), "{found:?}");
    let found = of(Process { is_frozen: true, ..process() });
    assert!(matches!(found.finding, Finding::Frozen { .. }), "{found:?}");
    let found = of(Process { presence: Presence::Zombie, parent: 3, ..process() });
    assert!(matches!(found.finding, Finding::Zombie { parent: 3, .. }), "{found:?}");
    let disk = Thread { tid: 7, state: 'D', wait: Wait::Disk { path: Some("/data".into()) }, ..Thread::default() };
    let found = of(Process { threads: vec![disk], ..process() });
    assert!(matches!(found.finding, Finding::Disk { .. }), "{found:?}");
}

#[test]
fn explanation_has_at_most_twenty_five_lines() {
    let mut many = recorded!("lost");
    let thread = many.processes[0].threads[0].clone();
    many.processes[0].threads.extend((100..400).map(|tid| Thread { tid, ..thread.clone() }));
    let found = explain(&many);
    assert_eq!(found.threads, many.processes[0].threads.len());
    assert!(crate::words::lines(&found).len() < 25);
    assert_eq!(crate::words::sentence(&found).lines().count(), 1);
}
