//! One thread's rounds with a lock, a timestamp around each part; and the lock that they are measured with, whose type
//! is no longer known.

mod pairs;
mod rounds;

use self::pairs::KnownTime;
use crossbeam_utils::CachePadded;
use instruments::clock::Clock;
use instruments::team::StartGate;
use locks::{Builder, EmptyCalls, Lock, NoLock, Reach};
pub use pairs::{PAIRS, known_time};
pub use rounds::{Round, Trace, Way};
use std::io;
use std::sync::Arc;

/// A lock whose type is no longer known.
pub trait AnyLock: Send + Sync {
    /// Takes and releases it until the gate closes or the trace is full.
    fn rounds(&self, way: Way, trace: &mut Trace, gate: &StartGate);
    /// What a lock and an unlock take in a loop with nothing else, in ticks.
    fn bare_pair(&self, clock: Clock) -> f64;
    /// The same where fences let nothing overlap, less what they take, in ticks.
    fn fenced_pair(&self, clock: Clock) -> f64;
}

impl<L: Lock> AnyLock for CachePadded<L> {
    fn rounds(&self, way: Way, trace: &mut Trace, gate: &StartGate) {
        trace.clear();
        rounds::run_and_look(&**self, way, trace, || gate.stop());
    }

    fn bare_pair(&self, clock: Clock) -> f64 {
        pairs::bare_pair(&**self, clock)
    }

    fn fenced_pair(&self, clock: Clock) -> f64 {
        pairs::fenced_pair(&**self, clock)
    }
}

/// Makes a lock on cache lines of its own.
struct OnItsLines;

impl Builder for OnItsLines {
    type Output = Arc<dyn AnyLock>;

    /// Where it is shared from: once it is settled it stays where it is.
    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        let mut lock = Arc::new(CachePadded::new(L::create()?));
        Arc::get_mut(&mut lock).expect("no other thread has it yet").settle()?;
        Ok(lock)
    }
}

/// The lock of that name, unless there is none that threads can share.
pub fn make(name: &str) -> Option<io::Result<Arc<dyn AnyLock>>> {
    locks::build(name, Reach::Threads, OnItsLines)
}

/// No lock, by the same machine code as a lock that does nothing: for only so is what it takes what is to be taken off.
pub fn without_lock() -> Box<dyn AnyLock> {
    std::hint::black_box(Box::new(CachePadded::new(NoLock)))
}

/// A lock that takes [`known_time`].
pub fn of_known_time() -> Box<dyn AnyLock> {
    Box::new(CachePadded::new(KnownTime))
}

/// A lock that does nothing, called as the functions of a shared object are: through pointers.
pub fn of_object_calls() -> io::Result<Box<dyn AnyLock>> {
    Ok(Box::new(CachePadded::new(EmptyCalls::create()?)))
}
