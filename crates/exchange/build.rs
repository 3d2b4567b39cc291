//! The build of the library that other programs load, from this crate's sources with `--cfg preload` and those of the
//! locks.
//!
//! The same compiler makes both, so that every user of this crate contains the library's bytes.

#[path = "../interpose/compile_preload.rs"]
mod compile_preload;

use compile_preload::{compile, variable};
use std::fs;
use std::path::{Path, PathBuf};

/// The source files of `ulocks`, unchanged.
///
/// `lib.rs` replaces the other items of that crate that they use.
const LOCKS: [&str; 16] = [
    "atomic.rs",
    "count.rs",
    "cpu.rs",
    "naps.rs",
    // The tests of the others need it.
    "explore.rs",
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

/// The source files of the peers of `locks`, unchanged, but for `atomic.rs`, which this crate replaces.
const PEERS: [&str; 7] =
    ["algorithm.rs", "parking.rs", "twa.rs", "hapax.rs", "reciprocating.rs", "cna.rs", "malthusian.rs"];

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../interpose/compile_preload.rs");
    println!("cargo::rustc-check-cfg=cfg(preload)");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    // Features of the locks' own crate, which are off here.
    println!("cargo::rustc-check-cfg=cfg(feature, values(\"rseq-aarch64\", \"no-rseq\"))");
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let locks = fs::canonicalize(manifest.join("../../libs/ulocks/src")).expect("the crate of the locks is in libs");
    println!("cargo::rerun-if-changed={}", locks.display());
    fs::write(out.join("locks.rs"), modules(&locks, &LOCKS)).expect("OUT_DIR can be written");
    let peers =
        fs::canonicalize(manifest.join("../locks/src/peers")).expect("the crate of the peers is next to this one");
    println!("cargo::rerun-if-changed={}", peers.display());
    fs::write(out.join("peers.rs"), modules(&peers, &PEERS)).expect("OUT_DIR can be written");
    let shared = fs::canonicalize(manifest.join("../interpose/src/shared")).expect("interpose is next to this crate");
    fs::write(out.join("shared.rs"), shared_modules(&shared)).expect("OUT_DIR can be written");
    let library = out.join("libulocks_pthread.so");
    // Mutexes of the program contain this library's locks, which other functions would not understand.
    let settings = ["-z nodelete", "-soname libulocks_pthread.so", "-lgcc_s"];
    // Until 2.33 these two were in every program, and in no library. Rust's standard library refers to them; no lock
    // does.
    let absent = [("fstat64", "ulocks_no_file"), ("stat64", "ulocks_no_file")];
    compile("ulocks_pthread", &manifest.join("src/lib.rs"), &library, &settings, &absent);
}

/// Returns the declarations of the modules that `interpose` has, too: how contend passes its memory to a library, how
/// the library finds the functions that it replaces, and where condition variables note their attributes.
fn shared_modules(interpose: &Path) -> String {
    let module = |name: &str, attributes: &str| {
        let file = interpose.join(name).with_extension("rs");
        println!("cargo::rerun-if-changed={}", file.display());
        format!("{attributes}\n#[path = {file:?}]\npub(crate) mod {name};\n")
    };
    let of_library = "#[cfg(any(preload, clippy))]\n#[cfg_attr(not(preload), allow(dead_code))]";
    module("memory_file", "#[cfg(not(preload))]")
        + &module("condition", of_library)
        + &module("exec", of_library)
        + &module("kernel", of_library)
        + &module("next_object", of_library)
}

/// Returns the declarations of the locks' modules, with their paths.
fn modules(locks: &Path, files: &[&str]) -> String {
    let module = |file: &&str| {
        let name = file.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        format!("#[path = {:?}]\n#[allow(dead_code, missing_docs, unused)]\npub(crate) mod {name};\n", locks.join(file))
    };
    files.iter().map(module).collect()
}
