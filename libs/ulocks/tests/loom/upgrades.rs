//! The reader-writer lock whose holders change the mode in which they hold it.

use crate::model::{Protected, for_each_delay};
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

    /// Writes if its time is not over before it has acquired the lock.
    fn writes_hastily(&self) {
        if self.lock.try_lock_exclusive_for(Duration::ZERO) {
            self.increase();
            // SAFETY: this thread acquired the lock for writing in the condition.
            unsafe { self.lock.unlock_exclusive() };
        }
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

    /// Writes as the holder, and reads the result through both downgrades.
    fn downgrades(&self) {
        self.increase();
        let number = self.number();
        // SAFETY: the caller holds the lock for writing, and each call leaves it in the mode of the next.
        unsafe {
            self.lock.downgrade_to_upgradable();
            assert_eq!(self.number(), number);
            self.lock.downgrade_upgradable();
            assert_eq!(self.number(), number);
            self.lock.unlock_shared();
        }
    }

    fn unlock_shared(&self) {
        // SAFETY: the callers have acquired the lock for reading.
        unsafe { self.lock.unlock_shared() }
    }

    fn unlock_upgradable(&self) {
        // SAFETY: the callers have acquired the lock upgradably.
        unsafe { self.lock.unlock_upgradable() }
    }
}

fn unlocked<S: Scope>() -> Arc<Number<S>> {
    Arc::new(Protected { lock: AdaptiveRw::new(), number: UnsafeCell::new(0) })
}

fn spawn<S: Scope>(shared: &Arc<Number<S>>, work: fn(&Number<S>)) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

/// Runs `before` and then `first` in this thread, next to the other threads from then on: all of them end, and the lock is
/// unlocked.
///
/// A thread that is to meet a holder needs one preemption less if the lock is held before it starts.
fn all_end<S: Scope>(
    preemptions: usize,
    before: fn(&AdaptiveRw<S>),
    first: fn(&Number<S>),
    threads: &'static [fn(&Number<S>)],
) {
    for_each_delay(preemptions, move |delay| {
        let shared = unlocked();
        before(&shared.lock);
        let threads: Vec<_> = threads.iter().map(|&work| spawn(&shared, work)).collect();
        delay();
        first(&shared);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(shared.lock.try_lock_exclusive());
    });
}

fn holds_nothing<S: Scope>(_: &AdaptiveRw<S>) {}

/// The other reader leaves at any moment of the upgrade.
#[test]
fn upgrade_excludes_readers_that_leave() {
    all_end::<Private>(3, AdaptiveRw::lock_shared, Number::unlock_shared, &[Number::upgrades]);
    all_end::<Private>(3, AdaptiveRw::lock_shared, Number::unlock_shared, &[Number::upgrades, Number::reads]);
    all_end::<Shared>(3, AdaptiveRw::lock_shared, Number::unlock_shared, &[Number::upgrades]);
    all_end::<Private>(3, holds_nothing, Number::upgrades, &[Number::reads]);
}

#[test]
fn upgrade_goes_before_a_waiting_writer() {
    all_end::<Private>(3, AdaptiveRw::lock_shared, Number::unlock_shared, &[Number::upgrades, Number::writes]);
    all_end::<Private>(3, AdaptiveRw::lock_shared, Number::unlock_shared, &[Number::upgrades, Number::upgrades]);
    all_end::<Private>(3, holds_nothing, Number::upgrades, &[Number::writes]);
}

#[test]
fn upgradable_holder_leaves_to_others() {
    let check = |preemptions, threads| {
        all_end::<Private>(preemptions, AdaptiveRw::lock_upgradable, Number::unlock_upgradable, threads);
    };
    check(3, &[Number::reads_upgradably]);
    check(3, &[Number::reads_upgradably, Number::writes]);
    check(3, &[Number::reads_upgradably, Number::reads]);
    check(1, &[Number::reads_upgradably, Number::writes, Number::reads]);
}

#[test]
fn downgrade_leaves_to_others() {
    let check = |preemptions, threads| {
        all_end::<Private>(preemptions, AdaptiveRw::lock_exclusive, Number::downgrades, threads);
    };
    check(3, &[Number::reads]);
    check(3, &[Number::reads, Number::writes]);
    check(3, &[Number::reads_upgradably, Number::writes]);
    check(1, &[Number::reads_upgradably, Number::upgrades]);
}

/// All deadlines pass at one moment, before this thread releases the lock.
fn all_end_though_one_gives_up(preemptions: usize, threads: &'static [fn(&Number)]) {
    let leaves = |shared: &Number| {
        futex::expire();
        shared.unlock_shared();
    };
    all_end::<Private>(preemptions, AdaptiveRw::lock_shared, leaves, threads);
}

#[test]
fn upgrade_that_gives_up_loses_no_wake_up() {
    let check = all_end_though_one_gives_up;
    check(3, &[Number::upgrades_hastily]);
    check(3, &[Number::upgrades_hastily, Number::reads]);
    check(3, &[Number::upgrades_hastily, Number::writes]);
    check(1, &[Number::upgrades_hastily, Number::reads, Number::writes]);
    check(1, &[Number::upgrades_hastily, Number::upgrades]);
}

#[test]
fn writer_that_gives_up_stops_no_upgrade() {
    let check = all_end_though_one_gives_up;
    check(2, &[Number::writes_hastily, Number::upgrades]);
    check(1, &[Number::writes_hastily, Number::upgrades, Number::reads]);
}

/// Acquires the lock by `before` and changes that by `change`, and releases it by `after` only when `work` has ended.
fn lets_in(before: fn(&AdaptiveRw), change: fn(&Number), after: fn(&Number), work: fn(&Number)) {
    for_each_delay(3, move |delay| {
        let shared = unlocked();
        before(&shared.lock);
        let thread = spawn(&shared, work);
        delay();
        change(&shared);
        thread.join().unwrap();
        after(&shared);
        assert!(shared.lock.try_lock_exclusive());
    });
}

/// Acquires the lock for reading and upgradably.
fn lock_twice(lock: &AdaptiveRw) {
    lock.lock_upgradable();
    lock.lock_shared();
}

#[test]
fn downgraded_holder_lets_readers_in() {
    fn downgrade(shared: &Number) {
        // SAFETY: `lets_in` has acquired the lock for writing.
        unsafe { shared.lock.downgrade() }
    }
    fn downgrade_to_upgradable(shared: &Number) {
        // SAFETY: `lets_in` has acquired the lock for writing.
        unsafe { shared.lock.downgrade_to_upgradable() }
    }
    lets_in(AdaptiveRw::lock_exclusive, downgrade, Number::unlock_shared, Number::reads);
    lets_in(AdaptiveRw::lock_exclusive, downgrade, Number::unlock_shared, Number::reads_upgradably);
    lets_in(AdaptiveRw::lock_exclusive, downgrade_to_upgradable, Number::unlock_upgradable, Number::reads);
}

#[test]
fn end_of_upgradable_mode_lets_the_next_in() {
    fn downgrade(shared: &Number) {
        // SAFETY: `lets_in` has acquired the lock upgradably.
        unsafe { shared.lock.downgrade_upgradable() }
    }
    lets_in(AdaptiveRw::lock_upgradable, downgrade, Number::unlock_shared, Number::reads_upgradably);
    lets_in(lock_twice, Number::unlock_upgradable, Number::unlock_shared, Number::reads_upgradably);
}

/// A holder in upgradable mode keeps no reader out, unless it waits for its upgrade.
#[test]
fn upgrade_that_gives_up_lets_readers_in() {
    fn gives_up(shared: &Number) {
        let clock = thread::spawn(futex::expire);
        // SAFETY: this thread holds the lock upgradably, and also for reading, so the upgrade cannot succeed.
        assert!(!unsafe { shared.lock.try_upgrade_for(Duration::ZERO) });
        clock.join().unwrap();
    }
    fn unlock_twice(shared: &Number) {
        shared.unlock_shared();
        shared.unlock_upgradable();
    }
    lets_in(AdaptiveRw::lock_upgradable, |_| (), Number::unlock_upgradable, Number::reads);
    lets_in(lock_twice, gives_up, unlock_twice, Number::reads);
}
