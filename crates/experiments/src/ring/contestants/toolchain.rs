//! Finding a contestant's toolchain on this machine.

use super::Recipe;
use std::path::{Path, PathBuf};

/// A toolchain that is here.
#[derive(Clone, Debug, PartialEq)]
pub struct Toolchain {
    /// With its path.
    pub tool: PathBuf,
}

impl Toolchain {
    /// The first candidate that exists and that `suits`, given the command of the recipe's `check`.
    pub fn find(recipe: &Recipe, out: &Path, mut suits: impl FnMut(&[String]) -> bool) -> Option<Self> {
        let candidates = recipe.tools.split(' ').flat_map(paths_of).filter(|path| is_program(path));
        candidates.map(|tool| Self { tool }).find(|toolchain| match &recipe.check {
            Some(check) => suits(&filled(check, toolchain, out)),
            None => true,
        })
    }
}

/// A command of a recipe as words, its placeholders filled in. Split first: a path may have spaces in it.
pub fn filled(command: &str, toolchain: &Toolchain, out: &Path) -> Vec<String> {
    let tool = toolchain.tool.to_string_lossy();
    let bin = toolchain.tool.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let out = out.to_string_lossy();
    let fill = |word: &str| word.replace("{tool}", &tool).replace("{bin}", &bin).replace("{out}", &out);
    command.split(' ').map(fill).collect()
}

/// Where a candidate may be: on the path, or, if it has a path of its own, wherever that leads.
fn paths_of(candidate: &str) -> Vec<PathBuf> {
    if candidate.starts_with('/') {
        return candidate.split('/').skip(1).fold(vec![PathBuf::from("/")], |folders, part| {
            folders.iter().flat_map(|folder| matching(folder, part)).collect()
        });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // As a shell does: only the first on the path. What is relative there leads to somewhere else from each folder that
    // something is built in.
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(candidate))
        .find(|path| is_program(path))
        .into_iter()
        .collect()
}

/// What in the folder is called so; `*` stands for any letters.
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

    #[test]
    fn a_star_stands_for_a_part_of_a_path() {
        assert!(paths_of("/usr/b*/env").contains(&PathBuf::from("/usr/bin/env")));
        assert!(paths_of("/no/such/*/folder").is_empty());
    }

    #[test]
    fn placeholders_are_filled_word_by_word() {
        let toolchain = Toolchain { tool: "/opt/my tools/cc".into() };
        let words = filled("{tool} -o {out}/ring {bin}/x", &toolchain, Path::new("/tmp/a b"));
        assert_eq!(words, ["/opt/my tools/cc", "-o", "/tmp/a b/ring", "/opt/my tools/x"]);
    }
}
