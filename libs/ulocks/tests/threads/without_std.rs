//! The crate in a program that has no standard library (`without_std/program.rs`): built, and run.

use std::{env, fs, path::Path, process::Command};

const MANIFEST: &str = r#"
[package]
name = "without-std"
edition = "2024"

[workspace]

[[bin]]
name = "without-std"
path = "MAIN"

[dependencies]
ulocks = { path = "ULOCKS", default-features = false }
libc = { version = "0.2", default-features = false }

[profile.dev]
panic = "abort"
opt-level = 1
"#;

#[test]
fn a_program_without_std_locks() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let main = here.join("tests/without_std/program.rs");
    let manifest = MANIFEST.replace("MAIN", main.to_str().unwrap()).replace("ULOCKS", here.to_str().unwrap());
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    // The versions that are here already.
    let lock = here.ancestors().map(|folder| folder.join("Cargo.lock")).find(|lock| lock.exists());
    fs::copy(lock.expect("the tests are built in a workspace"), folder.path().join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("without_std");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(&folder)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ended = Command::new(target.join("debug/without-std")).status().unwrap();
    assert!(ended.success(), "{ended}");
}
