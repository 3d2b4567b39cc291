//! Differences between two records in addition to their values.

use super::operand::Operand;
use crate::commands::parameters as settings;
use archive::Manifest;
use record::{Difference, Metric, Naming, Source};
use serde_json::{Map, Value};

/// Returns the differences in the machine and its settings, the program and its build, and the warnings.
///
/// A field of the manifests counts only if both have it.
pub fn environments(sources: [&Source; 2], manifests: [Option<&Manifest>; 2]) -> Vec<Difference> {
    let mut differences = record::environments(&sources);
    if let [Some(one), Some(other)] = manifests {
        differences.extend(record::between(&[noted(one), noted(other)]));
    }
    let codes = sources.map(|source| {
        let codes: Vec<&str> = source.warnings.iter().filter_map(|warning| warning["code"].as_str()).collect();
        if codes.is_empty() { "none".to_owned() } else { codes.join(" ") }
    });
    if codes[0] != codes[1] {
        differences.push(Difference { name: "warnings".into(), values: codes.into() });
    }
    differences
}

/// Returns the fields of a manifest that the record itself lacks.
fn noted(manifest: &Manifest) -> Map<String, Value> {
    let Ok(Value::Object(mut all)) = serde_json::to_value(manifest) else { return Map::new() };
    let wanted = ["host", "kernel_command_line", "settings", "cgroup_limits", "packages", "build"];
    let mut noted: Map<String, Value> = wanted.iter().filter_map(|name| all.remove_entry(*name)).collect();
    let hash = manifest.program.as_ref().and_then(|program| program.hash.clone());
    noted.insert("program".into(), hash.map_or(Value::Null, Value::from));
    noted
}

/// Returns its values for people: a hash is cut to the digits that distinguish one file from another.
pub fn values_in_words(difference: &Difference) -> Vec<String> {
    const DIGITS: usize = 10;
    let shortened = |value: &String| value.chars().take(DIGITS).collect();
    let is_hash = settings::is_content(&difference.name);
    if is_hash { difference.values.iter().map(shortened).collect() } else { difference.values.clone() }
}

/// Returns the differences in the parameters, and in the settings of the work that are in no cell's name.
pub fn parameters(a: &Operand, b: &Operand, metrics: &[Vec<Metric>; 2], naming: &Naming) -> Vec<Difference> {
    // The parameters of a survey have other names than those of its experiments.
    let is_alike = a.source.experiment == b.source.experiment;
    let mut differences = if is_alike { settings::differences([&a.source, &b.source]) } else { Vec::new() };
    for metric in &metrics[0] {
        for (field, words) in metric.cell.work().iter().filter(|(field, _)| !naming.has(metric, field)) {
            let is_known = differences.iter().any(|known| known.name.rsplit('.').next() == Some(field));
            let of_b = metrics[1].iter().filter(|other| other.experiment == metric.experiment);
            let other = of_b.flat_map(|other| other.cell.work()).find(|(name, _)| name == field);
            if let Some((_, other)) = other.filter(|(_, other)| other != words && !is_known) {
                differences.push(Difference { name: (*field).to_owned(), values: vec![words.clone(), other.clone()] });
            }
        }
    }
    differences
}
