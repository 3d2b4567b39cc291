//! The programs, compiled for a release.

use crate::programs::{PROGRAMS, Program};
use crate::tool::{self, Arch, Skipped, is_here, need, need_target, run};
use anyhow::Context;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs in a directory, without their symbols. The file `NAME.debug` in the same directory has these.
pub struct Binaries {
    pub folder: PathBuf,
    pub programs: Vec<&'static Program>,
    /// The C library that they use: the end of the name of their target.
    pub library: &'static str,
}

impl Binaries {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn debug(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.debug"))
    }
}

/// Compiles binaries that need nothing of the system but its kernel.
///
/// The compiler's own linker and the C library of its target make them, so that no other compiler is needed, except for
/// programs that contain C; without one, those are skipped. They contain libraries for programs that use the GNU C
/// library: for these, its target is needed too.
///
/// # Errors
/// A target is missing, or sources do not compile.
pub fn static_binaries(arch: &Arch) -> anyhow::Result<Binaries> {
    need_target(&arch.target("musl"))?;
    need_target(&arch.target("gnu"))?;
    compile(arch, "musl", "rust-lld", "-C target-feature=+crt-static")
}

/// Compiles binaries that use the system's C library, as Debian's do.
///
/// # Errors
/// A target or a linker is missing, or sources do not compile.
pub fn debian_binaries(arch: &Arch) -> anyhow::Result<Binaries> {
    need("dpkg-deb", "dpkg")?;
    need_target(&arch.target("gnu"))?;
    need(arch.c_compiler(), &arch.c_package())?;
    compile(arch, "gnu", arch.c_compiler(), "")
}

fn compile(arch: &Arch, library: &'static str, linker: &str, flags: &str) -> anyhow::Result<Binaries> {
    let target = &arch.target(library);
    let programs = that_can_be_compiled(arch);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--target", target]);
    for package in programs.iter().map(|program| program.package).collect::<BTreeSet<&str>>() {
        cargo.args(["--package", package]);
    }
    let variable =
        |target: &str, name: &str| format!("CARGO_TARGET_{}_{name}", target.to_uppercase().replace('-', "_"));
    // Programs that run while compiling always have the same linker: otherwise cargo takes them for others, and
    // compiles them again for each target.
    cargo.env(variable(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH), "LINKER"), "cc");
    cargo.env(variable(target, "LINKER"), linker).env("CONTEND_PRELOAD_REQUIRED", "1");
    cargo.env(format!("CC_{}", target.replace('-', "_")), arch.c_compiler());
    if !flags.is_empty() {
        cargo.env(variable(target, "RUSTFLAGS"), flags);
    }
    run(&mut cargo)?;
    let built = folder_of_builds()?.join(target).join("release");
    let binaries = Binaries { folder: built.join("stripped"), programs, library };
    fs::create_dir_all(&binaries.folder)?;
    for program in &binaries.programs {
        split(&built.join(program.name), &binaries.path(program.name), &binaries.debug(program.name))?;
    }
    Ok(binaries)
}

/// Returns the programs that can be compiled here; prints a message for each skipped one.
fn that_can_be_compiled(arch: &Arch) -> Vec<&'static Program> {
    let has_c = is_here(arch.c_compiler());
    let (programs, left_out): (Vec<_>, Vec<_>) = PROGRAMS.iter().partition(|program| has_c || !program.needs_c);
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|program| program.name).collect();
        let reason = Skipped(format!("{} (Debian: {})", arch.c_compiler(), arch.c_package()));
        println!("{}, {}: {reason}", names.join(", "), arch.name);
    }
    programs
}

fn folder_of_builds() -> anyhow::Result<PathBuf> {
    let metadata = crate::sbom::metadata()?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target")))
}

/// Copies the programs to where a user's shell finds them.
///
/// # Errors
/// A program is missing, or the destination cannot be written.
pub fn install(binaries: &Binaries, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for program in &binaries.programs {
        let place = folder.join(program.name);
        fs::copy(binaries.path(program.name), &place).with_context(|| place.display().to_string())?;
        tool::run(Command::new("chmod").arg("755").arg(&place))?;
    }
    Ok(())
}

/// Divides a binary into the program and its debug information, which debuggers find by its name.
fn split(binary: &Path, stripped: &Path, debug: &Path) -> anyhow::Result<()> {
    run(objcopy()?.arg("--only-keep-debug").arg(binary).arg(debug))?;
    let mut link = OsString::from("--add-gnu-debuglink=");
    link.push(debug);
    run(objcopy()?.arg("--strip-all").arg(link).arg(binary).arg(stripped))
}

/// Returns the compiler's own tool, which supports every processor; it finds its libraries next to the compiler's.
fn objcopy() -> anyhow::Result<Command> {
    let sysroot = PathBuf::from(tool::output_of(Command::new("rustc").args(["--print", "sysroot"]))?.trim());
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let own = sysroot.join("lib/rustlib").join(host).join("bin/rust-objcopy");
    if own.exists() {
        let mut objcopy = Command::new(own);
        objcopy.env("LD_LIBRARY_PATH", sysroot.join("lib"));
        return Ok(objcopy);
    }
    need("llvm-objcopy", "llvm")?;
    Ok(Command::new("llvm-objcopy"))
}
