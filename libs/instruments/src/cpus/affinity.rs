//! The CPUs on which the calling thread may run, and the CPU on which it runs.
//!
//! The two affinity calls use the C library. The set of rustix has room for 1,024 CPUs, and the kernel refuses
//! (`EINVAL`) a buffer smaller than the number of CPUs for which it was booted.

use super::files;
use super::set::{CpuSet, MAX_CPU};
use std::io;
use std::path::Path;

/// One word of the kernel's CPU mask, an array of `unsigned long`.
type Word = libc::c_ulong;

const WORD_BITS: usize = Word::BITS as usize;

/// Returns the CPUs on which the calling thread may run: `sched_getaffinity(2)`.
///
/// Call it before pinning: afterwards it returns the one CPU to which the thread was pinned.
///
/// # Errors
///
/// Returns the error of the system call; none is known for the calling thread.
///
/// # Examples
///
/// ```
/// let allowed = instruments::cpus::allowed()?;
/// assert!(!allowed.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn allowed() -> io::Result<CpuSet> {
    // 0 is the calling thread.
    allowed_of(0)
}

/// Returns the CPUs on which a thread of this process may run, by its number (`gettid(2)`).
///
/// For a thread that is not pinned, this shows the CPUs that a cpuset has left. A pinned thread can query another
/// thread.
///
/// # Errors
///
/// Returns an error if the thread has ended.
///
/// # Examples
///
/// ```
/// use instruments::cpus;
///
/// let own = rustix::thread::gettid().as_raw_pid();
/// assert_eq!(cpus::allowed_of(own)?, cpus::allowed()?);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn allowed_of(thread: i32) -> io::Result<CpuSet> {
    let mut mask = [0 as Word; (MAX_CPU + 1) / WORD_BITS];
    // SAFETY: the kernel writes at most `size_of_val(&mask)` bytes, all of them inside `mask`, which lives across the
    // call, is exclusively borrowed by it and is aligned as the array of unsigned long that it is; any bits are valid
    // integers. `cpu_set_t` is only the declared type of that array.
    let result = unsafe { libc::sched_getaffinity(thread, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(from_mask(&mask))
}

/// Returns the CPUs that are online, from `/sys/devices/system/cpu/online`.
///
/// # Errors
///
/// Returns an error if the file cannot be read (no `/sys` mounted) or contains no CPU list.
pub fn online() -> io::Result<CpuSet> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    files::parse_cpus(&text).ok_or_else(|| io::Error::other(format!("`{text}` is not a list of CPUs")))
}

/// Pins the calling thread to `cpu`; the thread runs there when this returns.
///
/// Threads that it starts afterwards inherit the affinity.
///
/// # Errors
///
/// Returns `InvalidInput` if the CPU does not exist, is offline, or is outside the cpuset of the process.
///
/// # Examples
///
/// ```
/// use instruments::cpus;
///
/// let allowed = cpus::allowed()?;
/// let cpu = allowed.first().expect("a running thread has a CPU");
/// cpus::pin_current_thread(cpu)?;
/// assert_eq!(cpus::current_cpu(), cpu);
/// cpus::restrict_current_thread(&allowed)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    restrict_current_thread(&CpuSet::single(cpu))
}

/// Restricts the calling thread to these CPUs: `sched_setaffinity(2)`.
///
/// With the set that [`allowed`] returned before, this undoes a [`pin_current_thread`].
///
/// # Errors
///
/// Returns `InvalidInput` if none of the CPUs is online and inside the cpuset of the process. The kernel silently
/// ignores the other CPUs; [`super::resolve`] detects them beforehand.
pub fn restrict_current_thread(cpus: &CpuSet) -> io::Result<()> {
    let mask = to_mask(cpus).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: the kernel only reads, at most `size_of_val` bytes, all of them inside `mask`, which outlives the call.
    // `cpu_set_t` is only the declared type of that array of unsigned long. Thread 0 is the calling thread.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(mask.as_slice()), mask.as_ptr().cast()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Returns the CPU on which the calling thread runs: `getcpu(2)`, which needs no system call if the vDSO provides it.
///
/// Unless the thread is pinned, it may have moved by the time this returns.
pub fn current_cpu() -> usize {
    rustix::thread::sched_getcpu()
}

fn from_mask(mask: &[Word]) -> CpuSet {
    let is_set = |cpu: &usize| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    (0..mask.len() * WORD_BITS).filter(is_set).collect()
}

/// Returns a mask that is just long enough, or `None` if a CPU is above [`MAX_CPU`].
fn to_mask(cpus: &CpuSet) -> Option<Vec<Word>> {
    let last = cpus.last().unwrap_or(0);
    if last > MAX_CPU {
        return None;
    }
    let mut mask = vec![0 as Word; last / WORD_BITS + 1];
    for cpu in cpus.iter() {
        mask[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }
    Some(mask)
}

// Validation of the CPUs that a user requested.

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
    let online = online().unwrap_or_else(|_| request.clone());
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

// The CPUs that are hardware threads of one core.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_holds_cpus_beyond_1024() {
        let cpus: CpuSet = "0,63-64,1023-1025,8191".parse().unwrap();
        assert_eq!(from_mask(&to_mask(&cpus).unwrap()), cpus);
    }

    #[test]
    fn a_cpu_that_no_linux_has_is_refused_without_a_huge_mask() {
        assert_eq!(to_mask(&CpuSet::single(usize::MAX)), None);
        let error = pin_current_thread(usize::MAX).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

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
