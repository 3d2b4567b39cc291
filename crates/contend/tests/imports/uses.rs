//! What the text of one file takes from others.
//!
//! A name that a `use` imports is taken. A module that it imports is not by itself: what is taken is what paths name
//! through it, and only where no path does, the module's own file.

use super::left_out::{attributes, only_for_tests};
use super::resolve::Found;
use super::scope::{Import, Meaning, Scope, imports, public, text};
use super::tokens::{Mention, mentions, quoted};
use super::tree::{Source, Tree};
use std::collections::BTreeSet;
use std::mem;
use syn::buffer::TokenBuffer;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, Item, ItemMod, ItemUse, Macro, Meta, Stmt, Visibility};

/// The files that have what is taken, each with the name.
pub fn names_taken(tree: &Tree, source: &Source) -> BTreeSet<(usize, String)> {
    let mut reader = Reader {
        tree,
        module: source.module,
        blocks: Vec::new(),
        taken: BTreeSet::new(),
        modules: Vec::new(),
        globs: Vec::new(),
        used: BTreeSet::new(),
    };
    source.items.iter().for_each(|item| reader.visit_item(item));
    reader.take_what_nothing_was_named_through();
    reader.taken
}

struct Reader<'t> {
    tree: &'t Tree,
    module: usize,
    /// What the blocks around bring into scope, the innermost last.
    blocks: Vec<Scope>,
    taken: BTreeSet<(usize, String)>,
    /// Modules that were imported, each with the name that it has here.
    modules: Vec<(String, usize)>,
    /// Modules of which all names were imported, each with the module that imports them.
    globs: Vec<(usize, usize)>,
    /// The first segments of all paths that lead to a file.
    used: BTreeSet<String>,
}

impl Reader<'_> {
    fn take(&mut self, file: usize, name: &str) {
        if file != self.tree.modules[self.module].file {
            self.taken.insert((file, name.to_owned()));
        }
    }

    fn take_module(&mut self, module: usize, name: &str) {
        self.take(self.tree.modules[module].file, name);
    }

    fn mention(&mut self, path: &[String]) -> Found {
        let found = self.locate(path);
        if found.files().next().is_some() {
            self.used.insert(path[0].clone());
        }
        found.files().for_each(|file| self.take(file, &found.name));
        found
    }

    /// The macro of a call, which may be in scope although nothing imports it.
    fn mention_macro(&mut self, path: &[String]) {
        if self.mention(path).files().next().is_none()
            && let Some(file) = self.tree.macro_in_scope(self.module, &path[0])
        {
            self.take(file, &path[0]);
        }
    }

    fn import(&mut self, import: &Import, public: bool) {
        let found = self.mention(&import.path);
        match &import.name {
            Some(name) if found.files().next().is_none() => {
                self.modules.extend(found.modules().map(|module| (name.clone(), module)));
            }
            Some(_) => {}
            None if public => found.modules().for_each(|module| self.take_module(module, "*")),
            None => self.globs.extend(found.modules().map(|module| (module, self.module))),
        }
    }

    /// Where a path leads from the innermost block.
    fn locate(&self, path: &[String]) -> Found {
        for scope in self.blocks.iter().rev() {
            if let Some(bindings) = scope.names.get(&path[0]) {
                return match &bindings[0].meaning {
                    Meaning::Here(_) => Found { places: Vec::new(), name: path[0].clone() },
                    Meaning::Import(import) => self.tree.resolve(self.module, &[import, &path[1..]].concat()),
                };
            }
            let behind = scope.globs.iter().flat_map(|(glob, _)| self.tree.resolve(self.module, glob).places);
            let behind = Found { places: behind.collect(), name: String::new() };
            if let Some(module) = behind.modules().find(|module| self.tree.offers(*module, &path[0], self.module)) {
                return self.tree.resolve(module, path);
            }
        }
        self.tree.resolve(self.module, path)
    }

    fn take_what_nothing_was_named_through(&mut self) {
        for (name, module) in mem::take(&mut self.modules) {
            if !self.used.contains(&name) {
                self.take_module(module, &name);
            }
        }
        for (module, viewer) in mem::take(&mut self.globs) {
            if !self.used.iter().any(|name| self.tree.offers(module, name, viewer)) {
                self.take_module(module, "*");
            }
        }
    }

    fn tokens(&mut self, all: Vec<Mention>) {
        for mention in all {
            match mention {
                Mention::Path(path) => drop(self.mention(&path)),
                Mention::Macro(path) => self.mention_macro(&path),
                // What the tokens around it name through a module is not followed.
                Mention::Import(import) => {
                    let found = self.mention(&import.path);
                    found.modules().for_each(|module| self.take_module(module, &found.name));
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !only_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !only_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let Some((_, items)) = &item.content else { return };
        let inner = self.tree.inline(self.module, &text(&item.ident)).unwrap_or(self.module);
        let (module, blocks) = (mem::replace(&mut self.module, inner), mem::take(&mut self.blocks));
        items.iter().for_each(|item| self.visit_item(item));
        (self.module, self.blocks) = (module, blocks);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        imports(item).iter().for_each(|import| self.import(import, public(&item.vis)));
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let items = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(item) => Some(item),
            _ => None,
        });
        self.blocks.push(Scope::of(items, self.tree.modules[self.module].file));
        visit::visit_block(self, block);
        self.blocks.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        drop(self.mention(&segments(path)));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.mention_macro(&segments(&call.path));
        self.tokens(mentions(TokenBuffer::new2(call.tokens.clone()).begin()));
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            let tokens = TokenBuffer::new2(list.tokens.clone());
            self.tokens(mentions(tokens.begin()));
            self.tokens(quoted(tokens.begin()));
        }
    }

    /// Who may see an item is no use of the module that says so.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn segments(path: &syn::Path) -> Vec<String> {
    let mut segments: Vec<String> = path.segments.iter().map(|segment| text(&segment.ident)).collect();
    if path.leading_colon.is_some() {
        segments[0].insert_str(0, "::");
    }
    segments
}
