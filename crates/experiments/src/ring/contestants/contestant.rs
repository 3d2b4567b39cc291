//! One contestant, wherever it runs.

use super::recipe::Recipe;
use loops::ring::BuiltIn;
use loops::ring::Class;

/// One contestant, wherever it runs.
#[derive(Clone, Debug)]
pub struct Contestant {
    pub name: String,
    pub class: Class,
    /// Who decides which thread runs next.
    pub scheduler: String,
    /// The limit that it is held against: `chase`, or the way of handing over between threads of the kernel.
    pub limit: &'static str,
    /// The order of magnitude in a ring of 503, only to choose the first number of hops.
    pub ns_per_hop: f64,
    /// The largest ring worth trying.
    pub max_threads: usize,
    pub runs: Runs,
}

/// Where a contestant runs.
#[derive(Clone, Debug)]
pub enum Runs {
    /// In this process.
    BuiltIn(&'static BuiltIn),
    /// As a program of its own.
    Program(Box<Recipe>),
}

/// In rings of other sizes than this a poll of all threads takes longer or shorter than the recipe says.
const USUAL_RING: f64 = 503.0;

impl Contestant {
    /// Whether it asks threads that cannot run, as many as the ring has.
    pub fn polls_in_vain(&self) -> bool {
        matches!(self.scheduler.as_str(), "poll-in-reverse" | "poll-at-random")
    }

    /// A guess at the time of a hop, in ns.
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
