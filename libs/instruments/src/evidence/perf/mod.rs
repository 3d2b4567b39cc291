//! The kernel trace through perf events: one ring per CPU, or one for the thread.

mod record;
mod ring;
mod tracepoints;

pub(super) use ring::{Drained, Rings};
pub use tracepoints::TracepointFormat;

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
