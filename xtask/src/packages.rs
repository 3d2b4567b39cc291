//! The products of a release: the archive of static binaries, the Debian package, the container image, and their
//! checksums.

use crate::compile::{self, Binaries, install};
use crate::programs::{DESCRIPTION, SUMMARY};
use crate::sbom::version;
use crate::tool::{ARCHES, Arch, Skipped, is_here, moment, need, output_of, run, tar};
use anyhow::Context;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

// The layout of installed files, as a directory with the layout of the system.
//
// The programs write their own man pages and completions. The archive of static binaries has `bin`, and `share` as
// below `/usr`; it can be unpacked anywhere.

/// Texts that come with every copy.
const TEXTS: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "docs/glossary.md"];

/// Creates an empty directory for files that are packed under this name.
///
/// # Errors
/// It cannot be created.
fn fresh(output: &Path, name: &str) -> anyhow::Result<PathBuf> {
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
fn lay_out(arch: &Arch, binaries: &Binaries, prefix: &Path) -> anyhow::Result<()> {
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

/// Packs the debug information of programs in a separate archive; returns its name within `output`.
///
/// # Errors
/// A tool is missing, or fails.
pub fn make_debug_archive(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    need("tar", "tar")?;
    let name = format!("contend-{}-{}-linux-{}-debug", version()?, arch.name, binaries.library);
    let folder = fresh(output, &name)?;
    for program in &binaries.programs {
        let debug = binaries.debug(program.name);
        fs::copy(&debug, folder.join(format!("{}.debug", program.name)))
            .with_context(|| debug.display().to_string())?;
    }
    let file = PathBuf::from(format!("{name}.tar.gz"));
    tar(&output.join("stage"), &name, &output.join(&file))?;
    Ok(file)
}

/// Makes the Debian package; returns its name within `output`.
///
/// The input of `dpkg-deb` is a directory with the layout of the system, and a page of fields. The package depends on
/// the newest version of the C library that a binary needs.
///
/// # Errors
/// A tool is missing, or fails.
pub fn make_package(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    let name = format!("contend_{}_{}", version()?, arch.debian);
    let folder = fresh(output, &name)?;
    lay_out(arch, binaries, &folder.join("usr"))?;
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

/// Makes a container image of static binaries, from `packaging/Containerfile`, by an installed engine; returns its name
/// within `output`.
///
/// # Errors
/// No engine is installed, or it fails.
pub fn make_image(arch: &Arch, binaries: &Binaries, output: &Path) -> anyhow::Result<PathBuf> {
    let Some(engine) = ["podman", "docker"].into_iter().find(|engine| is_here(engine)) else {
        return Err(Skipped("podman or docker".into()).into());
    };
    let name = format!("contend-{}-{}-image", version()?, arch.name);
    let folder = fresh(output, &name)?;
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

/// The checksums, as `sha256sum --check` reads them.
const SUMS_FILE: &str = "SHA256SUMS";

/// Writes the file for all files in the directory: those that an earlier run made for another processor are to be
/// checked too.
///
/// # Errors
/// `sha256sum` is missing, or fails.
pub fn write_checksums(folder: &Path) -> anyhow::Result<()> {
    let sums = output_of(Command::new("sha256sum").arg("--").args(files_of(folder)?).current_dir(folder))?;
    fs::write(folder.join(SUMS_FILE), &sums)?;
    print!("{sums}");
    Ok(())
}

/// Returns the names of the files to sum, in order.
fn files_of(folder: &Path) -> anyhow::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != SUMS_FILE {
            names.push(entry.file_name());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_version_is_compared_as_a_number() {
        assert_eq!(newest_glibc(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0"), Some(34));
        assert_eq!(newest_glibc(b"GLIBC_2.\0GLIBC_PRIVATE"), None);
    }

    #[test]
    fn file_of_an_earlier_run_keeps_its_sum() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("stage")).unwrap();
        for name in ["of-x86_64.tar.gz", "of-aarch64.tar.gz"] {
            fs::write(folder.path().join(name), name).unwrap();
            write_checksums(folder.path()).unwrap();
        }
        let sums = fs::read_to_string(folder.path().join(SUMS_FILE)).unwrap();
        let names: Vec<&str> = sums.lines().map(|line| line.split_whitespace().last().unwrap()).collect();
        assert_eq!(names, ["of-aarch64.tar.gz", "of-x86_64.tar.gz"]);
        let checks =
            Command::new("sha256sum").args(["--check", "--quiet", SUMS_FILE]).current_dir(folder.path()).status();
        assert!(checks.unwrap().success());
    }
}
