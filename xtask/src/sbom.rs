//! The components of the programs: every crate that is compiled into them, as CycloneDX.

use crate::programs::PROGRAMS;
use crate::tool::{moment, output_of};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns cargo's description of the workspace.
///
/// # Errors
/// Cargo is missing, or fails.
pub fn metadata() -> anyhow::Result<Value> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-musl"]);
    Ok(serde_json::from_str(&output_of(&mut cargo)?)?)
}

/// Returns the version of the first program, which is that of all.
///
/// # Errors
/// As [`metadata`].
pub fn version() -> anyhow::Result<String> {
    let metadata = metadata()?;
    let package = packages(&metadata).find(|package| package["name"] == PROGRAMS[0].package);
    Ok(package.context("the package is not in the workspace")?["version"].as_str().unwrap_or_default().to_owned())
}

/// Writes the document into the directory.
///
/// # Errors
/// As [`metadata`], or a file cannot be written.
pub fn write(folder: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&document(&metadata()?, &moment())?)? + "\n";
    fs::write(folder.join(format!("contend-{}.cdx.json", version()?)), text)?;
    Ok(())
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

/// Returns the document for these programs.
fn document(metadata: &Value, moment: &str) -> anyhow::Result<Value> {
    let all: BTreeMap<&str, &Value> =
        packages(metadata).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let edges = edges(metadata);
    let mut roots: Vec<&str> = PROGRAMS
        .iter()
        .map(|program| all.iter().find(|(_, package)| package["name"] == program.package).map(|(id, _)| *id))
        .collect::<Option<_>>()
        .context("a program's package is not in the workspace")?;
    // A package may have several programs, which are adjacent.
    roots.dedup();
    let mut within: BTreeSet<&str> = BTreeSet::new();
    let mut open = roots.clone();
    while let Some(id) = open.pop() {
        if within.insert(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    let dependencies = within.iter().map(|id| {
        let on: Vec<String> = edges.get(id).into_iter().flatten().map(|id| reference(all[id])).collect();
        json!({"ref": reference(all[id]), "dependsOn": on})
    });
    let kind = |id: &&str| if roots.contains(id) { "application" } else { "library" };
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(moment),
            "tools": {"components": [{"type": "application", "name": "xtask"}]},
            "component": component(all[roots[0]], "application"),
        },
        "components": within.iter().filter(|id| **id != roots[0]).map(|id| component(all[id], kind(id))).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// Returns the dependencies that are compiled into each package: neither those of its tests, nor those of its build.
fn edges(metadata: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let is_linked = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
    };
    let edges = nodes.filter_map(|node| {
        let dependencies = node["deps"].as_array()?.iter().filter(is_linked);
        Some((node["id"].as_str()?, dependencies.filter_map(|dependency| dependency["pkg"].as_str()).collect()))
    });
    edges.collect()
}

fn reference(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

fn component(package: &Value, kind: &str) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // Crates from before the standard wrote `/` for OR.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    component
}

/// Formats seconds since 1970 as RFC 3339.
fn timestamp(moment: &str) -> String {
    let mut date = Command::new("date");
    output_of(date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"]).arg(format!("@{moment}")))
        .map_or_else(|_| "1970-01-01T00:00:00Z".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a workspace: the programs, a crate in the first, one that only its tests use, and one that only its
    /// build does.
    fn workspace() -> Value {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"});
        let programs = PROGRAMS.iter().map(|program| program.package);
        let packages: Vec<Value> = programs.chain(["within", "tests", "build"]).map(package).collect();
        let dependency = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        json!({
            "packages": packages,
            "resolve": {"nodes": [
                {"id": "contend", "deps": [
                    dependency("within", Value::Null), dependency("tests", json!("dev")), dependency("build", json!("build")),
                ]},
                {"id": "within", "deps": []},
                {"id": "tests", "deps": []},
                {"id": "build", "deps": []},
            ]},
        })
    }

    #[test]
    fn exactly_the_compiled_crates_are_listed() {
        let document = document(&workspace(), "0").unwrap();
        let names: Vec<&Value> =
            document["components"].as_array().unwrap().iter().map(|component| &component["name"]).collect();
        assert_eq!(names, ["contend-remote", "within"]);
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(document["metadata"]["component"]["purl"], "pkg:cargo/contend@1.0.0");
        assert_eq!(document["dependencies"][0]["dependsOn"], json!(["pkg:cargo/within@1.0.0"]));
    }
}
