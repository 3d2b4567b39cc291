//! Every file of the workspace that a build without tests compiles, and the modules in them.
//!
//! A crate's files are found as the compiler finds them: from its root, by what `mod` declares.

use super::left_out::{has, only_for_tests};
use super::members::{Member, members};
use super::scope::{Meaning, Place, Scope, public, text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use syn::{Attribute, Expr, Item, ItemMod, Lit};

pub struct Module {
    pub name: String,
    pub file: usize,
    pub member: usize,
    pub parent: Option<usize>,
    /// The module that `crate` means here.
    pub root: usize,
    pub scope: Scope,
}

/// The text of a file and the module that it is.
pub struct Source {
    pub module: usize,
    pub items: Vec<Item>,
}

pub struct Tree {
    pub members: Vec<Member>,
    /// From the root of the workspace.
    pub files: Vec<String>,
    pub modules: Vec<Module>,
    pub sources: Vec<Source>,
    /// The root module of each library, by the name by which paths begin.
    pub libraries: BTreeMap<String, usize>,
    /// Files in `src` to which no `mod` leads.
    unreached: Vec<String>,
}

/// Where the modules that a module declares are looked for.
struct Spot {
    module: usize,
    /// What a `#[path]` is relative to.
    beside: PathBuf,
    below: PathBuf,
}

/// Follows `mod` from file to file.
struct Finder {
    root: PathBuf,
    tree: Tree,
    /// Files that only tests have.
    for_tests: BTreeSet<PathBuf>,
}

impl Tree {
    pub fn read(root: &Path) -> Self {
        let (files, modules, sources) = (Vec::new(), Vec::new(), Vec::new());
        let (libraries, unreached) = (BTreeMap::new(), Vec::new());
        let tree = Self { members: members(root), files, modules, sources, libraries, unreached };
        let mut finder = Finder { root: root.to_owned(), tree, for_tests: BTreeSet::new() };
        for member in 0..finder.tree.members.len() {
            finder.member(member);
        }
        finder.tree
    }

    /// Every file that nothing reads, in words.
    pub fn unreached(&self) -> Vec<String> {
        self.unreached.iter().map(|file| format!("{file} is compiled by no crate: no `mod` leads to it")).collect()
    }

    /// The module of this name that is written into the file of the module around it.
    pub fn inline(&self, parent: usize, name: &str) -> Option<usize> {
        let same = |module: &Module| module.parent == Some(parent) && module.name == name;
        self.modules.iter().position(|module| same(module) && module.file == self.modules[parent].file)
    }
}

impl Finder {
    fn member(&mut self, member: usize) {
        let source = self.tree.members[member].folder.join("src");
        for root in ["lib.rs", "main.rs"].map(|name| source.join(name)) {
            if self.root.join(&root).exists() {
                let module = self.file(&root, &source, member, None, "crate");
                if root.ends_with("lib.rs") {
                    self.tree.libraries.insert(self.tree.members[member].library.clone(), module);
                }
            }
        }
        let reached: BTreeSet<PathBuf> = self.tree.files.iter().map(PathBuf::from).collect();
        let mut rest = self.listed(&source);
        rest.retain(|file| !reached.contains(file) && !self.for_tests.contains(file));
        self.tree.unreached.extend(rest.iter().map(|file| file.display().to_string()));
    }

    fn file(&mut self, path: &Path, below: &Path, member: usize, parent: Option<usize>, name: &str) -> usize {
        let items = self.parse(path);
        let file = self.number(path);
        let module = self.module(name, file, member, parent, Scope::of(&items, file));
        let root = self.tree.modules[module].root;
        for name in Scope::exported(&items) {
            self.tree.modules[root].scope.bind(name, Meaning::Here(Place::Item(file)), true);
        }
        let beside = path.parent().expect("a file lies in a folder").to_owned();
        self.declared(&Spot { module, beside, below: below.to_owned() }, &items);
        self.tree.sources.push(Source { module, items });
        module
    }

    fn module(&mut self, name: &str, file: usize, member: usize, parent: Option<usize>, scope: Scope) -> usize {
        let module = self.tree.modules.len();
        let root = parent.map_or(module, |parent| self.tree.modules[parent].root);
        self.tree.modules.push(Module { name: name.to_owned(), file, member, parent, root, scope });
        module
    }

    fn declared(&mut self, spot: &Spot, items: &[Item]) {
        for item in items {
            match item {
                Item::Mod(item) if only_for_tests(&item.attrs) => self.only_tests_have(spot, item),
                Item::Mod(item) => self.declare(spot, item),
                _ => {}
            }
        }
    }

    fn declare(&mut self, spot: &Spot, item: &ItemMod) {
        let (name, member) = (text(&item.ident), self.tree.modules[spot.module].member);
        let module = match &item.content {
            Some((_, items)) => self.inline(spot, &name, items),
            None => {
                let (path, below) = self.place(spot, item);
                self.file(&path, &below, member, Some(spot.module), &name)
            }
        };
        let macros = self.tree.modules[module].scope.macros.clone();
        let scope = &mut self.tree.modules[spot.module].scope;
        scope.bind(name, Meaning::Here(Place::Module(module)), public(&item.vis));
        if has(&item.attrs, "macro_use") {
            scope.macros.extend(macros);
        }
    }

    fn inline(&mut self, spot: &Spot, name: &str, items: &[Item]) -> usize {
        let Module { file, member, .. } = self.tree.modules[spot.module];
        let scope = Scope::of(items, file);
        // Two of one name, each below its own condition, are one here.
        let module = match self.tree.inline(spot.module, name) {
            Some(module) => {
                self.tree.modules[module].scope.extend(scope);
                module
            }
            None => self.module(name, file, member, Some(spot.module), scope),
        };
        let below = spot.below.join(name);
        self.declared(&Spot { module, beside: below.clone(), below }, items);
        module
    }

    /// The file that a declaration means, and where those lie that are declared in it.
    fn place(&self, spot: &Spot, item: &ItemMod) -> (PathBuf, PathBuf) {
        let name = text(&item.ident);
        if let Some(path) = item.attrs.iter().find_map(given_path) {
            let path = without_detours(&spot.beside.join(path));
            return (path.clone(), path.parent().expect("a file lies in a folder").to_owned());
        }
        let below = spot.below.join(&name);
        let candidates = [below.with_extension("rs"), below.join("mod.rs")];
        let found = candidates.into_iter().find(|path| self.root.join(path).exists());
        (found.unwrap_or_else(|| panic!("`mod {name}` has no file at {}", below.display())), below)
    }

    fn only_tests_have(&mut self, spot: &Spot, item: &ItemMod) {
        if item.content.is_none() {
            let (path, below) = self.place(spot, item);
            let beside = path.parent().expect("a file lies in a folder").to_owned();
            let spot = Spot { module: spot.module, beside, below };
            for item in self.parse(&path).iter() {
                if let Item::Mod(item) = item {
                    self.only_tests_have(&spot, item);
                }
            }
            self.for_tests.insert(path);
        }
    }

    fn parse(&self, path: &Path) -> Vec<Item> {
        let text =
            fs::read_to_string(self.root.join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).items
    }

    fn number(&mut self, path: &Path) -> usize {
        let path = path.display().to_string();
        let known = self.tree.files.iter().position(|file| *file == path);
        known.unwrap_or_else(|| {
            self.tree.files.push(path);
            self.tree.files.len() - 1
        })
    }

    /// Every Rust file in a folder and those below it.
    fn listed(&self, folder: &Path) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(self.root.join(folder)).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| folder.join(entry.unwrap().file_name())).collect();
        paths.sort();
        let within = |path: PathBuf| if self.root.join(&path).is_dir() { self.listed(&path) } else { vec![path] };
        paths.into_iter().flat_map(within).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
    }
}

fn given_path(attribute: &Attribute) -> Option<String> {
    let value = attribute.meta.require_name_value().ok().filter(|_| attribute.path().is_ident("path"))?;
    match &value.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(path) => Some(path.value()),
            _ => None,
        },
        _ => None,
    }
}

fn without_detours(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            component => plain.push(component),
        }
    }
    plain
}
