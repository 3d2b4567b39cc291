//! Archives that another user made or changed, and environments that lead elsewhere: no foreign program runs.

use crate::command::archive::has_git;
use crate::command::executable;
use crate::command::place::{Place, RUN};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NOBODY: u32 = 65_534;

/// Every way to read an archive.
const READERS: &[&[&str]] = &[
    &["history"],
    &["history", "show", "last"],
    &["history", "trend"],
    &["history", "export", "last", "-"],
    &["history", "verify"],
    &["history", "push", "/nonexistent"],
    &["history", "pull", "/nonexistent"],
    &["compare", "last", "last~1"],
    &["report", "last"],
];

/// Returns a program that leaves a mark when it runs, and the mark.
fn trap(place: &Place) -> (PathBuf, PathBuf) {
    let (program, trace) = (place.beside("trap"), place.beside("trace"));
    executable(&program, format!("#!/bin/sh\necho ran >> {}\nexit 1\n", trace.display()));
    (program, trace)
}

/// Changes the owner of a directory and everything in it.
fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            give_away(&entry.path());
        } else {
            chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

/// Makes the archive a partial clone, whose missing objects come from a program.
fn set_trap(place: &Place) -> PathBuf {
    let (program, trace) = trap(place);
    let url = place.archive.to_str().unwrap();
    for (name, value) in [
        ("extensions.partialClone", "origin"),
        ("core.repositoryformatversion", "1"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", url),
        ("remote.origin.uploadpack", program.to_str().unwrap()),
    ] {
        assert!(place.git(&["config", name, value], &[]).status.success());
    }
    fs::create_dir_all(place.archive.join("hooks")).unwrap();
    for hook in ["pre-push", "reference-transaction", "pre-auto-gc", "post-rewrite"] {
        executable(&place.archive.join("hooks").join(hook), fs::read(&program).unwrap());
    }
    let blob =
        String::from_utf8(place.git(&["rev-parse", &format!("{}:record.json", place.first)], &[]).stdout).unwrap();
    fs::remove_file(place.archive.join("objects").join(&blob[..2]).join(blob[2..].trim())).unwrap();
    trace
}

#[test]
fn no_program_named_by_an_archive_is_run() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let trace = set_trap(&place);
    for reader in READERS {
        let message = place.refused(reader, 1);
        assert!(message.contains("may run programs") && message.contains("--unset-all"), "{reader:?}: {message}");
    }
    // The remedy is that of the message.
    for name in ["extensions.partialClone", "remote.origin.promisor", "remote.origin.uploadpack"] {
        place.git(&["config", "--unset-all", name], &[]);
    }
    place.stdout(&["history"]);
    let hub = Place::new();
    place.contend(&["history", "push", hub.archive.to_str().unwrap()]);
    place.contend(RUN);
    READERS.iter().for_each(|reader| drop(place.contend(reader)));
    assert!(!trace.exists());
}

#[test]
fn archive_is_read_only_by_its_owner() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let trace = set_trap(&place);
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root, to give the archive away");
    }
    give_away(&place.archive);
    for reader in READERS {
        let message = place.refused(reader, 1);
        assert!(
            message.contains("archive belongs to user 65534") && message.contains("bundle create"),
            "{reader:?}: {message}"
        );
    }
    assert!(!trace.exists());
}

/// The reverse case: an archive of root, read by another user; and the remedy in the message works.
#[test]
fn records_of_another_user_are_read_from_a_file() {
    if !has_git() {
        return;
    }
    let (place, own) = (Place::with_two(), Place::new());
    let bundle = place.beside("bundle");
    assert!(place.git(&["bundle", "create", "--quiet", bundle.to_str().unwrap(), "--all"], &[]).status.success());
    assert!(own.stdout(&["history", "pull", bundle.to_str().unwrap()]).contains("2 records fetched; 2 in all"));
    own.stdout(&["history", "verify"]);
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root, to be somebody else");
    }
    for folder in [place.archive.parent().unwrap(), &place.archive] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = place.command(&["history"]).uid(NOBODY).gid(NOBODY).output();
    match output {
        Ok(output) if output.status.code() != Some(127) => {
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && message.contains("you are user 65534"), "{message}");
        }
        _ => println!("skipped: needs a binary that others may run"),
    }
}

#[test]
fn an_archive_without_permission_is_an_error_with_its_reason() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let other = place.beside("binary");
    executable(&other, fs::read(env!("CARGO_BIN_EXE_contend")).unwrap());
    let is_root = rustix::process::geteuid().is_root();
    fs::set_permissions(place.archive.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    if is_root {
        give_away(&place.archive);
    }
    let records = place.archive.join("refs/records");
    let (objects, above) = (place.archive.join("objects"), place.archive.clone());
    for closed in [&records, &objects, &above] {
        let before = fs::metadata(closed).unwrap().permissions();
        fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
        let mut command = Command::new(&other);
        command.arg("history").env("CONTEND_ARCHIVE", &place.archive);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && message.contains("Permission denied"), "{closed:?}: {message}");
        fs::set_permissions(closed, before).unwrap();
    }
}

/// A hook of another repository may call `contend`, for example.
#[test]
fn git_variables_are_ignored() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let elsewhere = place.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("settings"), "[init]\n\tdefaultObjectFormat = sha256\n[core]\n\tbare = maybe\n").unwrap();
    let mislead = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        let (folder, settings) = (elsewhere.to_str().unwrap(), elsewhere.join("settings"));
        for name in ["DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "TEMPLATE_DIR", "EXEC_PATH"] {
            command.env(format!("GIT_{name}"), folder);
        }
        for (name, value) in [
            ("CONFIG", settings.to_str().unwrap()),
            ("DEFAULT_HASH", "sha256"),
            ("REPLACE_REF_BASE", "refs/records"),
            ("SHALLOW_FILE", settings.to_str().unwrap()),
            ("NAMESPACE", "other"),
            ("CONFIG_COUNT", "1"),
            ("CONFIG_KEY_0", "core.bare"),
            ("CONFIG_VALUE_0", "maybe"),
            ("CONFIG_GLOBAL", settings.to_str().unwrap()),
            ("REF_PARANOIA", "0"),
            ("LITERAL_PATHSPECS", "maybe"),
        ] {
            command.env(format!("GIT_{name}"), value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (_, message) = mislead(RUN);
    let id = message
        .lines()
        .find_map(|line| line.strip_prefix("archived as "))
        .unwrap_or_else(|| panic!("{message}"))
        .to_owned();
    assert_eq!(id.len(), 40);
    assert!(mislead(&["history"]).0.contains(&id[..10]));
    assert!(mislead(&["history", "verify"]).0.contains("1 record,"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}
