//! A recipe: how to find a contestant's toolchain, build it and run it. `contestants/README.md` says what the keys
//! mean.

use super::Source;
use anyhow::Context;
use loops::ring::Class;
use serde::Deserialize;
use std::path::Path;
use toml::{Table, Value};

/// What a `recipe.toml` says of one contestant.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The folder that the recipe is in; not one of its keys.
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

/// The contestants of all recipes among the files.
///
/// # Errors
/// A recipe that is not one.
pub fn recipes(sources: &[Source]) -> anyhow::Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for source in sources.iter().filter(|source| source.name == Path::new("recipe.toml")) {
        let text = String::from_utf8_lossy(&source.content);
        let found = parse(&source.folder, &text).with_context(|| format!("{}/recipe.toml", source.folder))?;
        recipes.extend(found);
    }
    Ok(recipes)
}

/// What stands before the first contestant holds for all, unless one says otherwise.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::contestants::embedded;

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
    fn what_stands_first_holds_for_all_unless_one_says_otherwise() {
        let recipes = parse("shell", RECIPE).unwrap();
        let said: Vec<_> =
            recipes.iter().map(|recipe| (recipe.name.as_str(), recipe.class, recipe.max_threads)).collect();
        assert_eq!(said, [("sh-one", Class::OsBlock, 10), ("sh-two", Class::Mailbox, 20)]);
        assert!(recipes.iter().all(|recipe| recipe.folder == "shell" && recipe.package == "dash"));
    }

    #[test]
    fn what_is_wrong_with_a_recipe_is_said() {
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
    fn the_embedded_recipes_are_whole_and_their_names_distinct() {
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
}
