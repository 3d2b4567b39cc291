//! The kernel trace through perf events: one ring per CPU, or one for the thread.

mod record;
mod ring;
mod tracepoints;

pub(super) use ring::{Drained, Rings};

pub use tracepoints::TracepointFormat;

use crate::cpus::CpuSet;
use perf_event::events::Tracepoint;
use perf_event::{Builder, SampleFlag};
use std::io;

/// Adds the events of interrupts and softirqs to the rings.
///
/// # Errors
///
/// Returns an error if the tracepoints cannot be found, or if the kernel refuses some. Those that it does not refuse
/// are added.
pub(super) fn follow_interrupts(rings: &mut Rings) -> std::io::Result<()> {
    let tracepoints = tracepoints::list()?;
    let mut refused = rings.follow(&tracepoints);
    // The kernel allows no process to sample the exit of `irq_work`, and may refuse others in future versions.
    // Without its exit, a handler is a point in time, and its time counts as entry and exit.
    refused.retain(|(name, _)| name.ends_with("_entry"));
    match &refused[..] {
        [] => Ok(()),
        [(name, error)] => Err(std::io::Error::other(format!("the kernel refuses {name} ({error})"))),
        [(name, error), more @ ..] => {
            Err(std::io::Error::other(format!("the kernel refuses {name} ({error}) and {} more", more.len())))
        }
    }
}

// Whether this process may record kernel events: each check opens the event that a recorder would open, and closes it.

/// Checks that this process may record every switch on these CPUs.
///
/// # Errors
///
/// Returns the error of `perf_event_open(2)`: `EACCES` or `EPERM` without CAP_PERFMON.
///
/// # Examples
///
/// ```
/// use instruments::cpus;
/// use instruments::evidence::may_record_cpus;
///
/// if let Err(error) = may_record_cpus(&cpus::allowed()?) {
///     println!("the tasks that take a CPU are unknown here: {error}");
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn may_record_cpus(cpus: &CpuSet) -> io::Result<()> {
    Rings::of_cpus(cpus).map(drop)
}

/// Checks that this process may record the switches of the calling thread.
///
/// # Errors
///
/// Returns the error of `perf_event_open(2)`: `EACCES` or `EPERM` if `perf_event_paranoid` is above 2 or a filter
/// forbids it.
pub fn may_record_own_thread() -> io::Result<()> {
    Rings::of_thread(rustix::thread::gettid().as_raw_nonzero().get() as u32).map(drop)
}

/// Checks that this process may record a tracepoint, such as `sched/sched_switch`, with its data and for all tasks.
///
/// The kernel waits for a grace period when it closes the tracepoint, so the call takes up to 0.1 s.
///
/// # Errors
///
/// Returns an error if `tracefs` cannot be read or has no tracepoint of this name, and that of `perf_event_open(2)`.
pub fn may_record_tracepoint(name: &str, cpu: usize) -> io::Result<()> {
    let id = TracepointFormat::of(name)?.id;
    let mut builder = Builder::new(Tracepoint::with_id(id.into()));
    builder.any_pid().one_cpu(cpu).include_kernel().sample(SampleFlag::RAW).sample_period(1).enabled(false);
    builder.build().map(drop)
}
