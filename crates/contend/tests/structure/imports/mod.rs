//! Imports point down. Crates are compared by their manifests, which Cargo enforces; the modules of a crate that has
//! floors by the paths in their files. The table is `imports/floors.rs`; there is no list of exceptions. In no crate do
//! files import each other in a circle.

mod floors;

use floors::{CRATES, Floors, MODULES};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns every Rust file below a directory, by its path from there.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            found.extend(sources(&path).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text)));
        } else if name.ends_with(".rs") {
            found.push((name.to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// Returns the entry of a directory that a file belongs to: a directory, or a file without its ending.
fn entry(file: &str) -> &str {
    file.split_once('/').map_or(file.trim_end_matches(".rs"), |(folder, _)| folder)
}

/// Returns the module that a file defines, as segments from the root of its crate.
fn module(file: &str) -> Vec<&str> {
    let mut segments: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    segments.pop_if(|name| ["lib", "main", "mod"].contains(name));
    segments
}

/// Returns every import in these files of one crate that its floors do not allow.
///
/// The files are named from the directory `src`.
fn climbing_paths(floors: &Floors, files: &[(String, String)]) -> Vec<String> {
    let (_, below) = floors.folder.split_once("/src").expect("modules are below `src`");
    let outer: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
    let folder: String = outer.iter().map(|name| format!("{name}/")).collect();
    let within = files.iter().filter_map(|(file, text)| Some((file, file.strip_prefix(&folder)?, text)));
    let within: Vec<(&String, &str, &String)> = within.collect();
    let is_entry = |name: &&String| within.iter().any(|(_, inner, _)| entry(inner) == *name);
    let is_below =
        |path: &[String]| path.len() >= outer.len() && outer.iter().zip(path).all(|(name, other)| name == other);
    // The file that has the modules of the directory, to which a path belongs that names no entry.
    let root = if outer.is_empty() { "lib" } else { "mod" };
    let mut faults = Vec::new();
    for (file, inner, text) in &within {
        for path in paths(&module(file), text).into_iter().filter(|path| is_below(path)) {
            let to = path.get(outer.len()).filter(is_entry).map_or(root, String::as_str);
            if let Some(fault) = floors.fault(entry(inner), to) {
                faults.push(format!("{fault}: {}/{inner} imports {}", floors.folder, path.join("::")));
            }
        }
    }
    faults
}

/// The modules of a crate, each with the items that it exports again.
type Exports = BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>;

/// Returns the module that defines the item of a path.
fn defined_in(path: Vec<String>, exports: &Exports) -> Option<Vec<String>> {
    let module_in = |path: &[String]| (0..=path.len()).rev().find(|end| exports.contains_key(&path[..*end]));
    let (within, item) = path.split_at(module_in(&path)?);
    // An item of another crate has a source in no other module.
    let is_of_another = |source: &&Vec<String>| module_in(source).is_some_and(|end| source[..end] != *within);
    match item.first().and_then(|name| exports[within].get(name)).filter(is_of_another) {
        Some(source) => defined_in([source, &item[1..]].concat(), exports),
        None => Some(within.to_vec()),
    }
}

/// Returns the modules of one crate that import each other in a circle, each with its imports of the others.
///
/// An item is imported from the file that defines it, whatever exports it again. A module and those within it count as
/// one: the names of a parent are in scope for its children.
fn circles(files: &[(String, String)]) -> Vec<String> {
    let owned = |file: &str| module(file).into_iter().map(str::to_owned).collect::<Vec<String>>();
    let exports: Exports =
        files.iter().map(|(file, text)| (owned(file), exported_again(&module(file), text))).collect();
    let mut imports: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (file, text) in files {
        let from = owned(file);
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let others = paths(&module(file), code).into_iter().filter_map(|path| defined_in(path, &exports));
        let others = others.filter(|to| !from.starts_with(to) && !to.starts_with(&from)).collect();
        imports.insert(from, others);
    }
    // A module that imports no remaining one, or that no remaining one imports, is in no circle.
    loop {
        let imported: BTreeSet<Vec<String>> = imports.values().flatten().cloned().collect();
        let count = imports.len();
        imports.retain(|from, to| !to.is_empty() && imported.contains(from));
        let left: BTreeSet<Vec<String>> = imports.keys().cloned().collect();
        imports.values_mut().for_each(|to| to.retain(|one| left.contains(one)));
        if imports.len() == count {
            break;
        }
    }
    let line = |(from, to): (Vec<String>, BTreeSet<Vec<String>>)| {
        let to: Vec<String> = to.iter().map(|one| one.join("::")).collect();
        format!("{} imports {}", from.join("::"), to.join(", "))
    };
    imports.into_iter().map(line).collect()
}

/// A member of the workspace: its directory, its package and the packages that it is built from.
struct Member {
    folder: String,
    package: String,
    dependencies: Vec<String>,
}

fn member(folder: String, manifest: &Table, shared: &Table) -> Member {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    let places = std::iter::once(manifest).chain(targets.filter_map(Value::as_table));
    let kinds = places.flat_map(|place| ["dependencies", "build-dependencies"].map(|kind| place.get(kind)));
    let renamed = |value: &Value| Some(value.get("package")?.as_str()?.to_owned());
    let dependencies = kinds
        .flatten()
        .filter_map(Value::as_table)
        .flatten()
        .map(|(key, value)| renamed(value).or_else(|| renamed(shared.get(key)?)).unwrap_or_else(|| key.to_owned()))
        .collect();
    Member { folder, package: manifest["package"]["name"].as_str().unwrap().to_owned(), dependencies }
}

fn members() -> Vec<Member> {
    let table = |path: PathBuf| fs::read_to_string(path).unwrap().parse::<Table>().unwrap();
    let workspace = table(root().join("Cargo.toml"));
    let shared = workspace["workspace"]["dependencies"].as_table().unwrap().clone();
    let entries = ["crates", "libs"].into_iter().flat_map(|parent| {
        let entries = fs::read_dir(root().join(parent)).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(move |name| format!("{parent}/{}", name.to_str().unwrap()))
    });
    let folders = entries.chain(["libs/ulocks/c".to_owned()]);
    let there = folders.filter(|folder| root().join(folder).join("Cargo.toml").exists());
    there.map(|folder| member(folder.clone(), &table(root().join(folder).join("Cargo.toml")), &shared)).collect()
}

/// Returns every dependency between members that the floors do not allow.
fn climbing_dependencies(members: &[Member]) -> Vec<String> {
    let mut faults = Vec::new();
    for member in members {
        for other in members.iter().filter(|other| member.dependencies.contains(&other.package)) {
            let fault = match (member.folder.strip_prefix("crates/"), other.folder.strip_prefix("crates/")) {
                (Some(from), Some(to)) => CRATES.fault(from, to),
                (Some(_), None) => None,
                // The C interface of the locks is a separate crate.
                (None, None) if member.folder == "libs/ulocks/c" && other.folder == "libs/ulocks" => None,
                (None, _) => Some("a library that imports a crate of the workspace"),
            };
            faults.extend(fault.map(|fault| format!("{fault}: {} depends on {}", member.folder, other.folder)));
        }
    }
    faults
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn crates_depend_on_lower_floors_only() {
    assert_none(&climbing_dependencies(&members()));
}

#[test]
fn modules_import_from_lower_floors_only() {
    for floors in MODULES {
        let (parent, _) = floors.folder.split_once("/src").unwrap();
        assert_none(&climbing_paths(floors, &sources(&root().join(parent).join("src"))));
    }
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    for member in members() {
        let src = root().join(&member.folder).join("src");
        let found = if src.exists() { circles(&sources(&src)) } else { Vec::new() };
        assert!(found.is_empty(), "{}/src has a circle:\n{}", member.folder, found.join("\n"));
    }
}

#[test]
fn only_the_planted_circle_is_found() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut files = vec![
        file("lib.rs", "mod a; mod b; mod c; pub use a::A;"),
        file("a/mod.rs", "mod inner; pub struct A; pub use self::inner::I;"),
        file("a/inner.rs", "use super::A; pub struct I;"),
        file("b.rs", "use crate::a::inner::I; pub struct B;\n#[cfg(test)]\nmod tests { use crate::c::C; }"),
        file("c.rs", "use super::b::B; pub struct C;"),
    ];
    assert_eq!(circles(&files), Vec::<String>::new());
    files[2].1.push_str(" use crate::c::C;");
    assert_eq!(circles(&files), ["a::inner imports c", "b imports a::inner", "c imports b"]);
    // The same through a name that the root of the crate exports again.
    files[0].1.push_str(" pub use self::{b::B as Again, c::C};");
    files[2].1 = "use crate::C; pub struct I;".to_owned();
    files[4].1 = "use crate::Again; pub struct C;".to_owned();
    assert_eq!(circles(&files), ["a::inner imports c", "b imports a::inner", "c imports b"]);
}

#[test]
fn the_table_of_floors_names_existing_entries_only() {
    for floors in MODULES.iter().chain([&CRATES]) {
        let folder = root().join(floors.folder);
        let is_there = |name: &str| folder.join(name).exists() || folder.join(format!("{name}.rs")).exists();
        let missing: Vec<&str> = floors.named().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{missing:?} are in the floors of {} and nowhere else", floors.folder);
    }
}

#[test]
fn every_crate_is_on_a_floor() {
    let homeless: Vec<String> = members()
        .into_iter()
        .filter_map(|member| member.folder.strip_prefix("crates/").map(str::to_owned))
        .filter(|name| !CRATES.named().any(|named| named == name))
        .collect();
    assert!(homeless.is_empty(), "{homeless:?}: add them to CRATES in tests/structure/imports/floors.rs");
}

/// One line of a file of `crates/experiments/src` or `crates/contend/src`, and the expected fault.
const PLANTED: &[(usize, &str, &str, Option<&str>)] = &[
    (0, "output/csv.rs", "fn write() -> crate::cli::Misuse {}", Some("an import upwards")),
    (0, "output/mod.rs", "use super::{commands::survey, output::csv};", Some("an import upwards")),
    (0, "commands/survey.rs", "use crate::Everything as Any;", Some("an import upwards")),
    (0, "cli.rs", "use crate::{commands, output::{csv, json}};", None),
    (1, "commands/history.rs", "use crate::commands::survey;", Some("an import on one floor")),
    (1, "commands/compare.rs", "use super::report;", Some("an import upwards")),
    (1, "commands/history.rs", "use crate::commands::{compare, reading::metrics};", None),
    (2, "load/mod.rs", "pub fn show(_: crate::clock::record::Row) {}", Some("an import on one floor")),
    (2, "load/show.rs", "use super::super::clock::*;", Some("an import on one floor")),
    (2, "load/show.rs", "mod inner { use super::super::super::clock; }", Some("an import on one floor")),
    (2, "load/show.rs", "use crate::{load::{Row, plan}, clock::Row as Other};", Some("an import on one floor")),
    (2, "load/show.rs", "macro_rules! m { () => { $crate::clock::run() } }", Some("an import on one floor")),
    (2, "load/show.rs", "// crate::clock\nconst A: &str = r#\"\"crate::clock\"#; const B: char = '\"';", None),
    (2, "load/show.rs", "pub(in super::super) fn run<'a>(_: &'a super::plan::Plan) { self::inner::run(); }", None),
    (3, "model/step/mod.rs", "use super::trace::Trace;\nuse super::frames;", Some("an import on one floor")),
    (3, "model/step/mod.rs", "use crate::model::show::table;", None),
    (3, "model/trace.rs", "use super::step::Step;", Some("an import upwards")),
];

#[test]
fn a_planted_path_is_a_fault_where_it_climbs() {
    let others = ["cli.rs", "commands/mod.rs", "output/mod.rs", "clock/mod.rs", "load/mod.rs", "model/mod.rs"];
    let commands = ["commands/survey.rs", "commands/report.rs", "commands/compare.rs", "commands/reading.rs"];
    let models = ["model/frames/mod.rs", "model/step/mod.rs", "model/show.rs", "model/trace.rs"];
    for (floors, file, text, fault) in PLANTED {
        let mut files: Vec<(String, String)> =
            others.iter().chain(&commands).chain(&models).map(|name| ((*name).to_owned(), String::new())).collect();
        files.push(((*file).to_owned(), (*text).to_owned()));
        let faults = climbing_paths(&MODULES[*floors], &files);
        match fault {
            Some(fault) => assert!(faults.len() == 1 && faults[0].starts_with(fault), "{file}: {text}: {faults:?}"),
            None => assert!(faults.is_empty(), "{file}: {text}: {faults:?}"),
        }
    }
}

#[test]
fn a_planted_dependency_is_a_fault_where_it_climbs() {
    let planted = [
        ("crates/record", "crates/experiments", Some("an import upwards")),
        ("crates/report", "crates/archive", Some("an import on one floor")),
        ("crates/report", "libs/chance", None),
        ("libs/chance", "libs/instruments", Some("a library")),
        ("libs/chance", "crates/record", Some("a library")),
        ("libs/ulocks/c", "libs/ulocks", None),
        ("crates/contend", "crates/weather", Some("an entry that the table")),
    ];
    for (from, to, fault) in planted {
        let named = |folder: &str, dependencies| Member { folder: folder.into(), package: folder.into(), dependencies };
        let faults = climbing_dependencies(&[named(from, vec![to.to_owned()]), named(to, Vec::new())]);
        assert!(faults.first().is_some_and(|found| found.starts_with(fault.unwrap_or("none"))) == fault.is_some());
        assert_eq!(faults.len(), usize::from(fault.is_some()), "{from} on {to}: {faults:?}");
    }
}

// The paths in the text of a file that begin with `crate`, `self` or `super`.
//
// Comments and strings are skipped. A path is given from the root of the crate, whether a `use` has it or an
// expression. A name that is in scope without such a path is a child of the module, or was imported by one.

/// Returns the paths of a file, each as its segments from the root of the crate; `module` is the module that the file
/// defines.
pub fn paths(module: &[&str], text: &str) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let (mut found, mut depth, mut inline) = (Vec::new(), 0, Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.retain(|(opened, _)| *opened <= depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|next| next == "{") => {
                inline.push((depth + 1, tokens[at + 1].clone()));
            }
            "crate" | "self" | "super"
                if tokens.get(at + 1).is_some_and(|next| next == "::") && !is_continued(&tokens, at) =>
            {
                let inner = inline.iter().map(|(_, name)| name.clone());
                let here: Vec<String> = module.iter().map(|&name| name.to_owned()).chain(inner).collect();
                read_tree(&tokens, &mut at, &here, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found.into_iter().map(|(_, path)| path).collect()
}

/// Returns the items that a file exports again, each by its name there, with its path from the root of the crate.
pub fn exported_again(module: &[&str], text: &str) -> BTreeMap<String, Vec<String>> {
    let tokens = tokens(text);
    let here: Vec<String> = module.iter().map(|&name| name.to_owned()).collect();
    let mut exported = BTreeMap::new();
    for at in (0..tokens.len()).filter(|at| tokens[*at] == "use") {
        let is_public = match tokens[..at].iter().rposition(|token| [";", "{", "}", "]"].contains(&token.as_str())) {
            Some(before) => tokens[before + 1] == "pub",
            None => tokens[0] == "pub",
        };
        if is_public {
            let (mut next, mut found) = (at + 1, Vec::new());
            read_tree(&tokens, &mut next, &here, &mut found);
            exported.extend(found);
        }
    }
    exported
}

/// Returns whether the word does not begin a path: `a::self`, or the scope of a visibility, as in `pub(in
/// crate)`.
fn is_continued(tokens: &[String], at: usize) -> bool {
    tokens[..at].ends_with(&["::".to_owned()]) || tokens[..at].ends_with(&["(".to_owned(), "in".to_owned()])
}

/// Reads one path, or each of a braced list, from `before` on, each with the name of its item.
fn read_tree(tokens: &[String], at: &mut usize, before: &[String], found: &mut Vec<(String, Vec<String>)>) {
    let mut path = before.to_vec();
    loop {
        match tokens.get(*at).map(String::as_str) {
            Some("crate") => path.clear(),
            Some("super") => drop(path.pop()),
            Some("self") => {}
            Some("{") => {
                *at += 1;
                while tokens.get(*at).is_some_and(|token| token != "}") {
                    read_tree(tokens, at, &path, found);
                    *at += usize::from(tokens.get(*at).is_some_and(|token| token != "}"));
                }
                *at += 1;
                return;
            }
            Some(name) if name == "*" || is_word(name) => path.push(name.to_owned()),
            _ => break,
        }
        *at += 1;
        if tokens.get(*at).is_none_or(|token| token != "::") {
            break;
        }
        *at += 1;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    // A new name of an imported item.
    if tokens.get(*at).is_some_and(|token| token == "as") {
        name.clone_from(&tokens[*at + 1]);
        *at += 2;
    }
    found.push((name, path));
}

fn is_word(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Returns the words and the punctuation of Rust text.
fn tokens(text: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' | 'b' if is_raw(rest) => raw(rest),
            '"' => quoted(rest),
            '\'' => character(rest),
            ':' if rest.starts_with("::") => {
                found.push("::".to_owned());
                2
            }
            _ if word > 0 => {
                found.push(rest[..word].to_owned());
                word
            }
            _ => {
                found.extend((!first.is_whitespace()).then(|| first.to_string()));
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    found
}

/// Returns whether a raw string begins here, such as `r#"…"#` or `br"…"`.
fn is_raw(rest: &str) -> bool {
    let after = rest.trim_start_matches('b');
    after.strip_prefix('r').is_some_and(|after| after.trim_start_matches('#').starts_with('"'))
}

fn raw(rest: &str) -> usize {
    let open = rest.find('"').expect("a raw string has a quote");
    let end = format!("\"{}", "#".repeat(rest[..open].matches('#').count()));
    rest[open + 1..].find(&end).map_or(rest.len(), |place| open + 1 + place + end.len())
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, letter)| {
        let is_end = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        is_end
    });
    end.map_or(rest.len(), |(place, _)| place + 1)
}

/// Returns the length of a character, or of the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| end + 4),
        Some(_) => letters.next().filter(|(_, letter)| *letter == '\'').map_or(1, |(end, _)| end + 1),
        None => 1,
    }
}
