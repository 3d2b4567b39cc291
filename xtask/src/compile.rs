//! The programs, compiled for a release.

use crate::programs::{PROGRAMS, Program};
use crate::tool::{self, Arch, Skipped, is_here, need, need_target, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs in a directory.
pub struct Binaries {
    pub folder: PathBuf,
    pub programs: Vec<&'static Program>,
}

impl Binaries {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
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
    compile(arch, &arch.target("musl"), "rust-lld", "-C target-feature=+crt-static")
}

/// Compiles binaries that use the system's C library, as Debian's do.
///
/// # Errors
/// A target or a linker is missing, or sources do not compile.
pub fn debian_binaries(arch: &Arch) -> anyhow::Result<Binaries> {
    need("dpkg-deb", "dpkg")?;
    need_target(&arch.target("gnu"))?;
    need(arch.c_compiler(), &arch.c_package())?;
    compile(arch, &arch.target("gnu"), arch.c_compiler(), "")
}

fn compile(arch: &Arch, target: &str, linker: &str, flags: &str) -> anyhow::Result<Binaries> {
    let programs = that_can_be_compiled(arch);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--profile", "whole", "--locked", "--target", target]);
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
    Ok(Binaries { folder: folder_of_builds()?.join(target).join("whole"), programs })
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

/// Copies the programs to where a user's shell finds them, without their symbols.
///
/// # Errors
/// A program is missing, the destination cannot be written, or no tool can strip.
pub fn install(binaries: &Binaries, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for program in &binaries.programs {
        let place = folder.join(program.name);
        strip(&binaries.path(program.name), &place)?;
        tool::run(Command::new("chmod").arg("755").arg(&place))?;
    }
    Ok(())
}

/// Strips with the compiler's own tool, which supports every processor; it finds its libraries next to the compiler's.
fn strip(binary: &Path, stripped: &Path) -> anyhow::Result<()> {
    let sysroot = PathBuf::from(tool::output_of(Command::new("rustc").args(["--print", "sysroot"]))?.trim());
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let llvm_objcopy = sysroot.join("lib/rustlib").join(host).join("bin/rust-objcopy");
    if llvm_objcopy.exists() {
        let mut objcopy = Command::new(llvm_objcopy);
        objcopy.env("LD_LIBRARY_PATH", sysroot.join("lib")).arg("--strip-all");
        return run(objcopy.arg(binary).arg(stripped));
    }
    need("llvm-objcopy", "llvm")?;
    run(Command::new("llvm-objcopy").arg("--strip-all").arg(binary).arg(stripped))
}
