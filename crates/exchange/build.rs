//! Compiles the library that other programs load: this crate's sources, with `--cfg preload`, and the locks' own, by
//! the same compiler, so that its bytes can lie in whoever uses this crate.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is taken of `ulocks`, as it is. What these files ask of their crate stands in for the rest of it: see `lib.rs`.
const LOCKS: [&str; 14] = [
    "atomic.rs",
    "count.rs",
    "cpu.rs",
    "patience.rs",
    "restartable/mod.rs",
    "adaptive/mod.rs",
    "adaptive_rw/mod.rs",
    "calock.rs",
    "usema.rs",
    "semaphore.rs",
    "futex_sem.rs",
    "benaphore.rs",
    "ticket.rs",
    "mcs.rs",
];

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(preload)");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let locks = fs::canonicalize(manifest.join("../ulocks/src")).expect("the crate of the locks lies beside this one");
    println!("cargo::rerun-if-changed={}", locks.display());
    fs::write(out.join("locks.rs"), modules(&locks)).expect("OUT_DIR can be written");
    let library = out.join("libulocks_pthread.so");
    if variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        compile(&manifest.join("src/lib.rs"), &library);
    } else {
        fs::write(&library, []).expect("OUT_DIR can be written");
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// The declarations of the locks' modules, where they lie.
fn modules(locks: &Path) -> String {
    let module = |file: &&str| {
        let name = file.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        format!("#[path = {:?}]\n#[allow(dead_code, missing_docs, unused)]\nmod {name};\n", locks.join(file))
    };
    LOCKS.iter().map(module).collect()
}

fn compile(source: &Path, library: &Path) {
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args([
        "--crate-name",
        "ulocks_pthread",
        "--edition",
        "2024",
        "--crate-type",
        "cdylib",
        "--cfg",
        "preload",
    ]);
    compiler.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols"]);
    // A thread that is cancelled unwinds through it, and needs the tables.
    compiler.args(["-C", "force-unwind-tables=yes"]);
    // A thread's last restartable sequence may have been in it: the kernel may look at it after a `dlclose`.
    compiler.args(["-C", "link-arg=-Wl,-z,nodelete", "-C", "link-arg=-Wl,-soname,libulocks_pthread.so"]);
    compiler.args(["--cap-lints", "allow", "--target", &variable("TARGET")]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.args(["-C", &format!("linker={linker}")]);
    }
    let status = compiler.arg("-o").arg(library).arg(source).status().expect("the compiler starts");
    assert!(status.success(), "the library for LD_PRELOAD does not compile");
}
