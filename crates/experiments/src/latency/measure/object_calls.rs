//! What it costs that the functions of a shared object are called through pointers.

use harness::Calibrated;
use instruments::team::on_cpu;

/// A lock and an unlock that do nothing, in a bare loop, in nanoseconds.
///
/// # Errors
/// The CPU may not be used after all.
pub fn cost_ns(calibrated: &Calibrated) -> std::io::Result<f64> {
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    let empty = loops::latency::of_object_calls()?;
    on_cpu(cpu, move || empty.bare_pair(clock) * clock.ns_per_tick())
}
