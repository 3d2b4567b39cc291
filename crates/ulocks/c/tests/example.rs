//! The C example, built with `cc` against the header and both libraries, and run.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

const EXPECTED: &str = "threads: 40000\nprocesses: 40000\nrobust: the owner died\nbusy: yes\n";

/// Where cargo put the libraries: beside this test, or one folder up.
fn library(name: &str) -> PathBuf {
    let here = env::current_exe().unwrap();
    here.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(name))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("cargo built no {name} for this test"))
}

fn build_and_run(program: &Path, link: &[&str], library: &Path) -> Option<String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-I"])
        .arg(home.join("include"))
        .arg(home.join("examples/tally.c"))
        .arg(library)
        .args(link)
        .arg("-o")
        .arg(program)
        .output();
    let compiled = match compiled {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: needs cc");
            return None;
        }
        result => result.unwrap(),
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(program).env("LD_LIBRARY_PATH", library.parent().unwrap()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn the_example_runs_with_either_library() {
    let folder = tempfile::tempdir().unwrap();
    let system = ["-lpthread", "-ldl", "-lm"];
    for name in ["libulocks_c.so", "libulocks_c.a"] {
        if let Some(printed) = build_and_run(&folder.path().join("tally"), &system, &library(name)) {
            assert_eq!(printed, EXPECTED, "with {name}");
        }
    }
}

/// In another process, which it ends: a debug build says what is wrong with the pointer.
#[test]
#[cfg(debug_assertions)]
fn a_debug_build_names_a_pointer_that_is_no_locks() {
    const ADDRESS: &str = "ULOCKS_TEST_ADDRESS";
    if let Ok(address) = env::var(ADDRESS) {
        let pointer = std::ptr::without_provenance(address.parse().unwrap());
        // SAFETY: it is none; the check that is tested comes before anything is read.
        unsafe { ulocks_c::ulock_lock(pointer) };
        return;
    }
    for (address, message) in [("0", "a null pointer"), ("4098", "not a multiple of 4")] {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", "a_debug_build_names_a_pointer_that_is_no_locks", "--nocapture"]).env(ADDRESS, address);
        let ended = test.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && said.contains(message), "{address}: {said}");
    }
}

/// What C thinks a lock's size is, Rust must think too.
#[test]
fn sizes_are_those_of_the_header() {
    use ulocks::{Adaptive, Calock, FutexSem, Pi, Robust, RwLock, RwLockFair, Shared, Usema};
    let header = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/ulocks.h")).unwrap();
    let words = |name: &str| {
        let line = header.lines().find(|line| line.ends_with(&format!("}} {name};"))).unwrap();
        let count = line.split(['[', ']']).nth(1).map_or(2, |digits| digits.parse().unwrap());
        count * size_of::<u32>()
    };
    assert_eq!(words("shared_ulock_t"), size_of::<Adaptive<Shared>>());
    assert_eq!(words("calock_t"), size_of::<Calock>());
    assert_eq!(words("usema_t"), size_of::<Usema>());
    assert_eq!(words("pilock_t"), size_of::<Pi>());
    assert_eq!(words("urwlock_t"), size_of::<RwLock>());
    assert_eq!(words("ufairlock_t"), size_of::<RwLockFair>());
    assert_eq!(words("usem_t"), size_of::<FutexSem>());
    assert_eq!(words("robust_ulock_t"), size_of::<Robust>());
}
