//! Locks of C and C++ libraries: Concurrency Kit, nsync and Abseil, as Debian packages them.
//!
//! None is inlined into the measured loop. nsync and Abseil are called by every program, as they are here. Concurrency
//! Kit is made of inline functions, which Rust can only call: a call costs about a nanosecond, one for locking and one
//! for unlocking, and that is part of its figures. The shims are optimised in debug builds too, like the libraries.

use crate::lock::Lock;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;

pub type CkFas = Foreign<Fas>;
pub type CkTicket = Foreign<Ticket>;
pub type Nsync = Foreign<Mu>;
pub type Abseil = Foreign<AbslMutex>;

/// The functions of a lock's library. All of them take a lock in a [`Room`].
pub trait Peer: 'static {
    /// Returns whether the lock fits into memory of this size and alignment.
    fn fits(size: usize, align: usize) -> bool;

    /// Makes a free lock.
    ///
    /// # Safety
    /// No other thread uses the room yet, and it will not move.
    unsafe fn init(lock: *mut c_void);

    /// Acquires the lock.
    ///
    /// # Safety
    /// The lock is free or held by another thread, and stays where it is until it is released.
    unsafe fn lock(lock: *mut c_void);

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock.
    unsafe fn unlock(lock: *mut c_void);

    /// Ends the lock, if its library requires that.
    ///
    /// # Safety
    /// The lock is free, and no thread uses it after.
    unsafe fn destroy(_lock: *mut c_void) {}
}

macro_rules! peers {
    ($($(#[$doc:meta])* $peer:ident: $fits:ident, $init:ident, $lock:ident, $unlock:ident $(, $destroy:ident)?;)*) => {
        unsafe extern "C" {
            $(safe fn $fits(size: usize, align: usize) -> bool;
            fn $init(lock: *mut c_void);
            fn $lock(lock: *mut c_void);
            fn $unlock(lock: *mut c_void);
            $(fn $destroy(lock: *mut c_void);)?)*
        }

        $($(#[$doc])*
        pub struct $peer;

        impl Peer for $peer {
            fn fits(size: usize, align: usize) -> bool {
                $fits(size, align)
            }

            unsafe fn init(lock: *mut c_void) {
                // SAFETY: the caller promises what the library's function requires.
                unsafe { $init(lock) }
            }

            #[inline(always)]
            unsafe fn lock(lock: *mut c_void) {
                // SAFETY: the caller promises what the library's function requires.
                unsafe { $lock(lock) }
            }

            #[inline(always)]
            unsafe fn unlock(lock: *mut c_void) {
                // SAFETY: the caller promises what the library's function requires.
                unsafe { $unlock(lock) }
            }

            $(unsafe fn destroy(lock: *mut c_void) {
                // SAFETY: the caller promises what the library's function requires.
                unsafe { $destroy(lock) }
            })?
        })*
    };
}

peers! {
    /// Fetch-and-store of one word.
    Fas: contend_ck_fas_fits, contend_ck_fas_init, contend_ck_fas_lock, contend_ck_fas_unlock;
    /// Two counters in one word.
    Ticket: contend_ck_ticket_fits, contend_ck_ticket_init, contend_ck_ticket_lock, contend_ck_ticket_unlock;
    /// `nsync_mu`.
    Mu: contend_nsync_fits, nsync_mu_init, nsync_mu_lock, nsync_mu_unlock;
    /// `absl::Mutex`.
    AbslMutex: contend_abseil_fits, contend_abseil_init, contend_abseil_lock, contend_abseil_unlock,
        contend_abseil_destroy;
}

/// A lock of a library, in memory of this crate.
pub struct Foreign<P: Peer>(Room, PhantomData<P>);

// SAFETY: the libraries make these locks for all threads of a process, and Concurrency Kit's are words that any memory
// may hold.
unsafe impl<P: Peer> Sync for Foreign<P> {}
// SAFETY: a free lock has no tie to the thread that made it.
unsafe impl<P: Peer> Send for Foreign<P> {}

pub struct Guard<'a, P: Peer> {
    lock: &'a Foreign<P>,
    /// A pointer, which is not `Send`: Abseil and nsync require the unlock from the thread that locked, so the guard
    /// stays there.
    _stays: PhantomData<*const ()>,
}

impl<P: Peer> Lock for Foreign<P> {
    type Guard<'a> = Guard<'a, P>;

    fn create() -> io::Result<Self> {
        assert!(P::fits(size_of::<Room>(), align_of::<Room>()), "the library's lock has outgrown its room");
        Ok(Self(Room::zeroed(), PhantomData))
    }

    fn settle(&mut self) -> io::Result<()> {
        // SAFETY: the lock fits, as `create` has seen; it is where it will stay, and `self` is borrowed exclusively.
        unsafe { P::init(self.0.start()) };
        Ok(())
    }

    #[inline(always)]
    fn lock(&self) -> Self::Guard<'_> {
        // SAFETY: the lock is initialised, by zeros or by `settle`, and the guard borrows it until it is released.
        unsafe { P::lock(self.0.start()) };
        Guard { lock: self, _stays: PhantomData }
    }
}

impl<P: Peer> Drop for Guard<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the guard's thread holds the lock.
        unsafe { P::unlock(self.lock.0.start()) };
    }
}

impl<P: Peer> Drop for Foreign<P> {
    fn drop(&mut self) {
        // SAFETY: no guard is left, since each borrows `self`.
        unsafe { P::destroy(self.0.start()) };
    }
}

/// Memory for a lock of another library, whose size only its headers know.
#[repr(transparent)]
pub struct Room(UnsafeCell<[u64; 2]>);

impl Default for Room {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Room {
    /// Returns all zeros, which is the free state of every lock here.
    pub const fn zeroed() -> Self {
        Self(UnsafeCell::new([0; 2]))
    }

    pub const fn start(&self) -> *mut c_void {
        self.0.get().cast()
    }
}
