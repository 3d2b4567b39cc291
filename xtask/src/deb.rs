//! A Debian package. The input of `dpkg-deb` is a directory with the layout of the system, and a page of fields. The
//! package depends on the newest version of the C library that a binary needs.

use crate::arch::Arch;
use crate::compile::Binaries;
use crate::programs::{DESCRIPTION, SUMMARY};
use crate::sbom::version;
use crate::stage;
use crate::tool::{moment, run};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the package; returns its name within `output`.
///
/// # Errors
/// A tool is missing, or fails.
pub fn make(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    let name = format!("contend_{}_{}", version()?, arch.debian);
    let folder = stage::fresh(output, &name)?;
    stage::lay_out(arch, binaries, &folder.join("usr"))?;
    follow_policy(&folder.join("usr/share"))?;
    // For user-supplied locks, which only this build can load: the others are static.
    let include = folder.join("usr/include");
    fs::create_dir_all(&include)?;
    fs::copy("crates/locks/include/contend_lock.h", include.join("contend_lock.h"))?;
    fs::create_dir(folder.join("DEBIAN"))?;
    fs::write(folder.join("DEBIAN/control"), control(arch, binaries, &folder)?)?;
    let file = PathBuf::from(format!("{name}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.env("SOURCE_DATE_EPOCH", moment()).args(["--root-owner-group", "-Zxz", "--build"]);
    run(dpkg.arg(&folder).arg(output.join(&file)).stdout(std::process::Stdio::null()))?;
    Ok(file)
}

/// Compresses man pages and the changelog, and puts the licences into one file.
fn follow_policy(share: &Path) -> anyhow::Result<()> {
    let texts = share.join("doc/contend");
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"].map(|name| texts.join(name));
    let all: Vec<String> = licences.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    fs::write(
        texts.join("copyright"),
        format!("contend is under either of these, as you like.\n\n{}", all.join("\n\n")),
    )?;
    licences.iter().try_for_each(fs::remove_file)?;
    fs::rename(texts.join("CHANGELOG.md"), texts.join("changelog"))?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9n"]).arg(texts.join("changelog"));
    for page in fs::read_dir(share.join("man/man1"))? {
        gzip.arg(page?.path());
    }
    run(&mut gzip)
}

fn control(arch: &Arch, binaries: &Binaries, folder: &Path) -> anyhow::Result<String> {
    let mut needed = 0;
    for program in &binaries.programs {
        needed = needed.max(newest_glibc(&fs::read(binaries.path(program.name))?).unwrap_or(0));
    }
    let installed = size_kib(folder).with_context(|| folder.display().to_string())?;
    Ok(format!(
        "Package: contend\nVersion: {}\nArchitecture: {}\nMaintainer: the authors of contend <contend@localhost>\n\
         Section: devel\nPriority: optional\nInstalled-Size: {installed}\n\
         Depends: libc6 (>= 2.{needed}), libgcc-s1\nRecommends: git\n\
         Suggests: gcc, golang-go, python3, linux-perf\nDescription: {SUMMARY}\n {DESCRIPTION}\n",
        version()?,
        arch.debian
    ))
}

fn size_kib(folder: &Path) -> anyhow::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        total += if found.is_dir() { size_kib(&entry.path())? } else { found.len().div_ceil(1024) };
    }
    Ok(total)
}

/// Returns the second number of the newest version of the GNU C library (2.x) that is named in these bytes.
fn newest_glibc(binary: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"GLIBC_2.";
    let number = |at: usize| {
        let digits = binary[at..].iter().take_while(|byte| byte.is_ascii_digit()).take(4);
        digits.fold(None, |number: Option<u32>, digit| Some(number.unwrap_or(0) * 10 + u32::from(digit - b'0')))
    };
    let starts = binary.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    starts.filter_map(|(at, _)| number(at + NAME.len())).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_is_compared_as_a_number() {
        assert_eq!(newest_glibc(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0"), Some(34));
        assert_eq!(newest_glibc(b"GLIBC_2.\0GLIBC_PRIVATE"), None);
    }
}
