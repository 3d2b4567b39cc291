//! The CPUs that are hardware threads of one core.

use std::path::Path;

use super::files;
use super::set::CpuSet;

/// Returns the CPUs that are hardware threads of the same core as `cpu`, including `cpu`: code on one slows the
/// others.
///
/// Without SMT, or without the information in `/sys`, the result is `cpu` alone.
///
/// # Examples
///
/// ```
/// let cpu = instruments::cpus::current_cpu();
/// assert!(instruments::cpus::siblings(cpu).contains(cpu));
/// ```
pub fn siblings(cpu: usize) -> CpuSet {
    siblings_under(Path::new("/"), cpu).unwrap_or_else(|| CpuSet::single(cpu))
}

/// Returns the siblings of `cpu` below another root, or `None` without the information.
pub(crate) fn siblings_under(root: &Path, cpu: usize) -> Option<CpuSet> {
    let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
    // `core_cpus_list` is the name since Linux 5.3; the other is deprecated but the only one on older kernels.
    files::cpus(root, &format!("{topology}/core_cpus_list"))
        .or_else(|| files::cpus(root, &format!("{topology}/thread_siblings_list")))
        .filter(|siblings| siblings.contains(cpu))
}
