//! u-SCL: a lock that shares out its hold time instead of its acquisitions.
//!
//! # State
//! | word | meaning | written by |
//! |---|---|---|
//! | `held` | 1 while a thread has the lock | by compare-and-swap to 1; the holder, to 0 |
//! | `owner` | the number of the thread that has the slice; 0 before the first | the holder that begins a slice |
//! | `slice_end` | the time at which the slice ends | the holder that begins a slice |
//! | `tail` | the last node of the queue, null if it is empty | arriving threads, by swap; the head, by compare-and-swap |
//! | `members` | how many threads use the lock | each thread, at its first acquisition and at its end |
//!
//! The lock is given for slices of 2 ms. While a slice lasts its owner acquires the lock without a queue, and no other
//! thread can. Each release adds the hold time, times the number of members, to the time until which the thread is
//! banned (`banned_until` in its account). A thread whose slice is over sleeps until its ban is, and joins the queue.
//! The head of the queue sleeps until shortly before the slice ends, spins for the rest, and begins the next slice.
//!
//! # Ordering
//! `held` is acquired with `Acquire` and released with `Release`: that alone excludes and hands the data over. `owner`
//! and `slice_end` are two words; a thread that reads one old and one new value at worst tries the compare-and-swap of
//! `held` too early, or joins the queue in vain. The queue is that of `mcs`, with a [`Parking`] for the head's turn.
//!
//! # Fairness
//! In held time: with N threads that always want the lock, each has 1/N of it, however long it holds. The queue is
//! strict, first in, first out. The lock is not work-conserving: it can be idle while the owner of the slice works
//! elsewhere, up to the end of the slice.
//!
//! # A stopped or dead holder
//! A stopped holder stops all; the head of the queue yields and the others sleep. A stopped owner of a slice that does
//! not hold the lock stops all until the slice ends.
//!
//! # Source
//! Yuvraj Patel, Leon Yang, Leo Arulraj, Andrea Arpaci-Dusseau, Remzi Arpaci-Dusseau and Michael Swift, "Avoiding
//! Scheduler Subversion using Scheduler-Cooperative Locks", EuroSys 2020. From the paper: the slice of 2 ms, and the
//! ban in proportion to the use and to the total weight. So is the queue with one spinning thread, which is awake
//! before the slice ends. Different here: all threads have the same weight, whatever their nice value. A thread is a
//! member until it ends, where the paper forgets a thread that has been inactive for a while. The exact moment at which
//! the paper wakes the next owner is not known to this author.

use super::algorithm::Algorithm;
use super::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, Ticks, sleep_ns, spin_until};
use super::parking::Parking;
use std::cell::{Cell, RefCell};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use std::sync::Arc;

const SLICE_NS: u64 = 2_000_000;
/// The last part of the slice, for which the head of the queue spins: a sleep of this kernel ends up to 60 µs late.
const AWAKE_NS: u64 = 100_000;

/// A waiting thread's node.
#[derive(Default)]
#[repr(align(128))]
pub struct QueueNode {
    next: AtomicPtr<QueueNode>,
    turn: Parking,
}

/// A thread's use of a lock.
pub struct Account {
    /// A number of the thread that is not 0.
    thread: u64,
    lock: u64,
    /// The time in ticks.
    banned_until: Cell<u64>,
    members: Arc<AtomicU32>,
}

impl Account {
    pub fn open(lock: &Uscl, thread: u64) -> Self {
        lock.members.fetch_add(1, Ordering::Relaxed);
        Self { thread, lock: lock.number, banned_until: Cell::new(0), members: Arc::clone(&lock.members) }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.members.fetch_sub(1, Ordering::Relaxed);
    }
}

pub struct Uscl {
    held: AtomicU32,
    owner: AtomicU64,
    slice_end: AtomicU64,
    tail: AtomicPtr<QueueNode>,
    members: Arc<AtomicU32>,
    /// A number that no other lock has had: an address could be used again.
    number: u64,
    ticks: Ticks,
    slice: u64,
}

/// An acquisition.
#[derive(Clone, Copy)]
pub struct Held {
    account: *const Account,
    /// The time in ticks.
    since: u64,
}

impl Uscl {
    /// Returns a lock with slices of this length.
    pub fn with_slices(number: u64, slice_ns: u64) -> Self {
        let ticks = Ticks::new();
        Self {
            held: AtomicU32::new(0),
            owner: AtomicU64::new(0),
            slice_end: AtomicU64::new(0),
            tail: AtomicPtr::new(null_mut()),
            members: Arc::new(AtomicU32::new(0)),
            number,
            ticks,
            slice: ticks.of_ns(slice_ns),
        }
    }

    /// Acquires the lock and returns the time.
    ///
    /// # Safety
    /// No other acquisition uses the node, and its memory is valid until this call returns.
    #[inline(always)]
    pub unsafe fn acquire_by(&self, account: &Account, node: *mut QueueNode) -> u64 {
        let now = self.ticks.now();
        let is_owner = self.owner.load(Ordering::Relaxed) == account.thread;
        if is_owner && now < self.slice_end.load(Ordering::Relaxed) && self.try_hold() {
            return now;
        }
        // SAFETY: the caller makes the same guarantee.
        unsafe { self.begin_slice(account, node) }
    }

    /// Releases the lock.
    #[inline(always)]
    pub fn release_by(&self, account: &Account, since: u64) {
        let used = self.ticks.now() - since;
        let members = u64::from(self.members.load(Ordering::Relaxed));
        account.banned_until.set(account.banned_until.get().max(since) + used * members);
        self.held.store(0, Ordering::Release);
    }

    fn try_hold(&self) -> bool {
        self.held.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for a slice and acquires the lock at its start.
    ///
    /// # Safety
    /// The requirements are those of [`acquire_by`](Self::acquire_by).
    #[cold]
    unsafe fn begin_slice(&self, account: &Account, own: *mut QueueNode) -> u64 {
        let ban = account.banned_until.get().saturating_sub(self.ticks.now());
        if ban > 0 {
            sleep_ns(self.ticks.to_ns(ban));
        }
        // SAFETY: the caller guarantees that the node is valid.
        let node = unsafe { &*own };
        node.next.store(null_mut(), Ordering::Relaxed);
        node.turn.reset();
        let before = self.tail.swap(own, Ordering::AcqRel);
        if !before.is_null() {
            // SAFETY: the thread of `before` does not leave the queue before it has seen this link.
            unsafe { (*before).next.store(own, Ordering::Release) };
            node.turn.wait();
        }
        self.outlast_slice(account.thread);
        let now = self.ticks.now();
        self.owner.store(account.thread, Ordering::Relaxed);
        self.slice_end.store(now + self.slice, Ordering::Relaxed);
        // SAFETY: the node is the head of the queue, and the caller guarantees that it is valid.
        unsafe { self.leave_queue(own) };
        now
    }

    /// Waits, as the head of the queue, until the slice is over and the lock is released; and acquires it.
    fn outlast_slice(&self, thread: u64) {
        spin_until(|| {
            let left = self.slice_end.load(Ordering::Relaxed).saturating_sub(self.ticks.now());
            if left == 0 || self.owner.load(Ordering::Relaxed) == thread {
                return self.held.load(Ordering::Relaxed) == 0 && self.try_hold();
            }
            let left_ns = self.ticks.to_ns(left);
            if left_ns > AWAKE_NS {
                sleep_ns(left_ns - AWAKE_NS);
            }
            false
        });
    }

    /// # Safety
    /// The node is the head of the queue.
    unsafe fn leave_queue(&self, own: *mut QueueNode) {
        // SAFETY: `own` is valid, and so is the node behind it, whose thread waits for the signal.
        unsafe {
            if (*own).next.load(Ordering::Acquire).is_null()
                && self.tail.compare_exchange(own, null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
            {
                return;
            }
            spin_until(|| !(*own).next.load(Ordering::Acquire).is_null());
            Parking::signal(&raw const (*(*own).next.load(Ordering::Relaxed)).turn);
        }
    }
}

/// The accounts of a thread.
#[derive(Default)]
struct Accounts {
    /// The account that was used last.
    last: Cell<Option<&'static Account>>,
    all: RefCell<Vec<Rc<Account>>>,
}

impl Accounts {
    /// Returns the account for this lock. It exists until the thread ends.
    #[inline(always)]
    fn of(&self, lock: &Uscl) -> *const Account {
        match self.last.get() {
            Some(account) if account.lock == lock.number => account,
            _ => self.search(lock),
        }
    }

    #[cold]
    fn search(&self, lock: &Uscl) -> *const Account {
        let mut all = self.all.borrow_mut();
        let account: *const Account = match all.iter().find(|account| account.lock == lock.number) {
            Some(account) => &raw const **account,
            None => {
                all.push(Rc::new(Account::open(lock, this_thread())));
                all.last().map_or(null(), |account| &raw const **account)
            }
        };
        // SAFETY: accounts are not removed before the thread ends, and then `last` goes with them.
        self.last.set(unsafe { account.as_ref() });
        account
    }
}

/// Returns a number of the calling thread that is not 0.
fn this_thread() -> u64 {
    static THREADS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

thread_local! {
    static ACCOUNTS: Accounts = Accounts::default();
    static OWN: QueueNode = QueueNode::default();
}

impl Algorithm for Uscl {
    type Held = Held;

    fn new() -> Self {
        static LOCKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        Self::with_slices(LOCKS.fetch_add(1, Ordering::Relaxed), SLICE_NS)
    }

    #[inline(always)]
    fn acquire(&self) -> Held {
        let account = ACCOUNTS.with(|accounts| accounts.of(self));
        // SAFETY: the account exists until the thread ends; a thread waits for one lock at a time, with its one node.
        let since = OWN.with(|own| unsafe { self.acquire_by(&*account, (&raw const *own).cast_mut()) });
        Held { account, since }
    }

    #[inline(always)]
    unsafe fn release(&self, held: Held) {
        // SAFETY: the account exists until the thread ends, and the caller is the thread that acquired the lock.
        self.release_by(unsafe { &*held.account }, held.since);
    }
}
