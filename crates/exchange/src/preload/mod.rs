//! The functions that replace the C library's in a program that loads the library.
//!
//! A mutex keeps the bytes of its kind where the C library has them ([`mutex`]), so that its own initialisers, at
//! compile time and at run time, make substituted ones. The chosen lock ([`choice`]) is in the other bytes. A mutex
//! whose kind cannot be substituted is passed on ([`next`]). Condition variables are substituted too ([`cond`]), since
//! the C library's release and acquire the mutex without a visible call. Reader-writer locks ([`rwlock`]) always get
//! the same lock, whichever was chosen; spin locks too, in their four bytes ([`spin`]).
//!
//! Nothing here has a destructor, and only a cancelled thread unwinds, which leaves through these functions; its undo
//! function is registered with the C library ([`cancel`]).

mod c11;
mod cancel;
mod choice;
mod cond;
mod generation;
mod locks;
mod mutex;
mod next;
mod peers;
mod rwlock;
mod shared_cond;
mod spin;
mod start;
mod thread;

/// A program that is started without the library: nothing is recorded of it, as of one that never had it.
pub fn leave_out(_: &[u8]) {}

/// Locks make system calls as they are needed, whatever the program has forbidden itself.
pub fn is_confined() -> bool {
    false
}
