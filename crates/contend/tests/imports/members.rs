//! The crates of a workspace, as their manifests name them: where each lies, what others call it, what it depends on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A crate of the workspace.
pub struct Member {
    /// From the root of the workspace.
    pub folder: PathBuf,
    pub package: String,
    /// The name by which paths in other crates begin.
    pub library: String,
    /// The packages that it depends on, each by the name that its manifest gives it, as paths have it.
    pub dependencies: BTreeMap<String, String>,
}

impl Member {
    fn read(root: &Path, folder: PathBuf, shared: &Table) -> Self {
        let manifest = table(&root.join(&folder).join("Cargo.toml"));
        let package = manifest["package"]["name"].as_str().expect("a package has a name").to_owned();
        let named = manifest.get("lib").and_then(|library| library.get("name")).and_then(Value::as_str);
        let library = named.map_or_else(|| package.replace('-', "_"), str::to_owned);
        let dependencies = tables_of_dependencies(&manifest)
            .flat_map(|table| table.iter())
            .map(|(key, value)| (key.replace('-', "_"), package_behind(key, value, shared)))
            .collect();
        Self { folder, package, library, dependencies }
    }
}

/// Every member, in the order of their folders.
pub fn members(root: &Path) -> Vec<Member> {
    let manifest = table(&root.join("Cargo.toml"));
    let workspace = manifest["workspace"].as_table().expect("the root is a workspace");
    let shared = workspace.get("dependencies").and_then(Value::as_table).cloned().unwrap_or_default();
    let listed = workspace["members"].as_array().expect("members are a list");
    let mut folders: Vec<PathBuf> =
        listed.iter().filter_map(Value::as_str).flat_map(|pattern| folders(root, pattern)).collect();
    folders.sort();
    folders.into_iter().map(|folder| Member::read(root, folder, &shared)).collect()
}

/// A member is a folder, or all folders in one.
fn folders(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some(parent) = pattern.strip_suffix("/*") else { return vec![PathBuf::from(pattern)] };
    let entries = fs::read_dir(root.join(parent)).unwrap_or_else(|error| panic!("{parent}: {error}"));
    let names = entries.map(|entry| Path::new(parent).join(entry.unwrap().file_name()));
    names.filter(|folder| root.join(folder).join("Cargo.toml").exists()).collect()
}

/// What the crate itself is built from; its tests may depend on whom they like.
fn tables_of_dependencies(manifest: &Table) -> impl Iterator<Item = &Table> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    let places = std::iter::once(manifest).chain(targets.filter_map(Value::as_table));
    let kinds = places.flat_map(|place| ["dependencies", "build-dependencies"].map(|kind| place.get(kind)));
    kinds.flatten().filter_map(Value::as_table)
}

fn package_behind(key: &str, value: &Value, shared: &Table) -> String {
    let renamed = |value: &Value| Some(value.get("package")?.as_str()?.to_owned());
    renamed(value).or_else(|| renamed(shared.get(key)?)).unwrap_or_else(|| key.to_owned())
}

fn table(path: &Path) -> Table {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
