//! Models of the peers: every interleaving of a few threads, with a bounded number of preemptions, by loom.
//!
//! The source files are those of the crate, compiled with loom's atomics. Each thread brings its own queue node, which
//! is in the thread's storage otherwise.

#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/algorithm.rs"]
mod algorithm;
mod atomic;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/bravo.rs"]
mod bravo;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/cna.rs"]
mod cna;
#[path = "../../src/peers/flexguard.rs"]
mod flexguard;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/hapax.rs"]
mod hapax;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/malthusian.rs"]
mod malthusian;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/parking.rs"]
mod parking;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/reciprocating.rs"]
mod reciprocating;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/twa.rs"]
mod twa;
#[allow(dead_code, reason = "the models bring nodes and numbers themselves")]
#[path = "../../src/peers/uscl.rs"]
mod uscl;

/// The kernel's records in a model: holders are always switched out, so that all waiters sleep.
mod switches {
    pub fn own_number() -> u32 {
        1
    }

    pub fn is_switched_out(_: u32) -> Option<bool> {
        Some(true)
    }
}

use algorithm::Algorithm;
use atomic::{AtomicU32, Ordering, WAKES_ALL, bravo_readers, hapax_slots, spin_until};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// A lock and a number that it protects.
struct Protected<L> {
    lock: L,
    number: UnsafeCell<u32>,
}

// SAFETY: the models access the number under the lock; loom reports any access that the lock does not order.
unsafe impl<L: Sync> Sync for Protected<L> {}
// SAFETY: the number and the locks have no tie to a thread.
unsafe impl<L: Send> Send for Protected<L> {}

impl<L> Protected<L> {
    fn increment(&self) {
        // SAFETY: the calling thread holds the lock.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }
}

/// Checks that several threads each make several increments, in every order with that number of preemptions, where a wake
/// wakes one thread, and where it wakes all. `round` is one increment; it gets a number that no other has.
fn excludes<L: Send + Sync + 'static>(
    make: impl Fn() -> L + Copy + Send + Sync + 'static,
    round: impl Fn(&Protected<L>, usize) + Copy + Send + Sync + 'static,
    (threads, rounds): (usize, usize),
    preemptions: usize,
) {
    for wakes_all in [false, true] {
        WAKES_ALL.set(wakes_all);
        excludes_with_these_wakes(make, round, (threads, rounds), preemptions);
    }
}

fn excludes_with_these_wakes<L: Send + Sync + 'static>(
    make: impl Fn() -> L + Send + Sync + 'static,
    round: impl Fn(&Protected<L>, usize) + Copy + Send + Sync + 'static,
    (threads, rounds): (usize, usize),
    preemptions: usize,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 2_000;
    model.check(move || {
        let shared = Arc::new(Protected { lock: make(), number: UnsafeCell::new(0) });
        let work =
            move |shared: &Protected<L>, thread| (0..rounds).for_each(|index| round(shared, thread * rounds + index));
        let others: Vec<_> = (1..threads)
            .map(|thread| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || work(&shared, thread))
            })
            .collect();
        work(&shared, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: all other threads have ended.
        shared.number.with(|number| assert_eq!(unsafe { *number } as usize, threads * rounds));
    });
}

fn by_algorithm<A: Algorithm>(shared: &Protected<A>, _: usize) {
    let held = shared.lock.acquire();
    shared.increment();
    // SAFETY: the lock was acquired above, with the result `held`.
    unsafe { shared.lock.release(held) };
}

#[test]
fn twa_excludes_two_threads() {
    excludes(twa::Twa::new, by_algorithm, (2, 2), 2);
}

#[test]
fn twa_excludes_three_threads_across_the_wrap_around() {
    excludes(|| twa::Twa::starting_at(u32::MAX), by_algorithm, (3, 1), 1);
}

#[test]
fn flexguard_excludes_and_leaves_no_waiter_asleep() {
    excludes(flexguard::FlexGuard::new, by_algorithm, (2, 2), 3);
    excludes(flexguard::FlexGuard::new, by_algorithm, (3, 1), 2);
}

fn by_number(shared: &Protected<hapax::Hapax>, serial: usize) {
    let own = serial as u64 + 1;
    shared.lock.acquire_as(hapax_slots(), own);
    shared.increment();
    shared.lock.release_as(hapax_slots(), own);
}

/// Acquires the lock by a try first, as substituted mutexes do, and releases it by the noted number.
fn by_noted_number(shared: &Protected<hapax::Hapax>, serial: usize) {
    let own = serial as u64 + 1;
    if !shared.lock.try_acquire_as(own) {
        shared.lock.acquire_as(hapax_slots(), own);
    }
    shared.lock.note(own);
    shared.increment();
    shared.lock.release_as(hapax_slots(), shared.lock.noted());
}

#[test]
fn hapax_excludes_two_threads() {
    excludes(hapax::Hapax::new, by_number, (2, 2), 2);
}

#[test]
fn hapax_excludes_three_threads() {
    excludes(hapax::Hapax::new, by_number, (3, 1), 1);
}

#[test]
fn hapax_with_noted_numbers_excludes() {
    excludes(hapax::Hapax::new, by_noted_number, (2, 2), 2);
    excludes(hapax::Hapax::new, by_noted_number, (3, 1), 1);
}

/// The lock, and an element of each thread, which it uses for all its rounds.
struct WithElements {
    lock: reciprocating::Reciprocating,
    elements: [reciprocating::Element; 3],
}

impl WithElements {
    fn new() -> Self {
        Self { lock: Algorithm::new(), elements: std::array::from_fn(|_| reciprocating::Element::default()) }
    }
}

fn by_element<const ROUNDS: usize>(shared: &Protected<WithElements>, serial: usize) {
    let WithElements { lock, elements } = &shared.lock;
    let own = &raw const elements[serial / ROUNDS];
    // SAFETY: the element belongs to the calling thread, and lives as long as the model.
    let position = unsafe { lock.acquire_with(own.cast_mut()) };
    shared.increment();
    // SAFETY: the lock was acquired above, with the result `position`.
    unsafe { lock.release_from(position) };
}

#[test]
fn reciprocating_excludes() {
    excludes(WithElements::new, by_element::<2>, (2, 2), 3);
    excludes(WithElements::new, by_element::<1>, (3, 1), 2);
    excludes(WithElements::new, by_element::<2>, (3, 2), 1);
}

fn by_queue_node<const EVERY: u32>(shared: &Protected<cna::Cna<EVERY>>, serial: usize) {
    let numa = || serial as u32 % 2;
    let mut node = cna::QueueNode::default();
    let own = &raw mut node;
    // SAFETY: the node is new, and lives until the release has returned.
    unsafe {
        shared.lock.acquire_with(own, numa);
        shared.increment();
        shared.lock.release_with(own, numa);
    }
}

#[test]
fn cna_excludes_two_threads() {
    excludes(cna::Cna::<1_000>::new, by_queue_node, (2, 2), 2);
}

#[test]
fn cna_excludes_three_threads() {
    excludes(cna::Cna::<1_000>::new, by_queue_node, (3, 1), 1);
}

#[test]
fn cna_excludes_three_threads_with_frequent_returns() {
    excludes(cna::Cna::<2>::new, by_queue_node, (3, 1), 1);
}

/// Checks three waiters, of which the last two are on the holder's NUMA node: the first goes to the secondary queue.
#[test]
fn cna_moves_waiters_of_another_numa_node_and_brings_them_back() {
    excludes(cna::Cna::<1_000>::new, by_queue_node, (4, 1), 1);
    excludes(cna::Cna::<3>::new, by_queue_node, (4, 1), 1);
}

fn by_passive_node<const EVERY: u32>(shared: &Protected<malthusian::Malthusian<EVERY>>, _: usize) {
    let mut node = malthusian::QueueNode::default();
    let own = &raw mut node;
    // SAFETY: the node is new, and lives until the release has returned.
    unsafe {
        shared.lock.acquire_with(own);
        shared.increment();
        shared.lock.release_with(own);
    }
}

#[test]
fn malthusian_excludes_and_leaves_no_waiter_asleep() {
    excludes(malthusian::Malthusian::<1_000>::new, by_passive_node, (2, 2), 2);
    excludes(malthusian::Malthusian::<1_000>::new, by_passive_node, (3, 1), 2);
    excludes(malthusian::Malthusian::<2>::new, by_passive_node, (3, 1), 2);
}

fn by_account(shared: &Protected<uscl::Uscl>, serial: usize) {
    let account = uscl::Account::open(&shared.lock, serial as u64 + 1);
    let mut node = uscl::QueueNode::default();
    // SAFETY: the node is new, and lives until the acquisition has returned.
    let since = unsafe { shared.lock.acquire_by(&account, &raw mut node) };
    shared.increment();
    shared.lock.release_by(&account, since);
}

/// Checks slices that are over at once (length 0), since the time is constant.
#[test]
fn uscl_excludes() {
    excludes(|| uscl::Uscl::with_slices(1, 0), by_account, (2, 2), 2);
    excludes(|| uscl::Uscl::with_slices(1, 0), by_account, (3, 1), 1);
}

/// A reader-writer lock that spins, under BRAVO: the number of readers, or the mark of a writer.
struct Spinning(AtomicU32);

const WRITER: u32 = u32::MAX;

impl Spinning {
    fn change(&self, to: impl Fn(u32) -> Option<u32>) {
        spin_until(|| {
            let now = self.0.load(Ordering::Relaxed);
            let exchange = |to| self.0.compare_exchange(now, to, Ordering::Acquire, Ordering::Relaxed);
            to(now).is_some_and(|to| exchange(to).is_ok())
        });
    }
}

impl bravo::Underlying for Spinning {
    fn read(&self) {
        self.change(|now| (now != WRITER).then_some(now + 1));
    }

    unsafe fn end_read(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    fn write(&self) {
        self.change(|now| (now == 0).then_some(WRITER));
    }

    unsafe fn end_write(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Checks threads that read twice, the first time by the underlying lock, which sets the bias; one thread writes.
#[test]
fn bravo_excludes_readers_from_writers() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let lock = bravo::Bravo::over(Spinning(AtomicU32::new(0)));
        let shared = Arc::new(Protected { lock, number: UnsafeCell::new(0) });
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for _ in 0..2 {
                    let reading = shared.lock.read(bravo_readers(), 1);
                    // SAFETY: the thread has the lock for reading.
                    shared.number.with(|number| assert!(unsafe { *number } < 2));
                    // SAFETY: the lock was acquired for reading above, with the result `reading`.
                    unsafe { shared.lock.end_read(bravo_readers(), reading) };
                }
            })
        };
        shared.lock.write(bravo_readers());
        shared.increment();
        // SAFETY: the lock was acquired for writing above.
        unsafe { shared.lock.end_write() };
        reader.join().unwrap();
    });
}
