//! Which file takes which names from which other.

use super::tree::Tree;
use super::uses::names_taken;
use std::collections::{BTreeMap, BTreeSet};

/// By the files that it runs from and to, the names for which an arrow stands.
pub struct Arrows {
    pub files: Vec<String>,
    names: BTreeMap<(usize, usize), BTreeSet<String>>,
}

impl Arrows {
    pub fn read(tree: &Tree) -> Self {
        let mut names: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
        for source in &tree.sources {
            let from = tree.modules[source.module].file;
            for (to, name) in names_taken(tree, source) {
                names.entry((from, to)).or_default().insert(name);
            }
        }
        Self { files: tree.files.clone(), names }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn all(&self) -> impl Iterator<Item = (usize, usize)> {
        self.names.keys().copied()
    }

    pub fn from(&self, file: usize) -> impl Iterator<Item = usize> {
        self.names.range((file, 0)..=(file, usize::MAX)).map(|((_, to), _)| *to)
    }

    /// An arrow in words: from where to where, and what ties them.
    pub fn words(&self, arrow: (usize, usize)) -> String {
        let names: Vec<&str> = self.names[&arrow].iter().map(String::as_str).collect();
        format!("{} → {}: {}", self.files[arrow.0], self.files[arrow.1], names.join(", "))
    }
}
