//! Deadlock detection in the locks: deadlocks, and orders that can deadlock.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, Mutex as Plain, MutexGuard},
    thread,
};
use ulocks::{Adaptive, Calock, Checked, Private, Unwatched, lock_api::Mutex, tell_orders_to};

type Lock = Mutex<Checked<Adaptive>, u32>;

static REPORTS: Plain<Vec<String>> = Plain::new(Vec::new());

/// Returns the reported orders; the tests that read them run one at a time.
fn collect_reports() -> (MutexGuard<'static, ()>, impl Fn() -> Vec<String>) {
    static TURN: Plain<()> = Plain::new(());
    let turn = TURN.lock().unwrap();
    tell_orders_to(|message| REPORTS.lock().unwrap().push(message.to_owned()));
    REPORTS.lock().unwrap().clear();
    (turn, || REPORTS.lock().unwrap().clone())
}

/// Returns the message of the panic in `work`.
fn message(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it goes on");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[inline(never)]
fn lock_both(one: &Lock, gate: &Barrier, other: &Lock) {
    let _one = one.lock();
    gate.wait();
    let _other = other.lock();
}

#[test]
fn cycle_of_three_panics_in_the_closing_thread_only() {
    let (_turn, _) = collect_reports();
    let locks = [const { Lock::new(0) }; 3];
    let gate = Barrier::new(3);
    let ended: Vec<_> = thread::scope(|scope| {
        let one = |at: usize| {
            let (locks, gate) = (&locks, &gate);
            scope.spawn(move || lock_both(&locks[at], gate, &locks[(at + 1) % 3]))
        };
        [0, 1, 2].map(one).into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let panics: Vec<_> = ended.into_iter().filter_map(Result::err).collect();
    assert_eq!(panics.len(), 1, "one of the three panics");
    let message = panics[0].downcast_ref::<String>().unwrap();
    assert!(message.starts_with("deadlock: "), "{message}");
    assert_eq!(message.matches("waits for lock").count(), 3, "{message}");
    assert!(message.contains("lock_both"), "the call sites are reported: {message}");
    locks.iter().for_each(|lock| assert!(!lock.is_locked()));
}

#[test]
fn relocking_by_the_holder_panics_with_a_deadlock() {
    let lock = Lock::new(0);
    let message = message(|| {
        let _held = lock.lock();
        let _again = lock.lock();
    });
    assert!(message.starts_with("deadlock: "), "{message}");
    *lock.lock() += 1;
}

#[test]
fn both_lock_orders_are_reported_once_before_a_deadlock() {
    let (_turn, collect_reports) = collect_reports();
    let (first, second, third) = (Lock::new(0), Lock::new(0), Lock::new(0));
    let both = |one: &Lock, other: &Lock| {
        let _one = one.lock();
        let _other = other.lock();
    };
    both(&first, &second);
    both(&second, &third);
    both(&first, &third);
    assert_eq!(collect_reports(), [""; 0], "one order is not a fault");
    both(&third, &first);
    both(&third, &first);
    let reports = collect_reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(
        reports[0].contains("in both orders") && reports[0].matches("both_lock_orders_are_reported").count() >= 2,
        "{reports:?}"
    );
}

#[test]
fn try_lock_records_no_lock_order() {
    let (_turn, collect_reports) = collect_reports();
    let (one, other) = (Lock::new(0), Lock::new(0));
    let _held = one.lock();
    drop(other.lock());
    drop(_held);
    let _held = other.lock();
    assert!(one.try_lock().is_some());
    assert_eq!(collect_reports(), [""; 0]);
}

#[test]
fn contention_without_a_cycle_reports_nothing() {
    let (one, other) = (&Lock::new(0), &Lock::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for _ in 0..200 {
                    *one.lock() += 1;
                    let _one = one.lock();
                    *other.lock() += 1;
                }
            });
        }
    });
    assert_eq!((*one.lock(), *other.lock()), (800, 800));
}

#[test]
fn unwatched_lock_has_the_size_of_the_plain_lock() {
    assert_eq!(size_of::<Checked<Adaptive, Unwatched>>(), size_of::<Adaptive>());
    assert_eq!(size_of::<Checked<Calock<Private>, Unwatched>>(), size_of::<Calock<Private>>());
    assert!(!std::mem::needs_drop::<Checked<Adaptive, Unwatched>>());
    let lock = Mutex::<Checked<Adaptive, Unwatched>, u32>::new(0);
    let _held = lock.lock();
    assert!(lock.try_lock().is_none());
}
