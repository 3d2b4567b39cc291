//! A single picture, for a slide or a README: as SVG, or as the PNG that the program `contend-png` draws from it.

use crate::commands::external::ExternalProgram;
use crate::output::print_or_write;
use anyhow::{Context, bail, ensure};
use harness::output::{OutputFile, eprint_line};
use harness::{Format, SharedFlags, UsageError};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program that draws a PNG.
const PNG: ExternalProgram =
    ExternalProgram { binary: "contend-png", package: "contend-picture", folder: "crates/picture" };

/// Other kinds of pictures, which are refused with a message.
const OTHERS: [&str; 5] = ["jpg", "jpeg", "gif", "webp", "pdf"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Svg,
    Png,
}

impl Kind {
    /// Returns the kind of picture that `--output` names, if it names one.
    ///
    /// # Errors
    /// The kind is not supported, or contradicts `--format`.
    pub fn of(shared: &SharedFlags) -> Result<Option<Self>, UsageError> {
        let Some(path) = shared.output.as_deref().filter(|_| shared.writes_a_file()) else { return Ok(None) };
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let kind = match ending.as_str() {
            "svg" => Self::Svg,
            "png" => Self::Png,
            other if OTHERS.contains(&other) => {
                let how = "charts are written as .svg or .png; a browser converts them to other formats";
                return Err(UsageError(format!("--output {}: {how}", path.display())));
            }
            _ => return Ok(None),
        };
        if shared.format != Format::Text {
            let how = "a chart has no --format; omit it";
            return Err(UsageError(format!("--output {}: {how}", path.display())));
        }
        Ok(Some(kind))
    }

    /// Writes the picture to the file that `--output` names.
    ///
    /// # Errors
    /// It cannot be written or drawn.
    pub fn write(self, svg: &str, shared: &SharedFlags) -> anyhow::Result<()> {
        match (self, shared.output.as_deref()) {
            (Self::Png, Some(path)) => write_png(svg, path),
            _ => print_or_write(svg, shared),
        }
    }
}

fn write_png(svg: &str, path: &Path) -> anyhow::Result<()> {
    let how = || format!("cannot write {}", path.display());
    let program = PNG.find().with_context(|| PNG.missing()).with_context(how)?;
    // The file is opened first, so that an unwritable path is reported before drawing.
    let file = OutputFile::open("--output", path)?;
    let drawn = drawn(&program, svg).with_context(how)?;
    file.write(&drawn)
}

/// Returns the output of the program.
fn drawn(program: &Path, svg: &str) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new(program);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot run {}", program.display()))?;
    // The program reads everything before it writes; one that ended early has printed the reason.
    let written = child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(svg.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output()?;
    let message = String::from_utf8_lossy(&stderr);
    if !status.success() {
        bail!(
            "{}: {}",
            PNG.binary,
            if message.is_empty() { status.to_string() } else { message.trim_end().to_owned() }
        );
    }
    written.with_context(|| format!("{} did not read the SVG", PNG.binary))?;
    ensure!(stdout.starts_with(b"\x89PNG\r\n\x1a\n"), "{} did not produce a PNG", PNG.binary);
    message.lines().for_each(eprint_line);
    Ok(stdout)
}
