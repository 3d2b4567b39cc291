//! Locks on a kernel without the newer calls: a filter answers as such a kernel does.

use crate::{filter_step as step, install_filter};
use std::{
    env,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use ulocks::{Pi, lock_api::Mutex};

const ROLE: &str = "ULOCKS_TEST_OLD_KERNEL";
/// The operation of futex(2) that Linux has since 5.14.
const FUTEX_LOCK_PI2: u32 = 13;

/// Makes the kernel answer `FUTEX_LOCK_PI2` as one does that lacks it; returns whether that succeeded.
fn refuse_lock_pi2() -> bool {
    const OPERATION: u32 = 24;
    let read = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let returns = libc::BPF_RET | libc::BPF_K;
    install_filter(&mut [
        step(read, 0, 0),
        step(is, 4, libc::SYS_futex as u32),
        // The second argument, without the flags of the operation.
        step(read, 0, OPERATION),
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0, 127),
        step(is, 1, FUTEX_LOCK_PI2),
        step(returns, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(returns, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[test]
fn timed_pi_waits_by_the_older_call() {
    if env::var_os(ROLE).is_none() {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(["--exact", name_of!(timed_pi_waits_by_the_older_call), "--nocapture", "--test-threads=1"]);
        let ended = again.env(ROLE, "").output().unwrap();
        print!("{}", String::from_utf8_lossy(&ended.stdout));
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        return;
    }
    if !refuse_lock_pi2() {
        println!("skipped: needs seccomp");
        return;
    }
    static LOCK: Mutex<Pi, u32> = Mutex::new(0);
    let ((held, is_held), (go_on, goes_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let holder = thread::spawn(move || {
        let mut value = LOCK.lock();
        held.send(()).unwrap();
        goes_on.recv().unwrap();
        *value += 1;
    });
    is_held.recv().unwrap();
    let requested = Duration::from_millis(20);
    let began = Instant::now();
    assert!(LOCK.try_lock_for(requested).is_none(), "another thread holds it");
    assert!(began.elapsed() >= requested);
    let waiter = thread::spawn(|| LOCK.try_lock_for(Duration::from_secs(60)).map(|value| *value));
    go_on.send(()).unwrap();
    assert_eq!(waiter.join().unwrap(), Some(1));
    holder.join().unwrap();
}
