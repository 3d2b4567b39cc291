//! From a path to the file that has what it names, as the compiler would go: through imports, re-exports and globs.
//!
//! Types, values and macros share one namespace here. A path that ends at a module and at an item of the same name
//! therefore leads to both, as it does in a `use`.

use super::scope::{Meaning, Path, Place};
use super::tree::Tree;

/// Where a path leads, nowhere if out of the workspace, and the segment that names what is there.
pub struct Found {
    pub places: Vec<Place>,
    pub name: String,
}

/// The names that are being looked up, each in its module: an import that leads back to itself leads nowhere.
type Trail = Vec<(usize, String)>;

impl Found {
    pub fn modules(&self) -> impl Iterator<Item = usize> {
        self.places.iter().filter_map(|place| match place {
            Place::Module(module) => Some(*module),
            Place::Item(_) => None,
        })
    }

    pub fn files(&self) -> impl Iterator<Item = usize> {
        self.places.iter().filter_map(|place| match place {
            Place::Item(file) => Some(*file),
            Place::Module(_) => None,
        })
    }
}

impl Tree {
    pub fn resolve(&self, from: usize, path: &[String]) -> Found {
        self.follow(from, path, &mut Trail::new())
    }

    /// The macros whose definitions stand before this module, or in it.
    pub fn macro_in_scope(&self, from: usize, name: &str) -> Option<usize> {
        let mut around = std::iter::successors(Some(from), |module| self.modules[*module].parent);
        around.find_map(|module| self.modules[module].scope.macros.get(name).copied())
    }

    /// Whether a module has something of this name that is seen from another which imports all of it.
    pub fn offers(&self, module: usize, name: &str, viewer: usize) -> bool {
        !self.members_of(module, name, Some(viewer), &mut Trail::new()).is_empty()
    }

    fn follow(&self, from: usize, path: &[String], trail: &mut Trail) -> Found {
        let mut places = self.first(from, &path[0], trail);
        let mut name = &path[0];
        for next in &path[1..] {
            // What follows an item is its own: a variant, an associated function.
            if !places.iter().any(|place| matches!(place, Place::Module(_))) {
                break;
            }
            places = self.step(places, next, trail);
            name = next;
        }
        Found { places, name: name.clone() }
    }

    fn first(&self, from: usize, name: &str, trail: &mut Trail) -> Vec<Place> {
        match name {
            "crate" | "$crate" => return vec![Place::Module(self.modules[from].root)],
            "self" | "super" => return self.step(vec![Place::Module(from)], name, trail),
            _ => {}
        }
        let outside = |name: &str| self.library(from, name).into_iter().map(Place::Module).collect();
        if let Some(name) = name.strip_prefix("::") {
            return outside(name);
        }
        let found = self.members_of(from, name, None, trail);
        if found.is_empty() { outside(name) } else { found }
    }

    fn step(&self, places: Vec<Place>, name: &str, trail: &mut Trail) -> Vec<Place> {
        let modules = places.iter().filter_map(|place| match place {
            Place::Module(module) => Some(*module),
            Place::Item(_) => None,
        });
        match name {
            "self" => return places,
            "super" => return modules.filter_map(|module| self.modules[module].parent).map(Place::Module).collect(),
            _ => {}
        }
        let found: Vec<Place> = modules.flat_map(|module| self.members_of(module, name, None, trail)).collect();
        if !found.is_empty() {
            return found;
        }
        // The text has no such name: a macro makes it there, or it is handed on from a crate outside.
        places.iter().map(|place| self.as_item(*place)).collect()
    }

    fn as_item(&self, place: Place) -> Place {
        match place {
            Place::Module(module) => Place::Item(self.modules[module].file),
            item => item,
        }
    }

    /// What a name means in a module; to a viewer who imports all of it, only what the viewer may see.
    fn members_of(&self, module: usize, name: &str, viewer: Option<usize>, trail: &mut Trail) -> Vec<Place> {
        let scope = &self.modules[module].scope;
        let seen = |public: bool| public || viewer.is_none_or(|viewer| self.is_within(viewer, module));
        let key = (module, name.to_owned());
        let again = trail.contains(&key);
        trail.push(key);
        let mut found = Vec::new();
        for binding in scope.names.get(name).into_iter().flatten().filter(|binding| seen(binding.public)) {
            match &binding.meaning {
                Meaning::Here(place) => found.push(*place),
                Meaning::Import(_) if again => {}
                Meaning::Import(path) => found.extend(self.imported(module, path, trail)),
            }
        }
        if found.is_empty() && !again {
            for (path, _) in scope.globs.iter().filter(|(_, public)| seen(*public)) {
                let behind = self.follow(module, path, trail);
                for other in behind.modules().filter(|other| *other != module) {
                    found.extend(self.members_of(other, name, Some(module), trail));
                }
            }
        }
        trail.pop();
        found
    }

    fn imported(&self, module: usize, path: &Path, trail: &mut Trail) -> Vec<Place> {
        let found = self.follow(module, path, trail).places;
        if !found.is_empty() {
            return found;
        }
        let of_macro = self.macro_in_scope(module, &path[0]).filter(|_| path.len() == 1);
        // What comes from outside of the workspace is whose who hands it on.
        vec![Place::Item(of_macro.unwrap_or(self.modules[module].file))]
    }

    /// The crate that a path which begins with this name goes into.
    fn library(&self, from: usize, name: &str) -> Option<usize> {
        let member = &self.members[self.modules[from].member];
        let renamed = member.dependencies.get(name).and_then(|package| {
            let other = self.members.iter().find(|member| member.package == *package)?;
            self.libraries.get(&other.library)
        });
        renamed.or_else(|| self.libraries.get(name)).copied()
    }

    fn is_within(&self, module: usize, other: usize) -> bool {
        std::iter::successors(Some(module), |module| self.modules[*module].parent).any(|module| module == other)
    }
}
