//! Pages of stored records.

use super::stored;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Returns a record of each kind of page.
pub fn records() -> Vec<(&'static str, Value)> {
    let named = ["noise", "load", "ring", "model-frames"].map(|name| (name, stored::named(name)));
    let throughput = stored::of_survey("throughput", |_| true);
    [("latency", stored::latency()), ("throughput", throughput)].into_iter().chain(named).collect()
}

pub fn written(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// Returns the page of these records.
pub fn page(records: &[&Value]) -> String {
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

/// Returns the figure of a page's comparison with this title.
pub fn compared<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let side_by_side = page.split("id=\"side-by-side\"").nth(1)?.split("id=\"record-1\"").next()?;
    side_by_side.split("<section class=\"figure\">").skip(1).find(|figure| figure.contains(title))
}
