//! Manifests with `test = false` or `doctest = false`, which avoid building an empty test program: it must really be
//! empty.

use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let within = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(within).filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

/// Returns whether the documentation in a file has a block of Rust that rustdoc would run.
fn has_doctest(text: &str) -> bool {
    let documentation = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let mut fences = documentation.filter_map(|line| line.trim().strip_prefix("```"));
    // Each second fence closes a block.
    let mut opened = std::iter::from_fn(|| {
        let info = fences.next();
        fences.next();
        info
    });
    opened.any(|info| info.is_empty() || ["rust", "no_run", "should_panic"].iter().any(|kind| info.starts_with(kind)))
}

/// Returns the programs of a manifest for which it disables tests, each with the directory of its sources.
fn switched_off(manifest: &Table, kind: &str) -> Vec<String> {
    let one = manifest.get("lib").filter(|_| manifest.contains_key("lib")).into_iter().map(|lib| (lib, "src"));
    let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let folder =
        |bin: &'_ Value| bin.get("path").and_then(Value::as_str).map_or("src/main.rs".to_owned(), str::to_owned);
    let all = one.map(|(lib, folder)| (lib, folder.to_owned())).chain(programs.map(|bin| (bin, folder(bin))));
    all.filter(|(target, _)| target.get(kind).and_then(Value::as_bool) == Some(false)).map(|(_, place)| place).collect()
}

#[test]
fn crates_whose_tests_are_switched_off_have_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut seen, mut faults) = (0, Vec::new());
    let crates =
        ["crates", "libs", "libs/ulocks"].into_iter().flat_map(|parent| fs::read_dir(root.join(parent)).unwrap());
    for folder in crates.map(|entry| entry.unwrap().path()).filter(|folder| folder.join("Cargo.toml").exists()) {
        let manifest: Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        for (kind, has_one) in [
            ("test", (|text: &str| text.contains("#[test]") || text.contains("proptest!")) as fn(&str) -> bool),
            ("doctest", has_doctest),
        ] {
            for place in switched_off(&manifest, kind) {
                seen += 1;
                let place = folder.join(place);
                let files = if place.is_dir() { sources(&place) } else { vec![place] };
                let with = files.into_iter().filter(|path| fs::read_to_string(path).is_ok_and(|text| has_one(&text)));
                faults.extend(with.map(|path| format!("{}: {kind} = false in its manifest", path.display())));
            }
        }
    }
    assert!(seen > 10, "only {seen} were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
