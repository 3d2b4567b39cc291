//! Validation of the CPUs that a user requested.

use super::affinity;
use super::set::CpuSet;

/// A reason why requested CPUs cannot be used. Each names the CPU and the allowed ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableCpus {
    /// The request is empty.
    #[error("the list of CPUs is empty; allowed: {allowed}")]
    NoneNamed {
        /// CPUs that this thread may use.
        allowed: CpuSet,
    },
    /// The machine has no such CPU online.
    #[error("CPU {cpu} does not exist or is offline (online: {online}); allowed: {allowed}")]
    NoSuchCpu {
        /// Requested CPU.
        cpu: usize,
        /// Online CPUs of the machine.
        online: CpuSet,
        /// CPUs that this thread may use.
        allowed: CpuSet,
    },
    /// The CPU exists, but `taskset`, a cpuset or a container excludes this process from it.
    #[error("CPU {cpu} is outside the affinity mask of this process; allowed: {allowed}")]
    OutsideMask {
        /// Requested CPU.
        cpu: usize,
        /// CPUs that this thread may use.
        allowed: CpuSet,
    },
}

/// Returns the request itself, if a thread with the affinity mask `allowed` may use every CPU in it.
///
/// # Errors
///
/// Returns [`UnusableCpus`] with the lowest CPU that does not exist or is outside the mask, or if the request is
/// empty.
///
/// # Examples
///
/// ```
/// use instruments::cpus::{self, CpuSet};
///
/// let allowed = cpus::allowed()?;
/// assert_eq!(cpus::resolve(&allowed, &allowed).as_ref(), Ok(&allowed));
/// let error = cpus::resolve(&CpuSet::single(8000), &allowed).unwrap_err();
/// assert!(error.to_string().contains("CPU 8000"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn resolve(request: &CpuSet, allowed: &CpuSet) -> Result<CpuSet, UnusableCpus> {
    // Without /sys, a CPU that does not exist is indistinguishable from one outside the mask, so every CPU counts as
    // existing.
    let online = affinity::online().unwrap_or_else(|_| request.clone());
    resolve_among(request, allowed, &online)
}

fn resolve_among(request: &CpuSet, allowed: &CpuSet, online: &CpuSet) -> Result<CpuSet, UnusableCpus> {
    if request.is_empty() {
        return Err(UnusableCpus::NoneNamed { allowed: allowed.clone() });
    }
    match request.iter().find(|&cpu| !allowed.contains(cpu)) {
        None => Ok(request.clone()),
        Some(cpu) if online.contains(cpu) => Err(UnusableCpus::OutsideMask { cpu, allowed: allowed.clone() }),
        Some(cpu) => Err(UnusableCpus::NoSuchCpu { cpu, online: online.clone(), allowed: allowed.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    #[test]
    fn allowed_cpus_are_granted() {
        assert_eq!(resolve_among(&set("1,3"), &set("0-3"), &set("0-7")), Ok(set("1,3")));
    }

    #[test]
    fn error_names_the_cpu_and_the_allowed_ones() {
        let error = resolve_among(&set("1,9"), &set("0-3"), &set("0-7")).unwrap_err().to_string();
        assert_eq!(error, "CPU 9 does not exist or is offline (online: 0-7); allowed: 0-3");
        let error = resolve_among(&set("5"), &set("0-3"), &set("0-7")).unwrap_err().to_string();
        assert_eq!(error, "CPU 5 is outside the affinity mask of this process; allowed: 0-3");
        let error = resolve_among(&set(""), &set("0-3"), &set("0-7")).unwrap_err().to_string();
        assert_eq!(error, "the list of CPUs is empty; allowed: 0-3");
    }
}
