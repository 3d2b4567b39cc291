//! A program without the standard library that uses the crate (`without_std/program.rs`), built and run.

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
fn program_without_std_uses_the_locks() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().unwrap();
    let main = package.join("tests/without_std/program.rs");
    let manifest = MANIFEST.replace("MAIN", main.to_str().unwrap()).replace("ULOCKS", package.to_str().unwrap());
    fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
    // The build uses the versions that are installed already.
    let lock = package.ancestors().map(|directory| directory.join("Cargo.lock")).find(|lock| lock.exists());
    fs::copy(lock.expect("the tests are built in a workspace"), directory.path().join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("without_std");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(&directory)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ended = Command::new(target.join("debug/without-std")).status().unwrap();
    assert!(ended.success(), "{ended}");
}
