//! What would shorter sections of a lock gain? The program runs as if they were shorter, by delaying all else.
//!
//! After Coz (Curtsinger and Berger, "Coz: finding code that counts with causal profiling", SOSP 2015), for critical
//! sections instead of lines. Each thread has a *lag*, and its virtual time is the real time less its lag:
//!
//! | what happens | a thread's lag |
//! |---|---|
//! | it is `t` on in a section, when it leaves it, lets others go on, or waits | grows by the share of `t`: that much earlier it would have been here |
//! | it is at a lock, a wait or a release, and lags less than the thread that lags most | it pauses for the difference, and its lag grows by what the pause took |
//! | it goes on when another releases, signals or ends | that it goes on when the other let it, in virtual time, too |
//! | it ends a program | is what the program's time is corrected by |
//!
//! The third is what Coz calls to credit who was blocked. Let `w` be what a thread waited, `l` its lag before and `r`
//! the lag of who let it go on, at that moment. Virtually it came at `real - l`, and was let go at `real - r`; the
//! later of the two holds. So its lag is the lesser of `l + w` (it came when nobody was there any more: no wait) and
//! `r` (it waited, and the time of being woken is its own).
//!
//! A thread that found a lock free has not waited, but can have come virtually before it was released. If there was
//! room for a section before the last one was taken it was there then, and owes nothing; else it goes on at the release
//! ([`lag::Mine::take`]). Without the first, locks which are taken often and briefly would tie all threads to the one
//! that lags least; without the second, sections of one lock would go on at the same virtual time.
//!
//! Waits for a CPU are taken out ([`cpu`]): the pauses make more of them than a faster program would, and fewer, and
//! who is kept off its CPU in a section would be for the whole of that time, whatever the share. What the CPUs can do
//! at all is a bound that is applied to the whole run, by who reads the lags.
//!
//! So the lags alone are a simulation along the order that was seen. The pauses keep that order right: who would have
//! been later in a faster program is later. They are sleeps, and what a sleep takes too long is in the lag as well: a
//! pause need not be exact. Who is to pause for less than [`lag::LEAST_NS`] does not, and owes it.
//!
//! A section is timed from having the lock to the call that releases it, without what was waited or paused in it. What
//! a thread does without calling any of these functions cannot be delayed, and a wait that is none of them (for a file,
//! a pipe, a child) is taken as work of its own.

mod calls;
mod cpu;
mod ends;
mod kin;
mod lag;

pub use calls::{attempt, forget, lets_go, meet, post, release, sleep, take, wait};
pub use ends::{began, ended, process_ended};
pub use kin::{create, join};
