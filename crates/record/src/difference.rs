//! Differences between records in addition to their values: the machine, its settings, the parameters.

use crate::source::{Source, flattened};
use serde::Serialize;
use serde_json::{Map, Value};

/// Fields that differ between two runs on the same machine as well.
const FLEETING: [&str; 4] = ["command_line", "seed", "started_unix_s", "interrupted"];

/// Fields that older records lack: a record without one does not differ by it.
const ADDED: [&str; 5] = [
    "kernel.partitioned_cpus",
    "kernel.callback_free_cpus",
    "kernel.unbound_worker_cpus",
    "kernel.idle_driver",
    "kernel.lacking_options",
];

/// Parameters that only describe the random order of the cells.
const ORDER: [&str; 2] = ["order", "cells"];

/// A value that is not the same in all records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The path of its names.
    pub name: String,
    /// The value in each record; `–` where it is unknown.
    pub values: Vec<String>,
}

/// Returns the differences between the environments of the records.
pub fn environments(sources: &[&Source]) -> Vec<Difference> {
    let all: Vec<Lines> = sources.iter().map(|source| flattened(&source.environment)).collect();
    // Probing which CPUs share a core may happen at any time, and does not make another machine.
    let differs = |path: &str| !path.starts_with("load.") && !path.starts_with("cpu.probed");
    let all_have = |path: &str| all.iter().all(|lines| lines.iter().any(|(name, _)| name == path));
    among(&all, |path| !FLEETING.contains(&path) && differs(path) && (!ADDED.contains(&path) || all_have(path)))
}

/// Returns the parameters that differ, among those that `counts` accepts by the path of their names.
pub fn parameters(sources: &[&Source], counts: impl Fn(&str) -> bool) -> Vec<Difference> {
    let all: Vec<Lines> = sources.iter().map(|source| flattened(&source.parameters)).collect();
    among(&all, |path| !ORDER.contains(&path.rsplit('.').next().unwrap_or(path)) && counts(path))
}

/// Returns the differences between objects of any kind.
pub fn between(objects: &[Map<String, Value>]) -> Vec<Difference> {
    among(&objects.iter().map(flattened).collect::<Vec<Lines>>(), |_| true)
}

type Lines = Vec<(String, String)>;

fn among(all: &[Lines], counts: impl Fn(&str) -> bool) -> Vec<Difference> {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in all.iter().flatten() {
        if !names.contains(&name) && counts(name) {
            names.push(name);
        }
    }
    let value = |lines: &Lines, name: &str| {
        lines.iter().find(|(other, _)| other == name).map_or_else(|| "–".to_owned(), |(_, text)| text.clone())
    };
    let difference = |name: &String| {
        let values: Vec<String> = all.iter().map(|lines| value(lines, name)).collect();
        let same = values.iter().all(|text| *text == values[0]);
        (!same).then(|| Difference { name: name.clone(), values })
    };
    names.into_iter().filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn field_that_an_older_record_lacks_is_no_difference() {
        let source = |kernel: Value| Source {
            name: String::new(),
            experiment: String::new(),
            environment: json!({ "kernel": kernel }).as_object().unwrap().clone(),
            parameters: Map::new(),
            warnings: Vec::new(),
            parts: Vec::new(),
        };
        let [older, none, poll] =
            [json!({"hz": 250}), json!({"hz": 250, "idle_driver": "none"}), json!({"hz": 250, "idle_driver": "poll"})]
                .map(source);
        assert_eq!(environments(&[&older, &none]), []);
        let found = environments(&[&none, &poll]);
        assert_eq!((found.len(), found[0].name.as_str()), (1, "kernel.idle_driver"), "{found:?}");
    }
}
