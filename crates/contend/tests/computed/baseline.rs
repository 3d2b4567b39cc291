//! Baselines through the binary, each test with its own archives.

use crate::command::archive::has_git;
use crate::command::executable;
use crate::command::place::{Place, RUN, kept, waited_for};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

fn baselines(place: &Place) -> Vec<Value> {
    let output = place.stdout(&["baseline", "--format", "json"]);
    serde_json::from_str::<Value>(&output).unwrap().as_array().unwrap().clone()
}

/// Returns the record that is used as A.
fn a_of(place: &Place, arguments: &[&str]) -> String {
    let output = place.stdout(&[&["compare", "--format", "json"], arguments].concat());
    serde_json::from_str::<Value>(&output).unwrap()["a"]["record"].as_str().unwrap().to_owned()
}

#[test]
fn baseline_is_saved_used_listed_and_removed() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    assert!(baselines(&place).is_empty());
    place.stdout(&["baseline", "save", "v1", "last~1"]);
    place.stdout(&["baseline", "save", "main", "last", "last~1", "last"]);
    let last = place.keep();
    let all = baselines(&place);
    let names: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["main", "v1"]);
    assert_eq!(all[0]["records"], serde_json::json!([place.second, place.first]));
    // The newest of several.
    assert_eq!(a_of(&place, &["--baseline", "main", &last]), place.second);
    assert_eq!(a_of(&place, &["--baseline", "v1"]), place.first);
    assert!(place.refused(&["compare", "last"], 2).contains("baseline use"));
    place.stdout(&["baseline", "use", "v1"]);
    assert_eq!(a_of(&place, &["last"]), place.first);
    assert_eq!(baselines(&place)[1]["is_used"], true);
    // A name means the records that it was last given to.
    place.stdout(&["baseline", "save", "v1", "last~1"]);
    assert_eq!(a_of(&place, &["last"]), place.second);
    place.stdout(&["baseline", "remove", "v1"]);
    place.refused(&["compare", "last"], 2);
    assert_eq!(baselines(&place).len(), 1);
    assert!(place.stdout(&["history", "verify"]).contains("3 records, all hashes are valid"));
}

#[test]
fn invalid_baseline_is_refused() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    assert!(place.refused(&["baseline", "save", "a b"], 1).contains("letters"));
    assert!(place.refused(&["baseline", "save", "x", "last~7"], 1).contains("only 2"));
    assert!(place.refused(&["baseline", "use", "x"], 1).contains("no baseline has the name"));
    place.stdout(&["baseline", "save", "main"]);
    assert!(place.refused(&["compare", "--baseline", "x", "last"], 1).contains("existing baselines: main"));
    assert!(place.refused(&["compare", "--baseline", "main", "last", "last~1"], 2).contains("--baseline"));
    // It has no other record than the one that is compared.
    assert!(place.refused(&["compare", "--baseline", "main", "last"], 1).contains("no other record of model frames"));
}

#[test]
fn baseline_record_with_the_same_parameters_is_compared() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let same = place.keep();
    let other = place.contend(&["model", "frames", "--frame", "2ms", "--quantum", "1ms", "--format", "json"]);
    let other = kept(&other).unwrap();
    place.stdout(&["baseline", "save", "main", &same, &other]);
    place.keep();
    assert_eq!(a_of(&place, &["--baseline", "main", "last"]), same);
}

#[test]
fn baselines_travel_with_their_records_and_the_later_wins() {
    if !has_git() {
        return;
    }
    let (local, remote) = (Place::with_two(), Place::new());
    let (shared, file) = (local.beside("shared.git"), local.beside("main.bundle"));
    let (shared, file) = (shared.to_str().unwrap(), file.to_str().unwrap());
    local.line(&["init", "--bare", "--quiet", shared], &[]);
    local.stdout(&["baseline", "save", "main", "last~1", "last"]);
    local.stdout(&["history", "push", shared]);
    assert!(remote.stdout(&["history", "pull", shared]).contains("baselines fetched: main"));
    assert_eq!(baselines(&remote)[0]["records"], serde_json::json!([local.first, local.second]));

    // The baseline here is later than that of the other side, by its own clock: Git counts seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    local.stdout(&["baseline", "save", "main", "last"]);
    local.stdout(&["baseline", "export", "main", file]);
    assert!(local.refused(&["baseline", "export", "main", file], 1).contains("does not overwrite files"));
    assert!(remote.stdout(&["history", "pull", file]).contains("baselines fetched: main"));
    assert_eq!(baselines(&remote)[0]["records"], serde_json::json!([local.second]));
    // The baseline of the shared repository is older now.
    assert!(!remote.stdout(&["history", "pull", shared]).contains("baselines"));
    assert_eq!(baselines(&remote)[0]["records"], serde_json::json!([local.second]));
}

#[test]
fn invalid_foreign_baseline_is_not_fetched() {
    if !has_git() {
        return;
    }
    let (local, remote) = (Place::with_two(), Place::new());
    let blob = local.line(&["hash-object", "-w", "--stdin"], b"anything");
    let tree = local.line(&["mktree"], format!("100644 blob {blob}\tfile\n").as_bytes());
    let empty = local.line(&["mktree"], &[]);
    let with_files = local.line(&["commit-tree", &tree, "-p", &local.first], b"baseline files\n");
    let of_none = local.line(&["commit-tree", &empty, "-p", &with_files], b"baseline stranger\n");
    local.line(&["update-ref", "refs/baselines/files", &with_files], &[]);
    local.line(&["update-ref", "refs/baselines/stranger", &of_none], &[]);
    local.line(&["update-ref", "refs/baselines/blob", &blob], &[]);
    local.stdout(&["baseline", "save", "good"]);
    let output = remote.stdout(&["history", "pull", local.archive.to_str().unwrap()]);
    assert!(output.contains("baselines fetched: good\n"), "{output}");
    assert_eq!(remote.line(&["for-each-ref", "--format=%(refname)", "refs/baselines"], &[]), "refs/baselines/good");
    // They do not disturb other commands, and are named.
    let output = local.contend(&["baseline"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("refs/baselines/files"), "{stderr}");
    assert!(local.contend(RUN).status.success());
}

/// A deletion that has found no baseline of its record, and has not deleted it yet, while another process saves one.
#[test]
fn baseline_of_a_record_that_is_being_deleted_is_refused() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    let (programs, started) = (place.beside("programs"), place.beside("started"));
    fs::create_dir_all(&programs).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *update-ref*--stdin*) touch {}; sleep 0.4;; esac\nPATH='{path}' exec git \"$@\"\n",
        started.display()
    );
    executable(&programs.join("git"), script);
    let mut deletion = place.command(&["history", "rm", "--yes", "last"]);
    deletion.env("PATH", format!("{}:{path}", programs.display())).stdout(Stdio::null());
    let mut deletion = deletion.spawn().unwrap();
    waited_for(|| started.exists().then_some(()));
    assert!(!place.contend(&["baseline", "save", "main", &place.second]).status.success());
    assert!(deletion.wait().unwrap().success());
    assert_eq!(place.ids(), std::slice::from_ref(&place.first));
    assert!(baselines(&place).is_empty());
}
