//! `contend report` through its binary: pages from real records, and inputs that are not records.

mod browser;
mod calls;
mod one_record;
mod ranks;
mod several;
mod well_formed;

use crate::command::record;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Returns a short record of each experiment, measured once for all tests.
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

/// Returns the page of these records.
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

/// Returns the figure of a page's comparison with this title.
fn compared<'a>(page: &'a str, title: &str) -> Option<&'a str> {
    let side_by_side = page.split("id=\"side-by-side\"").nth(1)?.split("id=\"record-1\"").next()?;
    side_by_side.split("<section class=\"figure\">").skip(1).find(|figure| figure.contains(title))
}
