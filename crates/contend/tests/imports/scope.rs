//! The names that the items of one module, or of one block, put into scope.

use super::left_out::{attributes, has, only_for_tests};
use std::collections::BTreeMap;
use syn::ext::IdentExt;
use syn::{ForeignItem, Ident, Item, ItemUse, UseTree, Visibility};

/// The segments of a path. A path from the extern prelude begins with one such as `::record`.
pub type Path = Vec<String>;

/// Where a path leads: a module by its number, or the number of the file that has the item.
#[derive(Clone, Copy)]
pub enum Place {
    Module(usize),
    Item(usize),
}

pub enum Meaning {
    Here(Place),
    Import(Path),
}

pub struct Binding {
    pub meaning: Meaning,
    /// Whether others than the module and what is in it see it.
    pub public: bool,
}

#[derive(Default)]
pub struct Scope {
    pub names: BTreeMap<String, Vec<Binding>>,
    /// Whose names are here as well, unless there is one of the module's own.
    pub globs: Vec<(Path, bool)>,
    /// The file of each macro that is in scope from its definition on, here and in the modules below.
    pub macros: BTreeMap<String, usize>,
}

/// A name that a `use` imports; `None` for all names behind the path.
pub struct Import {
    pub path: Path,
    pub name: Option<String>,
}

impl Scope {
    pub fn of<'a>(items: impl IntoIterator<Item = &'a Item>, file: usize) -> Self {
        let mut scope = Self::default();
        items.into_iter().filter(|item| !only_for_tests(attributes(item))).for_each(|item| scope.add(item, file));
        scope
    }

    /// Macros that are exported are the crate root's, whoever defines them.
    pub fn exported(items: &[Item]) -> impl Iterator<Item = String> {
        items.iter().filter_map(|item| match item {
            Item::Macro(item) if has(&item.attrs, "macro_export") => item.ident.as_ref().map(text),
            _ => None,
        })
    }

    pub fn extend(&mut self, other: Self) {
        other.names.into_iter().for_each(|(name, bindings)| self.names.entry(name).or_default().extend(bindings));
        self.globs.extend(other.globs);
        self.macros.extend(other.macros);
    }

    pub fn bind(&mut self, name: String, meaning: Meaning, public: bool) {
        self.names.entry(name).or_default().push(Binding { meaning, public });
    }

    fn add(&mut self, item: &Item, file: usize) {
        match item {
            Item::Use(item) => self.import(item),
            Item::ExternCrate(item) => {
                let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name);
                self.bind(text(name), Meaning::Import(vec![format!("::{}", text(&item.ident))]), public(&item.vis));
            }
            Item::ForeignMod(block) => {
                for (name, visibility) in block.items.iter().filter_map(foreign) {
                    self.bind(text(name), Meaning::Here(Place::Item(file)), public(visibility));
                }
            }
            Item::Macro(item) => {
                self.macros.extend(item.ident.iter().map(|name| (text(name), file)));
            }
            item => {
                if let Some((name, visibility)) = defined(item) {
                    self.bind(text(name), Meaning::Here(Place::Item(file)), public(visibility));
                }
            }
        }
    }

    fn import(&mut self, item: &ItemUse) {
        for Import { path, name } in imports(item) {
            match name {
                Some(name) => self.bind(name, Meaning::Import(path), public(&item.vis)),
                None => self.globs.push((path, public(&item.vis))),
            }
        }
    }
}

fn defined(item: &Item) -> Option<(&Ident, &Visibility)> {
    match item {
        Item::Const(item) => Some((&item.ident, &item.vis)),
        Item::Enum(item) => Some((&item.ident, &item.vis)),
        Item::Fn(item) => Some((&item.sig.ident, &item.vis)),
        Item::Static(item) => Some((&item.ident, &item.vis)),
        Item::Struct(item) => Some((&item.ident, &item.vis)),
        Item::Trait(item) => Some((&item.ident, &item.vis)),
        Item::TraitAlias(item) => Some((&item.ident, &item.vis)),
        Item::Type(item) => Some((&item.ident, &item.vis)),
        Item::Union(item) => Some((&item.ident, &item.vis)),
        _ => None,
    }
}

fn foreign(item: &ForeignItem) -> Option<(&Ident, &Visibility)> {
    match item {
        ForeignItem::Fn(item) => Some((&item.sig.ident, &item.vis)),
        ForeignItem::Static(item) => Some((&item.ident, &item.vis)),
        ForeignItem::Type(item) => Some((&item.ident, &item.vis)),
        _ => None,
    }
}

/// Every name that one `use` imports.
pub fn imports(item: &ItemUse) -> Vec<Import> {
    let mut all = Vec::new();
    flatten(&item.tree, &[], &mut all);
    if item.leading_colon.is_some() {
        all.iter_mut().for_each(|import| import.path[0].insert_str(0, "::"));
    }
    all
}

fn flatten(tree: &UseTree, before: &[String], all: &mut Vec<Import>) {
    let path = |last: &Ident| match text(last) {
        last if last == "self" && !before.is_empty() => before.to_vec(),
        last => [before, &[last]].concat(),
    };
    match tree {
        UseTree::Path(tree) => flatten(&tree.tree, &path(&tree.ident), all),
        UseTree::Name(tree) => {
            let path = path(&tree.ident);
            all.push(Import { name: path.last().cloned(), path });
        }
        UseTree::Rename(tree) => all.push(Import { path: path(&tree.ident), name: Some(text(&tree.rename)) }),
        UseTree::Glob(_) => all.push(Import { path: before.to_vec(), name: None }),
        UseTree::Group(tree) => tree.items.iter().for_each(|tree| flatten(tree, before, all)),
    }
}

/// A name without the marks of a raw one.
pub fn text(name: &Ident) -> String {
    name.unraw().to_string()
}

/// Whether an item says that others see it.
pub fn public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}
