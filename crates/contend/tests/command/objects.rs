//! Shared objects with locks in them, compiled from C.

use std::path::{Path, PathBuf};
use std::process::Command;

const INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../locks/include");

/// Returns whether there is a compiler; prints a message if not.
pub fn can_compile() -> bool {
    let found = Command::new("cc").arg("--version").output().is_ok();
    if !found {
        println!("skipped: needs cc");
    }
    found
}

/// Compiles `libNAME.so` in that directory.
pub fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    let (file, object) = (folder.join(format!("{name}.c")), folder.join(format!("lib{name}.so")));
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-I", INCLUDE]).arg(&file).arg("-o").arg(&object);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    object
}
