//! A bounded queue of values: two semaphores, one for the values and one for the places, as Dijkstra wrote it.
use core::{
    array,
    cell::{Cell, RefCell},
    task::{Poll, ready},
};

use crate::{handle::Handle, node::Node, runtime::Runtime, schedulers::Scheduler, semaphore::Semaphore};

/// A queue of at most `N` values between any threads of a runtime: first in, first out, and who waits is served in
/// order.
///
/// The storage is within it. It is never closed; a separate value marks the end.
#[derive(Debug)]
pub struct Channel<T, const N: usize> {
    values: Semaphore,
    places: Semaphore,
    first: Cell<usize>,
    end: Cell<usize>,
    buffer: [RefCell<Option<T>>; N],
}

impl<T, const N: usize> Channel<T, N> {
    /// An empty channel. It must have at least one place.
    pub fn new() -> Self {
        const { assert!(N > 0 && N < 1 << 31, "a channel has 1 to 2,147,483,647 places") };
        Self {
            values: Semaphore::new(0),
            places: Semaphore::new(N as u32),
            first: Cell::new(0),
            end: Cell::new(0),
            buffer: array::from_fn(|_| RefCell::new(None)),
        }
    }

    /// Sends the value in `value`, or waits for a place; `Ready` when it was taken from there.
    ///
    /// # Panics
    /// If there is no value.
    pub fn poll_send<K: Node, S: Scheduler, W>(&self, me: &Handle<'_, K, S, W>, value: &mut Option<T>) -> Poll<()> {
        ready!(self.places.poll_wait(me));
        self.put(me.runtime(), value.take().expect("there is a value to send"));
        Poll::Ready(())
    }

    /// Sends a value, or waits for a place. If the wait is dropped, the value is, too.
    pub async fn send<K: Node, S: Scheduler, W>(&self, me: &mut Handle<'_, K, S, W>, value: T) {
        self.places.wait(me).await;
        self.put(me.runtime(), value);
    }

    /// Sends a value if there is a place; gives it back if there is none.
    ///
    /// # Errors
    /// The value.
    pub fn try_send<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>, value: T) -> Result<(), T> {
        if !self.places.try_wait() {
            return Err(value);
        }
        self.put(runtime, value);
        Ok(())
    }

    /// Receives a value, or waits for one.
    pub fn poll_receive<K: Node, S: Scheduler, W>(&self, me: &Handle<'_, K, S, W>) -> Poll<T> {
        ready!(self.values.poll_wait(me));
        Poll::Ready(self.get(me.runtime()))
    }

    /// Receives a value, or waits for one. If the wait is dropped, no value is lost.
    pub async fn receive<K: Node, S: Scheduler, W>(&self, me: &mut Handle<'_, K, S, W>) -> T {
        self.values.wait(me).await;
        self.get(me.runtime())
    }

    /// Receives a value if there is one.
    pub fn try_receive<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>) -> Option<T> {
        self.values.try_wait().then(|| self.get(runtime))
    }

    /// The caller has a unit of `places`.
    fn put<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>, value: T) {
        let end = self.end.replace((self.end.get() + 1) % N);
        self.buffer[end].replace(Some(value));
        self.values.signal(runtime);
    }

    /// The caller has a unit of `values`.
    fn get<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>) -> T {
        let first = self.first.replace((self.first.get() + 1) % N);
        let value = self.buffer[first].take().expect("a unit stands for a value, unless a thread polled another wait");
        self.places.signal(runtime);
        value
    }
}

impl<T, const N: usize> Default for Channel<T, N> {
    fn default() -> Self {
        Self::new()
    }
}
