//! Records and references that were changed to do harm, through every command that reads them. Each mutant has its
//! number as its seed; `CONTEND_TEST_MUTANTS=0..10000` sets the range that is tried.

use crate::command::archive::has_git;
use crate::command::hostile::Tries;
use crate::command::mutation::{mutated, mutated_text};
use crate::command::place::Place;
use crate::command::stored::{Old, all};
use fastrand::Rng;
use serde_json::{Value, json};
use std::fs;

/// The number of mutants in one archive.
const BATCH: usize = 24;
/// One of this number is shown separately.
const SHOWN: usize = 5;

/// The parts of a record in an archive that no run of contend wrote.
struct Planted {
    /// The message of the commit.
    message: Vec<u8>,
    record: Vec<u8>,
    manifest: Vec<u8>,
    /// The reference's name, if it is not the hash.
    name: Option<String>,
}

/// Plants them, and returns their hashes.
fn plant(place: &Place, planted: &[Planted]) -> Vec<String> {
    let mut stream = Vec::new();
    let data = |bytes: &[u8]| [format!("data {}\n", bytes.len()).as_bytes(), bytes, b"\n"].concat();
    for (number, one) in planted.iter().enumerate() {
        let head = format!("reset refs/import\ncommit refs/import\nmark :{}\ncommitter a <a@b> 0 +0000\n", number + 1);
        stream.extend([head.into_bytes(), data(&one.message)].concat());
        for (file, content) in [("manifest.json", &one.manifest), ("record.json", &one.record)] {
            stream.extend([format!("M 100644 inline {file}\n").as_bytes(), &data(content)].concat());
        }
    }
    let marks = place.beside("marks");
    let export = format!("--export-marks={}", marks.display());
    assert!(place.git(&["fast-import", "--quiet", "--force", &export], &stream).status.success());
    place.git(&["update-ref", "-d", "refs/import"], &[]);
    let text = fs::read_to_string(marks).unwrap();
    let mut hashes: Vec<(usize, String)> = text
        .lines()
        .map(|line| line[1..].split_once(' ').unwrap())
        .map(|(mark, hash)| (mark.parse().unwrap(), hash.into()))
        .collect();
    hashes.sort();
    let hashes: Vec<String> = hashes.into_iter().map(|(_, hash)| hash).collect();
    let script: String = hashes
        .iter()
        .zip(planted)
        .map(|(hash, one)| format!("update refs/records/{} {hash}\n", one.name.as_ref().unwrap_or(hash)))
        .collect();
    assert!(place.git(&["update-ref", "--stdin"], script.as_bytes()).status.success());
    hashes
}

/// Returns the summary and the manifest of the first record in a place.
fn first(place: &Place) -> (Value, Value) {
    let commit = place.line(&["cat-file", "commit", &place.first], &[]);
    let manifest = place.line(&["cat-file", "blob", &format!("{}:manifest.json", place.first)], &[]);
    let summary = commit.split("\n\n").nth(2).unwrap();
    (serde_json::from_str(summary).unwrap(), serde_json::from_str(&manifest).unwrap())
}

/// Returns the summary of a record.
fn summary_of(old: &Old, summary: &Value, number: usize) -> Value {
    let mut summary = summary.clone();
    summary["experiment"] = old.record["experiment"].clone();
    for field in ["seed", "started_unix_s", "interrupted"] {
        summary[field] = old.record["environment"][field].clone();
    }
    summary["kept_unix_ns"] = json!(4_000_000_000_000_000_000_u64 + number as u64);
    summary
}

#[test]
fn mutated_records_neither_panic_nor_hang_any_reader() {
    if !has_git() {
        return;
    }
    let (olds, mut tries) = (all(), Tries::begin());
    while tries.go_on() {
        let place = Place::with_two();
        let (summary, manifest) = first(&place);
        let mut batch = Vec::new();
        for number in tries.next..tries.next + BATCH {
            let mut rng = Rng::with_seed(number as u64);
            let old = &olds[number % olds.len()];
            let record = mutated_text(&old.record, &mut rng);
            let message = format!("a record\n\n{}\n", summary_of(old, &summary, number)).into_bytes();
            batch.push((number, old, Planted { message, record, manifest: manifest.to_string().into(), name: None }));
        }
        let planted: Vec<Planted> = batch.iter().map(|(_, _, one)| one.copy()).collect();
        for (id, (number, old, one)) in plant(&place, &planted).iter().zip(&batch) {
            let (file, page) = (place.beside("mutant.json"), place.beside("page.html"));
            fs::write(&file, &one.record).unwrap();
            let [file, page, other] = [&file, &page, &old.path].map(|path| path.to_str().unwrap());
            let page = ["report", file, "--output", page];
            for call in [&page[..], &["compare", file, other]] {
                tries.run(*number, place.command(call).env("CONTEND_ARCHIVE", ""));
            }
            // Verifying draws each of them too, on no page.
            if number % SHOWN == 0 {
                tries.run(*number, &mut place.command(&["history", "show", id]));
                tries.run(*number, &mut place.command(&["compare", other, id]));
            }
        }
        for call in [&["history"][..], &["history", "trend"], &["history", "verify"], &["compare", "last", "last~1"]] {
            tries.run(tries.next, &mut place.command(call));
        }
        tries.next += BATCH;
    }
    tries.conclude("records");
}

impl Planted {
    fn copy(&self) -> Self {
        Self {
            message: self.message.clone(),
            record: self.record.clone(),
            manifest: self.manifest.clone(),
            name: self.name.clone(),
        }
    }
}

/// Returns a reference that is wrong somewhere: in its name, its commit's message, its summary, its manifest.
fn reference(old: &Old, summary: &Value, manifest: &Value, number: usize) -> Planted {
    let mut rng = Rng::with_seed(number as u64);
    let summary = summary_of(old, summary, number);
    let mut planted = Planted {
        message: format!("a record\n\n{summary}\n").into_bytes(),
        record: old.content.clone().into_bytes(),
        manifest: manifest.to_string().into(),
        name: None,
    };
    match rng.u8(..8) {
        0 => planted.manifest = mutated_text(manifest, &mut rng),
        1 => {
            planted.name =
                rng.choice(["--evil", "\u{202e}", "$(x)", "a/b", "'", "HEAD"]).map(|name| format!("{name}{number}"))
        }
        2 => planted.message = format!("a record\n{summary}\n").into_bytes(),
        3 => planted.message.extend(b"and more\n"),
        4 => planted.message = [b"a record\n\n", &mutated_text(&summary, &mut rng)[..]].concat(),
        _ => planted.message = format!("a record\n\n{}\n", mutated(&summary, &mut rng)).into_bytes(),
    }
    planted
}

#[test]
fn no_reference_disables_an_archive() {
    if !has_git() {
        return;
    }
    const REFERENCES: usize = 4 * BATCH;
    let (olds, mut tries) = (all(), Tries::begin());
    let olds: Vec<Old> = olds.into_iter().filter(|old| old.content.len() < 20_000).collect();
    while tries.go_on() {
        let place = Place::with_two();
        let (summary, manifest) = first(&place);
        let numbers = tries.next..tries.next + REFERENCES;
        let planted: Vec<Planted> =
            numbers.map(|number| reference(&olds[number % olds.len()], &summary, &manifest, number)).collect();
        let ids = plant(&place, &planted);
        for call in [&["history", "list"][..], &["history", "trend"], &["history", "show", &place.first]] {
            let output = tries.run(tries.next, &mut place.command(call));
            assert!(output.status.success(), "{call:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(place.stdout(&["history"]).contains(&place.first[..10]));
        tries.run(tries.next, &mut place.command(&["history", "verify"]));
        for id in ids.iter().step_by(12) {
            tries.run(tries.next, &mut place.command(&["history", "show", id]));
            tries.run(tries.next, &mut place.command(&["history", "show", "--manifest", id]));
        }
        let own = Place::new();
        let output = tries.run(tries.next, &mut own.command(&["history", "pull", place.archive.to_str().unwrap()]));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        own.stdout(&["history", "verify"]);
        tries.next += REFERENCES;
    }
    tries.conclude("references");
}
