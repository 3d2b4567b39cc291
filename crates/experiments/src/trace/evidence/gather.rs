//! The evidence from its sources, as they are at the end of a part of the trace.

use super::{Evidence, Library, NotedLock, NotedPair, Paths, Word};
use crate::trace::aggregate::Window;
use crate::trace::labels;
use crate::trace::record::Row;
use crate::trace::sharing::named::Namer;
use blame::frames;
use blame::jvm::Machines;
use blame::names::Names;
use blame::places::{is_folded, lock_at, lock_name, site_label};
use blame::purpose::{Uses, block_address};
use blame::sampling::profile::Profile;
use blame::sampling::samples::Samples;
use blame::sampling::waited::{Holder, Path, Wait};
use interpose::{Kind, Region};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering::Relaxed;

/// The sources, and the numbers that join them.
pub struct Sources<'a> {
    pub profile: &'a Profile,
    pub names: &'a mut Names,
    /// The number by which `names` knows a process.
    pub known_as: HashMap<u32, u32>,
    /// The memory that the library recorded into, if it was loaded, and the counts in it.
    pub region: Option<&'a Region>,
    pub window: Window<'a>,
    pub java: &'a Machines,
    /// The purposes of words by their use, if futex calls were recorded.
    pub uses: Option<&'a Uses>,
}

/// The part of the trace, and the program.
pub struct Span {
    pub program: Vec<String>,
    pub cpus: usize,
    pub elapsed_s: f64,
    pub processes: u32,
    pub busy_cpus_s: Option<f64>,
    pub thread_time_s: f64,
    pub threads: u32,
    /// Whether each futex call was recorded.
    pub has_calls: bool,
}

impl Sources<'_> {
    /// Returns the evidence; `rows` begins with the rows of the locks in `slots`.
    pub fn evidence(mut self, span: Span, rows: Vec<Row>, slots: Vec<Vec<u32>>) -> Evidence {
        let samples = self.profile.samples();
        let (paths, words, library) = (self.paths(&samples), self.words(&samples), self.library(&samples, &slots));
        let ready_share = samples.ready_share();
        let lines = Namer { profile: self.profile, names: self.names, known_as: &self.known_as }.rows(ready_share);
        let Span { program, cpus, elapsed_s, busy_cpus_s, thread_time_s, threads, has_calls, processes } = span;
        Evidence {
            program,
            cpus,
            elapsed_s,
            processes,
            // Their times are known once the trace is over.
            unwatched: Vec::new(),
            busy_cpus_s,
            thread_time_s,
            threads,
            rows,
            slots,
            has_calls,
            stripped: self.stripped(&paths),
            samples,
            paths,
            words,
            library,
            java: self.java.waits().map(|(process, waits)| (process, waits.clone())).collect(),
            goroutines: Vec::new(),
            hang: None,
            stuck: Vec::new(),
            lines,
        }
    }

    /// Names the call paths.
    fn paths(&mut self, samples: &Samples) -> Paths {
        let mut paths = Paths::default();
        let numbers: BTreeSet<Path> = samples.paths().into_iter().collect();
        for number in numbers {
            let (process, addresses, called) = self.profile.path(number);
            let Some(known_as) = self.known_as.get(&process).copied() else { continue };
            let python = |function| self.profile.python_site(process, function);
            paths.insert(number, process, frames::called(self.names, known_as, addresses, called, python));
        }
        paths
    }

    /// Returns what is known of the words that threads waited for, and of those around them.
    fn words(&mut self, samples: &Samples) -> BTreeMap<(u32, u64), Word> {
        let parked = self.profile.parking_locks();
        let mut words = BTreeMap::new();
        for wait in samples.objects() {
            let Wait::Word { process, address } = wait else { continue };
            let locks = [Some(address), Some(block_address(address)), parked.get(&(process, address)).copied()];
            for address in locks.into_iter().flatten() {
                words.entry((process, address)).or_insert_with(|| self.word(process, address, &parked));
            }
        }
        words
    }

    fn word(&mut self, process: u32, address: u64, parked: &HashMap<(u32, u64), u64>) -> Word {
        let known_as = self.known_as.get(&process).copied();
        let file = known_as.and_then(|known_as| self.names.file(known_as, address));
        Word {
            variable: known_as.and_then(|known_as| self.names.variable(known_as, address)),
            purpose: self.uses.and_then(|uses| uses.purpose(process, address)),
            parked: parked.get(&(process, address)).copied(),
            is_own: file.is_some_and(|file| file.starts_with("memfd:contend")),
        }
    }

    /// Returns the notes of the library on the locks in the samples, the first locks of all classes, and on all conditions.
    fn library(&mut self, samples: &Samples, classes: &[Vec<u32>]) -> Option<Library> {
        let region = self.region?;
        let pair_of = |holder: &Holder| match holder {
            Holder::Blocked { pair, .. } | Holder::Chained { pair, .. } => *pair,
            _ => None,
        };
        let of_holders = samples.waited.values().flat_map(|waited| waited.holders.keys().filter_map(pair_of));
        let is_of_condition = |kind: u32| matches!(Kind::of(kind), Some(Kind::Cond | Kind::Broadcast));
        let of_conditions = region.pairs().filter(|(_, pair)| is_of_condition(pair.kind.load(Relaxed)));
        let places: BTreeSet<u32> = of_holders.chain(of_conditions.map(|(place, _)| place)).collect();
        let pairs: BTreeMap<u32, NotedPair> =
            places.into_iter().filter_map(|place| Some((place, self.pair(region, place)?))).collect();
        let of_samples =
            samples.objects().filter_map(|wait| if let Wait::Lock(slot) = wait { Some(slot) } else { None });
        let firsts = classes.iter().filter_map(|slots| slots.first().copied());
        let slots: BTreeSet<u32> = of_samples.chain(firsts).chain(pairs.values().map(|pair| pair.lock)).collect();
        let lock = |slot: u32| {
            let (name, kind) = (lock_name(region, self.names, slot), lock_at(region, slot).kind.load(Relaxed));
            (slot, NotedLock { name, kind, is_folded: is_folded(region, slot) })
        };
        let locks = slots.into_iter().map(lock).collect();
        let labels = samples.labelled.keys().filter_map(|(label, _)| Some((*label, labels::name_at(region, *label)?)));
        Some(Library { locks, pairs, labels: labels.collect() })
    }

    fn pair(&mut self, region: &Region, place: u32) -> Option<NotedPair> {
        let pair = region.pairs.get(place as usize)?;
        let counts = self.window.counts(place);
        Some(NotedPair {
            lock: pair.lock.load(Relaxed),
            kind: pair.kind.load(Relaxed),
            site: site_label(region, self.names, place),
            acquisitions: counts.acquisitions,
            signals: counts.signals(),
        })
    }

    /// Returns the files without symbols among those of the call paths.
    fn stripped(&self, paths: &Paths) -> BTreeMap<String, Option<String>> {
        let file = |label: &str| label.rsplit_once("+0x").map(|(file, _)| file.to_owned());
        let unnamed = paths.all().filter(|called| called.site.source.is_none());
        let files: BTreeSet<String> = unnamed.filter_map(|called| file(&called.site.label)).collect();
        files.into_iter().filter_map(|file| Some((file.clone(), self.names.stripped(&file)?))).collect()
    }
}
