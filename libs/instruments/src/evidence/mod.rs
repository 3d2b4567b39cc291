//! Kernel events: the tasks that ran and the interrupts that were served while a thread did not run.
//!
//! A [`Recorder`] is opened once, and started and stopped around each period of a measurement. It returns a
//! [`Timeline`] in the ticks of the measurement's own [`Clock`](crate::clock::Clock), with its [`EvidenceQuality`],
//! which states its possible omissions. [`attribute`] then divides the time of each gap between its causes, and
//! [`ran`] returns the owners of a CPU at a time of interest.
//!
//! The recorder selects the best [`Source`] that this process may use and reports the requirements of the better
//! ones:
//!
//! | source | requires | provides |
//! |---|---|---|
//! | [`Source::CpuRecord`] | CAP_PERFMON (tracefs for interrupts) | every switch with names, interrupts and softirqs |
//! | [`Source::ThreadRecord`] | `perf_event_paranoid` of 2 or less | the times at which the thread was descheduled, without the other task |
//! | [`Source::PreemptionFlag`] | a C library that registers rseq | which gaps were preemptions, without their duration |
//! | [`Source::Account`] | `/proc` | the lost time of the whole period |
//!
//! ```
//! use std::time::Duration;
//! use instruments::clock::Clock;
//! use instruments::cpus::{CpuSet, current_cpu};
//! use instruments::evidence::{EntryExitOverhead, Recorder, Stretch, attribute};
//! use instruments::gaps;
//!
//! let clock = Clock::calibrate(Duration::from_millis(20)).clock;
//! let mut recorder = Recorder::open(clock, &CpuSet::single(current_cpu()));
//! recorder.start()?;
//! let watch = gaps::watch(clock, Duration::from_millis(20));
//! let timeline = recorder.stop()?;
//! let stretch = Stretch::of_watch(&timeline, &watch);
//! let mut overhead = EntryExitOverhead::default();
//! overhead.learn(&stretch);
//! for cause in attribute(&stretch, &overhead).causes() {
//!     let ns = clock.to_ns(cause.ticks);
//!     println!("{:?} {:?}: {} times, {ns} ns", cause.cause.kind, cause.cause.name, cause.count);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! With [`Source::PreemptionFlag`], the thread itself must read its [`PreemptionFlag`](preemption::PreemptionFlag) at
//! each gap and pass the results as [`Stretch::preempted`]. They also help where the other sources reported nothing.
//!
//! Nothing outlives the process: perf events and the mount of tracefs are file descriptors.

mod account;
mod attribution;
mod names;
mod perf;
pub mod preemption;
mod quality;
mod recorder;
mod timeline;
mod track;

pub use account::Account;
pub use attribution::{Attribution, EntryExitOverhead, Recall, attribute};
pub use names::{Cause, CauseTime, Handler, HandlerKind, Kind, Names, Task};
pub use perf::{TracepointFormat, may_record_cpus, may_record_own_thread, may_record_tracepoint};
pub use quality::{EvidenceLost, EvidenceQuality, NoInterruptEvidence, Source, WeakerEvidence};
pub use recorder::Recorder;
pub use timeline::{Ran, Stretch, Timeline, ran};
pub use track::{Event, EventKind, Segment, SwitchOut, Track, Who};
