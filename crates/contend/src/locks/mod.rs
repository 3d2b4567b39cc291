//! The locks under test: one file each, or one for a family, and one line each in the registry.
//!
//! An experiment writes its loop once, generic over [`Lock`], so that a lock's fast path is inlined into it as it would
//! be in a program. [`build`] turns a name into a type by handing the lock to a [`Builder`].

mod benaphore;
mod none;
mod parking_lot;
mod posix;
mod pthread;
mod standard;
mod sysv;

use std::io;

/// A lock that an experiment can take and, by dropping the guard, release.
pub trait Lock: Sync + Send + Sized + 'static {
    /// Holds the lock until it is dropped.
    type Guard<'a>;

    /// A free lock.
    ///
    /// # Errors
    /// What the system refuses: locks made of kernel objects can run out.
    fn create() -> io::Result<Self>;

    /// Waits for the lock and takes it.
    fn lock(&self) -> Self::Guard<'_>;
}

/// What is done with a lock once its type is known.
pub trait Builder {
    /// What comes of it.
    type Output;

    /// Called with the type that the name stands for.
    fn build<L: Lock>(self) -> io::Result<Self::Output>;
}

/// A lock's name and what it is, for lists and help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
}

macro_rules! registry {
    ($($name:literal => $lock:ty, $about:literal;)*) => {
        /// Every lock, in the order in which `all` runs them.
        pub const ENTRIES: &[Entry] = &[$(Entry { name: $name, about: $about }),*];

        /// Hands the lock of that name to `builder`; `None` for a name that is not in the registry.
        pub fn build<B: Builder>(name: &str, builder: B) -> Option<io::Result<B::Output>> {
            match name {
                $($name => Some(builder.build::<$lock>()),)*
                _ => None,
            }
        }
    };
}

registry! {
    "sysv" => sysv::Sysv, "System V semaphore: a system call for every operation (ulocks)";
    "posix" => posix::Posix, "POSIX semaphore (sem_wait, sem_post) of the C library";
    "benaphore" => benaphore::OverSysv, "atomic counter over a System V semaphore, as in 1998 (ulocks)";
    "benaphore-posix" => benaphore::OverPosix, "atomic counter over a POSIX semaphore (ulocks)";
    "pthread" => pthread::Default, "pthread mutex, default type";
    "pthread-adaptive" => pthread::Adaptive, "pthread mutex, PTHREAD_MUTEX_ADAPTIVE_NP: spins a little first";
    "std" => standard::Standard, "std::sync::Mutex of Rust's standard library: a futex";
    "parking_lot" => parking_lot::ParkingLot, "parking_lot::Mutex: spins, then parks in a table of its own";
    "none" => none::NoLock, "no lock at all: what the measurement itself costs";
}

/// The name of the lock that excludes nobody; `all` leaves it out.
pub const NONE: &str = "none";

pub use none::NoLock;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Counter(UnsafeCell<u64>);

    // SAFETY: the test below touches the counter only under the lock under test.
    unsafe impl Sync for Counter {}

    struct Exclusion;

    impl Builder for Exclusion {
        type Output = u64;

        fn build<L: Lock>(self) -> io::Result<u64> {
            let lock = L::create()?;
            let counter = Counter(UnsafeCell::new(0));
            let counter = &counter;
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..2_000 {
                            let guard = lock.lock();
                            // SAFETY: the guard excludes the other threads.
                            unsafe { *counter.0.get() += 1 };
                            drop(guard);
                        }
                    });
                }
            });
            // SAFETY: all threads have ended.
            Ok(unsafe { *counter.0.get() })
        }
    }

    #[test]
    fn every_lock_but_none_excludes() {
        for entry in ENTRIES.iter().filter(|entry| entry.name != NONE) {
            assert_eq!(build(entry.name, Exclusion).unwrap().unwrap(), 8_000, "{}", entry.name);
        }
    }

    #[test]
    fn a_name_that_is_not_there_builds_nothing() {
        assert!(build("foo", Exclusion).is_none());
    }
}
