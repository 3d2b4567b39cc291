//! What replaces the C library's functions in a program that loads the library.
//!
//! A mutex keeps the bytes that say its kind where the C library has them ([`mutex`]), so that its own initialisers, at
//! compile time and at run time, make ours. The lock that was asked for ([`choice`]) stands in the others. One whose
//! kind cannot be ours is passed on ([`next`]). Condition variables are ours too ([`cond`]), since the C library's
//! free and take the mutex without being seen. Locks for readers and writers ([`rwlock`]) have one of ours, whichever
//! was asked for; spin locks too, in the four bytes that they have ([`spin`]).
//!
//! Nothing here has a destructor and nothing unwinds but a thread that is cancelled, which leaves through these
//! functions; what it has to undo it has told the C library ([`cancel`]).

mod c11;
mod cancel;
mod choice;
mod cond;
mod generation;
mod locks;
mod me;
mod mutex;
mod next;
mod rwlock;
mod shared_cond;
mod spin;
mod start;
