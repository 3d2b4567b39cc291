//! Compiling a library that other programs load, for the build scripts that have one.
//!
//! Those programs are the GNU C library's, whatever this build is for. A build for that library uses the compiler's own
//! way of linking. One for musl, which makes a binary that runs on any Linux, must not: it has no C library of the
//! other kind, and may be for another processor. So what the library needs of the C library is left open, without
//! versions, for the program's own to fill, however old that is; the compiler's own linker (`rust-lld`) does that from
//! stub libraries that have names and nothing else.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that a build sets if its binary must contain its libraries.
const REQUIRED: &str = "CONTEND_PRELOAD_REQUIRED";

/// The stubs for the C library's files: the name for the linker, and the name for the program.
///
/// Before version 2.34, the functions that a library needs were in several files; since then the others are there, and
/// empty.
const STAND_INS: [(&str, &str, bool); 8] = [
    ("c", "libc.so.6", true),
    ("dl", "libdl.so.2", true),
    ("pthread", "libpthread.so.0", true),
    ("gcc_s", "libgcc_s.so.1", false),
    ("gcc", "libgcc_s.so.1", false),
    ("m", "libm.so.6", false),
    ("rt", "librt.so.1", false),
    ("util", "libutil.so.1", false),
];

pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Compiles `source` to `library`, an object of this name that `settings` are linked into (`-z`, `-soname`); an empty
/// file where programs have no such thing. `absent` is for a build that has no C library: what an old one has no symbol
/// for, each with the function that stands for it.
pub fn compile(name: &str, source: &Path, library: &Path, settings: &[&str], absent: &[(&str, &str)]) {
    println!("cargo::rerun-if-env-changed={REQUIRED}");
    let made = match (variable("CARGO_CFG_TARGET_OS").as_str(), variable("CARGO_CFG_TARGET_ENV").as_str()) {
        ("linux", "gnu") => {
            let mut compiler = compiler(name, &variable("TARGET"));
            if let Ok(linker) = env::var("RUSTC_LINKER") {
                compiler.args(["-C", &format!("linker={linker}")]);
            }
            compiler.args(settings.iter().map(|setting| format!("-Clink-arg=-Wl,{}", setting.replace(' ', ","))));
            run(compiler.arg("-o").arg(library).arg(source))
        }
        ("linux", "musl") => {
            let defined = absent.iter().map(|(symbol, by)| format!("--defsym={symbol}={by}"));
            let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).chain(defined).collect();
            without_c_library(name, source, library, &settings)
        }
        _ => Err("programs of this target do not load such a library".to_owned()),
    };
    let Err(why) = made else { return };
    let is_required = variable("CARGO_CFG_TARGET_ENV") == "gnu" || env::var_os(REQUIRED).is_some();
    assert!(!is_required, "cannot build the library {name} for LD_PRELOAD: {why}");
    println!("cargo::warning=contend will not trace other programs: cannot build the library {name}: {why}");
    fs::write(library, []).expect("OUT_DIR can be written");
}

fn without_c_library(name: &str, source: &Path, library: &Path, settings: &[String]) -> Result<(), String> {
    let target = format!("{}-unknown-linux-gnu", variable("CARGO_CFG_TARGET_ARCH"));
    let folder = library.with_extension("stand-ins");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let empty = folder.join("empty.rs");
    let text = "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
    fs::write(&empty, text).map_err(|error| format!("{}: {error}", empty.display()))?;
    for (called, soname, _) in STAND_INS {
        let mut compiler = with_own_linker("empty", &target);
        compiler.arg(format!("-Clink-arg=-soname={soname}"));
        run(compiler.arg("-o").arg(folder.join(format!("lib{called}.so"))).arg(&empty))?;
    }
    let mut compiler = with_own_linker(name, &target);
    compiler.arg(format!("-Lnative={}", folder.display())).arg("-Clink-arg=--no-as-needed");
    compiler.args(
        STAND_INS.iter().filter(|(_, _, is_needed)| *is_needed).map(|(called, ..)| format!("-Clink-arg=-l{called}")),
    );
    compiler.args(settings.iter().flat_map(|setting| setting.split(' ')).map(|word| format!("-Clink-arg={word}")));
    run(compiler.arg("-o").arg(library).arg(source))
}

fn with_own_linker(name: &str, target: &str) -> Command {
    let mut compiler = compiler(name, target);
    compiler.args(["-C", "linker=rust-lld", "-C", "linker-flavor=ld.lld"]);
    compiler
}

fn compiler(name: &str, target: &str) -> Command {
    let mut compiler = Command::new(PathBuf::from(variable("RUSTC")));
    compiler.args(["--crate-name", name, "--edition", "2024", "--crate-type", "cdylib", "--cfg", "preload"]);
    // No unwinding: there is nothing in it that could catch one.
    compiler.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols"]);
    // Functions of a few instructions are placed in as few of the lines that the CPU decodes as possible, wherever they
    // are placed.
    compiler.args(["-C", "llvm-args=-align-all-functions=6"]);
    // A thread that is cancelled unwinds through it, and needs the tables.
    compiler.args(["-C", "force-unwind-tables=yes"]);
    compiler.args(["--cap-lints", "allow", "--target", target]);
    compiler
}

/// # Errors
/// The last line that the compiler prints, if it fails.
fn run(compiler: &mut Command) -> Result<(), String> {
    let output = compiler.output().map_err(|error| format!("cannot start the compiler: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.starts_with("error")).unwrap_or("the compiler failed");
    // All of it is in cargo's file with the output of this script.
    eprintln!("{said}");
    Err(line.to_owned())
}
