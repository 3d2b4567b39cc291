//! Compiles the library that other programs load, from the same sources, with the same compiler, so that the crates
//! that use this crate can contain its bytes.

mod compile_preload;

use compile_preload::{compile, variable};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../../libs/instruments/src/log_buckets.rs");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=compile_preload.rs");
    println!("cargo::rustc-check-cfg=cfg(preload)");
    let library = Path::new(&variable("OUT_DIR")).join("libinterpose.so");
    let source = Path::new(&variable("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    compile("interpose", &source, &library, &[], &[]);
}
