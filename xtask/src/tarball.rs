//! An archive of static binaries, to be unpacked anywhere: `bin`, and `share` as below `/usr`.

use crate::arch::Arch;
use crate::compile::Binaries;
use crate::sbom::version;
use crate::stage;
use crate::tool::{need, tar};
use std::path::{Path, PathBuf};

/// Its name, within `output`.
///
/// # Errors
/// A tool that is not here, or fails.
pub fn make(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    need("tar", "tar")?;
    let name = format!("contend-{}-{}-linux-static", version()?, arch.name);
    let folder = stage::fresh(output, &name)?;
    stage::lay_out(arch, binaries, &folder)?;
    let file = PathBuf::from(format!("{name}.tar.gz"));
    tar(&output.join("stage"), &name, &output.join(&file))?;
    Ok(file)
}
