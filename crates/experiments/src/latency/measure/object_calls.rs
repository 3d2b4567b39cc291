//! What it costs that the functions of a shared object are called through pointers.

use super::rounds::bare_pair;
use harness::Calibrated;
use instruments::team::on_cpu;
use locks::{EmptyCalls, Lock};

/// A lock and an unlock that do nothing, in a bare loop, in nanoseconds.
///
/// # Errors
/// The CPU may not be used after all.
pub fn cost_ns(calibrated: &Calibrated) -> std::io::Result<f64> {
    let (clock, cpu) = (calibrated.clock(), calibrated.cpu);
    let empty = EmptyCalls::create()?;
    on_cpu(cpu, move || bare_pair(&empty, clock) * clock.ns_per_tick())
}
