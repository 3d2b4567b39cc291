//! Tasks of the workspace: `cargo xtask check` checks the sources and the documents, `cargo xtask measured` runs the tests
//! that measure, and `cargo xtask dist` makes releases with the installed tools.
//!
//! A release has, for each processor, static binaries that need no C library of the system, in an archive and in a
//! container image; a Debian package of binaries that use the system's; a list of their components, and checksums. If a
//! tool is missing, its product is skipped with the message `skipped: needs …`.

mod compile;
mod measured;
mod packages;
mod programs;
mod sbom;
mod tool;

use anyhow::{Context, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool::{ARCHES, Arch, Skipped};

const USAGE: &str = "usage: cargo xtask check
       cargo xtask measured [--list] [--program NAME]… [FILTER]…
       cargo xtask dist [--arch x86_64|aarch64] [--only tar|deb|image] [--output DIRECTORY]

check     formatting, lints, documentation, imports, links and wording
measured  the tests that measure, or that watch real programs
dist      a release: without --arch, for each; without --only, all. The default directory is target/dist.
          What cannot be made here is skipped, with the reason; the exit status is 1 if nothing was made.";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_help = |arguments: &[String]| arguments.iter().any(|argument| ["--help", "-h"].contains(&argument.as_str()));
    match arguments.split_first() {
        Some((command, rest)) if command == "measured" && is_help(rest) => println!("{}", measured::USAGE),
        Some((command, _)) if command == "help" || is_help(&arguments) => println!("{USAGE}"),
        Some((command, [])) if command == "check" => check()?,
        Some((command, rest)) if command == "measured" => measured::measured(rest)?,
        Some((command, rest)) if command == "dist" => dist(&Request::of(rest)?)?,
        _ => bail!("{USAGE}"),
    }
    Ok(())
}

/// Checks the form of sources and documents, which no test of behaviour depends on.
fn check() -> anyhow::Result<()> {
    let cargo = |arguments: &[&str]| {
        println!("== cargo {}", arguments.join(" "));
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        tool::run(command.args(arguments).env("RUSTDOCFLAGS", "-D warnings"))
    };
    cargo(&["fmt", "--all", "--check"])?;
    let lints = ["clippy", "--workspace", "--locked", "--features", "contend/template"];
    let deny = ["--", "-D", "warnings"];
    cargo(&[&lints[..], &["--all-targets"], &deny].concat())?;
    // Targets with `test = false` are none of `--all-targets`.
    let apart = measured::names()?;
    let apart: Vec<&str> = apart.iter().flat_map(|name| ["--test", name]).chain(["--test", "structure"]).collect();
    cargo(&[&lints[..], &apart, &deny].concat())?;
    cargo(&["doc", "--workspace", "--no-deps", "--locked"])?;
    cargo(&["test", "--workspace", "--locked", "--test", "structure"])
}

/// The requested products.
struct Request {
    arches: Vec<&'static Arch>,
    kinds: Vec<&'static str>,
    output: PathBuf,
}

const KINDS: [&str; 3] = ["tar", "deb", "image"];

impl Request {
    fn of(arguments: &[String]) -> anyhow::Result<Self> {
        let mut request = Self { arches: Vec::new(), kinds: Vec::new(), output: PathBuf::from("target/dist") };
        for pair in arguments.chunks(2) {
            let [flag, value] = pair else { bail!("{}: it needs a value\n{USAGE}", pair[0]) };
            match flag.as_str() {
                "--arch" => request.arches.push(Arch::named(value)?),
                "--only" => {
                    let kind = KINDS.into_iter().find(|kind| kind == value);
                    request.kinds.push(kind.with_context(|| format!("--only {value}\n{USAGE}"))?);
                }
                "--output" => request.output = PathBuf::from(value),
                _ => bail!("{flag}: no such flag\n{USAGE}"),
            }
        }
        if request.arches.is_empty() {
            request.arches = ARCHES.iter().collect();
        }
        if request.kinds.is_empty() {
            request.kinds = KINDS.to_vec();
        }
        Ok(request)
    }

    fn wants(&self, kind: &str) -> bool {
        self.kinds.contains(&kind)
    }
}

fn dist(request: &Request) -> anyhow::Result<()> {
    fs::create_dir_all(&request.output).with_context(|| request.output.display().to_string())?;
    let mut products = Products { output: &request.output, files: 0 };
    for arch in &request.arches {
        if (request.wants("tar") || request.wants("image"))
            && let Some(binaries) = products.or_skip(arch, "static binaries", compile::static_binaries(arch))?
        {
            if request.wants("tar") {
                products.take(arch, "an archive", self::packages::make_archive(arch, &binaries, &request.output))?;
                products.take_debug(arch, &binaries)?;
            }
            if request.wants("image") {
                products.take(arch, "an image", self::packages::make_image(arch, &binaries, &request.output))?;
            }
        }
        if request.wants("deb")
            && let Some(binaries) = products.or_skip(arch, "binaries for Debian", compile::debian_binaries(arch))?
        {
            products.take(arch, "a package", self::packages::make_package(arch, &binaries, &request.output))?;
            products.take_debug(arch, &binaries)?;
        }
    }
    ensure!(products.files > 0, "nothing was made");
    sbom::write(&request.output)?;
    self::packages::write_checksums(&request.output)
}

/// The existing products.
struct Products<'a> {
    output: &'a Path,
    files: usize,
}

impl Products<'_> {
    /// Returns the product; if it could not be made, prints a message.
    fn or_skip<T>(&self, arch: &Arch, what: &str, product: anyhow::Result<T>) -> anyhow::Result<Option<T>> {
        match product {
            Ok(product) => Ok(Some(product)),
            Err(error) => match error.downcast::<Skipped>() {
                Ok(skipped) => {
                    println!("{what}, {}: {skipped}", arch.name);
                    Ok(None)
                }
                Err(error) => Err(error.context(format!("{what}, {}", arch.name))),
            },
        }
    }

    fn take_debug(&mut self, arch: &Arch, binaries: &compile::Binaries) -> anyhow::Result<()> {
        self.take(arch, "debug information", packages::make_debug_archive(arch, binaries, self.output))
    }

    fn take(&mut self, arch: &Arch, what: &str, product: anyhow::Result<PathBuf>) -> anyhow::Result<()> {
        if let Some(file) = self.or_skip(arch, what, product)? {
            println!(
                "{}: {} KiB",
                self.output.join(&file).display(),
                fs::metadata(self.output.join(&file))?.len() >> 10
            );
            self.files += 1;
        }
        Ok(())
    }
}
