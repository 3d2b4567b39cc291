//! A System V semaphore: the lock of 2002 that enters the kernel for each operation, and hence the baseline of the
//! comparison.
//!
//! # State
//!
//! The kernel keeps the count; this type contains only the number of the semaphore set.
//!
//! | field | meaning |
//! |---|---|
//! | `id` | the semaphore set, valid in every process of the IPC namespace |
//! | `creator` | the process that created it, and that removes it on drop |
//!
//! # Memory ordering
//!
//! A successful `semop` acquires and releases the kernel's lock on the set, so writes before a release happen before
//! the acquire that it permits. No atomic operation of this crate takes part.
//!
//! # Fairness
//!
//! First come, first served: the kernel queues the blocked threads of a set and completes their operations in order.
//!
//! # Stopped or terminated threads
//!
//! A stopped holder blocks the others, and so does a dead one. `SEM_UNDO` would restore the count, but without
//! reporting that the data may be half written. It would also undo the releases of a process that only releases, so
//! it is not used. [`Robust`](crate::Robust) is the lock for owners that may die.
//!
//! # References
//!
//! semop(2). Lock type `k` in the table of Hubertus Franke, "Lightweight userspace semaphores", linux-kernel,
//! February 2002.

use crate::Semaphore;
use std::{fmt, io, process};

/// A System V semaphore, used as a [`Semaphore`] or, with an initial count of one, as a lock.
///
/// It exists in the kernel until it is removed. Dropping it removes it, but only in the process that created it, so
/// the copy in a forked child is harmless.
///
/// # Examples
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
    /// Creates a semaphore with `initial` units: 1 for a lock, 0 for a [`Benaphore`](crate::Benaphore).
    ///
    /// # Errors
    ///
    /// Returns the kernel's error, with a remedy. `ENOSPC` (its kind is [`io::ErrorKind::StorageFull`]) means that
    /// the system has no semaphore left; the sets that crashed programs left behind count too.
    pub fn new(initial: u16) -> io::Result<Self> {
        // SAFETY: semget takes three integers and accesses no memory of this program.
        let id = unsafe { libc::semget(libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600) };
        if id < 0 {
            return Err(explain(io::Error::last_os_error(), "semget"));
        }
        let semaphore = SysvSem { id, creator: process::id() };
        // SAFETY: SETVAL reads its fourth argument as the `int` member of `union semun`, and no memory through it; an
        // int is passed. `id` is the set that `semget` returned, and it has a semaphore 0.
        if unsafe { libc::semctl(id, 0, libc::SETVAL, libc::c_int::from(initial)) } < 0 {
            return Err(explain(io::Error::last_os_error(), "semctl(SETVAL)"));
        }
        Ok(semaphore)
    }

    /// Returns the number of the semaphore set, as `ipcs -s` shows it.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Acquires the semaphore as a lock.
    ///
    /// # Panics
    ///
    /// Panics if the set was removed (by `ipcrm`, or by its creator's drop).
    pub fn lock(&self) {
        self.acquire();
    }

    /// Acquires the lock if it is unlocked now; returns whether it did.
    ///
    /// # Panics
    ///
    /// Panics if the set was removed, as [`lock`](Self::lock) does.
    pub fn try_lock(&self) -> bool {
        self.try_acquire()
    }

    /// Releases the lock.
    ///
    /// The call does not check that the caller held the lock, because a semaphore has no owner.
    ///
    /// # Panics
    ///
    /// Panics if the set was removed, as [`lock`](Self::lock) does.
    pub fn unlock(&self) {
        self.release();
    }

    /// Calls `semop`, and repeats it when a signal interrupts it.
    fn operate(&self, delta: libc::c_short, flags: libc::c_int) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: delta, sem_flg: flags as libc::c_short };
        loop {
            // SAFETY: the pointer is to one `sembuf` that outlives the call, and the count is 1.
            if unsafe { libc::semop(self.id, &mut operation, 1) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn fail(&self, error: io::Error) -> ! {
        panic!("System V semaphore {}: {}", self.id, explain(error, "semop"));
    }
}

impl Semaphore for SysvSem {
    fn acquire(&self) {
        self.operate(-1, 0).unwrap_or_else(|error| self.fail(error));
    }

    fn try_acquire(&self) -> bool {
        match self.operate(-1, libc::IPC_NOWAIT) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => self.fail(error),
        }
    }

    fn release(&self) {
        self.operate(1, 0).unwrap_or_else(|error| self.fail(error));
    }
}

impl Drop for SysvSem {
    fn drop(&mut self) {
        // A forked child has a copy of this value, but the semaphore still belongs to its parent.
        if self.creator == process::id() {
            // SAFETY: IPC_RMID reads no further argument. An id that does not exist any more is an error, which is
            // ignored because the set is removed then.
            unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
        }
    }
}

impl fmt::Debug for SysvSem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SysvSem").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Returns an error of the same kind whose message contains the call, the error, and a remedy if there is one.
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
