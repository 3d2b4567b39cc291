//! A bounded queue of values: two semaphores, one for the values and one for the free slots, by Dijkstra's
//! construction.
use core::{
    array,
    cell::{Cell, RefCell},
    task::{Poll, ready},
};

use crate::{handle::Handle, node::Node, runtime::Runtime, schedulers::Scheduler, semaphore::Semaphore};

/// A queue of at most `N` values between any threads of a runtime: first in, first out, with waiters served in order.
///
/// It contains its storage. It is never closed; a special value can mark the end.
#[derive(Debug)]
pub struct Channel<T, const N: usize> {
    values: Semaphore,
    places: Semaphore,
    first: Cell<usize>,
    end: Cell<usize>,
    buffer: [RefCell<Option<T>>; N],
}

impl<T, const N: usize> Channel<T, N> {
    /// Returns an empty channel. `N` must be at least one.
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

    /// Sends the value in `value`, or waits for a free slot; returns `Ready` when the value was taken.
    ///
    /// # Panics
    ///
    /// Panics if `value` is `None`.
    pub fn poll_send<K: Node, S: Scheduler, W>(&self, handle: &Handle<'_, K, S, W>, value: &mut Option<T>) -> Poll<()> {
        ready!(self.places.poll_wait(handle));
        self.put(handle.runtime(), value.take().expect("there is a value to send"));
        Poll::Ready(())
    }

    /// Sends a value, or waits for a free slot. Dropping the wait drops the value.
    pub async fn send<K: Node, S: Scheduler, W>(&self, handle: &mut Handle<'_, K, S, W>, value: T) {
        self.places.wait(handle).await;
        self.put(handle.runtime(), value);
    }

    /// Sends a value if there is a free slot.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no free slot.
    pub fn try_send<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>, value: T) -> Result<(), T> {
        if !self.places.try_wait() {
            return Err(value);
        }
        self.put(runtime, value);
        Ok(())
    }

    /// Receives a value, or waits for one.
    pub fn poll_receive<K: Node, S: Scheduler, W>(&self, handle: &Handle<'_, K, S, W>) -> Poll<T> {
        ready!(self.values.poll_wait(handle));
        Poll::Ready(self.get(handle.runtime()))
    }

    /// Receives a value, or waits for one. Dropping the wait loses no value.
    pub async fn receive<K: Node, S: Scheduler, W>(&self, handle: &mut Handle<'_, K, S, W>) -> T {
        self.values.wait(handle).await;
        self.get(handle.runtime())
    }

    /// Receives a value if there is one.
    pub fn try_receive<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>) -> Option<T> {
        self.values.try_wait().then(|| self.get(runtime))
    }

    /// Stores a value. The caller has a unit of `places`.
    fn put<K: Node, S: Scheduler, W>(&self, runtime: &Runtime<'_, K, S, W>, value: T) {
        let end = self.end.replace((self.end.get() + 1) % N);
        self.buffer[end].replace(Some(value));
        self.values.signal(runtime);
    }

    /// Removes a value. The caller has a unit of `values`.
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
