//! Deadlocks and orders that can deadlock, found by the locks themselves.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Barrier, Mutex as Plain, MutexGuard},
    thread,
};
use ulocks::{Adaptive, Calock, Checked, Private, Unwatched, lock_api::Mutex, tell_orders_to};

type Lock = Mutex<Checked<Adaptive>, u32>;

static TOLD: Plain<Vec<String>> = Plain::new(Vec::new());

/// The orders that were reported; the tests that look at them run one at a time.
fn told() -> (MutexGuard<'static, ()>, impl Fn() -> Vec<String>) {
    static TURN: Plain<()> = Plain::new(());
    let turn = TURN.lock().unwrap();
    tell_orders_to(|said| TOLD.lock().unwrap().push(said.to_owned()));
    TOLD.lock().unwrap().clear();
    (turn, || TOLD.lock().unwrap().clone())
}

/// What a panic said.
fn said(work: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it goes on");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[inline(never)]
fn take_one_and_then(one: &Lock, gate: &Barrier, other: &Lock) {
    let _one = one.lock();
    gate.wait();
    let _other = other.lock();
}

#[test]
fn a_circle_of_three_is_told_by_the_one_that_closes_it_and_the_others_go_on() {
    let (_turn, _) = told();
    let locks = [const { Lock::new(0) }; 3];
    let gate = Barrier::new(3);
    let ended: Vec<_> = thread::scope(|scope| {
        let one = |at: usize| {
            let (locks, gate) = (&locks, &gate);
            scope.spawn(move || take_one_and_then(&locks[at], gate, &locks[(at + 1) % 3]))
        };
        [0, 1, 2].map(one).into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let panics: Vec<_> = ended.into_iter().filter_map(Result::err).collect();
    assert_eq!(panics.len(), 1, "one of the three gives way");
    let said = panics[0].downcast_ref::<String>().unwrap();
    assert!(said.starts_with("deadlock: "), "{said}");
    assert_eq!(said.matches("waits for lock").count(), 3, "{said}");
    assert!(said.contains("take_one_and_then"), "the places are named: {said}");
    locks.iter().for_each(|lock| assert!(!lock.is_locked()));
}

#[test]
fn a_lock_that_its_holder_takes_again_is_told() {
    let lock = Lock::new(0);
    let said = said(|| {
        let _held = lock.lock();
        let _again = lock.lock();
    });
    assert!(said.starts_with("deadlock: "), "{said}");
    *lock.lock() += 1;
}

#[test]
fn both_orders_are_told_once_before_they_deadlock() {
    let (_turn, told) = told();
    let (first, second, third) = (Lock::new(0), Lock::new(0), Lock::new(0));
    let both = |one: &Lock, other: &Lock| {
        let _one = one.lock();
        let _other = other.lock();
    };
    both(&first, &second);
    both(&second, &third);
    both(&first, &third);
    assert_eq!(told(), [""; 0], "one order is no fault");
    both(&third, &first);
    both(&third, &first);
    let told = told();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("in both orders") && told[0].matches("both_orders_are_told").count() >= 2, "{told:?}");
}

#[test]
fn what_tries_says_nothing_about_orders() {
    let (_turn, told) = told();
    let (one, other) = (Lock::new(0), Lock::new(0));
    let _held = one.lock();
    drop(other.lock());
    drop(_held);
    let _held = other.lock();
    assert!(one.try_lock().is_some());
    assert_eq!(told(), [""; 0]);
}

#[test]
fn contention_without_a_circle_goes_on() {
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
fn unwatched_it_is_the_lock_itself() {
    assert_eq!(size_of::<Checked<Adaptive, Unwatched>>(), size_of::<Adaptive>());
    assert_eq!(size_of::<Checked<Calock<Private>, Unwatched>>(), size_of::<Calock<Private>>());
    assert!(!std::mem::needs_drop::<Checked<Adaptive, Unwatched>>());
    let lock = Mutex::<Checked<Adaptive, Unwatched>, u32>::new(0);
    let _held = lock.lock();
    assert!(lock.try_lock().is_none());
}
