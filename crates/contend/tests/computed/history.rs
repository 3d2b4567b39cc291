//! `contend history` through its binary, each test with its own archive.

use crate::command::archive::has_git;
use crate::command::place::{Place, RUN, kept};
use crate::command::read;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};
use std::time::Instant;

#[test]
fn run_is_archived_as_printed_and_found_by_its_names() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let run = place.contend(RUN);
    let first = kept(&run).unwrap();
    let second = place.keep();
    assert_eq!(place.ids(), [first.clone(), second.clone()]);
    for name in [&first[..8], "last~1"] {
        assert_eq!(place.stdout(&["history", "export", name, "-"]).as_bytes(), run.stdout);
    }
    assert!(place.stdout(&["history", "show", "last"]).contains(&second));
    let list = place.stdout(&["history", "list", "--experiment", "model frames", "--since", "1h"]);
    assert!(list.contains(&first[..10]) && list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let none = place.stdout(&["history", "--experiment", "frames"]);
    assert!(none.contains("no matching records") && none.contains("experiments in it: model frames\n"), "{none}");
    assert!(place.stdout(&["history", "verify"]).contains("2 records, all hashes are valid"));
}

#[test]
fn manifest_has_properties_that_git_does_not_store() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.keep();
    let manifest: Value = serde_json::from_str(&place.stdout(&["history", "show", "last", "--manifest"])).unwrap();
    let program = &manifest["program"];
    let binary = env!("CARGO_BIN_EXE_contend");
    // The note that the linker writes at the beginning of the file: its type, its owner, and then the ID.
    let id = program["hash"].as_str().unwrap().strip_prefix("build-id:").expect("a build ID");
    let bytes = (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
    let note: Vec<u8> = b"\x03\0\0\0GNU\0".iter().copied().chain(bytes).collect();
    assert!(fs::read(binary).unwrap()[..64 << 10].windows(note.len()).any(|bytes| bytes == note), "{program}");
    assert!(program["mode"].as_str().unwrap().starts_with("100"), "{program}");
    assert!(program["modified_unix_s"].as_i64().unwrap() > 1_600_000_000 && program["user_id"].is_u64(), "{program}");
    assert!(manifest["kernel_command_line"].is_string() && manifest["cgroups"].is_array(), "{manifest}");
    assert!(manifest["settings"].as_object().unwrap().keys().any(|path| path.starts_with("/proc/sys/")), "{manifest}");
    assert!(manifest["build"]["compiler"].as_str().unwrap().starts_with("rustc"), "{manifest}");
}

#[test]
fn records_are_deleted_unless_a_baseline_names_them() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let ids: Vec<String> = (0..4).map(|_| place.keep()).collect();
    place.stdout(&["baseline", "save", "main", "last~1"]);
    let refused = |arguments: &[&str], words: &str| {
        let output = place.command(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(words), "{arguments:?}: {stderr}");
        assert_eq!(place.ids().len(), 4);
    };
    refused(&["history", "rm", "--yes", "last~3..last"], "the baseline main names it");
    refused(&["history", "rm", "last"], "add --yes");
    refused(&["history", "rm", "--yes", "last..last~1"], "last~1..last");
    assert!(place.stdout(&["history", "rm", "--yes", "last~3..last~2"]).contains("deleted: 2 records"));
    assert_eq!(place.ids(), ids[2..]);
    assert!(place.stdout(&["history", "verify"]).contains("2 records, all hashes are valid"));
}

#[test]
fn nothing_is_archived_if_disabled() {
    let place = Place::new();
    let output = place.contend(&[RUN, &["--no-keep"]].concat());
    assert!(output.status.success() && kept(&output).is_none() && !place.archive.exists());
    let output = place.command(RUN).env("CONTEND_ARCHIVE", "").output().unwrap();
    assert!(output.status.success() && kept(&output).is_none() && output.stderr.is_empty());
}

/// Asserts that the values are printed, and that stderr and the record give the reason why they were not archived.
///
/// The exit status does so too, since a script that reads `last` next relies on it.
pub fn assert_not_archived(output: &Output, why: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let words = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(words.contains("[not_kept]") && words.contains(why), "{stderr}");
    assert_eq!(words.matches("not archived").count(), 1, "{stderr}");
    let record = read(&output.stdout);
    let warning = record["warnings"].as_array().unwrap().last().unwrap();
    assert!(warning["code"] == "not_kept" && warning["message"].as_str().unwrap().contains(why), "{warning}");
}

#[test]
fn unrelated_directory_or_file_is_not_changed() {
    let place = Place::new();
    fs::create_dir(&place.archive).unwrap();
    fs::write(place.archive.join("diary"), "mine").unwrap();
    assert_not_archived(&place.contend(RUN), "not a contend archive");
    assert!(place.refused(&["history"], 1).contains("the directory was not changed"));
    assert_eq!(fs::read_dir(&place.archive).unwrap().count(), 1);

    let place = Place::new();
    fs::write(&place.archive, "mine").unwrap();
    assert_not_archived(&place.contend(RUN), "a file, not an archive");
    assert_eq!(fs::read(&place.archive).unwrap(), b"mine");
}

#[test]
fn run_without_git_is_printed() {
    let place = Place::new();
    assert_not_archived(
        &place.command(RUN).env("PATH", "/nonexistent").output().unwrap(),
        "git: command not found in PATH",
    );
    assert!(!place.archive.exists());
}

#[test]
fn newer_or_foreign_archive_is_not_written() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.keep();
    fs::write(place.archive.join("contend-archive"), "2\n").unwrap();
    assert_not_archived(&place.contend(RUN), "layout \"2\"");
    fs::write(place.archive.join("contend-archive"), "1\n").unwrap();
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root, to give the archive away");
    }
    std::os::unix::fs::chown(&place.archive, Some(65_534), None).unwrap();
    assert_not_archived(&place.contend(RUN), "archive belongs to user 65534");
}

/// The file system is full, or read-only, in a private mount namespace, which ends with the command.
#[test]
fn full_or_read_only_disk_affects_only_the_archive() {
    if !has_git() {
        return;
    }
    let inside = |script: &str| {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["--mount", "bash", "-c", script, folder.path().to_str().unwrap()];
        Command::new("unshare").args(arguments).env("CONTEND_ARCHIVE", folder.path().join("a.git")).output()
    };
    match inside("mount -t tmpfs none \"$0\"") {
        Ok(output) if output.status.success() => {}
        _ => return println!("skipped: needs root and unshare"),
    }
    let binary = env!("CARGO_BIN_EXE_contend");
    let run = format!("{binary} {}", RUN.join(" "));
    let full = format!(
        "mount -t tmpfs -o size=400k none \"$0\" && {run} --quiet >/dev/null && head -c 1M /dev/zero 2>/dev/null > \"$0/other\"; {run}"
    );
    assert_not_archived(&inside(&full).unwrap(), "No space left");
    // Quiet, and into a file: the error is the only output that a CI shows.
    let quiet = inside(&format!("{full} --quiet --output /dev/null")).unwrap();
    assert_eq!(quiet.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&quiet.stderr).contains("No space left"), "{quiet:?}");
    let read_only =
        format!("mount -t tmpfs none \"$0\" && {run} --quiet >/dev/null && mount -o remount,ro \"$0\" && {run}");
    assert_not_archived(&inside(&read_only).unwrap(), "Read-only file system");
}

#[test]
fn damaged_archive_is_detected() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let (first, second) = (place.keep(), place.keep());
    // A reference that was moved.
    let moved = format!("refs/records/{first}");
    place.git(&["update-ref", &moved, &second], &[]);
    assert!(place.refused(&["history", "verify"], 1).contains("which does not match its name"));
    place.git(&["update-ref", &moved, &first], &[]);
    place.stdout(&["history", "verify"]);
    // An object that was cut short.
    let blob = place.git(&["rev-parse", &format!("{second}:record.json")], &[]);
    let blob = String::from_utf8(blob.stdout).unwrap();
    let object = place.archive.join("objects").join(&blob[..2]).join(blob[2..].trim());
    let content = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    fs::write(&object, &content[..content.len() / 2]).unwrap();
    assert!(place.refused(&["history", "verify"], 1).contains("corrupt"));
    assert!(place.refused(&["history", "export", "last", "-"], 1).contains("cannot read all of it"));
}

#[test]
fn file_is_verified_against_the_archive_and_not_overwritten() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    place.keep();
    let file = place.archive.with_file_name("record.json");
    let path = file.to_str().unwrap();
    place.stdout(&["history", "export", "last", path]);
    assert!(place.stdout(&["history", "verify", path]).contains("is record"));
    assert!(place.refused(&["history", "export", "last", path], 1).contains("does not overwrite files"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("\"results\":", "\"results\": ", 1)).unwrap();
    assert!(place.refused(&["history", "verify", path], 1).contains("modified"));
}

#[test]
fn wrong_names_are_refused() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    assert!(place.refused(&["history", "show", "last"], 1).contains("no archive"));
    assert!(place.stdout(&["history"]).contains("no archive yet in"));
    let named = place.refused(&["history", "--archive", "/proc/no-such-archive"], 1);
    assert!(named.contains("/proc/no-such-archive: no archive"), "{named}");
    place.keep();
    assert!(
        place.refused(&["history", "show", "last~7"], 1).contains("last~7: the archive has only 1 matching record")
    );
    assert!(place.refused(&["history", "show", "nonsense"], 1).contains("history"));
    assert!(place.refused(&["history", "--since", "yesterday"], 2).contains("2026-11-21"));
    assert!(place.refused(&["history", "pull", "/nonexistent"], 1).contains("/nonexistent"));
}

#[test]
fn two_archives_exchange_all_records_byte_for_byte() {
    if !has_git() {
        return;
    }
    let (local, remote, hub) = (Place::new(), Place::new(), tempfile::tempdir().unwrap());
    let local_record = local.keep();
    let remote_records = [remote.keep(), remote.keep()];
    let hub = hub.path().to_str().unwrap();
    assert!(Command::new("git").args(["init", "--quiet", "--bare", hub]).status().unwrap().success());
    local.stdout(&["history", "push", hub]);
    assert!(remote.stdout(&["history", "pull", hub]).contains("1 record fetched; 3 in all"));
    remote.stdout(&["history", "push", hub]);
    assert!(local.stdout(&["history", "pull", hub]).contains("2 records fetched; 3 in all"));
    assert_eq!(local.ids(), remote.ids());
    for id in remote_records.iter().chain([&local_record]) {
        let export = ["history", "export", id, "-"];
        assert_eq!(local.stdout(&export), remote.stdout(&export));
    }
    local.stdout(&["history", "verify"]);
}

/// Ten thousand records, written by Git itself.
///
/// The time of listing them is printed.
#[test]
fn long_history_is_listed_completely() {
    const COUNT: usize = 10_000;
    if !has_git() {
        return;
    }
    let place = Place::new();
    let id = place.keep();
    let commit = place.git(&["cat-file", "commit", &id], &[]).stdout;
    let message = String::from_utf8(commit).unwrap().split_once("\n\n").unwrap().1.to_owned();
    let mut stream = String::new();
    for second in 0..COUNT {
        stream += &format!(
            "commit refs/import\ncommitter a <a@b> {second} +0000\ndata {}\n{message}\nfrom {id}^0\n\n",
            message.len()
        );
    }
    let marked = stream.replace("commit refs/import\n", "reset refs/import\ncommit refs/import\n");
    let marked: String = marked
        .split_inclusive("commit refs/import\n")
        .enumerate()
        .map(|(number, part)| {
            format!("{part}{}", if number < COUNT { format!("mark :{}\n", number + 1) } else { String::new() })
        })
        .collect();
    let marks = place.archive.with_file_name("marks");
    let export = format!("--export-marks={}", marks.display());
    assert!(place.git(&["fast-import", "--quiet", "--force", &export], marked.as_bytes()).status.success());
    let hashes = fs::read_to_string(marks).unwrap();
    let hashes = hashes.lines().filter_map(|line| line.split_once(' ')).map(|(_, hash)| hash);
    let references: String = hashes.map(|hash| format!("create refs/records/{hash} {hash}\n")).collect();
    assert!(place.git(&["update-ref", "--stdin"], references.as_bytes()).status.success());
    let start = Instant::now();
    let list = place.stdout(&["history"]);
    println!("listed in {:?}", start.elapsed());
    assert_eq!(list.lines().count(), COUNT + 2, "a heading, those of the loop, and the first");
}
