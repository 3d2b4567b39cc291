//! Locks of other authors.
//!
//! Those of C and C++ libraries are called through shims (`foreign`, `mcs`; feature `c-peers`). Those of papers are
//! written here from the papers, a file each with its states, orderings and fairness. Each of these files imports its
//! atomics, its spinning and its sleeping from [`atomic`], which the models in `tests/models` replace by those of loom.

mod algorithm;
mod atomic;
mod between_processes;
mod bravo;
#[allow(dead_code, reason = "`exchange` compiles this file too, and calls the rest")]
mod cna;
mod flexguard;
#[cfg(feature = "c-peers")]
mod foreign;
#[allow(dead_code, reason = "`exchange` compiles this file too, and calls the rest")]
mod hapax;
#[allow(dead_code, reason = "`exchange` compiles this file too, and calls the rest")]
mod malthusian;
#[cfg(feature = "c-peers")]
mod mcs;
mod parking;
mod queued;
#[allow(dead_code, reason = "`exchange` compiles this file too, and calls the rest")]
mod reciprocating;
mod switches;
#[allow(dead_code, reason = "`exchange` compiles this file too, and calls the rest")]
mod twa;
mod uscl;

use crate::lock::{Lock, SharedLock};
use algorithm::Algorithm;
#[cfg(feature = "c-peers")]
pub use foreign::{Abseil, CkFas, CkTicket, Nsync};
#[cfg(feature = "c-peers")]
pub use mcs::CkMcs;
use std::io;
use std::marker::PhantomData;
use ulocks::lock_api::RawRwLock;

pub type Reciprocating = Peer<reciprocating::Reciprocating>;
pub type Cna = Peer<cna::Cna>;
pub type Twa = Peer<twa::Twa>;
pub type Malthusian = Peer<malthusian::Malthusian>;
pub type Uscl = Peer<uscl::Uscl>;
pub type Hapax = Peer<hapax::Hapax>;
/// `Twa` and `Hapax` between processes.
pub type SharedTwa = Peer<between_processes::WithArray<twa::Twa>>;
pub type SharedHapax = Peer<between_processes::WithArray<hapax::Hapax>>;
pub type FlexGuard = Peer<flexguard::FlexGuard>;

/// A lock from a paper as a lock under test.
pub struct Peer<A>(A);

/// A guard that releases the lock when it is dropped.
pub struct Guard<'a, A: Algorithm> {
    lock: &'a A,
    held: A::Held,
    /// A pointer, which is not `Send`: the algorithms keep queue nodes and accounts of the acquiring thread, so the
    /// guard stays on that thread.
    _stays: PhantomData<*const ()>,
}

impl<A: Algorithm> Lock for Peer<A> {
    type Guard<'a> = Guard<'a, A>;

    fn create() -> io::Result<Self> {
        Ok(Self(A::new()))
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        Guard { lock: &self.0, held: self.0.acquire(), _stays: PhantomData }
    }
}

impl<A: Algorithm> Drop for Guard<'_, A> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard exists from the acquisition until now, on the thread that acquired the lock.
        unsafe { self.lock.release(self.held) }
    }
}

/// BRAVO over `Adaptive`'s reader-writer lock.
pub struct Bravo(bravo::Bravo<ulocks::AdaptiveRw>);

impl bravo::Underlying for ulocks::AdaptiveRw {
    fn read(&self) {
        self.lock_shared();
    }

    unsafe fn end_read(&self) {
        // SAFETY: the caller has the lock for reading.
        unsafe { self.unlock_shared() }
    }

    fn write(&self) {
        self.lock_exclusive();
    }

    unsafe fn end_write(&self) {
        // SAFETY: the caller has the lock for writing.
        unsafe { self.unlock_exclusive() }
    }
}

/// A guard that releases a [`Bravo`] that was acquired for writing.
pub struct WriteGuard<'a>(&'a bravo::Bravo<ulocks::AdaptiveRw>);

/// A guard that releases a [`Bravo`] that was acquired for reading.
pub struct ReadGuard<'a> {
    lock: &'a bravo::Bravo<ulocks::AdaptiveRw>,
    reading: bravo::Reading,
}

impl Lock for Bravo {
    type Guard<'a> = WriteGuard<'a>;

    fn create() -> io::Result<Self> {
        Ok(Self(bravo::Bravo::over(<ulocks::AdaptiveRw as RawRwLock>::INIT)))
    }

    #[inline(always)]
    fn lock(&self) -> WriteGuard<'_> {
        self.0.write(atomic::bravo_readers());
        WriteGuard(&self.0)
    }
}

impl SharedLock for Bravo {
    type ReadGuard<'a> = ReadGuard<'a>;

    #[inline(always)]
    fn read(&self) -> ReadGuard<'_> {
        let reading = self.0.read(atomic::bravo_readers(), bravo::this_thread());
        ReadGuard { lock: &self.0, reading }
    }
}

impl Drop for WriteGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard exists from the acquisition for writing until now.
        unsafe { self.0.end_write() }
    }
}

impl Drop for ReadGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard exists from the acquisition for reading, which returned `reading`, until now.
        unsafe { self.lock.end_read(atomic::bravo_readers(), self.reading) }
    }
}
