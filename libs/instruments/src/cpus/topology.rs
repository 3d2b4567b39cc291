//! Which CPUs are threads of one core.

use std::path::Path;

use super::files;
use super::set::CpuSet;

/// The CPUs that are hardware threads of the same core as `cpu`, itself included: what runs on one slows the others.
///
/// Without SMT, or where `/sys` does not tell, it is `cpu` alone.
///
/// ```
/// let cpu = instruments::cpus::current_cpu();
/// assert!(instruments::cpus::siblings(cpu).contains(cpu));
/// ```
pub fn siblings(cpu: usize) -> CpuSet {
    siblings_under(Path::new("/"), cpu).unwrap_or_else(|| CpuSet::single(cpu))
}

/// The same below another root, or `None` where it does not tell.
pub(crate) fn siblings_under(root: &Path, cpu: usize) -> Option<CpuSet> {
    let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
    // `core_cpus_list` is the name since Linux 5.3; the other is deprecated but still the only one on older kernels.
    files::cpus(root, &format!("{topology}/core_cpus_list"))
        .or_else(|| files::cpus(root, &format!("{topology}/thread_siblings_list")))
        .filter(|siblings| siblings.contains(cpu))
}
