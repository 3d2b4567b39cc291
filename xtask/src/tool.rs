//! Runs of other programs, and the names that each gives to a processor.

use anyhow::{Context, ensure};
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A missing tool, so that a product is skipped.
#[derive(Debug)]
pub struct Skipped(pub String);

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "skipped: needs {}", self.0)
    }
}

impl std::error::Error for Skipped {}

/// Returns whether the shell would find it.
pub fn is_here(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Checks that the program is installed.
///
/// # Errors
/// It is missing.
pub fn need(program: &str, package: &str) -> anyhow::Result<()> {
    if is_here(program) { Ok(()) } else { Err(Skipped(format!("{program} (Debian: {package})")).into()) }
}

/// Runs it to its end.
///
/// # Errors
/// It does not start, or fails.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Returns its output.
///
/// # Errors
/// As [`run`], or its output is not text.
pub fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the moment of the sources, in seconds since 1970, so that the same sources make the same archives.
pub fn moment() -> String {
    let mut git = Command::new("git");
    output_of(git.args(["log", "-1", "--format=%ct"]))
        .map_or_else(|_| "0".to_owned(), |seconds| seconds.trim().to_owned())
}

/// Packs a whole directory, owned by root and with the moment of the sources.
///
/// # Errors
/// tar is missing, or fails.
pub fn tar(folder: &Path, entries: &str, file: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
    tar.arg(format!("--mtime=@{}", moment())).arg("--use-compress-program=gzip -9n");
    run(tar.arg("-cf").arg(file).arg("-C").arg(folder).arg(entries))
}

/// A processor, and its names in each tool.
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
