//! The tracepoints of interrupts, held open while a test program runs.
//!
//! The last process that closes a tracepoint waits for a grace period of the kernel. There are some twenty, closed one
//! after the other and by one process at a time. That takes most of a second for each measurement of the tests, however
//! many run side by side. So another program has each of them open, disabled, and no measurement is the last.

use instruments::evidence::TracepointFormat;
use perf_event::{Builder, Counter, events::Tracepoint};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Once;

const INTERRUPTS: [&str; 2] = ["irq/irq_handler", "irq/softirq"];
/// The tracepoints of x86; a kernel has some of them.
const VECTORS: [&str; 11] = [
    "call_function",
    "call_function_single",
    "deferred_error_apic",
    "error_apic",
    "irq_work",
    "local_timer",
    "reschedule",
    "spurious_apic",
    "thermal_apic",
    "threshold_apic",
    "x86_platform_ipi",
];

/// Opens the tracepoints, so that every measurement closes its own at once.
///
/// If they cannot be opened, nothing changes.
pub fn reports() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let vectors = VECTORS.iter().map(|name| format!("irq_vectors/{name}"));
        let handlers = INTERRUPTS.iter().map(|name| (*name).to_owned()).chain(vectors);
        let reports = handlers.flat_map(|name| ["entry", "exit"].map(|edge| format!("{name}_{edge}")));
        let counters: Vec<Counter> = reports.filter_map(|name| counter(&name)).collect();
        if !counters.is_empty() {
            hold(&counters);
        }
    });
}

fn counter(report: &str) -> Option<Counter> {
    let id = TracepointFormat::of(report).ok()?.id;
    Builder::new(Tracepoint::with_id(id.into())).any_pid().one_cpu(0).include_kernel().build().ok()
}

fn hold(counters: &[Counter]) {
    let descriptors: Vec<i32> = counters.iter().map(AsRawFd::as_raw_fd).collect();
    // It reads from a pipe of this program, and so ends with it.
    let mut holder = Command::new("cat");
    holder.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let inherited = move || {
        // SAFETY: the call takes only numbers. With it the child keeps no pipe and no lock of this program open.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        for &descriptor in &descriptors {
            // SAFETY: the call takes a descriptor, which is the child's copy of one that is open, and no pointer.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure only makes system calls, and reads memory that existed before.
    unsafe { holder.pre_exec(inherited) };
    if let Ok(mut holder) = holder.spawn() {
        std::mem::forget(holder.stdin.take());
    }
}
