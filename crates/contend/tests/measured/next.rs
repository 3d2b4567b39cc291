//! The command that a run suggests at its end.

use crate::command::archive::has_git;
use crate::command::contend;
use std::process::Output;

/// Returns the line with the next command, if there is one.
fn next(output: &Output) -> Option<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    stderr.lines().find_map(|line| line.strip_prefix("Next: ")).map(str::to_owned)
}

const TWO_LOCKS: [&str; 5] = ["latency", "--lock", "std,mcs", "--seconds", "0.1"];

#[test]
fn next_command_names_the_locks_of_the_record() {
    let output = contend(&TWO_LOCKS);
    let Some(next) = next(&output) else { panic!("{}", String::from_utf8_lossy(&output.stderr)) };
    assert!(next.starts_with("contend latency --lock ") || next.starts_with("contend throughput --lock "), "{next}");
    assert!(next.contains("std,mcs") || next.contains("mcs,std"), "{next}");
    // The suggested command is accepted.
    let words: Vec<&str> = next.split(' ').skip(1).chain(["--explain"]).collect();
    assert!(contend(&words).status.success(), "{next}");
}

#[test]
fn next_command_names_the_saved_record() {
    if !has_git() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive.git");
    let archive = archive.to_str().unwrap();
    let ab = ["ab", "true", "true", "--runs", "6", "--archive", archive];
    let output = contend(&ab);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let next = stderr.lines().find_map(|line| line.strip_prefix("Next: ")).expect("a next command");
    let id = stderr.lines().find_map(|line| line.strip_prefix("archived as ")).expect("an archived record");
    let expected = [
        "contend ab --runs 12 true true".to_owned(),
        format!("contend report {} --output ab.html --archive {archive}", &id[..10]),
    ];
    assert!(expected.contains(&next.to_owned()), "{stderr}");
}

#[test]
fn programs_and_quiet_users_get_no_next_command() {
    for more in [&["--quiet"][..], &["--format", "json"], &["--output", "/dev/null"]] {
        assert_eq!(next(&contend(&[&TWO_LOCKS, more].concat())), None, "{more:?}");
    }
}
