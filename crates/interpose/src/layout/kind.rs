//! What kinds of locks there are.

/// What a lock is. The numbers are those in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// `pthread_mutex_t`, whatever its type and protocol, and C11's `mtx_t`.
    Mutex = 1,
    /// `pthread_rwlock_t`, as a reader.
    Read = 2,
    /// `pthread_rwlock_t`, as a writer.
    Write = 3,
    /// `pthread_spinlock_t`.
    Spin = 4,
    /// `pthread_cond_t`, and C11's `cnd_t`: the wait for a signal.
    Cond = 5,
    /// `sem_t`.
    Sem = 6,
    /// `pthread_barrier_t`.
    Barrier = 7,
}

impl Kind {
    /// That of a number in the memory.
    pub fn of(number: u32) -> Option<Self> {
        [Self::Mutex, Self::Read, Self::Write, Self::Spin, Self::Cond, Self::Sem, Self::Barrier]
            .into_iter()
            .find(|kind| *kind as u32 == number)
    }

    /// Whether who has it keeps others out, or is kept out by them: a cycle of such waits is a deadlock.
    pub fn excludes(self) -> bool {
        matches!(self, Self::Mutex | Self::Read | Self::Write | Self::Spin)
    }

    /// Whether the C library notes in it who has it. Then who takes it need not say so in its place, and who releases
    /// it does if somebody waits: while nobody does, nobody writes to the place, and its line of the cache stays with
    /// all CPUs whose threads take it.
    #[cfg(any(preload, clippy))]
    #[inline(always)]
    pub(crate) fn has_owner(self) -> bool {
        matches!(self, Self::Mutex)
    }
}
