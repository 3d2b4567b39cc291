//! The locks between processes: at different addresses, with stopped or killed holders, across forks, and with
//! unexpected kernels or memory contents. Under signals and against the clock; their machine code, the models of Spin,
//! and a program without the standard library.
//!
//! For another process, the test binary runs itself again (so that threads of the test runner are not forked). The
//! arguments name the test, and the environment contains its role. `ULOCKS_KILLS` sets how often the robust lock's
//! holder is killed (10,000 for a thorough run).
#![cfg(not(loom))]

/// Returns the name by which a program with `--exact` runs only this test. A test of that name must exist.
macro_rules! name_of {
    ($test:ident) => {{
        let _: fn() = $test;
        concat!(module_path!(), "::", stringify!($test)).split_once("::").expect("the program's name comes first").1
    }};
}

mod biased;
mod crafted;
mod deaths;
mod exclusion;
mod fenced;
mod forks;
mod old_kernel;
mod registration;
mod sequence;
mod spin;
mod stops;
mod timeouts;
mod waiters_at_fork;
mod waits;
mod without_sequences;
mod without_std;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};
use tempfile::TempDir;
use ulocks::shared::{Plain, Result, SharedMemory};

const FILE: &str = "ULOCKS_TEST_FILE";
const LOCK: &str = "ULOCKS_TEST_LOCK";

/// Returns the file and role of this process, if it is a child of the test.
fn child_role() -> Option<(PathBuf, String)> {
    Some((env::var_os(FILE)?.into(), env::var(LOCK).unwrap_or_default()))
}

/// Runs this test again in another process.
fn run_again(test: &str, file: &Path, lock: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .env(LOCK, lock)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns a step of a filter of system calls; `jf` is how many steps are passed over if its comparison is false.
fn filter_step(code: u32, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf, k }
}

/// Filters the system calls of this thread, and of the threads that it creates; returns whether that succeeded.
fn install_filter(steps: &mut [libc::sock_filter]) -> bool {
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter and its steps outlive the calls, which copy them.
    unsafe {
        let [no, yes, by_filter] = [0, 1, libc::SECCOMP_MODE_FILTER].map(libc::c_ulong::from);
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, by_filter, &raw const filter) == 0
    }
}

macro_rules! safely {
    ($($name:ident),*) => {
        $(fn $name<T: Plain>(path: impl AsRef<Path>, layout: u32) -> Result<SharedMemory<T>> {
            // SAFETY: the file is in the test's own directory, and each test uses its file as one type.
            unsafe { SharedMemory::$name(path, layout) }
        })*
    };
}

safely!(create, open, open_or_create);

fn file() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("locks");
    (directory, file)
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: this process has not waited for the child, so the number identifies it.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

/// Waits for an effect of another process, and panics after a minute: no test depends on how long it takes.
fn until(effect: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute until {effect}");
        thread::sleep(Duration::from_micros(200));
    }
}
