//! A System V semaphore: the lock of 2002 that asks the kernel every time, and so the base for comparison.
//!
//! # State
//! None of the state is here. The kernel keeps the count; this is its number.
//!
//! | field | meaning |
//! |---|---|
//! | `id` | the semaphore set, valid in every process of the IPC namespace |
//! | `creator` | the process that made it, and that removes it on drop |
//!
//! # Ordering
//! A successful `semop` takes and releases the kernel's lock on the set, so what happened before a release happens
//! before the acquire that it allows. No atomic of ours takes part.
//!
//! # Fairness
//! First come, first served: the kernel queues the sleepers of a set and completes them in order.
//!
//! # A stopped or dead holder
//! A stopped holder holds. So does a dead one: `SEM_UNDO` would give the count back, but without telling the next
//! owner that the data may be half written, and it would undo the releases of a process that only releases, so it is
//! not used. [`Robust`](crate::Robust) is the lock for that.
//!
//! # Source
//! semop(2). Lock type `k` of Hubertus Franke's table, "Lightweight userspace semaphores", linux-kernel, February 2002.

use crate::Semaphore;
use std::{fmt, io, process};

/// A System V semaphore, used as a [`Semaphore`] or, started at one, as a lock.
///
/// It lives in the kernel until it is removed. Dropping it removes it, but only in the process that made it, so the
/// copy in a forked child does no harm.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let lock = ulocks::SysvSem::new(1)?;
/// lock.lock();
/// assert!(!lock.try_lock());
/// lock.unlock();
/// # Ok(())
/// # }
/// ```
pub struct SysvSem {
    id: libc::c_int,
    creator: u32,
}

impl SysvSem {
    /// Makes a semaphore that holds `initial`: 1 for a lock, 0 for the inside of a [`Benaphore`](crate::Benaphore).
    ///
    /// # Errors
    /// The kernel's, with what to do about it. `ENOSPC` (its kind is [`io::ErrorKind::StorageFull`]) means that the
    /// system has no semaphore left: sets that crashed programs left behind count too.
    pub fn new(initial: u16) -> io::Result<Self> {
        // SAFETY: semget takes three integers and touches no memory of ours.
        let id = unsafe { libc::semget(libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600) };
        if id < 0 {
            return Err(explain(io::Error::last_os_error(), "semget"));
        }
        let made = SysvSem { id, creator: process::id() };
        // SAFETY: SETVAL reads its fourth argument as the `int` member of `union semun`, and no memory through it;
        // an int is passed. `id` is the set made above and has a semaphore 0.
        if unsafe { libc::semctl(id, 0, libc::SETVAL, libc::c_int::from(initial)) } < 0 {
            return Err(explain(io::Error::last_os_error(), "semctl(SETVAL)"));
        }
        Ok(made)
    }

    /// The number of the semaphore set, as `ipcs -s` shows it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Takes the semaphore as a lock.
    ///
    /// # Panics
    /// When the set was removed (by `ipcrm`, or by its creator's drop).
    pub fn lock(&self) {
        self.acquire();
    }

    /// Takes the lock if it is free now.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    pub fn try_lock(&self) -> bool {
        self.try_acquire()
    }

    /// Frees the lock. Nothing checks that the caller held it: a semaphore has no owner.
    ///
    /// # Panics
    /// As [`lock`](Self::lock).
    pub fn unlock(&self) {
        self.release();
    }

    /// One `semop`, repeated when a signal interrupts it.
    fn operate(&self, delta: libc::c_short, flags: libc::c_int) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: delta, sem_flg: flags as libc::c_short };
        loop {
            // SAFETY: the pointer is to one `sembuf` that outlives the call, and the count says one.
            if unsafe { libc::semop(self.id, &mut operation, 1) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn gone(&self, error: io::Error) -> ! {
        panic!("System V semaphore {}: {}", self.id, explain(error, "semop"));
    }
}

impl Semaphore for SysvSem {
    fn acquire(&self) {
        self.operate(-1, 0).unwrap_or_else(|error| self.gone(error));
    }

    fn try_acquire(&self) -> bool {
        match self.operate(-1, libc::IPC_NOWAIT) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => self.gone(error),
        }
    }

    fn release(&self) {
        self.operate(1, 0).unwrap_or_else(|error| self.gone(error));
    }
}

impl Drop for SysvSem {
    fn drop(&mut self) {
        // A forked child has a copy of this value, and the semaphore is still its parent's.
        if self.creator == process::id() {
            // SAFETY: IPC_RMID reads no further argument. An id that is already gone is an error, which is ignored:
            // what was wanted is so.
            unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
        }
    }
}

impl fmt::Debug for SysvSem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SysvSem").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Keeps the error's kind and number in the message, and says what to do where something can be done.
fn explain(error: io::Error, call: &str) -> io::Error {
    let remedy = match error.raw_os_error() {
        Some(libc::ENOSPC) => {
            "the system has no System V semaphore left: `ipcs -s` lists them, `ipcrm -s ID` removes one that a \
             crashed program left behind, and the sysctl kernel.sem (its 2nd and 4th number) raises the limit"
        }
        Some(libc::ENOSYS) => "this kernel was built without System V IPC (CONFIG_SYSVIPC)",
        Some(libc::EIDRM | libc::EINVAL) => "the semaphore was removed while it was in use",
        Some(libc::ERANGE) => "the count would leave its range (0 to 32767)",
        _ => return io::Error::new(error.kind(), format!("{call}: {error}")),
    };
    io::Error::new(error.kind(), format!("{call}: {error}: {remedy}"))
}
