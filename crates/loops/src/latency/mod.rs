//! One thread's iterations with a lock, with a timestamp around each part; and the measured lock with its type erased.

mod pairs;
mod rounds;

use self::pairs::KnownTime;
use crossbeam_utils::CachePadded;
use instruments::clock::Clock;
use instruments::team::StartGate;
use locks::{Builder, EmptyCalls, Lock, NoLock, Reach};
pub use pairs::{PAIRS, known_time};
pub use rounds::{IterationSpec, Round, Trace};
use std::io;
use std::sync::Arc;

/// A lock whose type is erased.
pub trait AnyLock: Send + Sync {
    /// Acquires and releases it until the gate closes or the trace is full.
    fn rounds(&self, spec: IterationSpec, trace: &mut Trace, gate: &StartGate);
    /// Returns the time of a lock and an unlock in a loop with nothing else, in ticks.
    fn bare_pair(&self, clock: Clock) -> f64;
    /// Returns the time of a pair where fences let nothing overlap, less the time of the fences, in ticks.
    fn fenced_pair(&self, clock: Clock) -> f64;
}

impl<L: Lock> AnyLock for CachePadded<L> {
    fn rounds(&self, spec: IterationSpec, trace: &mut Trace, gate: &StartGate) {
        trace.clear();
        rounds::run_and_look(&**self, spec, trace, || gate.stop());
    }

    fn bare_pair(&self, clock: Clock) -> f64 {
        pairs::bare_pair(&**self, clock)
    }

    fn fenced_pair(&self, clock: Clock) -> f64 {
        pairs::fenced_pair(&**self, clock)
    }
}

/// A builder of a lock on separate cache lines.
struct OnItsLines;

impl Builder for OnItsLines {
    type Output = Arc<dyn AnyLock>;

    /// Builds the lock where it is shared from: once it is settled it must not move.
    fn build<L: Lock>(self) -> io::Result<Self::Output> {
        let mut lock = Arc::new(CachePadded::new(L::create()?));
        Arc::get_mut(&mut lock).expect("no other thread has it yet").settle()?;
        Ok(lock)
    }
}

/// Makes the lock of that name, unless threads cannot share it.
pub fn make(name: &str) -> Option<io::Result<Arc<dyn AnyLock>>> {
    locks::build(name, Reach::Threads, OnItsLines)
}

/// Returns no lock, in the same machine code as a lock that does nothing: only then is its time the one to subtract.
pub fn without_lock() -> Box<dyn AnyLock> {
    std::hint::black_box(Box::new(CachePadded::new(NoLock)))
}

/// Returns a lock that takes [`known_time`].
pub fn of_known_time() -> Box<dyn AnyLock> {
    Box::new(CachePadded::new(KnownTime))
}

/// Returns a lock that does nothing, called like the functions of a shared object: through pointers.
pub fn of_object_calls() -> io::Result<Box<dyn AnyLock>> {
    Ok(Box::new(CachePadded::new(EmptyCalls::create()?)))
}
