//! The memory of a thread: from two sizes of the ring, resident and in the kernel.
//!
//! A program's largest resident size is read from its `VmHWM` while it runs. (The value of `wait4` begins with the size
//! of the process that forked it.) All threads exist before the token starts and the token visits them all, so the
//! program is at its largest long before the end. The threads' memory in the kernel is not part of the process: it is
//! the rise of the machine's own account while the program has most threads. Built-in contestants run in a separate
//! process here.
//!
//! A rise within the error of the kernel's own counting is not reported: each CPU may count some dozens of pages
//! separately.

use super::program::Ready;
use super::run::{self, Order, RunError};
use crate::ring::contestants::Contestant;
use harness::Session;
use instruments::statistics::order::median;
use loops::ring::Class;
use std::time::Duration;

/// Memory of a contestant: the medians of several repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    pub rss_kib: Option<f64>,
    pub bytes_per_thread: Option<f64>,
    pub kernel_stack_bytes_per_thread: Option<f64>,
    pub slab_bytes_per_thread: Option<f64>,
    pub page_table_bytes_per_thread: Option<f64>,
}

impl Memory {
    /// Returns the memory of threads in the kernel; `None` where a part of it is unknown.
    pub fn kernel_bytes_per_thread(&self) -> Option<f64> {
        let parts = [self.kernel_stack_bytes_per_thread, self.slab_bytes_per_thread, self.page_table_bytes_per_thread];
        parts.into_iter().sum()
    }
}

/// One program at one size, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Size {
    resident: f64,
    page_tables: f64,
    kernel_stack: f64,
    slab: f64,
}

/// Pairs of sizes, of a ring and of a larger one.
#[derive(Clone, Debug, Default)]
pub struct MemorySamples {
    pairs: Vec<(Size, Option<Size>)>,
    more_threads: f64,
}

/// The minimum time for which a program should run, so that it can be observed.
const SPAN_NS: f64 = 30e6;
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// The time after which the kernel has freed the stacks of ended threads.
const SETTLING: Duration = Duration::from_millis(30);

impl MemorySamples {
    /// Runs the contestant with `threads`, and with more.
    pub fn measure(
        &mut self,
        contestant: &Contestant,
        ready: &Ready,
        threads: usize,
        timeout: Duration,
        session: &Session,
    ) -> Result<(), RunError> {
        let small = size(contestant, ready, threads, timeout, session)?;
        let more = (threads + step(contestant)).min(contestant.max_threads);
        let large = match more > threads {
            true => Some(size(contestant, ready, more, timeout, session)?),
            false => None,
        };
        self.more_threads = (more - threads) as f64;
        self.pairs.push((small, large));
        Ok(())
    }

    pub fn repeats(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the medians.
    pub fn memory(&self, class: Class) -> Memory {
        let resident: Vec<f64> = self.pairs.iter().map(|(small, _)| small.resident).collect();
        let rise = |part: fn(&Size) -> f64| {
            let rise = |(small, large): &(Size, Option<Size>)| Some(part(large.as_ref()?) - part(small));
            let rises: Vec<f64> = self.pairs.iter().filter_map(rise).collect();
            median(&rises)
        };
        let per_thread = |kib: f64| kib * 1024.0 / self.more_threads;
        let in_kernel = |part| rise(part).filter(|_| class == Class::OsBlock).map(|kib| per_thread(kib).max(0.0));
        Memory {
            rss_kib: median(&resident),
            bytes_per_thread: rise(|size| size.resident).filter(|kib| *kib >= LEAST_RISE_KIB).map(per_thread),
            kernel_stack_bytes_per_thread: in_kernel(|size| size.kernel_stack),
            slab_bytes_per_thread: in_kernel(|size| size.slab),
            page_table_bytes_per_thread: in_kernel(|size| size.page_tables),
        }
    }
}

/// The minimum rise: 32 pages for each of two CPUs, and as much for the heap's own steps.
const LEAST_RISE_KIB: f64 = 512.0;

/// Returns the number of additional threads, whose memory must exceed the scatter of a few pages.
fn step(contestant: &Contestant) -> usize {
    match contestant.class {
        Class::OsBlock => 500,
        _ if contestant.ns_per_hop <= 10.0 || contestant.polls_in_vain() => 1_000_000,
        _ => 10_000,
    }
}

fn size(
    contestant: &Contestant,
    ready: &Ready,
    threads: usize,
    timeout: Duration,
    session: &Session,
) -> Result<Size, RunError> {
    // Twice around, so that every thread's memory has been used; where all are polled, two hops suffice for that.
    let visits_all = if contestant.polls_in_vain() { 2 } else { 2 * threads as u64 };
    let hops = visits_all.max((SPAN_NS / contestant.guess_ns(threads)) as u64);
    if contestant.class == Class::OsBlock {
        std::thread::sleep(SETTLING);
    }
    let before = InKernel::now();
    let mut size = Size::default();
    let mut looks: Vec<(u64, InKernel)> = Vec::new();
    let look = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        // Between fork and exec it is still a copy of this process.
        if let (Some(resident), Some(page_tables)) = (kib(&status, "VmHWM:"), kib(&status, "VmPTE:")) {
            size.resident = resident;
            size.page_tables = page_tables;
        }
        looks.extend(kib(&status, "Threads:").zip(InKernel::now()).map(|(threads, rest)| (threads as u64, rest)));
    };
    let order = Order { threads, hops, cpu: session.cpus.first(), timeout, until: session.last_moment() };
    run::program(ready, &order, session, Some(LOOK_EVERY), look)?;
    let most = looks.iter().map(|(threads, _)| *threads).max();
    let full: Vec<InKernel> =
        looks.iter().filter(|(threads, _)| Some(*threads) == most).map(|(_, rest)| *rest).collect();
    let rise = |part: fn(&InKernel) -> f64| {
        let values: Vec<f64> = full.iter().map(part).collect();
        median(&values).zip(before.as_ref().map(part)).map_or(0.0, |(then, before)| then - before)
    };
    size.kernel_stack = rise(|kernel| kernel.stack);
    size.slab = rise(|kernel| kernel.slab);
    Ok(size)
}

/// The machine's own account, in KiB.
#[derive(Clone, Copy, Debug)]
struct InKernel {
    stack: f64,
    slab: f64,
}

impl InKernel {
    fn now() -> Option<Self> {
        let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
        Some(Self { stack: kib(&meminfo, "KernelStack:")?, slab: kib(&meminfo, "SUnreclaim:")? })
    }
}

/// Returns the number behind a label at the beginning of a line.
fn kib(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_per_thread_is_the_slope_between_two_sizes() {
        let size = |resident, kernel_stack| Size { resident, kernel_stack, ..Size::default() };
        let pairs = vec![
            (size(2000.0, 100.0), Some(size(3020.0, 1700.0))),
            (size(2004.0, 100.0), Some(size(3004.0, 1700.0))),
            (size(2010.0, 130.0), Some(size(3010.0, 1730.0))),
        ];
        let samples = MemorySamples { pairs, more_threads: 100.0 };
        let memory = samples.memory(Class::OsBlock);
        assert_eq!(memory.rss_kib, Some(2004.0));
        assert_eq!(memory.bytes_per_thread, Some(10240.0));
        assert_eq!(memory.kernel_stack_bytes_per_thread, Some(16.0 * 1024.0));
        assert_eq!(samples.memory(Class::Mailbox).kernel_stack_bytes_per_thread, None);
    }

    #[test]
    fn rise_within_the_error_of_counting_is_not_reported() {
        let size = |resident| Size { resident, ..Size::default() };
        let samples = MemorySamples { pairs: vec![(size(2000.0), Some(size(2064.0)))], more_threads: 10_000.0 };
        assert_eq!(samples.memory(Class::Mailbox).bytes_per_thread, None);
    }

    #[test]
    fn kernel_memory_is_read() {
        let now = InKernel::now().unwrap();
        assert!(now.stack > 0.0 && now.slab > 0.0);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(kib(&status, "VmHWM:").unwrap() > 100.0 && kib(&status, "Threads:").unwrap() >= 1.0);
    }
}
