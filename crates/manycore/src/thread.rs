//! A thread's view of the machine: the operations of which locks consist.

use crate::machine::{Machine, Place, Ps, Request, Until, Word, ps};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A thread of the model.
#[derive(Clone)]
pub struct Thread {
    machine: Rc<RefCell<Machine>>,
    id: usize,
}

/// An operation in progress: the first poll requests it, and the next one has its result.
struct Operation<'a> {
    thread: &'a Thread,
    request: Option<Request>,
}

impl Future for Operation<'_> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
        let mut machine = self.thread.machine.borrow_mut();
        let id = self.thread.id;
        match self.request {
            Some(request) => {
                machine.request(id, request);
                drop(machine);
                self.request = None;
                Poll::Pending
            }
            None => Poll::Ready(machine.reply(id)),
        }
    }
}

impl Thread {
    pub fn new(machine: &Rc<RefCell<Machine>>, id: usize) -> Self {
        Self { machine: Rc::clone(machine), id }
    }

    pub fn id(&self) -> usize {
        self.id
    }

    pub fn now(&self) -> Ps {
        self.machine.borrow().now()
    }

    /// Returns the number of the core on which it runs.
    pub fn core(&self) -> usize {
        self.machine.borrow().core(self.id)
    }

    pub fn node(&self) -> usize {
        self.machine.borrow().node(self.id)
    }

    /// Returns a random time of 0.5 to 1.5 times this one.
    pub fn draw(&self, mean: Ps) -> Ps {
        let factor = 0.5 + self.machine.borrow_mut().rng.f64();
        (mean as f64 * factor) as Ps
    }

    fn ask(&self, request: Request) -> Operation<'_> {
        Operation { thread: self, request: Some(request) }
    }

    pub async fn work(&self, length: Ps) {
        if length > 0 {
            self.ask(Request::Work(length)).await;
        }
    }

    /// Pauses as often as this: spinning loops call it between two reads.
    pub async fn pause(&self, times: u64) {
        self.ask(Request::Work(times * ps(PAUSE_NS))).await;
    }

    pub async fn load(&self, word: Word) -> u64 {
        self.ask(Request::Load(word)).await
    }

    pub async fn store(&self, word: Word, value: u64) {
        self.ask(Request::Store(word, value)).await;
    }

    pub async fn swap(&self, word: Word, value: u64) -> u64 {
        self.ask(Request::Swap(word, value)).await
    }

    pub async fn add(&self, word: Word, more: u64) -> u64 {
        self.ask(Request::Add(word, more)).await
    }

    /// Sets these bits; returns the word before.
    pub async fn set_bits(&self, word: Word, bits: u64) -> u64 {
        self.ask(Request::SetBits(word, bits)).await
    }

    /// Compares and swaps; returns whether that changed the word.
    pub async fn replace(&self, word: Word, expected: u64, new: u64) -> bool {
        self.ask(Request::Replace(word, expected, new)).await == expected
    }

    /// The same without an atomic instruction, by a restartable sequence.
    pub async fn replace_restartably(&self, word: Word, expected: u64, new: u64) -> bool {
        self.ask(Request::ReplaceRestartably(word, expected, new)).await == expected
    }

    /// Spins until the word fulfils the condition, and returns its value. After [`ROUNDS`] pauses it also yields the CPU.
    pub async fn spin(&self, word: Word, until: Until) -> u64 {
        let mut value = self.spin_for(word, until, ps(ROUNDS * PAUSE_NS)).await;
        while !until.holds(value) {
            self.give_way().await;
            value = self.spin_for(word, until, ps(PAUSE_NS)).await;
        }
        value
    }

    /// Spins without yielding for a limited time.
    pub async fn spin_for(&self, word: Word, until: Until, limit: Ps) -> u64 {
        let end = self.now() + limit;
        self.ask(Request::Spin(word, until, Some(end))).await
    }

    /// Blocks if the word has this value.
    pub async fn sleep(&self, word: Word, expected: u64) {
        self.sleep_at(word, expected, Place::InTurn).await;
    }

    /// The same, at a place among the blocked threads; returns whether another thread has woken it.
    pub async fn sleep_at(&self, word: Word, expected: u64, place: Place) -> bool {
        self.ask(Request::Sleep(word, expected, place)).await == 1
    }

    pub async fn wake_one(&self, word: Word) {
        self.ask(Request::Wake(word, None, 1)).await;
    }

    /// Wakes one of those at a place, and returns whether there was one.
    pub async fn wake_one_at(&self, word: Word, place: Place) -> bool {
        self.ask(Request::Wake(word, Some(place), 1)).await == 1
    }

    pub async fn give_way(&self) {
        self.ask(Request::Yield).await;
    }
}

/// The length of the instruction `pause` on the machine on which contend was developed.
pub const PAUSE_NS: f64 = 24.6;

/// The pauses after which a waiter that cannot block yields its CPU, as in the registry's locks.
const ROUNDS: f64 = 1_000.0;
