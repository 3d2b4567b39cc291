//! Every lock under loom: all interleavings of two or three threads, with a bounded number of preemptions.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test --release -p ulocks --test loom
//! ```
//!
//! Loom reports two threads in one critical section (the data is a loom cell) and a lost wake-up (as a deadlock). It
//! does not know time: a thread calls `expire`, and all deadlines pass. It treats `SeqCst` accesses as `AcqRel`, so the
//! locks put a fence between two of them in the model; it does not explore load buffering. `Pi` and `Robust` are not
//! here: what they do when contended is the kernel's, and is tested against the kernel.
#![cfg(loom)]

use loom::{
    cell::UnsafeCell,
    sync::Arc,
    thread::{self, JoinHandle},
};
use std::time::Duration;
use ulocks::{
    Adaptive, AdaptiveRw, Benaphore, Calock, CalockSpin, Condvar, FutexSem, Mcs, Micros, NoCount, Once, Private,
    RwLock, RwLockFair, Semaphore, Shared, Ticket, Usema, UsemaSpin, futex,
    restartable::{self, Fault},
};

/// What a model needs of a lock.
trait Lock: Send + Sync + 'static {
    fn lock(&self);
    fn try_lock(&self) -> bool;
    fn unlock(&self);
    fn try_lock_for(&self, _: Duration) -> bool {
        unreachable!("this lock has no timeouts")
    }
}

macro_rules! lock {
    ($lock:ty) => {
        impl Lock for $lock {
            fn lock(&self) {
                <$lock>::lock(self);
            }
            fn try_lock(&self) -> bool {
                <$lock>::try_lock(self)
            }
            fn unlock(&self) {
                // SAFETY: the models unlock only what they have locked.
                unsafe { <$lock>::unlock(self) }
            }
        }
    };
    ($lock:ty, timed) => {
        impl Lock for $lock {
            fn lock(&self) {
                <$lock>::lock(self);
            }
            fn try_lock(&self) -> bool {
                <$lock>::try_lock(self)
            }
            fn unlock(&self) {
                // SAFETY: the models unlock only what they have locked.
                unsafe { <$lock>::unlock(self) }
            }
            fn try_lock_for(&self, timeout: Duration) -> bool {
                <$lock>::try_lock_for(self, timeout)
            }
        }
    };
}

lock!(Calock, timed);
lock!(CalockSpin, timed);
lock!(Usema);
lock!(UsemaSpin);
lock!(Ticket);
lock!(Mcs);
lock!(Adaptive, timed);
lock!(Adaptive<Shared>, timed);

impl Lock for Benaphore<FutexSem> {
    fn lock(&self) {
        Benaphore::lock(self);
    }
    fn try_lock(&self) -> bool {
        Benaphore::try_lock(self)
    }
    fn unlock(&self) {
        Benaphore::unlock(self);
    }
}

/// A lock and a number that it protects.
struct Protected<L> {
    lock: L,
    number: UnsafeCell<u32>,
}

// SAFETY: the number is only touched with the lock held; loom checks that.
unsafe impl<L: Sync> Sync for Protected<L> {}

impl<L: Lock> Protected<L> {
    fn add(&self) {
        self.lock.lock();
        self.bump();
        self.lock.unlock();
    }

    fn bump(&self) {
        // SAFETY: the caller holds the lock; loom panics if another thread is here.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self) -> u32 {
        self.lock.lock();
        // SAFETY: the lock is held.
        let number = self.number.with(|number| unsafe { *number });
        self.lock.unlock();
        number
    }
}

/// With so many preemptions, or fewer if `LOOM_MAX_PREEMPTIONS` says so: all of them take minutes.
fn model(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let most = std::env::var("LOOM_MAX_PREEMPTIONS").ok().and_then(|most| most.parse().ok());
    let preemptions = most.map_or(preemptions, |most: usize| most.min(preemptions));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(model);
}

fn protected<L: Lock>(make: fn() -> L) -> Arc<Protected<L>> {
    Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) })
}

fn spawn<L: Lock>(shared: &Arc<Protected<L>>, work: impl FnOnce(&Protected<L>) + 'static) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

/// `rounds` rounds in each of `threads` threads: nobody is inside with another, nobody waits for ever.
fn excludes<L: Lock>(make: fn() -> L, threads: u32, rounds: u32, preemptions: usize) {
    model(preemptions, move || {
        let shared = protected(make);
        let others: Vec<_> =
            (1..threads).map(|_| spawn(&shared, move |shared| (0..rounds).for_each(|_| shared.add()))).collect();
        (0..rounds).for_each(|_| shared.add());
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.read(), threads * rounds);
    });
}

/// Trying never lets two in, and leaves nothing behind that would stop a waiter.
fn tries<L: Lock>(make: fn() -> L) {
    model(3, move || {
        let shared = protected(make);
        let other = spawn(&shared, |shared| {
            if shared.lock.try_lock() {
                shared.bump();
                shared.lock.unlock();
            }
        });
        shared.add();
        other.join().unwrap();
        assert!((1..=2).contains(&shared.read()));
        assert!(shared.lock.try_lock());
    });
}

/// One waiter's time runs out at any moment, another has all the time: the second gets the lock.
fn times_out<L: Lock>(make: fn() -> L, preemptions: usize) {
    model(preemptions, move || {
        let shared = protected(make);
        shared.lock.lock();
        let hasty = spawn(&shared, |shared| {
            if shared.lock.try_lock_for(Duration::ZERO) {
                shared.bump();
                shared.lock.unlock();
            }
        });
        let patient = spawn(&shared, Protected::add);
        futex::expire();
        shared.bump();
        shared.lock.unlock();
        hasty.join().unwrap();
        patient.join().unwrap();
        assert!((2..=3).contains(&shared.read()));
    });
}

/// With nobody else left, a deadline ends the wait.
fn gives_up<L: Lock>(make: fn() -> L) {
    model(3, move || {
        let shared = protected(make);
        shared.lock.lock();
        let other = spawn(&shared, |shared| assert!(!shared.lock.try_lock_for(Duration::ZERO)));
        futex::expire();
        other.join().unwrap();
        shared.lock.unlock();
        assert!(shared.lock.try_lock());
    });
}

#[test]
fn calock() {
    excludes(Calock::<Private>::new, 2, 2, 4);
    excludes(Calock::<Private>::new, 3, 1, 4);
    tries(Calock::<Private>::new);
}

#[test]
fn calock_times_out() {
    times_out(Calock::<Private>::new, 3);
    gives_up(Calock::<Private>::new);
}

#[test]
fn calock_spin() {
    excludes(CalockSpin::<Private>::new, 3, 1, 2);
}

#[test]
fn usema() {
    excludes(Usema::<Private>::new, 2, 2, 4);
    excludes(Usema::<Private>::new, 3, 1, 2);
    excludes(Usema::<Private>::new, 3, 2, 1);
    tries(Usema::<Private>::new);
}

#[test]
fn usema_across_the_wrap_around() {
    excludes(|| Usema::<Private>::starting_at(u32::MAX), 3, 1, 2);
    excludes(|| Usema::<Private>::starting_at(u32::MAX >> 1), 3, 1, 2);
}

#[test]
fn usema_spin() {
    excludes(UsemaSpin::<Private, NoCount, Micros<3>>::new, 3, 1, 2);
}

#[test]
fn ticket() {
    excludes(Ticket::<NoCount>::new, 2, 2, 3);
}

#[test]
fn ticket_across_the_wrap_around() {
    excludes(|| Ticket::<NoCount>::starting_at(u32::MAX), 2, 2, 2);
}

#[test]
fn ticket_tries() {
    tries(Ticket::<NoCount>::new);
}

#[test]
fn mcs() {
    excludes(Mcs::<NoCount>::new, 2, 2, 3);
    excludes(Mcs::<NoCount>::new, 3, 1, 2);
    tries(Mcs::<NoCount>::new);
}

#[test]
fn benaphore() {
    excludes(|| Benaphore::new(FutexSem::new(0)), 2, 2, 3);
    excludes(|| Benaphore::new(FutexSem::new(0)), 3, 1, 2);
}

#[test]
fn adaptive() {
    excludes(Adaptive::<Private>::new, 2, 2, 4);
    excludes(Adaptive::<Private>::new, 2, 3, 3);
}

#[test]
fn adaptive_of_three() {
    excludes(Adaptive::<Private>::new, 3, 1, 3);
    excludes(Adaptive::<Private>::new, 3, 2, 2);
}

#[test]
fn adaptive_between_processes() {
    excludes(Adaptive::<Shared>::new, 2, 2, 4);
    excludes(Adaptive::<Shared>::new, 3, 1, 3);
}

#[test]
fn adaptive_tries() {
    tries(Adaptive::<Private>::new);
}

#[test]
fn adaptive_times_out() {
    times_out(Adaptive::<Private>::new, 3);
    gives_up(Adaptive::<Private>::new);
}

/// The kernel aborts the sequences of an unlock at any moment, for reasons of its own.
#[test]
fn adaptive_with_a_scheduler() {
    model(3, || {
        let shared = protected(Adaptive::<Private>::new);
        let other = spawn(&shared, Protected::add);
        let scheduler = thread::spawn(|| {
            restartable::abort();
            restartable::abort();
        });
        shared.add();
        other.join().unwrap();
        scheduler.join().unwrap();
        assert_eq!(shared.read(), 2);
    });
}

/// A lock whose memory is somebody else's in the end.
trait Destroy: Lock {
    fn destroy(&mut self);
}

macro_rules! destroy {
    ($($lock:ty),*) => {$(impl Destroy for $lock {
        fn destroy(&mut self) {
            <$lock>::destroy(self);
        }
    })*};
}
destroy!(Adaptive, Usema, RwLock, RwLockFair, AdaptiveRw, FutexSem);

impl Lock for FutexSem {
    fn lock(&self) {
        self.acquire();
    }
    fn try_lock(&self) -> bool {
        self.try_acquire()
    }
    fn unlock(&self) {
        self.release();
    }
}

/// The last of the owners destroys the lock as soon as it has freed it: the others, which freed it before, must not
/// touch it any more.
fn is_destroyed_by_its_last_owner<L: Destroy>(make: fn() -> L, owners: u32, preemptions: usize) {
    model(preemptions, move || {
        let shared = Arc::new(UnsafeCell::new(Owned { lock: make(), owners: UnsafeCell::new(owners) }));
        let leave = |shared: &UnsafeCell<Owned<L>>| {
            // SAFETY: nobody has destroyed it while this one is an owner.
            let is_last = unsafe { &*shared.with(|owned| owned) }.leave();
            if is_last {
                // SAFETY: the last owner is alone with it.
                shared.with_mut(|owned| unsafe { (*owned).lock.destroy() });
            }
        };
        let others: Vec<_> = (1..owners)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || leave(&shared))
            })
            .collect();
        leave(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

struct Owned<L> {
    lock: L,
    owners: UnsafeCell<u32>,
}

impl<L: Lock> Owned<L> {
    fn leave(&self) -> bool {
        self.lock.lock();
        // SAFETY: the lock is held.
        let left = self.owners.with_mut(|owners| unsafe {
            *owners -= 1;
            *owners
        });
        self.lock.unlock();
        left == 0
    }
}

#[test]
fn adaptive_is_destroyed_by_its_last_owner() {
    is_destroyed_by_its_last_owner(Adaptive::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(Adaptive::<Private>::new, 3, 3);
}

#[test]
fn what_hands_over_is_destroyed_by_its_last_owner() {
    is_destroyed_by_its_last_owner(Usema::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(Usema::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(|| FutexSem::<Private>::new(1), 2, 3);
    is_destroyed_by_its_last_owner(|| FutexSem::<Private>::new(1), 3, 2);
}

#[test]
fn readers_locks_are_destroyed_by_their_last_owner() {
    is_destroyed_by_its_last_owner(RwLock::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(RwLock::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(RwLockFair::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(RwLockFair::<Private>::new, 3, 1);
    is_destroyed_by_its_last_owner(AdaptiveRw::<Private>::new, 2, 3);
    is_destroyed_by_its_last_owner(AdaptiveRw::<Private>::new, 3, 1);
}

/// The pair of sequence and fence, made wrong in one way, in a process of its own: the model must find it.
#[test]
fn the_pair_made_wrong_is_found() {
    const FAULT: &str = "ULOCKS_LOOM_FAULT";
    let faults = [Fault::NoFence, Fault::FenceBeforeMark, Fault::StoreBeforeCompare];
    if let Ok(fault) = std::env::var(FAULT) {
        restartable::break_by(faults[fault.parse::<usize>().unwrap()]);
        excludes(Adaptive::<Private>::new, 2, 2, 4);
        excludes(Adaptive::<Private>::new, 3, 1, 3);
        return;
    }
    for (number, fault) in faults.iter().enumerate() {
        let ended = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_pair_made_wrong_is_found", "--test-threads=1"])
            .env(FAULT, number.to_string())
            .output()
            .unwrap();
        assert!(!ended.status.success(), "{fault:?} was not found");
        let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
        let found = said.contains("deadlock") || said.contains("Causality violation") || said.contains("was already");
        assert!(found, "{fault:?}: {said}");
    }
}

#[test]
fn semaphore_loses_no_unit() {
    model(3, || {
        let semaphore = Arc::new(FutexSem::<Private>::new(0));
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let semaphore = Arc::clone(&semaphore);
                thread::spawn(move || semaphore.acquire())
            })
            .collect();
        semaphore.release();
        semaphore.release();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
        assert_eq!(semaphore.available(), 0);
    });
}

/// The waiter frees the lock and sleeps as one step, as far as a notifier that takes the lock can see.
#[test]
fn condvar_loses_no_notification() {
    model(3, || {
        let shared = protected(Calock::<Private>::new);
        let condvar = Arc::new(Condvar::<Private>::new());
        let waiter = {
            let condvar = Arc::clone(&condvar);
            spawn(&shared, move |shared| {
                shared.lock.lock();
                // SAFETY: the lock is held whenever the number is read.
                while shared.number.with(|number| unsafe { *number }) == 0 {
                    condvar.wait_with(None, |sleep| {
                        Lock::unlock(&shared.lock);
                        sleep();
                        Lock::lock(&shared.lock);
                    });
                }
                Lock::unlock(&shared.lock);
            })
        };
        shared.add();
        condvar.notify_one();
        waiter.join().unwrap();
    });
}

#[test]
fn once_is_done_once_and_seen() {
    model(3, || {
        let once =
            Arc::new((Once::<Private>::new(), Protected { lock: Mcs::<NoCount>::new(), number: UnsafeCell::new(0) }));
        let doers: Vec<_> = (0..2)
            .map(|_| {
                let once = Arc::clone(&once);
                thread::spawn(move || once.0.call_once(|| once.1.bump()))
            })
            .collect();
        once.0.call_once(|| once.1.bump());
        // SAFETY: nobody writes after it was done, and it was.
        assert_eq!(once.1.number.with(|number| unsafe { *number }), 1);
        doers.into_iter().for_each(|doer| doer.join().unwrap());
    });
}

/// What a model needs of a readers' lock.
trait Readers: Send + Sync + 'static {
    fn lock_shared(&self);
    fn unlock_shared(&self);
    fn lock_exclusive(&self);
    fn unlock_exclusive(&self);
    fn try_lock_exclusive(&self) -> bool;
}

macro_rules! readers {
    ($lock:ty) => {
        impl Readers for $lock {
            fn lock_shared(&self) {
                <$lock>::lock_shared(self);
            }
            fn unlock_shared(&self) {
                // SAFETY: the models unlock only what they have locked.
                unsafe { <$lock>::unlock_shared(self) }
            }
            fn lock_exclusive(&self) {
                <$lock>::lock_exclusive(self);
            }
            fn unlock_exclusive(&self) {
                // SAFETY: as above.
                unsafe { <$lock>::unlock_exclusive(self) }
            }
            fn try_lock_exclusive(&self) -> bool {
                <$lock>::try_lock_exclusive(self)
            }
        }
    };
}
readers!(RwLock);
readers!(RwLockFair);
readers!(AdaptiveRw);
readers!(AdaptiveRw<Shared>);

/// As a lock that excludes: it reads first, and then writes.
macro_rules! readers_as_lock {
    ($($lock:ty),*) => {$(impl Lock for $lock {
        fn lock(&self) {
            <$lock>::lock_shared(self);
            // SAFETY: locked in the line before.
            unsafe { <$lock>::unlock_shared(self) };
            <$lock>::lock_exclusive(self);
        }
        fn try_lock(&self) -> bool {
            <$lock>::try_lock_exclusive(self)
        }
        fn unlock(&self) {
            // SAFETY: the models unlock only what they have locked.
            unsafe { <$lock>::unlock_exclusive(self) }
        }
    })*};
}
readers_as_lock!(RwLock, RwLockFair, AdaptiveRw);

impl<L: Readers> Protected<L> {
    fn write(&self) {
        self.lock.lock_exclusive();
        // SAFETY: a writer is alone; loom panics otherwise.
        self.number.with_mut(|number| unsafe { *number += 1 });
        self.lock.unlock_exclusive();
    }

    fn look(&self) -> u32 {
        self.lock.lock_shared();
        // SAFETY: there is no writer; loom panics otherwise.
        let number = self.number.with(|number| unsafe { *number });
        self.lock.unlock_shared();
        number
    }
}

fn readers_and_writers<L: Readers>(make: fn() -> L, writers: u32, readers: u32, preemptions: usize) {
    model(preemptions, move || {
        let shared = Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) });
        let spawn = |work: fn(&Protected<L>)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared))
        };
        let mut others: Vec<_> = (1..writers).map(|_| spawn(Protected::write)).collect();
        others.extend((0..readers).map(|_| {
            spawn(|shared| {
                shared.look();
            })
        }));
        shared.write();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.look(), writers);
        assert!(shared.lock.try_lock_exclusive());
    });
}

#[test]
fn rwlock() {
    readers_and_writers(RwLock::<Private>::new, 2, 1, 2);
    readers_and_writers(RwLock::<Private>::new, 1, 2, 2);
}

#[test]
fn rwlock_fair() {
    readers_and_writers(RwLockFair::<Private>::new, 2, 1, 3);
    readers_and_writers(RwLockFair::<Private>::new, 1, 2, 3);
    readers_and_writers(|| RwLockFair::<Private>::starting_at(u32::MAX), 2, 1, 2);
}

#[test]
fn adaptive_rw() {
    readers_and_writers(AdaptiveRw::<Private>::new, 2, 1, 3);
    readers_and_writers(AdaptiveRw::<Private>::new, 1, 2, 3);
    readers_and_writers(AdaptiveRw::<Shared>::new, 2, 1, 2);
    readers_and_writers(AdaptiveRw::<Private>::new, 2, 2, 1);
}

/// One that reads twice does not wait for a writer that came between, and takes no turn with it.
#[test]
fn adaptive_rw_is_read_twice_beside_a_writer() {
    model(3, || {
        let shared = Arc::new(Protected { lock: AdaptiveRw::<Private>::new(), number: UnsafeCell::new(0) });
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        };
        shared.lock.lock_shared_recursive();
        shared.lock.lock_shared_recursive();
        // SAFETY: there is no writer; loom panics otherwise.
        let number = shared.number.with(|number| unsafe { *number });
        Readers::unlock_shared(&shared.lock);
        Readers::unlock_shared(&shared.lock);
        writer.join().unwrap();
        assert!(number <= 1);
        shared.write();
    });
}

#[test]
fn adaptive_rw_loses_no_turn_to_one_that_gives_up() {
    a_reader_gives_up(AdaptiveRw::<Private>::new, |lock| lock.try_lock_shared_for(Duration::ZERO));
    model(2, || {
        let shared = Arc::new(Protected { lock: AdaptiveRw::<Private>::new(), number: UnsafeCell::new(0) });
        shared.lock.lock_shared();
        let hasty = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.lock.try_lock_exclusive_for(Duration::ZERO) {
                    Readers::unlock_exclusive(&shared.lock);
                }
            })
        };
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.look())
        };
        futex::expire();
        Readers::unlock_shared(&shared.lock);
        hasty.join().unwrap();
        reader.join().unwrap();
        shared.write();
    });
}

#[test]
fn rwlock_reader_times_out() {
    a_reader_gives_up(RwLock::<Private>::new, |lock| lock.try_lock_shared_for(Duration::ZERO));
}

/// A reader that gives up must not take a writer's turn with it.
fn a_reader_gives_up<L: Readers>(make: fn() -> L, tries: fn(&L) -> bool) {
    model(2, move || {
        let shared = Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) });
        shared.lock.lock_exclusive();
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if tries(&shared.lock) {
                    Readers::unlock_shared(&shared.lock);
                }
            })
        };
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.write())
        };
        futex::expire();
        Readers::unlock_exclusive(&shared.lock);
        reader.join().unwrap();
        writer.join().unwrap();
    });
}
