//! Compiles the library that other programs load, from the same sources, with the same compiler, so that its bytes can
//! lie in whoever uses this crate.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(preload)");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = Path::new(&variable("OUT_DIR")).join("libinterpose.so");
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        std::fs::write(&library, []).expect("OUT_DIR can be written");
        return;
    }
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args(["--crate-name", "interpose", "--edition", "2024", "--crate-type", "cdylib", "--cfg", "preload"]);
    // No unwinding: there is nothing of the standard library in it that could catch one.
    compiler.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols"]);
    // A thread that is cancelled unwinds through it, and needs the tables.
    compiler.args(["-C", "force-unwind-tables=yes"]);
    compiler.args(["--cap-lints", "allow", "--target", &variable("TARGET")]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.args(["-C", &format!("linker={linker}")]);
    }
    let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let status = compiler.arg("-o").arg(&library).arg(source).status().expect("the compiler starts");
    assert!(status.success(), "the library for LD_PRELOAD does not compile");
}
