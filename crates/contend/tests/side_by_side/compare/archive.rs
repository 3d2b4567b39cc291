//! Records of an archive: by their names, edited, and beside other runs.

use super::{latency, verdict};
use crate::command::archive::{Archive, has_git};

#[test]
fn records_of_an_archive_are_called_by_their_names() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let first = archive.insert(&latency(100.0, 1_130.0));
    archive.insert(&latency(100.0, 1_240.0));
    let output = archive.contend(&["compare", &first[..8], "last"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(&first[..10]) && said.contains("slower: 1"), "{said}");
    assert_eq!(archive.contend(&["compare", "last~1", "last", "--fail-if", "slower:3%"]).status.code(), Some(3));
    for (name, word) in [("nonsense", "nonsense"), ("last~9", "last~9")] {
        let output = archive.contend(&["compare", "last", name]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains(word), "{stderr}");
    }
    assert_eq!(archive.contend(&["compare", "last", "last"]).status.code(), Some(2));
}

#[test]
fn a_record_that_was_edited_is_told() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let (one, other) = (latency(100.0, 1_130.0), latency(100.0, 1_131.0));
    let ids = [archive.insert(&one), archive.insert(&other)];
    // A file of a run that is kept, with other bytes.
    let kept = archive.contend(&["history", "export", &ids[0], "-"]);
    let edited = String::from_utf8(kept.stdout).unwrap().replace("1130.0", "1132.0");
    let file = archive.file("edited.json", &edited);
    let output = archive.contend(&["compare", &file, "last"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("changed by hand") && said.contains(&ids[0][..10]), "{said}");
    // An object of the archive whose content is another's: whole, and not what its name says.
    let object = |name: String| {
        let hash = archive.git(&["rev-parse", &name], "");
        archive.path.join("objects").join(&hash[..2]).join(&hash[2..])
    };
    for part in [":record.json", "^{tree}", ""] {
        let [own, others] = [&ids[0], &ids[1]].map(|id| object(format!("{id}{part}")));
        let kept = std::fs::read(&own).unwrap();
        std::fs::remove_file(&own).unwrap();
        std::fs::copy(others, &own).unwrap();
        let output = archive.contend(&["compare", &ids[0], "last"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains("changed by hand"), "{part}: {stderr}");
        std::fs::remove_file(&own).unwrap();
        std::fs::write(&own, kept).unwrap();
    }
    assert!(archive.contend(&["compare", &ids[0], "last"]).status.success());
}

#[test]
fn other_runs_in_the_archive_say_how_much_runs_differ() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let (a, b) = (latency(100.0, 1_130.0), latency(100.0, 1_240.0));
    let (a, b) = (archive.file("a.json", &a.to_string()), archive.file("b.json", &b.to_string()));
    let verdict = |archive: &Archive| {
        let output = archive.contend(&["compare", &a, &b, "--format", "json"]);
        verdict(&serde_json::from_slice(&output.stdout).unwrap(), "round trip, median").to_owned()
    };
    // The page of both must not say otherwise.
    let on_page = |archive: &Archive, verdict: &str| {
        let page = String::from_utf8(archive.contend(&["report", &a, &b]).stdout).unwrap();
        let line = page.split("<tr>").find(|line| line.contains(">round trip, median<")).unwrap().to_owned();
        assert!(line.contains(&format!(">{verdict}<")), "{line}");
    };
    assert_eq!(verdict(&archive), "slower");
    on_page(&archive, "slower");
    for place in 0..10 {
        archive.insert(&latency(100.0, if place % 2 == 0 { 900.0 } else { 1_240.0 }));
    }
    assert_eq!(verdict(&archive), "no difference shown");
    on_page(&archive, "no difference shown");
}
