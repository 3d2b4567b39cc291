//! Processors, and their names in each tool.

use crate::tool::Skipped;
use anyhow::Context;
use std::process::Command;

pub struct Arch {
    pub name: &'static str,
    pub debian: &'static str,
    /// The name of container engines.
    pub container: &'static str,
    /// The linker of programs for Debian when another processor builds them.
    pub cross_linker: &'static str,
}

pub const ARCHES: &[Arch] = &[
    Arch { name: "x86_64", debian: "amd64", container: "amd64", cross_linker: "x86_64-linux-gnu-gcc" },
    Arch { name: "aarch64", debian: "arm64", container: "arm64", cross_linker: "aarch64-linux-gnu-gcc" },
];

impl Arch {
    pub fn named(name: &str) -> anyhow::Result<&'static Self> {
        let names: Vec<&str> = ARCHES.iter().map(|arch| arch.name).collect();
        let found = ARCHES.iter().find(|arch| arch.name == name);
        found.with_context(|| format!("--arch {name}: there are {}", names.join(", ")))
    }

    /// Returns the Rust target with this C library.
    pub fn target(&self, library: &str) -> String {
        format!("{}-unknown-linux-{library}", self.name)
    }

    /// Returns the compiler of C for it, which also links programs for Debian.
    pub fn c_compiler(&self) -> &'static str {
        if self.is_here() { "cc" } else { self.cross_linker }
    }

    /// Returns the Debian package that has the compiler.
    pub fn c_package(&self) -> String {
        format!("gcc-{}", self.cross_linker.trim_end_matches("-gcc").replace('_', "-"))
    }

    pub fn is_here(&self) -> bool {
        std::env::consts::ARCH == self.name
    }
}

/// Checks that the compiler has the standard library of this target; installs it with rustup where that exists.
///
/// # Errors
/// It is missing.
pub fn need_target(target: &str) -> anyhow::Result<()> {
    let library = || {
        let output = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output()?;
        anyhow::Ok(std::path::PathBuf::from(String::from_utf8(output.stdout)?.trim()).is_dir())
    };
    if library()? {
        return Ok(());
    }
    let _ = Command::new("rustup").args(["target", "add", target]).status();
    if library()? { Ok(()) } else { Err(Skipped(format!("the standard library of {target}")).into()) }
}
