//! Every lock of the registry, including those of C and C++ libraries if it has them; and the selection of locks.
//!
//! This is one program of the package, and the source has no tests: so `.ci/run` builds its dependencies for all tests
//! at once.

use locks::{Builder, ENTRIES, Lock, NONE, Reach, build, chosen};
use std::cell::UnsafeCell;
use std::io;

struct Counter(UnsafeCell<u64>);

// SAFETY: the test below touches the counter only under the lock under test.
unsafe impl Sync for Counter {}

struct Exclusion;

impl Builder for Exclusion {
    type Output = u64;

    fn build<L: Lock>(self) -> io::Result<u64> {
        let mut lock = L::create()?;
        lock.settle()?;
        let counter = Counter(UnsafeCell::new(0));
        let counter = &counter;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let guard = lock.lock();
                        // SAFETY: the guard excludes the other threads.
                        unsafe { *counter.0.get() += 1 };
                        drop(guard);
                    }
                });
            }
        });
        // SAFETY: all threads have ended.
        Ok(unsafe { *counter.0.get() })
    }
}

#[test]
fn every_lock_but_none_excludes() {
    for entry in ENTRIES.iter().filter(|entry| entry.name != NONE) {
        assert_eq!(build(entry.name, Reach::Threads, Exclusion).unwrap().unwrap(), 8_000, "{}", entry.name);
        let shared = build(entry.name, Reach::Processes, Exclusion);
        assert_eq!(shared.is_some(), entry.between_processes, "{}", entry.name);
        shared.into_iter().for_each(|count| assert_eq!(count.unwrap(), 8_000, "{}", entry.name));
    }
}

/// A test that holds as many locks as a thread may, of the lock whose nodes are the thread's own; twice, so that each
/// node came back.
struct Several;

impl Builder for Several {
    type Output = ();

    fn build<L: Lock>(self) -> io::Result<()> {
        let mut locks = [L::create()?, L::create()?, L::create()?, L::create()?];
        locks.iter_mut().try_for_each(Lock::settle)?;
        for _ in 0..2 {
            let mut guards: Vec<L::Guard<'_>> = locks.iter().map(Lock::lock).collect();
            guards.swap(0, 2);
        }
        Ok(())
    }
}

#[test]
fn a_thread_may_hold_several_and_release_them_in_any_order() {
    for entry in ENTRIES {
        build(entry.name, Reach::Threads, Several).unwrap().unwrap();
    }
}

#[test]
fn all_leaves_out_what_excludes_nobody_unless_it_is_wanted() {
    let all = chosen(&["std".into(), "all".into()], false).unwrap();
    assert_eq!((all[0].name, all.len()), ("std", ENTRIES.len() - 1));
    assert_eq!(chosen(&["all".into()], true).unwrap().len(), ENTRIES.len());
    assert_eq!(chosen(&["none".into()], false).unwrap()[0].name, NONE);
}

#[test]
fn a_name_that_is_not_there_builds_nothing() {
    assert!(build("foo", Reach::Threads, Exclusion).is_none());
}
