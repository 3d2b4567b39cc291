//! The waits of the goroutines of a Go program, with names.

use crate::trace::record::Frame;
use blame::frames::function_of;
use blame::golang::{Kind, StackNumber, Waits, is_standard};
use blame::names::{Names, Site, short};
use blame::pairs;
use blame::purpose::Purpose;
use instruments::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The waits of the goroutines of a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GoProcess {
    pub process: u32,
    /// How long the process was followed, and for how much of that the probes were open.
    pub elapsed_s: f64,
    pub watched_s: f64,
    /// Events that were lost.
    pub lost: u64,
    /// The reason why there are none, and whether a permission would help.
    pub refusal: Option<(Warning, bool)>,
    /// Call paths, by their numbers.
    pub paths: Vec<GoPath>,
    /// The waits by object and path. Several objects can be unknown: they are 0.
    #[serde(with = "pairs")]
    pub waits: BTreeMap<(u64, StackNumber), GoWaits>,
    /// The names of the objects that are known.
    pub objects: BTreeMap<u64, String>,
}

/// A call path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GoPath {
    pub kind: Kind,
    /// The first function of the program's own.
    pub site: Site,
    pub frames: Vec<Frame>,
}

/// Waits for an object at a call path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GoWaits {
    pub waits: Waits,
    /// The purpose of a channel, as those see it that wait here.
    pub purpose: Option<Purpose>,
}

const MOST_FRAMES: usize = 16;
/// A mutex waits at its semaphore, which is behind its state; the semaphores of a read-write lock are behind its mutex.
const SEMAPHORE_OFFSETS: [u64; 3] = [4, 8, 12];

impl GoProcess {
    /// Names call paths and objects.
    pub fn name(
        mut self,
        names: &mut Names,
        stacks: &[Vec<u64>],
        waits: &HashMap<(u64, StackNumber), Waits>,
        purposes: &HashMap<(u64, StackNumber), Purpose>,
    ) -> Self {
        self.paths = stacks.iter().map(|stack| GoPath::of(names, stack)).collect();
        let place = |(place, waits): (&(u64, StackNumber), &Waits)| {
            (*place, GoWaits { waits: waits.clone(), purpose: purposes.get(place).copied() })
        };
        self.waits = waits.iter().map(place).collect();
        // Objects of one name have numbers: the one that was waited for longest at one place is the first.
        let mut longest: Vec<(u64, u64, StackNumber)> =
            self.waits.iter().map(|((object, stack), one)| (one.waits.times.ticks, *object, *stack)).collect();
        longest.sort_by_key(|(ns, object, stack)| (std::cmp::Reverse(*ns), *object, *stack));
        for (_, object, stack) in longest.into_iter().filter(|(_, object, _)| *object != 0) {
            if let Some(path) = self.paths.get(stack).filter(|path| path.kind.ends_by_others()) {
                self.objects.entry(object).or_insert_with(|| path.object(names, object));
            }
        }
        self
    }

    /// Returns the words for the first function of the program's own on a path.
    pub fn label(&self, stack: StackNumber) -> &str {
        self.paths.get(stack).map_or("an unknown place", |path| &path.site.label)
    }

    /// Returns the name of an object that is waited for on a path.
    pub fn name_of(&self, object: u64, path: &GoPath) -> String {
        self.objects.get(&object).cloned().unwrap_or_else(|| path.own_object())
    }
}

impl GoPath {
    fn of(names: &mut Names, addresses: &[u64]) -> Self {
        let frames: Vec<Site> = addresses.iter().flat_map(|address| names.inlined(0, *address)).map(plain).collect();
        let functions = frames.iter().filter_map(function_of);
        let kind = Kind::of(functions);
        let is_own = |site: &&Site| function_of(site).is_some_and(|function| !is_standard(function));
        let own = frames.iter().find(is_own);
        let library =
            frames.iter().find(|site| function_of(site).is_some_and(|function| !function.starts_with("runtime.")));
        let unknown = || Site { symbol: None, source: None, label: "an unknown place".into() };
        let site = own.or(library).cloned().unwrap_or_else(unknown);
        let frame = |site: &Site| Frame { function: function_of(site).map(str::to_owned), source: site.source.clone() };
        Self { kind, site, frames: frames.iter().take(MOST_FRAMES).map(frame).collect() }
    }

    /// Returns the global variable of an object, or the call site that waits for it.
    fn object(&self, names: &mut Names, object: u64) -> String {
        let offsets = if self.kind.is_lock() { &SEMAPHORE_OFFSETS[..] } else { &[0] };
        let starts = |names: &mut Names, offset: &u64| names.variable(0, object.wrapping_sub(*offset));
        names.lock(object, |names| {
            let exact = offsets.iter().filter_map(|offset| starts(names, offset)).find(|name| !name.contains("+0x"));
            exact.or_else(|| starts(names, &offsets[0])).unwrap_or_else(|| self.own_object())
        })
    }

    fn own_object(&self) -> String {
        format!("{} of {}", self.kind.type_name(), self.site.label)
    }
}

/// Returns a site whose function has no offset.
fn plain(site: Site) -> Site {
    let Some(function) = function_of(&site).map(str::to_owned) else { return site };
    let label = match &site.source {
        Some(source) => format!("{function} ({})", short(source)),
        None => function.clone(),
    };
    Site { symbol: Some(function), label, ..site }
}
