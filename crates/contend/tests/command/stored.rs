//! The records of older versions, in `tests/records`.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A value in the rows of each experiment.
const FIGURES: &[&str] = &[
    "median",
    "hold_p50_ns",
    "wait_p50_ns",
    "read_cost_ns",
    "p50_ns",
    "throughput_per_s",
    "lost_share",
    "taken_share",
    "ns_per_hop",
    "shared_share",
    "probability",
    "modelled_per_s",
    "simulated_probability",
    "slowdown",
    "waited_share",
    "cpu_share",
];

pub struct Old {
    /// The path of the file.
    pub path: PathBuf,
    pub content: String,
    pub record: Value,
}

impl Old {
    pub fn name(&self) -> &str {
        self.path.file_stem().unwrap().to_str().unwrap()
    }

    pub fn experiment(&self) -> &str {
        self.record["experiment"].as_str().unwrap()
    }

    pub fn rows(&self) -> &[Value] {
        super::results(&self.record)
    }

    /// Returns another run of the same, whose values are half as large again.
    pub fn again(&self) -> String {
        let mut again = self.record.clone();
        again["environment"]["seed"] = json!(1);
        again["environment"]["started_unix_s"] = json!(again["environment"]["started_unix_s"].as_u64().unwrap() + 60);
        for row in again["results"].as_array_mut().unwrap() {
            for figure in FIGURES {
                if let Some(value) = row.get(*figure).and_then(Value::as_f64) {
                    row[*figure] = json!(value * 1.5);
                }
            }
        }
        again.to_string() + "\n"
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records")
}

/// Returns every record of the directory.
pub fn all() -> Vec<Old> {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    files.sort();
    let read = |path: PathBuf| {
        let content = fs::read_to_string(&path).unwrap();
        Old { record: serde_json::from_str(&content).unwrap(), path, content }
    };
    files.into_iter().map(read).collect()
}

/// Returns the record of this name.
pub fn named(name: &str) -> Value {
    all().into_iter().find(|old| old.name() == name).unwrap_or_else(|| panic!("no record {name}")).record
}

/// Returns the survey's rows of one experiment that are chosen, as a record of that experiment.
pub fn of_survey(experiment: &str, is_chosen: impl Fn(&Value) -> bool) -> Value {
    let mut record = named("survey");
    record["experiment"] = json!(experiment);
    record["parameters"] = record["parameters"][experiment].take();
    let rows = record["results"].as_array_mut().unwrap();
    rows.retain(|row| row["experiment"] == experiment && is_chosen(row));
    rows.iter_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove("experiment")));
    record
}

/// Returns a record of `contend latency --lock std`, with one thread and with two.
pub fn latency() -> Value {
    let mut record = of_survey("latency", |row| row["lock"] == "std" && row["competitors"] == 0);
    record["environment"]["command_line"] = json!(["contend", "latency", "--lock", "std", "--threads", "1,2"]);
    record
}

/// Returns the rows of [`latency`] with one thread, which holds the lock for 1 µs.
pub fn uncontended() -> Value {
    let mut record = latency();
    record["parameters"]["hold_us"] = json!(1.0);
    let rows = record["results"].as_array_mut().unwrap();
    rows.retain(|row| row["threads"] == 1);
    rows.iter_mut().for_each(|row| row["hold_us"] = json!(1.0));
    record
}
