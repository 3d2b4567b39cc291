//! The locks between processes: at different addresses, with holders that are stopped or killed, across forks, and
//! where the kernel or the memory is not what the locks expect.
//!
//! The test binary runs itself again for another process (so that threads of the test runner are not forked), in the
//! test named by its arguments, with its orders in the environment. `ULOCKS_KILLS` sets how often the robust lock's
//! holder is killed (10,000 for a thorough run).
#![cfg(not(loom))]

/// The name by which a program with `--exact` runs this test alone. A test of that name has to exist.
macro_rules! name_of {
    ($test:ident) => {{
        let _: fn() = $test;
        concat!(module_path!(), "::", stringify!($test)).split_once("::").expect("the program's name comes first").1
    }};
}

mod crafted;
mod deaths;
mod exclusion;
mod forks;
mod registration;
mod stops;
mod waiters_at_fork;
mod without_sequences;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};
use tempfile::TempDir;
use ulocks::shared::{Plain, Result, SharedMemory};

const FILE: &str = "ULOCKS_TEST_FILE";
const LOCK: &str = "ULOCKS_TEST_LOCK";

/// The file that this process works on, if it is a child of the test.
fn orders() -> Option<(PathBuf, String)> {
    Some((env::var_os(FILE)?.into(), env::var(LOCK).unwrap_or_default()))
}

/// Runs this test again in another process.
fn again(test: &str, file: &Path, lock: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FILE, file)
        .env(LOCK, lock)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
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
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("locks");
    (folder, file)
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: the child has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), signal) }, 0);
}

/// Waits for something that another process does. Too long is an error: nothing here depends on how long.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited a minute until {what}");
        thread::sleep(Duration::from_micros(200));
    }
}
