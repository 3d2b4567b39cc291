//! `contend report` through its binary: pages from real records, and records that are none.

use crate::command::archive::{Archive, has_git};
use crate::command::typed::typed;
use crate::command::{contend, record};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A short record of each experiment, measured once for all tests.
fn records() -> &'static [(&'static str, Value)] {
    static RECORDS: OnceLock<Vec<(&'static str, Value)>> = OnceLock::new();
    RECORDS.get_or_init(|| {
        let calls: [(&str, &[&str]); 6] = [
            ("latency", &["latency", "--lock", "std", "--threads", "1,2", "--seconds", "0.3"]),
            ("throughput", &["throughput", "--lock", "std", "--children", "1,2", "--run", "20ms", "--seconds", "0.5"]),
            ("noise", &["noise", "--scenario", "quiet", "--seconds", "0.5"]),
            ("load", &["load", "--seconds", "1"]),
            ("ring", &["ring", "--contestant", "rust-fifo", "--seconds", "0.1", "--large", "0", "--no-memory"]),
            ("frames", &["model", "frames"]),
        ];
        calls.iter().map(|(name, call)| (*name, record(call))).collect()
    })
}

fn latency() -> Value {
    records()[0].1.clone()
}

fn written(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// The page of these records.
fn page(records: &[&Value]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let name = |place: usize| format!("record-{place}.json");
    let files: Vec<PathBuf> =
        records.iter().enumerate().map(|(place, record)| written(&folder, &name(place), record.to_string())).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_contend"))
        .arg("report")
        .args(files.iter().map(|file| file.file_name().unwrap()))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The tags outside of scripts and styles, without their angle brackets.
fn tags(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("every tag ends");
        let tag = &rest[start + 1..end];
        found.push(tag);
        rest = &rest[end + 1..];
        if let Some(raw) = ["script", "style"].iter().find(|raw| tag.split(' ').next() == Some(raw)) {
            rest = &rest[rest.find(&format!("</{raw}>")).expect("it is closed")..];
        }
    }
    found
}

fn attributes<'a>(tags: &[&'a str], name: &str) -> Vec<&'a str> {
    let opening = format!(" {name}=\"");
    tags.iter().filter_map(|tag| tag.split_once(opening.as_str())?.1.split('"').next()).collect()
}

/// Every element is closed in order, every name is unique, every link leads to a place on the page.
fn assert_well_formed(page: &str) {
    let tags = tags(page);
    let mut open: Vec<&str> = Vec::new();
    for tag in tags.iter().filter(|tag| !tag.starts_with('!') && !tag.ends_with('/')) {
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "</{closed}> closes something else"),
            None => {
                let name = tag.split([' ', '\n']).next().unwrap();
                if !["meta", "link", "br", "hr"].contains(&name) {
                    open.push(name);
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
    let ids = attributes(&tags, "id");
    let unique: HashSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    for link in attributes(&tags, "href") {
        let leads = link == "data:," || link.strip_prefix('#').is_some_and(|id| unique.contains(&id));
        assert!(leads, "{link} leads nowhere");
    }
    assert!(attributes(&tags, "src").is_empty() && !page.contains("url(") && !page.contains("@import"));
}

#[test]
fn each_experiment_has_a_page_with_findings_pictures_tables_and_method() {
    for (name, record) in records() {
        let page = page(&[record]);
        assert_well_formed(&page);
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
        let places: Vec<&str> = page.split("<section class=\"figure\">").skip(1).collect();
        assert!(places.iter().any(|figure| figure.contains("<svg")), "{name} has no picture");
        for figure in places {
            assert!(figure.contains("<table>") && figure.contains("class=\"permalink\""), "{name}: {figure}");
        }
        let findings = page.split("class=\"findings\"").nth(1).unwrap().split("</ul>").next().unwrap();
        assert!(findings.matches("<li>").count() > 0, "{name}: {findings}");
        assert!(page.contains("<a href=\"#method-") && page.contains("<article id=\"method-"), "{name}");
    }
}

#[test]
fn noise_has_a_timeline_of_its_longest_gaps() {
    let mut noise = records()[2].1.clone();
    let gap = |kind: &str, name: &str| json!({"start_s": 0.25, "length_us": 7.5, "kind": kind, "name": name, "pid": null, "cause_us": 7.0});
    noise["results"][0]["longest_gaps"] = json!([gap("interrupt", "local_timer"), gap("task", "kworker")]);
    let whole = page(&[&noise]);
    assert_well_formed(&whole);
    let mut figures = whole.split("<section class=\"figure\">").skip(1);
    let figure = figures.find(|figure| figure.contains("quiet: the longest gaps")).unwrap();
    for part in ["<circle", "interrupt local_timer</text>", "task kworker</text>", "0.250000 s", "\"mark\":\"points\""]
    {
        assert!(figure.contains(part), "{part} is missing in {figure}");
    }
    // A record of before they were kept.
    noise["results"][0].as_object_mut().unwrap().remove("longest_gaps");
    assert!(!page(&[&noise]).contains("quiet: the longest gaps"));
}

#[test]
fn environment_and_warnings_are_visible() {
    let mut record = latency();
    record["warnings"] = json!([{"code": "smoke", "message": "it smokes", "remedy": "open a window"}]);
    let page = page(&[&record]);
    for text in ["it smokes", "open a window", "[smoke]", "kernel.release", "contend latency --lock std"] {
        assert!(page.contains(text), "{text} is missing");
    }
}

#[test]
fn one_picture_can_be_had_alone() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let picture = |title: &str| contend(&["report", record.to_str().unwrap(), "--picture", title]);
    let one = picture("std, 1 thread: locking");
    let svg = String::from_utf8(one.stdout).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.contains("<style>") && svg.contains("<title>std, 1 thread: locking"),
        "{svg}"
    );
    assert!(svg.contains("class=\"spike\"") && svg.contains(">A "), "its spikes are named: {svg}");
    assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    for (title, word) in [("std", "several are called so"), ("cooking", "the record has \"")] {
        let refused = picture(title);
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && stderr.contains(word) && refused.stdout.is_empty(), "{stderr}");
    }
}

#[test]
fn the_same_records_give_the_same_page() {
    let record = latency();
    assert_eq!(page(&[&record]), page(&[&record]));
}

#[test]
fn a_record_is_never_markup() {
    const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'";
    let mut record = latency();
    for row in record["results"].as_array_mut().unwrap() {
        row["lock"] = json!(EVIL);
        for spike in row["spikes"].as_array_mut().unwrap() {
            spike["label"] = json!("<");
            spike["cause"] = json!(EVIL);
        }
    }
    record["warnings"] = json!([{"code": EVIL, "message": EVIL, "remedy": EVIL}]);
    record["environment"]["cpu"]["model"] = json!(EVIL);
    record["environment"]["command_line"] = json!([EVIL]);
    record["environment"][EVIL] = json!(EVIL);
    let page = page(&[&record, &latency()]);
    assert_well_formed(&page);
    assert!(!page.contains("<img") && !page.contains("<script>alert") && page.contains("&lt;img"), "it is markup");
}

#[test]
fn two_records_stand_side_by_side_with_intervals() {
    let (mut first, mut second) = (latency(), latency());
    // On a busy machine they may know no median, or none that is above their accuracy, or one of the time alone.
    for (record, median, interval) in [(&mut first, 1e5, [0.9e5, 1.1e5]), (&mut second, 1.5e6, [1e6, 2e6])] {
        for row in record["results"].as_array_mut().unwrap() {
            (row["p50_ns"], row["p50_ci_ns"], row["p50_ns_alone"]) = (json!(median), json!(interval), Value::Null);
        }
    }
    second["environment"]["kernel"]["release"] = json!("99.1-other");
    let page = page(&[&first, &second]);
    assert_well_formed(&page);
    let compared = page.split("id=\"side-by-side\"").nth(1).unwrap().split("id=\"record-1\"").next().unwrap();
    for text in ["99.1-other", "kernel.release", "lock, median", "1.00 ms to 2.00 ms", "slower", "last/first (95 %)"] {
        assert!(compared.contains(text), "{text} is missing in {compared}");
    }
}

/// The figure of a page's comparison with this title.
fn compared<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let side_by_side = page.split("id=\"side-by-side\"").nth(1)?.split("id=\"record-1\"").next()?;
    side_by_side.split("<section class=\"figure\">").skip(1).find(|figure| figure.contains(title))
}

#[test]
fn histograms_of_one_cell_lie_over_each_other() {
    let bins = |lists: &[(f64, f64, u64)]| -> Value {
        lists.iter().map(|(from, to, count)| json!({"from_ns": from, "to_ns": to, "count": count})).collect()
    };
    let (mut first, mut second) = (latency(), latency());
    first["results"][0]["histogram"] = bins(&[(0.0, 10.0, 1), (10.0, 20.0, 98), (1000.0, 1040.0, 1)]);
    // A finer clock: what one step of the first holds is several bins here.
    second["results"][0]["histogram"] = bins(&[(11.0, 12.0, 1), (12.0, 13.0, 1), (18.0, 19.0, 2)]);
    let whole = page(&[&first, &second]);
    assert_well_formed(&whole);
    let figure = compared(&whole, "std, 1 thread, hold 6.10 µs: one over the other").unwrap();
    for part in ["1st 100 rounds, 2nd 4 rounds", "98.0 %", "100.0 %", "\"mark\":\"outline\"", "<svg", "1st</text>"] {
        assert!(figure.contains(part), "{part} is missing in {figure}");
    }
    assert_eq!(figure.matches("<tr>").count(), 4, "a heading and three columns: {figure}");
    assert!(compared(&page(&[&first]), "one over the other").is_none());
}

#[test]
fn cells_with_other_hold_times_are_not_laid_over_each_other() {
    let mut second = latency();
    second["results"].as_array_mut().unwrap().iter_mut().for_each(|row| row["hold_us"] = json!(99.0));
    assert!(compared(&page(&[&latency(), &second]), "one over the other").is_none());
}

#[test]
fn different_experiments_share_a_page_and_are_not_compared() {
    let page = page(&[&records()[0].1, &records()[5].1]);
    assert_well_formed(&page);
    assert!(page.contains("nothing to compare"));
}

#[test]
fn standard_input_is_a_record_too() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    let piped = command.args(["report", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = piped.unwrap();
    child.stdin.take().unwrap().write_all(latency().to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_well_formed(&String::from_utf8(output.stdout).unwrap());
}

/// The exit status and what stderr says, and that an old page stays as it was.
fn refused(folder: &TempDir, record: &Path) -> (i32, String) {
    let page = written(folder, "page.html", "old");
    let output = contend(&["report", record.to_str().unwrap(), "--output", page.to_str().unwrap()]);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "old", "it was overwritten");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn what_is_no_record_is_refused_and_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = latency().to_string();
    let changed = |field: &str, value: Value| {
        let mut record = latency();
        record[field] = value;
        record.to_string()
    };
    let mut broken = latency();
    broken["results"][0]["p50_ns"] = json!("fast");
    let cases: [(&str, String, &[&str]); 9] = [
        ("empty.json", String::new(), &["empty.json", "empty", "--format json"]),
        ("text.json", "hello".into(), &["text.json", "not JSON", "line 1"]),
        ("half.json", text[..text.len() / 2].to_owned(), &["half.json", "truncated"]),
        ("list.json", "[1]".into(), &["not an object"]),
        ("other.json", "{\"a\":1}".into(), &["no schema", "contend/1"]),
        ("newer.json", changed("schema", json!("contend/2")), &["contend/2", "newer"]),
        ("unknown.json", changed("experiment", json!("cooking")), &["cooking", "not known"]),
        ("nothing.json", changed("results", json!([])), &["no results"]),
        ("broken.json", broken.to_string(), &["broken.json", "row 1"]),
    ];
    for (name, content, words) in cases {
        let (status, stderr) = refused(&folder, &written(&folder, name, content));
        assert_eq!(status, 1, "{name}: {stderr}");
        words.iter().for_each(|word| assert!(stderr.contains(word), "{name} should say {word:?}: {stderr}"));
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    let (status, stderr) = refused(&folder, &folder.path().join("missing.json"));
    assert!(status == 1 && stderr.contains("missing.json"), "{stderr}");
}

#[test]
fn calls_that_make_no_sense_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let record = record.to_str().unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["report", record, record], "twice"),
        (&["report", record, "--format", "json"], "--format"),
        (&["report", record, "--output", record], "overwrite"),
    ];
    for (call, word) in cases {
        let output = contend(call);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(word), "{call:?}: {stderr}");
    }
    assert!(std::fs::read_to_string(record).unwrap().starts_with('{'));
}

/// Its source would fill the terminal's memory, and nobody would read it.
#[test]
fn a_page_is_not_printed_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let (status, sent) = typed(&["report", record.to_str().unwrap()], &[]);
    assert_eq!(status.code(), Some(2));
    assert!(sent.contains("--output page.html") && !sent.contains("<html"), "{sent}");
}

#[test]
fn records_of_the_archive_are_named_as_for_compare() {
    if !has_git() {
        return;
    }
    let archive = Archive::new();
    archive.keep();
    let last = archive.contend(&["report"]);
    assert!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));
    assert_well_formed(&String::from_utf8(last.stdout).unwrap());
    let both = String::from_utf8(archive.contend(&["report", "last~1", "last"]).stdout).unwrap();
    let first = &archive.first()[..10];
    assert!(
        both.contains("Side by side") && both.contains(first),
        "the page names records so that they are found tomorrow"
    );
    let twice = archive.contend(&["report", "last", "last~0"]);
    let stderr = String::from_utf8_lossy(&twice.stderr);
    assert!(twice.status.code() == Some(2) && stderr.contains("last and last~0 are the same record"), "{stderr}");
    let none = archive.contend(&["report", "nobody"]);
    let stderr = String::from_utf8_lossy(&none.stderr);
    assert!(none.status.code() == Some(1) && stderr.contains("nobody: no file, no record"), "{stderr}");
}

#[test]
fn a_page_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let record = written(&folder, "record.json", latency().to_string());
    let place = folder.path().join("no/such/page.html");
    let output = contend(&["report", record.to_str().unwrap(), "--output", place.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && stderr.contains(place.to_str().unwrap()), "{stderr}");
}

#[test]
fn an_experiment_explains_itself_and_measures_nothing() {
    for name in ["survey", "clock", "latency", "throughput", "noise", "load", "ring"] {
        let output = contend(&[name, "--seconds", "600", "--explain"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.starts_with(&format!("# contend {name}\n")), "{name}: {said}");
    }
    let (model, bare) = (contend(&["model", "frames", "--explain"]), contend(&["--explain"]));
    assert!(model.status.success() && model.stdout.starts_with(b"# contend model"));
    assert_eq!(bare.status.code(), Some(2));
}

/// Without a screen nothing comes into view: everything is said to be. Errors and refused requests are kept.
const PREPARATION: &str = r#"<script>
"use strict";
const seen = { errors: [], charts: 0, empty: 0 };
addEventListener("error", event => seen.errors.push(event.message));
document.addEventListener("securitypolicyviolation", event => seen.errors.push(event.blockedURI));
window.IntersectionObserver = class {
  constructor(told) { this.told = told; }
  observe(target) { setTimeout(() => this.told([{ isIntersecting: true, target }]), 100); }
  unobserve() {}
};
</script><style>"#;

/// Looks at every chart, and says what it saw where `--dump-dom` prints it.
const INSPECTION: &str = r#"<script>
"use strict";
document.querySelectorAll("details").forEach(details => { details.open = true; });
setTimeout(() => {
  document.querySelectorAll("figure canvas").forEach(canvas => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    seen.charts += 1;
    if (!pixels.some(value => value !== 0)) seen.empty += 1;
  });
  seen.figures = document.querySelectorAll("figure.plot").length;
  seen.requests = performance.getEntriesByType("resource").length;
  const said = document.createElement("pre");
  said.textContent = "SEEN" + JSON.stringify(seen) + "NEES";
  document.body.append(said);
}, 3000);
</script></body>"#;

#[test]
fn a_real_browser_draws_every_chart_without_error_or_request() {
    if Command::new("chromium").arg("--version").output().is_err() {
        return eprintln!("skipped: needs chromium");
    }
    let folder = tempfile::tempdir().unwrap();
    // Somebody else's record, with more decades than an axis may have.
    let mut again = latency();
    let tiny = json!({"from_ns": 0.0, "to_ns": 1e-300, "count": 1});
    again["results"][0]["histogram"].as_array_mut().unwrap().insert(0, tiny);
    // And one of whose axes begins just below a power of ten.
    let of = |name: &str| records().iter().find(|(_, record)| record["experiment"] == name).unwrap().1.clone();
    let mut noise = of("noise");
    noise["results"][0]["turns"][0]["longest_us"] = json!(1.25e-5);
    let all: Vec<&Value> = records().iter().map(|(_, record)| record).chain([&again, &noise]).collect();
    let page = page(&all);
    assert!(compared(&page, "one over the other").is_some() && page.contains("\"mark\":\"points\""));
    let page = page.replacen("<style>", PREPARATION, 1).replace("</body>", INSPECTION);
    let file = written(&folder, "page.html", page);
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr", "--v=0"])
        .args(["--window-size=1000,2000", "--virtual-time-budget=10000", "--timeout=60000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let (dom, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("CONSOLE"), "{said}");
    let seen = dom.rsplit_once("SEEN").and_then(|(_, rest)| rest.split_once("NEES")).map(|(seen, _)| seen);
    let seen: Value = serde_json::from_str(seen.unwrap_or_else(|| panic!("nothing was seen: {said}"))).unwrap();
    assert_eq!(seen["errors"], json!([]), "{seen}");
    assert_eq!(seen["requests"], 0, "{seen}");
    assert!(seen["charts"].as_u64().unwrap() > 5 && seen["charts"] == seen["figures"] && seen["empty"] == 0, "{seen}");
}
