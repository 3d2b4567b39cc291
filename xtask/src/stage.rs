//! What is installed, laid out in a folder as it will lie in the system.

use crate::arch::{ARCHES, Arch};
use crate::compile::{self, Binaries, install};
use crate::pages;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// Texts that come with every copy.
const TEXTS: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/glossary.md"];

/// A fresh folder for what is packed under this name.
///
/// # Errors
/// It cannot be made.
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
/// Something is not there or cannot be written.
pub fn lay_out(arch: &Arch, binaries: &Binaries, prefix: &Path) -> anyhow::Result<()> {
    install(binaries, &prefix.join("bin"))?;
    let share = prefix.join("share");
    if arch.is_here() {
        pages::write(binaries, &share)?;
    } else {
        let here = ARCHES.iter().find(|arch| arch.is_here()).context("this processor is not known")?;
        pages::write(&compile::static_binaries(here)?, &share)?;
    }
    let texts = share.join("doc/contend");
    fs::create_dir_all(&texts)?;
    for text in TEXTS {
        let name = Path::new(text).file_name().context("a text has a name")?;
        fs::copy(text, texts.join(name)).with_context(|| text.to_owned())?;
    }
    Ok(())
}
