//! Baselines through the binary, each test with its own archives.

use crate::command::archive::has_git;
use crate::command::place::{Place, RUN, kept};
use serde_json::Value;

fn baselines(place: &Place) -> Vec<Value> {
    let said = place.said(&["baseline", "--format", "json"]);
    serde_json::from_str::<Value>(&said).unwrap().as_array().unwrap().clone()
}

/// The record that stands for A.
fn a_of(place: &Place, arguments: &[&str]) -> String {
    let said = place.said(&[&["compare", "--format", "json"], arguments].concat());
    serde_json::from_str::<Value>(&said).unwrap()["a"]["record"].as_str().unwrap().to_owned()
}

#[test]
fn a_baseline_is_saved_used_listed_and_taken_away() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    assert!(baselines(&place).is_empty());
    place.said(&["baseline", "save", "v1", "last~1"]);
    place.said(&["baseline", "save", "main", "last", "last~1", "last"]);
    let last = place.keep();
    let all = baselines(&place);
    let names: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["main", "v1"]);
    assert_eq!(all[0]["records"], serde_json::json!([place.second, place.first]));
    // The newest of several.
    assert_eq!(a_of(&place, &["--baseline", "main", &last]), place.second);
    assert_eq!(a_of(&place, &["--baseline", "v1"]), place.first);
    assert!(place.refused(&["compare", "last"], 2).contains("baseline use"));
    place.said(&["baseline", "use", "v1"]);
    assert_eq!(a_of(&place, &["last"]), place.first);
    assert_eq!(baselines(&place)[1]["is_used"], true);
    // A name means what it was last given to.
    place.said(&["baseline", "save", "v1", "last~1"]);
    assert_eq!(a_of(&place, &["last"]), place.second);
    place.said(&["baseline", "remove", "v1"]);
    place.refused(&["compare", "last"], 2);
    assert_eq!(baselines(&place).len(), 1);
    assert!(place.said(&["history", "verify"]).contains("3 records, all hashes are valid"));
}

#[test]
fn what_cannot_be_a_baseline_is_refused() {
    if !has_git() {
        return;
    }
    let place = Place::with_two();
    assert!(place.refused(&["baseline", "save", "a b"], 1).contains("letters"));
    assert!(place.refused(&["baseline", "save", "x", "last~7"], 1).contains("only 2"));
    assert!(place.refused(&["baseline", "use", "x"], 1).contains("no baseline has the name"));
    place.said(&["baseline", "save", "main"]);
    assert!(place.refused(&["compare", "--baseline", "x", "last"], 1).contains("existing baselines: main"));
    assert!(place.refused(&["compare", "--baseline", "main", "last", "last~1"], 2).contains("--baseline"));
    // It has no other record than the one that is compared.
    assert!(place.refused(&["compare", "--baseline", "main", "last"], 1).contains("no other record of model frames"));
}

#[test]
fn of_a_baseline_the_record_that_was_measured_in_the_same_way_is_compared() {
    if !has_git() {
        return;
    }
    let place = Place::new();
    let same = place.keep();
    let other = place.contend(&["model", "frames", "--frame", "2ms", "--quantum", "1ms", "--format", "json"]);
    let other = kept(&other).unwrap();
    place.said(&["baseline", "save", "main", &same, &other]);
    place.keep();
    assert_eq!(a_of(&place, &["--baseline", "main", "last"]), same);
}

#[test]
fn baselines_go_along_with_their_records_and_the_later_one_stays() {
    if !has_git() {
        return;
    }
    let (here, there) = (Place::with_two(), Place::new());
    let (shared, file) = (here.beside("shared.git"), here.beside("main.bundle"));
    let (shared, file) = (shared.to_str().unwrap(), file.to_str().unwrap());
    here.line(&["init", "--bare", "--quiet", shared], &[]);
    here.said(&["baseline", "save", "main", "last~1", "last"]);
    here.said(&["history", "push", shared]);
    assert!(there.said(&["history", "pull", shared]).contains("baselines fetched: main"));
    assert_eq!(baselines(&there)[0]["records"], serde_json::json!([here.first, here.second]));

    // Later than that of the other side, by its own clock: Git counts seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    here.said(&["baseline", "save", "main", "last"]);
    here.said(&["baseline", "export", "main", file]);
    assert!(here.refused(&["baseline", "export", "main", file], 1).contains("does not overwrite files"));
    assert!(there.said(&["history", "pull", file]).contains("baselines fetched: main"));
    assert_eq!(baselines(&there)[0]["records"], serde_json::json!([here.second]));
    // What the shared repository has is older now.
    assert!(!there.said(&["history", "pull", shared]).contains("baselines"));
    assert_eq!(baselines(&there)[0]["records"], serde_json::json!([here.second]));
}

#[test]
fn a_baseline_of_others_that_is_none_is_not_taken() {
    if !has_git() {
        return;
    }
    let (here, there) = (Place::with_two(), Place::new());
    let blob = here.line(&["hash-object", "-w", "--stdin"], b"anything");
    let tree = here.line(&["mktree"], format!("100644 blob {blob}\tfile\n").as_bytes());
    let empty = here.line(&["mktree"], &[]);
    let with_files = here.line(&["commit-tree", &tree, "-p", &here.first], b"baseline files\n");
    let of_none = here.line(&["commit-tree", &empty, "-p", &with_files], b"baseline stranger\n");
    here.line(&["update-ref", "refs/baselines/files", &with_files], &[]);
    here.line(&["update-ref", "refs/baselines/stranger", &of_none], &[]);
    here.line(&["update-ref", "refs/baselines/blob", &blob], &[]);
    here.said(&["baseline", "save", "good"]);
    let said = there.said(&["history", "pull", here.archive.to_str().unwrap()]);
    assert!(said.contains("baselines fetched: good\n"), "{said}");
    assert_eq!(there.line(&["for-each-ref", "--format=%(refname)", "refs/baselines"], &[]), "refs/baselines/good");
    // They do not disturb other commands, and are named.
    let output = here.contend(&["baseline"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("refs/baselines/files"), "{stderr}");
    assert!(here.contend(RUN).status.success());
}
