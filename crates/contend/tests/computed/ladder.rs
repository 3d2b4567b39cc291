//! `contend ladder` through its binary: one source of values for text, SVG, the page and programs.

use crate::command::archive::{Archive, has_git};
use crate::command::contend;
use crate::command::stored::{self, Old, all};
use serde_json::{Value, json};
use std::fs;

fn survey() -> Old {
    all().into_iter().find(|old| old.experiment() == "survey").expect("there is one in tests/records")
}

fn stdout_of(arguments: &[&str]) -> String {
    let output = contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> (i32, String) {
    let output = contend(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Returns the costs of the stored survey, as a program receives them.
fn costs(record: &str) -> Vec<Value> {
    let answer: Value = serde_json::from_str(&stdout_of(&["ladder", record, "--format", "json"])).unwrap();
    answer["costs"].as_array().unwrap().clone()
}

/// Returns the value after these words on the terminal's line.
fn figure(picture: &str, words: &str) -> String {
    let line = picture.lines().find(|line| line.starts_with(&format!("{words} "))).unwrap_or_else(|| panic!("{words}"));
    line[words.len()..].split_whitespace().take(2).collect::<Vec<&str>>().join(" ")
}

#[test]
fn ladder_lines_fit_have_words_and_are_sorted() {
    let old = survey();
    let path = old.path.to_str().unwrap();
    let (picture, costs) = (stdout_of(&["ladder", path]), costs(path));
    assert!(costs.len() > 12, "{picture}");
    assert!(picture.lines().all(|line| line.chars().count() <= 80), "{picture}");
    assert!(picture.lines().count() <= 25, "{picture}");
    let ns: Vec<f64> = costs.iter().map(|cost| cost["ns"].as_f64().unwrap()).collect();
    assert!(ns.is_sorted(), "{ns:?}");
    for cost in &costs {
        let words = cost["what"].as_str().unwrap();
        let line = picture.lines().find(|line| line.starts_with(words)).expect(words);
        assert!(line.contains('●') && !line.contains('…'), "{line}");
        for then in cost["then"].as_array().unwrap() {
            assert!(line.contains(&then["year"].to_string()), "{line}");
        }
    }
    for year in [1998, 2002, 2008] {
        assert!(picture.contains(&format!("{year}")), "{year}: {picture}");
    }
    // Its repetitions are too short for a competitor's time slice, and for as many readings as in 1999.
    let gaps: Vec<&str> = picture.lines().filter(|line| line.contains("longest gap")).collect();
    assert!(gaps.len() == 1 && gaps[0].contains("s, quiet"), "{picture}");
    assert!(!picture.contains("1999"), "{picture}");
}

#[test]
fn text_picture_page_and_json_have_the_same_values() {
    let (old, folder) = (survey(), tempfile::tempdir().unwrap());
    let path = old.path.to_str().unwrap();
    let file = folder.path().join("ladder.svg");
    stdout_of(&["ladder", path, "--output", file.to_str().unwrap()]);
    let (letters, svg, page) =
        (stdout_of(&["ladder", path]), fs::read_to_string(&file).unwrap(), stdout_of(&["report", path]));
    let begin = page.find("<figure class=\"ladder\">").expect("the page has it");
    assert!(page[..begin].matches("<svg").count() == 0, "it is the first picture");
    let table = &page[begin..begin + page[begin..].find("</table>").unwrap()];
    for cost in costs(path) {
        let words = cost["what"].as_str().unwrap();
        let figure = figure(&letters, words);
        for (what, text) in [("the picture", &svg[..]), ("the page", table)] {
            let places = text.split(&format!(">{words}</text>")).skip(1).collect::<Vec<&str>>();
            assert!(!places.is_empty(), "{words} is not in {what}");
            for place in places {
                let next = place.split("</text>").next().unwrap();
                assert!(next.ends_with(&format!(">{figure}")), "{words}: {figure} in letters, in {what} {next}");
            }
        }
        assert!(
            table.contains(&format!("<th scope=\"row\">{words}</th><td class=\"short\">{figure}")),
            "{words} in the page's table"
        );
    }
}

#[test]
fn ladder_without_a_name_uses_the_last_survey() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let none = archive.contend(&["ladder"]);
    let stderr = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(
        none.status.code() == Some(1) && stderr.contains("no survey to draw: the archive contains none"),
        "{stderr}"
    );
    let old = survey();
    archive.insert_bytes(&old.content);
    let clock = all().into_iter().find(|old| old.experiment() == "clock").unwrap();
    archive.insert_bytes(&clock.content);
    let picture = String::from_utf8(archive.contend(&["ladder"]).stdout).unwrap();
    assert!(picture.contains("a switch, stackless threads"), "{picture}");
    let last = String::from_utf8(archive.contend(&["ladder", "last"]).stdout).unwrap();
    assert!(last.contains("reading the clock") && !last.contains("a switch"), "{last}");
    let (status, stderr) = refused(&["ladder"]);
    assert!(status == 1 && stderr.contains("there is no archive"), "{stderr}");
}

#[test]
fn last_survey_is_drawn_with_the_user_supplied_locks() {
    if !has_git() {
        return;
    }
    let mut archive = Archive::new();
    let mut own = all().into_iter().find(|old| old.experiment() == "latency").unwrap().record;
    own["environment"]["command_line"] = json!(["contend", "latency", "--lock", "./libmine.so"]);
    own["parameters"]["object_sha256"] = json!({ "libmine.so": "0123" });
    let mut set = |pair_ns: f64| {
        for row in own["results"].as_array_mut().unwrap() {
            (row["lock"], row["threads"], row["bare_pair_ns"]) = (json!("libmine.so"), json!(1), json!(pair_ns));
            (row["bare_pair_ci_ns"], row["bare_pair_ns_alone"]) = (Value::Null, Value::Null);
        }
        own.clone()
    };
    archive.insert(&set(55.0));
    archive.insert_bytes(&survey().content);
    let costs = |archive: &Archive| -> Vec<Value> {
        let answer: Value = serde_json::from_slice(&archive.contend(&["ladder", "--format", "json"]).stdout).unwrap();
        answer["costs"].as_array().unwrap().iter().filter(|cost| cost["lock"] == "libmine.so").cloned().collect()
    };
    let mine = costs(&archive);
    assert!(
        mine.len() == 1 && mine[0]["ns"] == 55.0 && mine[0]["figure"].as_str().unwrap().contains("; record "),
        "{mine:?}"
    );
    // A newer record of the same lock replaces its costs.
    archive.insert(&set(77.0));
    let newer = costs(&archive);
    assert!(newer.len() == 1 && newer[0]["ns"] == 77.0, "{newer:?}");
    assert_eq!(newer[0]["what"], "an uncontended libmine.so, by pointer");
    // A newer one that has it only with two threads does not hide it, unless the object is another file.
    let mut two = set(99.0);
    two["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["threads"] = json!(2));
    archive.insert(&two);
    let is_uncontended = |costs: &[Value]| costs.iter().any(|cost| cost["ns"] == 77.0);
    assert!(is_uncontended(&costs(&archive)), "{:?}", costs(&archive));
    two["parameters"]["object_sha256"] = json!({ "libmine.so": "4567" });
    archive.insert(&two);
    assert!(!is_uncontended(&costs(&archive)), "{:?}", costs(&archive));
}

#[test]
fn record_without_a_cost_is_refused() {
    let load = all().into_iter().find(|old| old.experiment() == "load").unwrap();
    let (status, stderr) = refused(&["ladder", load.path.to_str().unwrap()]);
    assert!(status == 1 && stderr.contains("no costs to draw") && stderr.contains("latency"), "{stderr}");
}

/// A run that was too short for a cost that is above the resolution.
#[test]
fn record_whose_costs_are_unknown_has_an_empty_ladder() {
    let (mut record, folder) = (stored::uncontended(), tempfile::tempdir().unwrap());
    record["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["bare_pair_ns"] = Value::Null);
    let (file, svg) = (folder.path().join("record.json"), folder.path().join("ladder.svg"));
    fs::write(&file, record.to_string()).unwrap();
    let file = file.to_str().unwrap();
    assert!(stdout_of(&["ladder", file]).ends_with("  (no values)\n"));
    assert_eq!(costs(file), Vec::<Value>::new());
    stdout_of(&["ladder", file, "--output", svg.to_str().unwrap()]);
    assert!(fs::read_to_string(svg).unwrap().contains("No chart: no value was measured"));
    assert!(stdout_of(&["report", file]).contains("No chart: no value was measured"));
}

#[test]
fn hostile_words_and_values_are_harmless() {
    let (mut record, folder) = (survey().record, tempfile::tempdir().unwrap());
    for row in record["results"].as_array_mut().unwrap() {
        if row["experiment"] == "latency" {
            if row["lock"] == "sysv" {
                row["bare_pair_ns"] = json!(-1e300);
            }
            row["lock"] = json!("\u{1b}[2J</svg><script>alert(1)</script>".repeat(3));
        }
        if row["experiment"] == "ring" {
            row["ns_per_hop"] = json!(1e300);
            row["ns_per_hop_ci"] = json!([0.0, 1e308]);
        }
    }
    let (file, svg) = (folder.path().join("record.json"), folder.path().join("ladder.svg"));
    fs::write(&file, record.to_string()).unwrap();
    let picture = stdout_of(&["ladder", file.to_str().unwrap()]);
    assert!(picture.contains("an uncontended \\u{1b}[2J</svg>"), "{picture}");
    assert!(!picture.contains('\u{1b}') && picture.lines().all(|line| line.chars().count() <= 80), "{picture}");
    stdout_of(&["ladder", file.to_str().unwrap(), "--output", svg.to_str().unwrap()]);
    let svg = fs::read_to_string(svg).unwrap();
    assert!(svg.contains("an uncontended \\u{1b}[2J&lt;/svg&gt;"), "{svg}");
    assert!(
        !svg.contains("<script") && !svg.contains('\u{1b}') && !svg.contains("NaN") && !svg.contains("inf"),
        "{svg}"
    );
}

#[test]
fn unwritable_picture_is_reported() {
    let (old, folder) = (survey(), tempfile::tempdir().unwrap());
    let path = old.path.to_str().unwrap();
    for ending in ["png", "PNG", "jpg"] {
        let other = folder.path().join(format!("ladder.{ending}"));
        let (status, stderr) = refused(&["ladder", path, "--output", other.to_str().unwrap()]);
        let names = |words: &str| stderr.contains(words);
        assert!(status == 2 && names("ladder.svg") && names("rsvg-convert") && !other.exists(), "{stderr}");
    }
    let nowhere = folder.path().join("missing/ladder.svg");
    let (status, stderr) = refused(&["ladder", path, "--output", nowhere.to_str().unwrap()]);
    assert!(status == 1 && stderr.contains("missing/ladder.svg"), "{stderr}");
    let svg = folder.path().join("ladder.svg");
    let (status, stderr) = refused(&["ladder", path, "--output", svg.to_str().unwrap(), "--format", "json"]);
    assert!(status == 2 && stderr.contains("--format"), "{stderr}");
}
