//! The call paths of the samples, with names: each function is kept once, since paths share most of theirs.

use blame::frames::{Called, Frames};
use blame::sampling::waited::Path;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// Call paths, by their numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Paths {
    functions: Vec<Called>,
    paths: BTreeMap<Path, Numbered>,
    #[serde(skip)]
    numbers: HashMap<Called, u32>,
}

/// A path of numbered functions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Numbered {
    process: u32,
    functions: Vec<u32>,
    /// The judgement on them, once the diagnosis needs it.
    #[serde(skip)]
    judged: OnceCell<Frames>,
}

impl Paths {
    /// Adds a path of a process.
    pub fn insert(&mut self, path: Path, process: u32, called: Vec<Called>) {
        let functions = called.into_iter().map(|function| self.number(function)).collect();
        self.paths.insert(path, Numbered { process, functions, judged: OnceCell::new() });
    }

    fn number(&mut self, function: Called) -> u32 {
        let next = self.functions.len() as u32;
        match self.numbers.get(&function) {
            Some(number) => *number,
            None => {
                self.functions.push(function.clone());
                self.numbers.insert(function, next);
                next
            }
        }
    }

    /// Returns a path; empty if it is not known.
    pub fn frames(&self, path: Path) -> Frames {
        let Some(numbered) = self.paths.get(&path) else { return Frames::default() };
        numbered.judged.get_or_init(|| Frames::judged(self.called(numbered).cloned())).clone()
    }

    fn called<'a>(&'a self, numbered: &'a Numbered) -> impl Iterator<Item = &'a Called> {
        numbered.functions.iter().filter_map(|number| self.functions.get(*number as usize))
    }

    /// Returns the process of a path; 0 if it is not known.
    pub fn process(&self, path: Path) -> u32 {
        self.paths.get(&path).map_or(0, |path| path.process)
    }

    /// Returns whether functions of Python are on a path.
    pub fn is_python(&self, path: Path) -> bool {
        self.paths.get(&path).is_some_and(|path| self.called(path).any(|called| called.is_python))
    }

    /// Returns all functions.
    pub fn all(&self) -> impl Iterator<Item = &Called> {
        self.functions.iter()
    }
}
