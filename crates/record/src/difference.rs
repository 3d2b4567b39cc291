//! What differs between records beside their figures: the machine, how it was set, what was asked for.

use crate::source::{Source, flattened};
use serde::Serialize;
use serde_json::{Map, Value};

/// What differs between two runs on the same machine as well.
const FLEETING: [&str; 4] = ["command_line", "seed", "started_unix_s", "interrupted"];

/// Parameters that only say in which random order the cells had their turns.
const ORDER: [&str; 2] = ["order", "cells"];

/// A value that is not the same in all records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The path of its names.
    pub name: String,
    /// By record; `–` where it is unknown.
    pub values: Vec<String>,
}

/// What differs in the environments of the records.
pub fn environments(sources: &[&Source]) -> Vec<Difference> {
    let all: Vec<Lines> = sources.iter().map(|source| flattened(&source.environment)).collect();
    // What was tried of which CPUs share a core is known sooner or later, and is no other machine.
    let differs = |path: &str| !path.starts_with("load.") && !path.starts_with("cpu.probed");
    among(&all, |path| !FLEETING.contains(&path) && differs(path))
}

/// The parameters that differ, of those that count by the path of their names.
pub fn parameters(sources: &[&Source], counts: impl Fn(&str) -> bool) -> Vec<Difference> {
    let all: Vec<Lines> = sources.iter().map(|source| flattened(&source.parameters)).collect();
    among(&all, |path| !ORDER.contains(&path.rsplit('.').next().unwrap_or(path)) && counts(path))
}

/// What differs in objects of any kind.
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
