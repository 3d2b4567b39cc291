//! The CPUs on which the calling thread may run, and the CPU on which it runs.
//!
//! The two affinity calls use the C library. The set of rustix has room for 1,024 CPUs, and the kernel refuses
//! (`EINVAL`) a buffer smaller than the number of CPUs for which it was booted.

use std::io;

use super::files;
use super::set::{CpuSet, MAX_CPU};

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
}
