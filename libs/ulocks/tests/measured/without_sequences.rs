//! The locks that rely on restartable sequences, where there are none, or where the kernel withdraws them.
//!
//! Each case is a separate process: this test binary again, with its role in the environment. Where no sequence was
//! compiled (musl, another processor), the cases do not differ.

use crate::{filter_step as step, install_filter};
use std::{
    env, hint,
    os::unix::process::CommandExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use ulocks::{
    Adaptive, Biased, Private,
    lock_api::{Mutex, RawMutexTimed},
};

type Halves<R> = Mutex<R, (u64, u64)>;

const ROLE: &str = "ULOCKS_TEST_WITHOUT";

/// Runs this test again in a separate process with this environment; returns `true` in that process.
///
/// Unless `is_fenced`, the kernel refuses `membarrier` to that process from its start.
fn is_child(test: &str, environment: &[(&str, &str)], is_fenced: bool) -> bool {
    if env::var_os(ROLE).is_some() {
        return true;
    }
    let mut again = Command::new(env::current_exe().unwrap());
    if !is_fenced {
        // SAFETY: the closure makes two system calls, and neither allocates nor locks.
        unsafe { again.pre_exec(|| if refuse_membarrier() { Ok(()) } else { Err(std::io::Error::last_os_error()) }) };
    }
    again.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let Ok(ended) = again.env(ROLE, "").envs(environment.iter().copied()).output() else {
        println!("skipped: needs seccomp");
        return false;
    };
    print!("{}", String::from_utf8_lossy(&ended.stdout));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    false
}

/// Makes the kernel refuse `membarrier` to this thread, and to the threads that it creates; returns whether that
/// succeeded.
fn refuse_membarrier() -> bool {
    let denied = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    let mut steps = [
        // The number of the system call is the first word of the data that the filter reads.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_membarrier as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, denied),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    install_filter(&mut steps)
}

/// Adds one to both halves, and asserts that they were equal: otherwise two threads were in the critical section.
fn add(halves: &mut (u64, u64)) {
    assert_eq!(halves.0, halves.1);
    halves.0 += 1;
    hint::black_box(&mut *halves);
    halves.1 += 1;
}

/// Lets other threads arrive at a lock that one thread has used: two that wait, one that tries, and one with a short
/// timeout.
fn check_with_other_threads<R: RawMutexTimed<Duration = Duration> + Sync + Send>(lock: &Halves<R>, pairs: u64) {
    let times = |take: &dyn Fn() -> bool| (0..pairs).filter(|_| take()).count() as u64;
    let waits = || {
        (0..pairs).for_each(|_| add(&mut lock.lock()));
        pairs
    };
    let tries = || times(&|| lock.try_lock().map(|mut halves| add(&mut halves)).is_some());
    let little = Duration::from_micros(20);
    let hurries = || times(&|| lock.try_lock_for(little).map(|mut halves| add(&mut halves)).is_some());
    let before = lock.lock().0;
    let taken: u64 = thread::scope(|scope| {
        let threads = [scope.spawn(waits), scope.spawn(waits), scope.spawn(tries), scope.spawn(hurries)];
        waits() + threads.into_iter().map(|other| other.join().unwrap()).sum::<u64>()
    });
    assert_eq!(*lock.lock(), (before + taken, before + taken));
}

/// Returns locks that one thread has used alone, `pairs` times.
fn owned(pairs: u64) -> (Halves<Adaptive>, Halves<Biased>) {
    let locks = (Mutex::new((0, 0)), Mutex::new((0, 0)));
    for _ in 0..pairs {
        add(&mut locks.0.lock());
        add(&mut locks.1.lock());
    }
    locks
}

/// Asserts that both locks exclude and lose no wake-up, with and without an owner.
fn work(rounds: u64) {
    for round in 0..rounds {
        let (adaptive, biased) = owned(round % 3 * 10);
        check_with_other_threads(&adaptive, 2_000);
        check_with_other_threads(&biased, 2_000);
    }
}

/// With an older C library, or musl, no sequence is registered with the kernel.
#[test]
fn locks_work_without_registration_by_the_c_library() {
    let unregistered = [("GLIBC_TUNABLES", "glibc.pthread.rseq=0")];
    if is_child(name_of!(locks_work_without_registration_by_the_c_library), &unregistered, true) {
        work(30);
        assert!(!Adaptive::<Private>::frees_by_store());
    }
}

/// In a sandbox, the kernel has never accepted the fence.
#[test]
fn locks_work_if_the_kernel_refuses_the_fence() {
    if is_child(name_of!(locks_work_if_the_kernel_refuses_the_fence), &[], false) {
        assert!(!Adaptive::<Private>::frees_by_store());
        work(30);
        assert!(!Adaptive::<Private>::frees_by_store());
    }
}

/// In a program that enters a sandbox after its start, locks are plain-held and biased when the kernel begins to
/// refuse the fence.
#[test]
fn locks_work_after_the_kernel_begins_to_refuse_the_fence() {
    if !is_child(name_of!(locks_work_after_the_kernel_begins_to_refuse_the_fence), &[], true) {
        return;
    }
    let start = Instant::now();
    while !Adaptive::<Private>::frees_by_store() && start.elapsed() < Duration::from_millis(500) {
        owned(100);
    }
    if !Adaptive::<Private>::frees_by_store() {
        println!("skipped: needs glibc 2.35 and Linux 5.10");
        return;
    }
    let locks: Vec<_> = (0..4).map(|_| owned(100)).collect();
    if !refuse_membarrier() {
        println!("skipped: needs seccomp");
        return;
    }
    for (adaptive, biased) in &locks {
        check_with_other_threads(adaptive, 2_000);
        check_with_other_threads(biased, 2_000);
    }
    assert!(!Adaptive::<Private>::frees_by_store());
    work(10);
}
