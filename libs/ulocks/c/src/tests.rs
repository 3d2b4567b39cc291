//! The headers and Rust agree, and an invalid pointer is described. Tests that need a compiler are in `tests/example.rs`.

use std::{fs, path::Path};

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Published packages contain the texts of both licences, not links to them.
#[test]
fn packages_contain_the_licence_texts() {
    let workspace = home().join("../../..");
    if !workspace.join("libs/instruments").exists() {
        return println!("skipped: needs the workspace");
    }
    for package in ["libs/ulocks", "libs/ulocks/c", "libs/chance", "libs/instruments", "libs/protothreads"] {
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = |directory: &Path| fs::read_to_string(directory.join(name)).unwrap();
            assert_eq!(text(&workspace.join(package)), text(&workspace), "{package}/{name}");
        }
    }
}

/// The inline functions contain the values of a word that Rust's lock uses without waiters.
#[test]
fn inline_functions_and_rust_agree_on_the_word() {
    use ulocks::{Adaptive, Shared};
    let header = fs::read_to_string(home().join("include/ulocks_inline.h")).unwrap();
    let held: u32 = header
        .lines()
        .find_map(|line| line.strip_prefix("#define ULOCKS_HELD_ "))
        .expect("the value of a held lock")
        .parse()
        .unwrap();
    let (private, shared) = (<Adaptive>::new(), Adaptive::<Shared>::new());
    // SAFETY: the locks are words of this size without padding, and no other thread uses them.
    let words = || unsafe { ((&raw const private).cast::<u32>().read(), (&raw const shared).cast::<u32>().read()) };
    assert_eq!((size_of_val(&private), align_of_val(&private), size_of_val(&shared)), (4, 4, 4));
    assert_eq!(words(), (0, 0));
    private.lock();
    shared.lock();
    assert_eq!(words(), (held, held));
    // SAFETY: this thread has acquired both.
    unsafe {
        private.unlock();
        shared.unlock();
    }
    assert_eq!(words(), (0, 0));
}

/// Runs in another process, which the error ends: a debug build describes the error in the pointer.
#[test]
#[cfg(debug_assertions)]
fn debug_build_rejects_an_invalid_pointer_with_a_message() {
    use std::{env, process::Command};
    const ADDRESS: &str = "ULOCKS_TEST_ADDRESS";
    if let Ok(address) = env::var(ADDRESS) {
        let pointer = std::ptr::without_provenance(address.parse().unwrap());
        // SAFETY: the pointer is not valid, but the check under test rejects it before any memory is read.
        unsafe { crate::ulock_lock(pointer) };
        return;
    }
    for (address, message) in [("0", "a null pointer"), ("4098", "not a multiple of 4")] {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["--exact", "tests::debug_build_rejects_an_invalid_pointer_with_a_message", "--nocapture"])
            .env(ADDRESS, address);
        let output = test.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(message), "{address}: {stderr}");
    }
}

/// The sizes of the locks are the same in C and in Rust.
#[test]
fn lock_sizes_equal_those_of_the_header() {
    use ulocks::{
        Adaptive, AdaptiveRw, Calock, Condvar, FutexSem, Once, Pi, Robust, RwLock, RwLockFair, Shared, Usema,
    };
    let header = fs::read_to_string(home().join("include/ulocks.h")).unwrap();
    let words = |name: &str| {
        let line = header.lines().find(|line| line.ends_with(&format!("}} {name};"))).unwrap();
        let count = line.split(['[', ']']).nth(1).map_or(2, |digits| digits.parse().unwrap());
        count * size_of::<u32>()
    };
    assert_eq!(words("shared_ulock_t"), size_of::<Adaptive<Shared>>());
    assert_eq!(words("calock_t"), size_of::<Calock>());
    assert_eq!(words("usema_t"), size_of::<Usema>());
    assert_eq!(words("pilock_t"), size_of::<Pi>());
    assert_eq!(words("urw_t"), size_of::<AdaptiveRw>());
    assert_eq!(words("ucond_t"), size_of::<Condvar>());
    assert_eq!(words("uonce_t"), size_of::<Once>());
    assert_eq!(words("urwlock_t"), size_of::<RwLock>());
    assert_eq!(words("ufairlock_t"), size_of::<RwLockFair>());
    assert_eq!(words("usem_t"), size_of::<FutexSem>());
    assert_eq!(words("robust_ulock_t"), size_of::<Robust>());
}
