//! The layout of installed files, as a directory with the layout of the system.
//!
//! The programs write their own man pages and completions. The archive of static binaries has `bin`, and `share` as
//! below `/usr`; it can be unpacked anywhere.

use crate::arch::{ARCHES, Arch};
use crate::compile::{self, Binaries, install};
use crate::sbom::version;
use crate::tool::{need, run, tar};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Texts that come with every copy.
const TEXTS: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/glossary.md"];

/// Creates an empty directory for files that are packed under this name.
///
/// # Errors
/// It cannot be created.
pub fn fresh(output: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = output.join("stage").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// Puts programs, man pages, completions and texts below `prefix`.
///
/// # Errors
/// A file is missing or cannot be written.
pub fn lay_out(arch: &Arch, binaries: &Binaries, prefix: &Path) -> anyhow::Result<()> {
    install(binaries, &prefix.join("bin"))?;
    let share = prefix.join("share");
    if arch.is_here() {
        write_pages(binaries, &share)?;
    } else {
        let host = ARCHES.iter().find(|arch| arch.is_here()).context("this processor is not known")?;
        write_pages(&compile::static_binaries(host)?, &share)?;
    }
    let texts = share.join("doc/contend");
    fs::create_dir_all(&texts)?;
    for text in TEXTS {
        let name = Path::new(text).file_name().context("a text has a name")?;
        fs::copy(text, texts.join(name)).with_context(|| text.to_owned())?;
    }
    Ok(())
}

/// A shell, and the path of its completions below `/usr/share`; `*` is the program's name.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/*"),
    ("zsh", "zsh/vendor-completions/_*"),
    ("fish", "fish/vendor_completions.d/*.fish"),
];

/// Writes man pages and completions below a directory with the layout of `/usr/share`.
///
/// The programs are run: for those of another processor, pass copies for this one.
///
/// # Errors
/// A program fails, or a directory cannot be written.
fn write_pages(runnable: &Binaries, share: &Path) -> anyhow::Result<()> {
    let man = share.join("man/man1");
    fs::create_dir_all(&man)?;
    for program in runnable.programs.iter().filter(|program| program.describes_itself) {
        let path = runnable.path(program.name);
        run(Command::new(&path).arg("man").arg(&man))?;
        for (shell, place) in SHELLS {
            let place = share.join(place.replace('*', program.name));
            fs::create_dir_all(place.parent().unwrap_or(share))?;
            run(Command::new(&path).args(["completions", shell, "--output"]).arg(&place))?;
        }
    }
    Ok(())
}

/// Packs the archive; returns its name within `output`.
///
/// # Errors
/// A tool is missing, or fails.
pub fn make_archive(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    need("tar", "tar")?;
    let name = format!("contend-{}-{}-linux-static", version()?, arch.name);
    let folder = fresh(output, &name)?;
    lay_out(arch, binaries, &folder)?;
    let file = PathBuf::from(format!("{name}.tar.gz"));
    tar(&output.join("stage"), &name, &output.join(&file))?;
    Ok(file)
}
