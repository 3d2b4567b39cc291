//! A container image of static binaries, from `packaging/Containerfile`, by an installed engine.

use crate::arch::Arch;
use crate::compile::{Binaries, install};
use crate::sbom::version;
use crate::stage;
use crate::tool::{Skipped, is_here, moment, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the image; returns its name within `output`.
///
/// # Errors
/// No engine is installed, or it fails.
pub fn make(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    let Some(engine) = ["podman", "docker"].into_iter().find(|engine| is_here(engine)) else {
        return Err(Skipped("podman or docker".into()).into());
    };
    let name = format!("contend-{}-{}-image", version()?, arch.name);
    let folder = stage::fresh(output, &name)?;
    install(binaries, &folder.join("bin"))?;
    let tag = format!("localhost/contend:{}-{}", version()?, arch.container);
    let mut build = Command::new(engine);
    build.args(["build", "--quiet", "--network=none", "--platform"]).arg(format!("linux/{}", arch.container));
    if engine == "podman" {
        build.args(["--timestamp", &moment()]);
    }
    build.args(["--file", "packaging/Containerfile", "--tag", &tag]).arg(&folder);
    run(build.stdout(std::process::Stdio::null()))?;
    let file = PathBuf::from(format!("{name}.tar"));
    let place = output.join(&file);
    // An engine does not write into an existing file.
    if place.exists() {
        fs::remove_file(&place)?;
    }
    run(Command::new(engine).args(["save", "--output"]).arg(&place).arg(&tag))?;
    Ok(file)
}
