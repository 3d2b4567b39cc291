//! The contestants: programs in other languages, each with its recipe, and the built-in ones of [`loops::ring`].
//!
//! A recipe says how to find a contestant's toolchain, build it and run it; `contestants/README.md` explains its keys.
//! Recipes and sources are part of this program, or in a directory that the user names.

use anyhow::Context;
use instruments::helper;
use loops::ring::{BuiltIn, Class};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::{fs, io};
use toml::{Table, Value};

/// One contestant, wherever it runs.
#[derive(Clone, Debug)]
pub struct Contestant {
    pub name: String,
    pub class: Class,
    /// The scheduler that decides which thread runs next.
    pub scheduler: String,
    /// The limit that it is compared with: `chase`, or the kind of handoff between kernel threads.
    pub limit: &'static str,
    /// The order of magnitude in a ring of 503, only to choose the first number of hops.
    pub ns_per_hop: f64,
    /// The largest ring worth trying.
    pub max_threads: usize,
    pub runs: Runs,
}

/// The process that runs a contestant.
#[derive(Clone, Debug)]
pub enum Runs {
    /// This process.
    BuiltIn(&'static BuiltIn),
    /// A separate program.
    Program(Box<Recipe>),
}

/// The ring size of the recipes: in rings of other sizes a poll of all threads takes longer or shorter.
const USUAL_RING: f64 = 503.0;

impl Contestant {
    /// Returns whether it polls threads that cannot run, as many as the ring has.
    pub fn polls_in_vain(&self) -> bool {
        matches!(self.scheduler.as_str(), "poll-in-reverse" | "poll-at-random")
    }

    /// Returns a guess at the time of a hop, in ns.
    pub fn guess_ns(&self, threads: usize) -> f64 {
        if self.polls_in_vain() { (self.ns_per_hop * threads as f64 / USUAL_RING).max(1.0) } else { self.ns_per_hop }
    }
}

impl From<&'static BuiltIn> for Contestant {
    fn from(built_in: &'static BuiltIn) -> Self {
        Self {
            name: built_in.name.to_owned(),
            class: built_in.class,
            scheduler: built_in.scheduler.to_owned(),
            limit: built_in.limit,
            ns_per_hop: built_in.ns_per_hop,
            max_threads: built_in.max_threads,
            runs: Runs::BuiltIn(built_in),
        }
    }
}

impl From<Recipe> for Contestant {
    fn from(recipe: Recipe) -> Self {
        Self {
            name: recipe.name.clone(),
            class: recipe.class,
            scheduler: recipe.scheduler.clone(),
            limit: if recipe.class == Class::OsBlock { "futex" } else { "chase" },
            ns_per_hop: recipe.ns_per_hop as f64,
            max_threads: recipe.max_threads,
            runs: Runs::Program(Box::new(recipe)),
        }
    }
}

/// The description of one contestant in a `recipe.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The directory that the recipe is in; not one of its keys.
    #[serde(skip)]
    pub folder: String,
    pub name: String,
    pub language: String,
    pub class: Class,
    pub scheduler: String,
    pub tools: String,
    pub check: Option<String>,
    pub package: String,
    pub build: Option<String>,
    pub run: String,
    pub environment: Option<String>,
    pub ns_per_hop: u64,
    pub max_threads: usize,
}

/// Returns the contestants of all recipes among the files; an error names a file that is not a recipe.
pub fn recipes(sources: &[Source]) -> anyhow::Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for source in sources.iter().filter(|source| source.name == Path::new("recipe.toml")) {
        let text = String::from_utf8_lossy(&source.content);
        let found = parse(&source.folder, &text).with_context(|| format!("{}/recipe.toml", source.folder))?;
        recipes.extend(found);
    }
    Ok(recipes)
}

/// Parses a file.
///
/// Keys before the first contestant apply to all that do not set them.
fn parse(folder: &str, text: &str) -> anyhow::Result<Vec<Recipe>> {
    let mut shared: Table = text.parse()?;
    let Some(Value::Array(contestants)) = shared.remove("contestant") else {
        anyhow::bail!("[[contestant]] is missing");
    };
    contestants.into_iter().map(|contestant| one(folder, &shared, contestant)).collect()
}

fn one(folder: &str, shared: &Table, contestant: Value) -> anyhow::Result<Recipe> {
    let mut keys = shared.clone();
    if let Value::Table(own) = contestant {
        keys.extend(own);
    }
    let mut recipe: Recipe = keys.try_into()?;
    recipe.folder = folder.to_owned();
    anyhow::ensure!(
        recipe.class != Class::Limit,
        "{}: class limit is reserved; use mailbox, channel or os-block",
        recipe.name
    );
    anyhow::ensure!(!recipe.run.is_empty() && recipe.max_threads > 0, "{}: run is empty", recipe.name);
    Ok(recipe)
}

/// The embedded files: (path below `contestants/`, content).
const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/contestants.rs"));

/// A file of a contestant's directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The name of its directory.
    pub folder: String,
    pub name: PathBuf,
    pub content: Vec<u8>,
}

/// Returns the files that are part of this program, directory by directory.
pub fn embedded() -> Vec<Source> {
    let source = |&(path, content): &(&str, &str)| {
        let (folder, name) = path.split_once('/').expect("every contestant has a directory");
        Source { folder: folder.to_owned(), name: name.into(), content: content.into() }
    };
    EMBEDDED.iter().map(source).collect()
}

/// Returns the files in a directory of the user, which must have a recipe.
pub fn in_folder(path: &Path) -> anyhow::Result<Vec<Source>> {
    let read = || -> io::Result<Vec<Source>> {
        let mut sources = Vec::new();
        for entry in fs::read_dir(path)? {
            let file = entry?.path();
            if let Some(name) = file.file_name().filter(|_| file.is_file()) {
                let content = fs::read(&file)?;
                sources.push(Source { folder: path.display().to_string(), name: name.into(), content });
            }
        }
        Ok(sources)
    };
    let sources = read().with_context(|| format!("--recipe {}", path.display()))?;
    anyhow::ensure!(
        sources.iter().any(|source| source.name == Path::new("recipe.toml")),
        "--recipe {}: the directory has no recipe.toml",
        path.display()
    );
    Ok(sources)
}

/// Returns the path of a recipe's toolchain: the first candidate that exists and that `suits`, given the command of the
/// recipe's `check`.
pub fn find_toolchain(recipe: &Recipe, out: &Path, mut suits: impl FnMut(&[String]) -> bool) -> Option<PathBuf> {
    let mut candidates = recipe.tools.split(' ').flat_map(paths_of).filter(|path| is_program(path));
    candidates.find(|tool| match &recipe.check {
        Some(check) => suits(&filled(check, tool, out)),
        None => true,
    })
}

/// Returns a command of a recipe as words, its placeholders filled in.
///
/// It is split first, since a path may have spaces in it.
pub fn filled(command: &str, tool: &Path, out: &Path) -> Vec<String> {
    let bin = tool.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let tool = tool.to_string_lossy();
    let out = out.to_string_lossy();
    let fill = |word: &str| word.replace("{tool}", &tool).replace("{bin}", &bin).replace("{out}", &out);
    command.split(' ').map(fill).collect()
}

/// Returns the paths of a candidate: on `PATH`, or, if it begins with `/`, all that match it.
fn paths_of(candidate: &str) -> Vec<PathBuf> {
    if candidate.starts_with('/') {
        return candidate.split('/').skip(1).fold(vec![PathBuf::from("/")], |folders, part| {
            folders.iter().flat_map(|folder| matching(folder, part)).collect()
        });
    }
    // Only the first on the path is used, as in a shell.
    helper::find(candidate).into_iter().collect()
}

/// Returns the entries of the directory with this name; `*` matches any letters.
fn matching(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((before, after)) = part.split_once('*') else { return vec![folder.join(part)] };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let fits =
        |name: &str| name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after);
    let mut found: Vec<_> =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(fits)).map(|entry| entry.path()).collect();
    found.sort();
    found
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: &str = r#"
        language = "Shell"
        tools = "sh"
        package = "dash"
        run = "{tool} ring.sh"
        ns_per_hop = 1000
        max_threads = 10
        [[contestant]]
        name = "sh-one"
        class = "os-block"
        scheduler = "kernel"
        [[contestant]]
        name = "sh-two"
        class = "mailbox"
        scheduler = "fifo"
        max_threads = 20
    "#;

    #[test]
    fn keys_before_the_first_contestant_are_defaults() {
        let recipes = parse("shell", RECIPE).unwrap();
        let parsed: Vec<_> =
            recipes.iter().map(|recipe| (recipe.name.as_str(), recipe.class, recipe.max_threads)).collect();
        assert_eq!(parsed, [("sh-one", Class::OsBlock, 10), ("sh-two", Class::Mailbox, 20)]);
        assert!(recipes.iter().all(|recipe| recipe.folder == "shell" && recipe.package == "dash"));
    }

    #[test]
    fn invalid_recipe_is_reported() {
        for (from, to, word) in [
            ("class = \"mailbox\"", "class = \"limit\"", "limit"),
            ("class = \"mailbox\"", "class = \"box\"", "box"),
            ("package = \"dash\"", "", "package"),
            ("package = \"dash\"", "package = \"dash\"\ncolour = 3", "colour"),
            ("[[contestant]]", "[[other]]", "[[contestant]] is missing"),
        ] {
            let error = format!("{:#}", parse("shell", &RECIPE.replace(from, to)).unwrap_err());
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn embedded_recipes_are_complete_with_distinct_names() {
        let recipes = recipes(&embedded()).unwrap();
        let mut names: Vec<_> = recipes.iter().map(|recipe| &recipe.name).collect();
        assert!(names.len() >= 30, "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), recipes.len());
        let mut languages: Vec<_> = recipes.iter().map(|recipe| &recipe.language).collect();
        languages.sort();
        languages.dedup();
        assert_eq!(languages.len(), 11, "{languages:?}");
    }

    #[test]
    fn star_matches_a_part_of_a_path() {
        assert!(paths_of("/usr/b*/env").contains(&PathBuf::from("/usr/bin/env")));
        assert!(paths_of("/no/such/*/folder").is_empty());
    }

    #[test]
    fn placeholders_are_filled_word_by_word() {
        let tool = Path::new("/opt/my tools/cc");
        let words = filled("{tool} -o {out}/ring {bin}/x", tool, Path::new("/tmp/a b"));
        assert_eq!(words, ["/opt/my tools/cc", "-o", "/tmp/a b/ring", "/opt/my tools/x"]);
    }
}
