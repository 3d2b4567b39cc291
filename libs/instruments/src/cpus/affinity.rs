//! Where the calling thread may run, and where it runs.
//!
//! The two affinity calls go to the C library: rustix's own set has room for 1,024 CPUs, and the kernel refuses
//! (`EINVAL`) a buffer smaller than the number of CPUs it was booted for.

use std::io;

use super::files;
use super::set::{CpuSet, MAX_CPU};

/// One word of the kernel's CPU mask, an array of `unsigned long`.
type Word = libc::c_ulong;

const WORD_BITS: usize = Word::BITS as usize;

/// The CPUs that the calling thread may run on: `sched_getaffinity(2)`.
///
/// Ask before pinning: afterwards it is the one CPU that the thread was pinned to.
///
/// # Errors
/// Those of the system call; none is known for one's own thread.
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

/// The CPUs that a thread of this process may run on, by its number (`gettid(2)`).
///
/// A thread that is not pinned learns from this what a cpuset has left to it; one that is pinned asks for another.
///
/// # Errors
/// The thread has ended.
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

/// The CPUs that are switched on, from `/sys/devices/system/cpu/online`.
///
/// # Errors
/// If the file cannot be read (no `/sys` mounted) or holds no CPU list.
pub fn online() -> io::Result<CpuSet> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    files::parse_cpus(&text).ok_or_else(|| io::Error::other(format!("`{text}` is not a list of CPUs")))
}

/// Makes the calling thread run on `cpu` alone; it is there when this returns.
///
/// Threads started from it afterwards inherit the pinning.
///
/// # Errors
/// `InvalidInput` if the CPU does not exist, is offline, or is outside the cpuset of the process.
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

/// Makes the calling thread run on these CPUs alone: `sched_setaffinity(2)`.
///
/// With the set that [`allowed`] gave before, this undoes a [`pin_current_thread`].
///
/// # Errors
/// `InvalidInput` if none of the CPUs is online and inside the cpuset of the process. The kernel drops the others
/// without a word; [`super::resolve`] finds them beforehand.
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

/// The CPU that the calling thread is on: `getcpu(2)`, which costs no system call where the vDSO has it.
///
/// Unless the thread is pinned, it may have moved by the time this returns.
pub fn current_cpu() -> usize {
    rustix::thread::sched_getcpu()
}

fn from_mask(mask: &[Word]) -> CpuSet {
    let is_set = |cpu: &usize| mask[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    (0..mask.len() * WORD_BITS).filter(is_set).collect()
}

/// A mask just long enough, or `None` if a CPU is above [`MAX_CPU`].
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
