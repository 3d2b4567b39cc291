//! Man pages: the command's own, or one for each command in a directory.

use super::page;
use crate::output::print_or_write;
use anyhow::{Context, bail};
use clap::{Args, Command, ValueHint};
use harness::UsageError;
use harness::output::{self, OutputFile};
use harness::{Outcome, SharedFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Print the man page, or write one page per command to a directory
///
/// `contend man | man -l -` shows the page; `contend man ~/.local/share/man/man1` installs all pages.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Write contend.1, contend-latency.1 and so on to this directory, which is created if missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

/// Writes the pages of `command`.
///
/// # Errors
/// Flags do not apply to pages, a directory or file cannot be written, or a file is not a page of contend.
pub fn run(flags: &Flags, shared: &SharedFlags, command: Command) -> anyhow::Result<Outcome> {
    // Omitted, so that `help` has no page for each of the others.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match &flags.folder {
        None => print_or_write(&page::of(&command, None)?, shared)?,
        Some(_) if shared.output.is_some() => {
            return Err(
                UsageError("--output: `contend man DIR` writes several files; omit --output or DIR".into()).into()
            );
        }
        Some(folder) => write_all(&command, folder)?,
    }
    Ok(Outcome::Done)
}

fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let mut pages = Vec::new();
    collect(command, None, &mut pages)?;
    fs::create_dir_all(folder).with_context(|| format!("{}: cannot create the directory", folder.display()))?;
    let pages: Vec<(PathBuf, String)> = pages.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    // All files are opened before the first is written.
    let drafts = pages.iter().map(|(path, _)| draft(path)).collect::<anyhow::Result<Vec<OutputFile>>>()?;
    drafts.into_iter().zip(&pages).try_for_each(|(draft, (_, text))| draft.write(text.as_bytes()))?;
    output::eprint_line(&format!("{} pages in {}", pages.len(), folder.display()));
    Ok(())
}

/// Collects the page of a command and those of the commands below it, with their names.
fn collect(command: &Command, above: Option<&Command>, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    pages.push((format!("{}.1", page::name(command)), page::of(command, above)?));
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    below.into_iter().try_for_each(|one| collect(one, Some(command), pages))
}

/// Opens a file that an earlier contend wrote, which is replaced; any other existing file is refused.
fn draft(path: &Path) -> anyhow::Result<OutputFile> {
    match fs::read_to_string(path) {
        Ok(text) if !page::is_ours(&text) => {
            bail!("{}: the existing file is not a man page of contend; name another directory", path.display())
        }
        _ => OutputFile::open("the page", path),
    }
}
