//! Refusals of the system: one clear message each, and the right exit status. Wrong flags are in `inputs.rs`.

use crate::command::place::RUN;
use crate::command::{contend, read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Returns the exit status and the text on stderr; stdout must stay empty.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = contend(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?} printed something");
    (output.status.code().expect("it ends by itself"), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_cpu_outside_the_affinity_mask_is_refused() {
    let here = instruments::cpus::allowed().unwrap();
    let Some(other) = here.iter().nth(1) else { return eprintln!("skipped: needs two CPUs") };
    let first = here.first().unwrap();
    // The mask is inherited by the command.
    instruments::cpus::pin_current_thread(first).unwrap();
    let (status, stderr) = refused(&["latency", "--cpus", &other.to_string()]);
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains(&format!("{other}")) && stderr.contains("affinity"), "{stderr}");
}

#[test]
fn more_threads_than_the_system_allows_fail_with_1() {
    let Some(output) = as_nobody_with_40_threads(&["latency", "--threads", "400", "--seconds", "300", "--quiet"])
    else {
        return eprintln!("skipped: needs root, to become a user that has a limit");
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("threads") && stderr.contains("ulimit -u"), "{stderr}");
}

/// Runs as an unprivileged user with a limit of threads, since root has none.
fn as_nobody_with_40_threads(arguments: &[&str]) -> Option<Output> {
    const NOBODY: u32 = 65_534;
    let limit = || {
        let limit = rustix::process::Rlimit { current: Some(40), maximum: Some(40) };
        Ok(rustix::process::setrlimit(rustix::process::Resource::Nproc, limit)?)
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.env("CONTEND_ARCHIVE", "");
    command.args(arguments).uid(NOBODY);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(limit) };
    command.output().ok()
}

#[test]
fn unwritable_output_is_reported_before_measuring() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/folder/record.json");
    for place in [missing.to_str().unwrap(), folder.path().to_str().unwrap()] {
        let began = std::time::Instant::now();
        let (status, stderr) = refused(&["latency", "--seconds", "600", "--output", place]);
        assert_eq!(status, 1, "{stderr}");
        assert!(stderr.contains("--output") && stderr.contains(place), "{stderr}");
        assert!(began.elapsed().as_secs() < 300, "it measured first");
    }
}

/// A full disk: the record is printed instead, and no file is left.
#[test]
fn full_disk_loses_no_record() {
    let output = contend(&[RUN, &["--quiet", "--output", "/dev/full"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("/dev/full") && stderr.contains("printed instead"), "{stderr}");
    read(&output.stdout);
}

/// The destination that could not be written is named, also where it has no name.
#[test]
fn a_full_disk_behind_standard_output_is_named() {
    for argument in ["schema", "--help", "--version"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_contend")).arg(argument).stdout(full).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{argument}: {stderr}");
        assert!(stderr.contains("cannot write to standard output: No space left"), "{argument}: {stderr}");
    }
}

#[test]
fn file_is_replaced_atomically_and_no_draft_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("record.json");
    std::fs::write(&file, "old").unwrap();
    let output = contend(&[RUN, &["--output", file.to_str().unwrap()]].concat());
    assert!(output.status.success() && output.stdout.is_empty());
    let text = std::fs::read_to_string(&file).unwrap();
    read(text.as_bytes());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A link is followed: replacing `/dev/stdout` would take it from every program.
#[test]
fn an_output_that_is_a_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("record.json"), folder.path().join("link"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let output = contend(&[RUN, &["--output", link.to_str().unwrap()]].concat());
    assert!(output.status.success());
    assert!(link.is_symlink() && std::fs::read_to_string(&file).unwrap().starts_with('{'));
}

#[test]
fn closed_reader_is_not_an_error() {
    let script = format!("{} latency --lock list 2>&1 | true; exit ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_contend"));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
}

/// An error found after parsing reads like one of the parser: with the usage of the command.
#[test]
fn usage_is_that_of_the_requested_command() {
    for (words, usage) in [
        (&["clock", "--cpus", "4000"][..], "Usage: contend clock"),
        (&["model", "frames", "--priorities", "3"], "Usage: contend model frames"),
        (&["history", "--since", "2"], "Usage: contend history"),
    ] {
        let archive = tempfile::tempdir().unwrap();
        let missing = archive.path().join("missing");
        let place = ["--archive", missing.to_str().unwrap()];
        let (status, stderr) = refused(&[words, &place].concat());
        assert_eq!(status, 2, "{words:?}: {stderr}");
        assert!(stderr.contains(usage), "{words:?}: {stderr}");
    }
}

/// The message names the user's file and the problem of its directory, and not contend's temporary file.
#[test]
fn unwritable_path_is_reported_as_the_user_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, file) = (folder.path().join("missing"), folder.path().join("file"));
    std::fs::write(&file, "").unwrap();
    for (flag, call) in [("--output", "clock"), ("--metrics", "load"), ("--page", "survey")] {
        for (place, why) in [(missing.join("x"), "does not exist"), (file.join("x"), "is not a directory")] {
            let (status, stderr) = refused(&[call, "--seconds", "1", flag, place.to_str().unwrap()]);
            let is_named = stderr.contains(place.to_str().unwrap()) && stderr.contains(why);
            assert!(status == 1 && is_named && !stderr.contains(".contend-"), "{call} {flag}: {stderr}");
        }
    }
}

/// Units and counts have several forms.
#[test]
fn times_and_counts_are_accepted_in_several_forms() {
    for words in [
        &["model", "frames", "--frame", "0.001h", "--quantum", "1_000us,1e3\u{b5}s", "--seed", "1e9"][..],
        &["model", "frames", "--frame", "1min", "--quantum", "5s", "--seed", "18446744073709551615"],
    ] {
        let output = contend(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
