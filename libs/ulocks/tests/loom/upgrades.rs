//! The reader-writer lock whose holders change the mode in which they hold it.

use crate::model::{Protected, model};
use loom::{
    cell::UnsafeCell,
    sync::Arc,
    thread::{self, JoinHandle},
};
use std::time::Duration;
use ulocks::{AdaptiveRw, Private, Scope, Shared, futex};

type Number<S = Private> = Protected<AdaptiveRw<S>>;

/// The operations of a thread, each of which ends without an acquisition.
impl<S: Scope> Number<S> {
    fn number(&self) -> u32 {
        // SAFETY: the callers hold the lock; loom panics if another thread changes the number.
        self.number.with(|number| unsafe { *number })
    }

    fn increase(&self) {
        // SAFETY: the callers hold the lock for writing; loom panics if another thread accesses the number.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn reads(&self) {
        self.lock.lock_shared();
        self.number();
        // SAFETY: this thread acquired the lock for reading at the beginning of the function.
        unsafe { self.lock.unlock_shared() };
    }

    fn writes(&self) {
        self.lock.lock_exclusive();
        self.increase();
        // SAFETY: this thread acquired the lock for writing at the beginning of the function.
        unsafe { self.lock.unlock_exclusive() };
    }

    fn upgrades(&self) {
        self.lock.lock_upgradable();
        let number = self.number();
        // SAFETY: this thread holds the lock upgradably, and then for writing.
        unsafe { self.lock.upgrade() };
        assert_eq!(self.number(), number, "a writer was ahead of the upgrade");
        self.increase();
        // SAFETY: the upgrade made this thread the writer.
        unsafe { self.lock.unlock_exclusive() };
    }

    fn reads_upgradably(&self) {
        self.lock.lock_upgradable();
        self.number();
        // SAFETY: this thread holds the lock upgradably.
        unsafe { self.lock.unlock_upgradable() };
    }

    /// Acquires the lock upgradably, tries an upgrade whose time may be over, and releases the lock.
    fn upgrades_hastily(&self) {
        self.lock.lock_upgradable();
        self.number();
        // SAFETY: this thread holds the lock upgradably, and for writing after a successful upgrade.
        unsafe {
            if self.lock.try_upgrade_for(Duration::ZERO) {
                self.increase();
                self.lock.unlock_exclusive();
            } else {
                self.number();
                self.lock.unlock_upgradable();
            }
        }
    }

    /// Writes, and reads the result through both downgrades.
    fn writes_and_downgrades(&self) {
        self.lock.lock_exclusive();
        self.increase();
        let number = self.number();
        // SAFETY: this thread holds the lock in the mode in which the previous call left it.
        unsafe {
            self.lock.downgrade_to_upgradable();
            assert_eq!(self.number(), number);
            self.lock.downgrade_upgradable();
            assert_eq!(self.number(), number);
            self.lock.unlock_shared();
        }
    }
}

fn unlocked<S: Scope>() -> Arc<Number<S>> {
    Arc::new(Protected { lock: AdaptiveRw::new(), number: UnsafeCell::new(0) })
}

fn spawn<S: Scope>(shared: &Arc<Number<S>>, work: fn(&Number<S>)) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

/// Runs each of these threads, and this one as the first: all of them end, and then the lock is unlocked.
fn all_end<S: Scope>(preemptions: usize, first: fn(&Number<S>), threads: &'static [fn(&Number<S>)]) {
    model(preemptions, move || {
        let shared = unlocked();
        let threads: Vec<_> = threads.iter().map(|&work| spawn(&shared, work)).collect();
        first(&shared);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(shared.lock.try_lock_exclusive());
    });
}

#[test]
fn upgrade_excludes_readers_that_leave() {
    all_end::<Private>(3, Number::upgrades, &[Number::reads]);
    all_end::<Private>(2, Number::upgrades, &[Number::reads, Number::reads]);
    all_end::<Shared>(2, Number::upgrades, &[Number::reads]);
}

#[test]
fn upgrade_goes_before_a_waiting_writer() {
    all_end::<Private>(3, Number::upgrades, &[Number::writes]);
    all_end::<Private>(2, Number::upgrades, &[Number::writes, Number::reads]);
    all_end::<Private>(2, Number::upgrades, &[Number::upgrades, Number::reads]);
}

#[test]
fn upgradable_holder_leaves_to_others() {
    all_end::<Private>(3, Number::reads_upgradably, &[Number::reads_upgradably]);
    all_end::<Private>(2, Number::reads_upgradably, &[Number::reads_upgradably, Number::writes]);
    all_end::<Private>(2, Number::reads_upgradably, &[Number::reads_upgradably, Number::reads]);
    all_end::<Private>(1, Number::reads_upgradably, &[Number::reads_upgradably, Number::writes, Number::reads]);
}

#[test]
fn downgrade_leaves_to_others() {
    all_end::<Private>(3, Number::writes_and_downgrades, &[Number::reads]);
    all_end::<Private>(2, Number::writes_and_downgrades, &[Number::reads, Number::writes]);
    all_end::<Private>(2, Number::writes_and_downgrades, &[Number::reads_upgradably, Number::writes]);
    all_end::<Private>(2, Number::writes_and_downgrades, &[Number::writes_and_downgrades]);
}

/// All deadlines pass at one moment, before or during the upgrade.
#[test]
fn upgrade_that_gives_up_loses_no_wake_up() {
    fn expires<S: Scope>(_: &Number<S>) {
        futex::expire();
    }
    all_end::<Private>(2, expires, &[Number::upgrades_hastily, Number::reads]);
    all_end::<Private>(2, expires, &[Number::upgrades_hastily, Number::reads, Number::writes]);
    all_end::<Private>(1, expires, &[Number::upgrades_hastily, Number::reads, Number::reads_upgradably]);
    all_end::<Private>(1, expires, &[Number::upgrades_hastily, Number::reads, Number::upgrades]);
}

/// Runs `work` while this thread holds the lock, and changes how it holds it: `work` ends before the lock is released.
fn lets_in(acquire: fn(&AdaptiveRw), change: fn(&AdaptiveRw), release: fn(&AdaptiveRw), work: fn(&Number)) {
    model(3, move || {
        let shared = unlocked();
        acquire(&shared.lock);
        let thread = spawn(&shared, work);
        change(&shared.lock);
        thread.join().unwrap();
        release(&shared.lock);
        assert!(shared.lock.try_lock_exclusive());
    });
}

fn unlock_shared(lock: &AdaptiveRw) {
    // SAFETY: the callers have acquired the lock for reading.
    unsafe { lock.unlock_shared() }
}

fn unlock_upgradable(lock: &AdaptiveRw) {
    // SAFETY: the callers have acquired the lock upgradably.
    unsafe { lock.unlock_upgradable() }
}

/// Acquires the lock for reading and upgradably.
fn lock_twice(lock: &AdaptiveRw) {
    lock.lock_upgradable();
    lock.lock_shared();
}

fn unlock_twice(lock: &AdaptiveRw) {
    unlock_shared(lock);
    unlock_upgradable(lock);
}

#[test]
fn downgraded_holder_lets_readers_in() {
    fn downgrade(lock: &AdaptiveRw) {
        // SAFETY: `lets_in` has acquired the lock for writing.
        unsafe { lock.downgrade() }
    }
    fn downgrade_to_upgradable(lock: &AdaptiveRw) {
        // SAFETY: `lets_in` has acquired the lock for writing.
        unsafe { lock.downgrade_to_upgradable() }
    }
    lets_in(AdaptiveRw::lock_exclusive, downgrade, unlock_shared, Number::reads);
    lets_in(AdaptiveRw::lock_exclusive, downgrade, unlock_shared, Number::reads_upgradably);
    lets_in(AdaptiveRw::lock_exclusive, downgrade_to_upgradable, unlock_upgradable, Number::reads);
}

#[test]
fn end_of_upgradable_mode_lets_the_next_in() {
    fn downgrade(lock: &AdaptiveRw) {
        // SAFETY: `lets_in` has acquired the lock upgradably.
        unsafe { lock.downgrade_upgradable() }
    }
    lets_in(AdaptiveRw::lock_upgradable, downgrade, unlock_shared, Number::reads_upgradably);
    lets_in(lock_twice, unlock_upgradable, unlock_shared, Number::reads_upgradably);
    lets_in(AdaptiveRw::lock_upgradable, |_| (), unlock_upgradable, Number::reads);
}

#[test]
fn upgrade_that_gives_up_lets_readers_in() {
    model(2, || {
        let shared = unlocked::<Private>();
        lock_twice(&shared.lock);
        let clock = thread::spawn(futex::expire);
        let reader = spawn(&shared, Number::reads);
        // SAFETY: this thread holds the lock upgradably, and also for reading, so the upgrade cannot succeed.
        assert!(!unsafe { shared.lock.try_upgrade_for(Duration::ZERO) });
        reader.join().unwrap();
        clock.join().unwrap();
        unlock_twice(&shared.lock);
        assert!(shared.lock.try_lock_exclusive());
    });
}
