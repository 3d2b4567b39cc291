//! The restartable sequences in this program's machine code: the descriptor of each for the kernel, and its effect.
#![cfg(all(target_arch = "x86_64", target_env = "gnu"))]

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use ulocks::{Adaptive, Biased, Private, lock_api::Mutex};

const SIGNATURE: u32 = 0x5305_3053;

/// `struct rseq_cs` of the kernel.
#[repr(C, align(32))]
#[derive(Debug)]
struct Descriptor {
    version: u32,
    flags: u32,
    start: usize,
    length: usize,
    abort: usize,
}

/// Returns the descriptors in this program; the linker defines symbols for both ends of their section.
fn descriptors() -> &'static [Descriptor] {
    unsafe extern "C" {
        #[link_name = "__start___rseq_cs"]
        static FIRST: Descriptor;
        #[link_name = "__stop___rseq_cs"]
        static END: Descriptor;
    }
    let (first, end) = (&raw const FIRST, &raw const END);
    let count = (end.addr() - first.addr()) / size_of::<Descriptor>();
    // SAFETY: the section contains only descriptors, each of this size and alignment, and no code writes to it.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// Acquires and releases both kinds of lock, so that this program contains their sequences.
fn pairs(count: u64) -> u64 {
    static LOCK: Mutex<Adaptive, u64> = Mutex::new(0);
    static BIASED: Mutex<Biased, u64> = Mutex::new(0);
    (0..count).for_each(|_| *LOCK.lock() += 1);
    (0..count).for_each(|_| *BIASED.lock() += 1);
    (*LOCK.lock()).min(*BIASED.lock())
}

/// Returns the instructions of a sequence in this program.
fn disassembled(directory: &Path, descriptor: &Descriptor) -> Vec<String> {
    // SAFETY: the range is that of the sequence in this program's code.
    let code = unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(descriptor.start), descriptor.length)
    };
    let file = directory.join("sequence");
    fs::write(&file, code).unwrap();
    let listing = Command::new("objdump")
        .args(["-D", "-b", "binary", "-m", "i386:x86-64", "--no-show-raw-insn"])
        .arg(&file)
        .output()
        .unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    listing.lines().filter_map(|line| line.trim().split_once(":\t")).map(|(_, text)| text.trim().to_owned()).collect()
}

#[test]
fn last_instruction_of_each_sequence_is_its_only_store() {
    assert!(pairs(10) >= 10);
    assert!(!descriptors().is_empty());
    if Command::new("objdump").arg("--version").output().is_err() {
        println!("skipped: needs objdump");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut plain, mut biased) = (0, 0);
    for descriptor in descriptors() {
        assert_eq!((descriptor.version, descriptor.flags), (0, 0), "{descriptor:x?}");
        let inside = descriptor.start..descriptor.start + descriptor.length;
        assert!(!inside.contains(&descriptor.abort), "{descriptor:x?}");
        // SAFETY: the address is that of the four bytes of this program's code before the abort handler.
        let signature = unsafe { std::ptr::with_exposed_provenance::<u32>(descriptor.abort - 4).read_unaligned() };
        assert_eq!(signature, SIGNATURE, "{descriptor:x?}");
        let instructions = disassembled(directory.path(), descriptor);
        let [compare, branch, store] = &instructions[..] else { panic!("three instructions: {instructions:?}") };
        assert!(branch.starts_with("jne "), "{instructions:?}");
        if let Some(word) = compare.strip_prefix("cmpl   $0x1,") {
            assert_eq!(*store, format!("movl   $0x0,{word}"), "{instructions:?}");
            plain += 1;
        } else {
            // The value that the owner of a biased lock expects is in one register, the value that it stores in
            // another.
            let operands = compare.strip_prefix("cmp    %").and_then(|operands| operands.split_once(','));
            let (expected, word) = operands.unwrap_or_else(|| panic!("{instructions:?}"));
            let stored = store.strip_prefix("mov    %").and_then(|operands| operands.strip_suffix(&format!(",{word}")));
            assert!(stored.is_some_and(|stored| stored != expected && !stored.contains(',')), "{instructions:?}");
            biased += 1;
        }
    }
    assert!(plain >= 1 && biased >= 2, "an unlock, and both sides of a biased lock");
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static IN_HANDLER: Mutex<Adaptive, u64> = Mutex::new(0);

/// Acquires and releases a second lock, which is a sequence within a sequence.
extern "C" fn lock_and_unlock(_: libc::c_int) {
    if let Some(mut count) = IN_HANDLER.try_lock() {
        *count += 1;
    }
    HANDLED.fetch_add(1, Relaxed);
}

fn handle_alarms() {
    // SAFETY: the handler only tries a lock and counts, which is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = lock_and_unlock as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut()), 0);
    }
}

/// Requests a signal after each period of this number of microseconds, or none with 0.
fn alarm_every(micros: libc::suseconds_t) {
    let every = libc::timeval { tv_sec: 0, tv_usec: micros };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: the call reads the timer, which outlives it.
    assert_eq!(unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) }, 0);
}

/// A signal arrives every 20 µs, whose handler locks, and threads migrate between CPUs: the protected data stays
/// consistent.
#[test]
fn sequences_survive_signals_and_migrations() {
    handle_alarms();
    let (lock, stop) = (&Mutex::<Adaptive<Private>, _>::new((0u64, 0u64)), &AtomicBool::new(false));
    alarm_every(20);
    let loops: u64 = thread::scope(|scope| {
        let work = |hops: bool| {
            move || {
                let mut loops = 0u64;
                while !stop.load(Relaxed) {
                    let mut halves = lock.lock();
                    assert_eq!(halves.0, halves.1);
                    halves.0 += 1;
                    std::hint::black_box(&mut *halves);
                    halves.1 += 1;
                    drop(halves);
                    loops += 1;
                    if hops && loops.is_multiple_of(200) {
                        hop(loops.is_multiple_of(400));
                    }
                }
                loops
            }
        };
        let workers: Vec<_> = [false, false, true].map(|hops| scope.spawn(work(hops))).into();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds()) {
            thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    alarm_every(0);
    assert!(HANDLED.load(Relaxed) > 100, "the storm came");
    assert_eq!(*lock.lock(), (loops, loops));
}

/// Returns the duration of the test: `ULOCKS_TORTURE` seconds (60 for a thorough run).
fn seconds() -> u64 {
    std::env::var("ULOCKS_TORTURE").map_or(2, |seconds| seconds.parse().unwrap())
}

/// Moves the thread to one other CPU, or allows it all CPUs.
fn hop(to_one: bool) {
    // SAFETY: CPU sets are plain bits, and the calls read and write only the set that they are given.
    unsafe {
        let mut cpus: libc::cpu_set_t = std::mem::zeroed();
        if to_one {
            libc::CPU_SET(libc::sched_getcpu().cast_unsigned() as usize ^ 1, &mut cpus);
        } else {
            (0..libc::CPU_SETSIZE as usize).for_each(|cpu| libc::CPU_SET(cpu, &mut cpus));
        }
        // The kernel rejects a CPU that does not exist, and then the thread stays on its CPU.
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cpus);
    }
}
