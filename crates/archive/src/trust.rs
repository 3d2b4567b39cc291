//! The decision whether an archive may be opened at all. Git follows the instructions of the repository that it works
//! on: it runs hooks and other programs that are named there, as the user who only reads. So only its owner may read an
//! archive, and its settings must not name a program.

use crate::git;
use crate::shell::quoted;
use anyhow::{Context, bail, ensure};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Sections whose settings name no program, with the exceptions below.
const HARMLESS_SECTIONS: &[&str] = &["gc.", "pack.", "repack.", "user."];
const HARMFUL: &[&str] = &["gc.recentobjectshook"];
/// Further settings, which Git itself and `contend` write.
const HARMLESS: &[&str] = &[
    "core.bare",
    "core.compression",
    "core.filemode",
    "core.fsync",
    "core.fsyncmethod",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.loosecompression",
    "core.precomposeunicode",
    "core.repositoryformatversion",
    "core.sharedrepository",
    "core.symlinks",
    "extensions.objectformat",
    "fetch.fsckobjects",
    "maintenance.auto",
    "receive.fsckobjects",
    "transfer.fsckobjects",
];
/// The settings of a named remote that give its location.
const HARMLESS_OF_REMOTES: &[&str] = &[".url", ".pushurl", ".fetch"];

/// Checks that the archive and all its files belong to this user.
///
/// # Errors
/// They do not; the error says what to do.
pub fn check_owner(folder: &Path) -> anyhow::Result<()> {
    let (place, user) = (folder.display(), rustix::process::geteuid().as_raw());
    let owner = fs::metadata(folder).with_context(|| format!("{place}: cannot read the archive"))?.uid();
    let quoted = quoted(folder.as_os_str().as_bytes());
    ensure!(
        owner == user,
        "{place}: the archive belongs to user {owner}, and you are user {user}; reading it could run programs of user \
         {owner} with your rights, and files that you write there could not be replaced later; name another \
         archive with --archive, or have user {owner} export the records with `git --git-dir {quoted} bundle create \
         FILE --all`, and import them with `contend history pull FILE`"
    );
    check_mode(folder, &fs::metadata(folder)?)?;
    check_entries(folder, user)?;
    // Git searches these two for objects and references, and one more level covers them all: a directory for each first
    // byte of a hash, one for each kind of reference.
    ["objects", "refs"].into_iter().try_for_each(|name| check_entries(&folder.join(name), user))
}

/// Checks that every entry of this directory of the archive belongs to its user and is writable only by this user.
fn check_entries(folder: &Path, user: u32) -> anyhow::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("{}: cannot read the archive", folder.display()))?,
    };
    for entry in entries {
        let entry = entry?;
        let found = match entry.metadata() {
            // Another process has removed its lock or its draft since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found?,
        };
        // A file of root adds no risk, since root may change everything anyway.
        let (owner, file) = (found.uid(), entry.path());
        ensure!(
            owner == user || owner == 0,
            "{}: belongs to user {owner}, but the archive belongs to user {user}; check the file, then remove it",
            file.display()
        );
        ensure!(
            entry.file_name() != "commondir",
            "{}: redirects Git to another repository; remove the file",
            file.display()
        );
        check_mode(&file, &found)?;
    }
    Ok(())
}

/// Checks that not every user of the machine may write there, who could replace records and name programs that Git
/// runs.
fn check_mode(file: &Path, found: &fs::Metadata) -> anyhow::Result<()> {
    const OTHERS_WRITE: u32 = 0o002;
    let mode = found.mode() & 0o7777;
    ensure!(
        found.is_symlink() || mode & OTHERS_WRITE == 0,
        "{}: every user of this machine may write to this part of the archive (mode {mode:o}); check its content, \
         then run `chmod -R o-w {}`",
        file.display(),
        quoted(file.as_os_str().as_bytes())
    );
    Ok(())
}

/// Checks that everything a listing needs can be read: Git takes an unreadable directory for an empty one.
///
/// # Errors
/// A file cannot be read; the error says why.
pub fn check_readable(folder: &Path) -> anyhow::Result<()> {
    let files = ["HEAD", "config", "packed-refs"].map(|name| (name, fs::File::open(folder.join(name)).map(drop)));
    let folders = ["objects", "objects/pack", "refs", "refs/records"]
        .map(|name| (name, fs::read_dir(folder.join(name)).map(drop)));
    for (name, read) in files.into_iter().chain(folders) {
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => read.with_context(|| format!("{}: cannot read the archive", folder.join(name).display()))?,
        }
    }
    Ok(())
}

/// Checks that its settings name no program.
///
/// # Errors
/// A setting may name one, and the error says how to remove it; or Git is missing.
pub fn check_settings(folder: &Path) -> anyhow::Result<()> {
    let file = folder.join("config");
    let place = file.display();
    for name in
        git::names_of_settings(&file).with_context(|| format!("{place}: cannot read the settings of the archive"))?
    {
        if !is_harmless(&name) {
            let (file, name) = (quoted(file.as_os_str().as_bytes()), quoted(name.as_bytes()));
            bail!(
                "{place}: sets {name}, which contend does not set, and which may run programs or redirect Git to \
                 another repository; unless you want it, remove it with `git config --file {file} --unset-all {name}`"
            );
        }
    }
    Ok(())
}

fn is_harmless(name: &str) -> bool {
    let of_remote = |end: &&str| name.starts_with("remote.") && name.ends_with(*end);
    let in_section = HARMLESS_SECTIONS.iter().any(|section| name.starts_with(section)) && !HARMFUL.contains(&name);
    HARMLESS.contains(&name) || in_section || HARMLESS_OF_REMOTES.iter().any(of_remote)
}
