//! Cache lines with names: the variables, the locks, and the places in the code.

use super::record::{LockShare, Place, Row, RowKind, Sharing, Word};
use crate::trace::record::Frame;
use crate::trace::words::without_arguments;
use blame::frames::{Frame as NamedFrame, Frames, Kind, function_of, plain};
use blame::lines::{self, Access, LINE, Line, Lines, Totals, judge, words};
use blame::names::{Names, is_c_library, short};
use blame::sampling::profile::Profile;
use instruments::statistics::Interval;
use instruments::statistics::proportion::interval;
use std::collections::{BTreeMap, HashMap};

/// Lines with less of the CPU time have no row.
const LEAST_SHARE: f64 = 0.003;
const MOST_ROWS: usize = 40;
const MOST_PLACES: usize = 4;
const MOST_FRAMES: usize = 16;
/// Instructions of a line whose call paths are looked at.
const MOST_INSTRUCTIONS: usize = 24;
/// Instructions whose functions are looked at.
const MOST_SAMPLED: usize = 512;
/// A lock's functions have this part of the samples of its line.
const MOSTLY: f64 = 0.5;

/// Names lines; `known_as` has the numbers by which the names know the processes.
pub struct Namer<'a> {
    pub profile: &'a Profile,
    pub names: &'a mut Names,
    pub known_as: &'a HashMap<u32, u32>,
}

/// Returns the part of the CPU time that some samples are of, and its interval.
fn share_of(samples: u64, totals: &Totals) -> Option<(f64, Interval)> {
    let user = totals.user_share();
    let ends = interval(samples.min(totals.samples), totals.samples, 0.95)?;
    Some((user * samples as f64 / totals.samples as f64, ends.scaled(user)))
}

impl Namer<'_> {
    /// Returns the row of all samples, and those of the lines that have most of the CPU time, the first with the most.
    /// `ready_share` is the part of the time that threads had something to run and no CPU.
    pub fn rows(&mut self, ready_share: f64) -> Vec<Row> {
        let lines = self.profile.lines();
        let mut rows = vec![self.total(lines, ready_share)];
        let counted = |line: &Line| if line.contended > 0 { line.contended } else { line.samples };
        let mut found: Vec<((u32, u64), &Line)> = lines.lines().collect();
        found.retain(|(_, line)| share_of(counted(line), &lines.totals).is_some_and(|(share, _)| share >= LEAST_SHARE));
        found.sort_by_key(|(key, line)| (std::cmp::Reverse(counted(line)), *key));
        found.truncate(MOST_ROWS);
        rows.extend(found.into_iter().map(|(key, line)| self.row(key, line, counted(line))));
        rows
    }

    fn total(&mut self, lines: &Lines, ready_share: f64) -> Row {
        let totals = lines.totals;
        let share = |count: u64| (totals.samples > 0).then(|| count as f64 / totals.samples as f64);
        Row {
            kind: RowKind::Total,
            samples: totals.samples,
            together: totals.together,
            ready_share: Some(ready_share),
            lock_functions: self.lock_functions(lines),
            kernel_share: (totals.ran_ns > 0).then(|| 1.0 - totals.user_share()),
            addressed_share: share(totals.addressed),
            own_stack_share: share(totals.own_stack),
            no_access_share: share(totals.no_access),
            jumped_share: share(totals.jumped),
            overwritten_share: share(totals.overwritten),
            not_decoded_share: share(totals.not_decoded),
            ..Row::default()
        }
    }

    /// Returns the parts of the CPU time in the functions of locks of libraries.
    fn lock_functions(&mut self, lines: &Lines) -> Vec<LockShare> {
        let mut found: Vec<((u32, u64), u64)> = lines.instructions().collect();
        found.sort_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
        let mut by_kind: BTreeMap<&'static str, u64> = BTreeMap::new();
        for ((process, instruction), count) in found.into_iter().take(MOST_SAMPLED) {
            let Some(slot) = self.known_as.get(&process).copied() else { continue };
            let alone = Frames::of(self.names, slot, &[instruction], &[], |_| None);
            // The allocator and streams do other things as well.
            let is_alone = matches!(alone.kind, Some(Kind::Mutex | Kind::RwLock | Kind::Spin | Kind::Semaphore));
            lock_of(&alone)
                .filter(|_| is_alone)
                .into_iter()
                .for_each(|kind| *by_kind.entry(kind).or_default() += count);
        }
        let share = |(kind, count): (&str, u64)| {
            let (share, _) = share_of(count, &lines.totals)?;
            Some(LockShare { lock_type: kind.to_owned(), share })
        };
        by_kind.into_iter().filter_map(share).collect()
    }

    fn row(&mut self, (process, number): (u32, u64), line: &Line, samples: u64) -> Row {
        let (address, totals) = (number * LINE, self.profile.lines().totals);
        let slot = self.known_as.get(&process).copied();
        let all = line.accesses.values().sum::<u64>().max(1) as f64;
        let sharing = match judge(&line.accesses) {
            lines::Sharing::OneThread => Sharing::OneThread,
            lines::Sharing::ReadOnly => Sharing::ReadOnly,
            // Those of all windows together, none of which had threads at the same time.
            _ if line.contended == 0 => Sharing::InTurn,
            lines::Sharing::Written => Sharing::Written,
            lines::Sharing::False => Sharing::False,
        };
        let word = |word: lines::Word| Word {
            offset: word.offset.into(),
            bytes: word.bytes.into(),
            variable: slot.and_then(|slot| self.names.variable(slot, address + u64::from(word.offset))),
            share: word.samples as f64 / all,
            writers: word.writers,
            readers: word.readers,
            is_atomic: word.is_atomic,
        };
        let words: Vec<Word> = words(&line.accesses).into_iter().map(word).collect();
        let mut threads: Vec<u32> =
            words.iter().flat_map(|word| word.writers.iter().chain(&word.readers)).copied().collect();
        threads.sort_unstable();
        threads.dedup();
        let used = self.used(process, line);
        let most = used.first();
        let (cpu_share, cpu_share_ci) = share_of(samples, &totals).unzip();
        let (caller, called) = most.map_or((None, None), |used| used.call());
        let lock_share: f64 = used.iter().filter(|used| used.lock.is_some()).map(|used| used.share).sum();
        let lock_type = used.iter().find_map(|used| used.lock).filter(|_| lock_share >= MOSTLY);
        let places = places(&used);
        Row {
            kind: RowKind::Line,
            process,
            address: format!("{address:#x}"),
            sharing,
            object: object(&words, lock_type, line, most),
            lock_type: lock_type.map(str::to_owned),
            samples,
            cpu_share,
            cpu_share_ci,
            threads: threads.len() as u32,
            words,
            places,
            caller,
            called,
            stack: most.map(|used| stack(&used.frames)).unwrap_or_default(),
            ..Row::default()
        }
    }

    /// Returns the functions that use a line, the first most, with their call paths.
    fn used(&mut self, process: u32, line: &Line) -> Vec<Used> {
        let Some(slot) = self.known_as.get(&process).copied() else { return Vec::new() };
        let all = line.accesses.values().sum::<u64>().max(1) as f64;
        let mut by_instruction: BTreeMap<u64, (u64, bool)> = BTreeMap::new();
        for (Access { instruction, usage, .. }, count) in &line.accesses {
            let (sum, writes) = by_instruction.entry(*instruction).or_default();
            *sum += count;
            *writes |= usage.writes();
        }
        let mut instructions: Vec<(u64, (u64, bool))> = by_instruction.into_iter().collect();
        instructions.sort_by_key(|(instruction, (count, _))| (std::cmp::Reverse(*count), *instruction));
        let mut used: Vec<Used> = Vec::new();
        for (instruction, (count, writes)) in instructions.into_iter().take(MOST_INSTRUCTIONS) {
            // A path begins with the address of an instruction, and this one is behind the access.
            let alone = Frames::of(self.names, slot, &[instruction - 1], &[], |_| None);
            let path = self.profile.lines().paths(process, instruction).max_by_key(|(path, count)| (*count, *path));
            let mut library = None;
            let frames = path.map(|(path, _)| {
                let (_, addresses, called) = self.profile.path(path);
                let mut files = addresses.iter().filter_map(|address| self.names.file(slot, *address));
                library = files.find(|file| !is_c_library(file) && !file.contains("contend-interpose"));
                let addresses: Vec<u64> =
                    std::iter::once(instruction - 1).chain(addresses.iter().skip(1).copied()).collect();
                Frames::of(self.names, slot, &addresses, called, |function| self.profile.python_site(process, function))
            });
            let frames = frames.unwrap_or_else(|| alone.clone());
            let lock = lock_of(&alone);
            used.push(Used { frames, library, share: count as f64 / all, writes, lock });
        }
        // A path that was seen says more than an instruction alone.
        used.sort_by(|one, other| {
            let rank = |used: &Used| (used.frames.frames.len() > 1, used.share);
            rank(other).partial_cmp(&rank(one)).unwrap_or(std::cmp::Ordering::Equal)
        });
        used
    }
}

/// Returns the kind of the lock of whose functions in a library a path's first one is.
fn lock_of(frames: &Frames) -> Option<&'static str> {
    let is_of_lock = frames.frames.first().is_some_and(|frame| frame.is_runtime);
    frames.kind.filter(|kind| is_of_lock && kind.is_lock()).map(|kind| kind.name())
}

/// An instruction that uses a line.
struct Used {
    frames: Frames,
    share: f64,
    writes: bool,
    /// The file of the innermost function outside of the C library.
    library: Option<String>,
    /// The kind of the lock of whose functions it is.
    lock: Option<&'static str>,
}

impl Used {
    /// Returns where the program's own code calls a library in which the line is used, and the library's function.
    fn call(&self) -> (Option<String>, Option<String>) {
        let is_own = |frame: &NamedFrame| !frame.is_runtime && !frame.is_of_library;
        let Some(own) = self.frames.frames.iter().position(is_own).filter(|own| *own > 0) else { return (None, None) };
        let library = &self.frames.frames[own - 1];
        let function = function_of(&library.site).map(|function| name_of(library, function));
        (Some(without_arguments(&self.frames.frames[own].site.label)), function)
    }

    /// Returns the place in the program's own code, and the functions of libraries that it calls.
    fn place(&self) -> Option<String> {
        let (caller, called) = self.call();
        let first = self.frames.frames.first()?;
        let Some(caller) = caller else {
            let frame = self.frames.caller().unwrap_or(first);
            return Some(without_arguments(&frame.site.label));
        };
        let inner = function_of(&first.site).filter(|_| self.lock.is_some()).map(|function| name_of(first, function));
        Some(match (inner, called) {
            (Some(inner), Some(called)) if inner != called => format!("{inner} in {called}, called by {caller}"),
            (_, Some(called)) => format!("{called}, called by {caller}"),
            _ => caller,
        })
    }
}

/// Returns a function's name, as its library's documentation has it.
fn name_of(frame: &NamedFrame, function: &str) -> String {
    match plain(function) {
        // An old name of the same function.
        "cfree" if frame.is_in_c_library => "free".to_owned(),
        plain if frame.is_in_c_library => plain.to_owned(),
        _ => without_arguments(function),
    }
}

/// Returns the places that use a line.
fn places(used: &[Used]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for used in used {
        let Some(site) = used.place() else { continue };
        match places.iter_mut().find(|place| place.site == site) {
            Some(place) => {
                place.share += used.share;
                place.writes |= used.writes;
            }
            None => places.push(Place { site, share: used.share, writes: used.writes }),
        }
    }
    places.sort_by(|one, other| other.share.total_cmp(&one.share));
    places.truncate(MOST_PLACES);
    places
}

/// Returns the name of what is in a line.
fn object(words: &[Word], lock_type: Option<&str>, line: &Line, most: Option<&Used>) -> String {
    const MOST: usize = 3;
    let mut names: Vec<&str> = words.iter().filter_map(|word| word.variable.as_deref()).collect();
    // A lock is one variable, and of others without types only the begin is known.
    let whole = |name: &&str| name.split("+0x").next().unwrap_or_default().to_owned();
    let bases: Vec<String> = names.iter().map(whole).collect();
    if lock_type.is_some() {
        names.truncate(1);
    }
    if names.len() > 1 && bases.iter().all(|base| *base == bases[0]) || lock_type.is_some() && !names.is_empty() {
        return bases[0].clone();
    }
    if !names.is_empty() {
        let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
        names.truncate(MOST);
        return names.join(", ") + &more;
    }
    let kind = match lock_type {
        Some(kind) => kind,
        None if 4 * line.own_stack >= line.samples => "stack variable",
        None => "heap object",
    };
    let (caller, called) = most.map_or((None, None), Used::call);
    let library = most.and_then(|used| used.library.as_deref());
    match (library, caller) {
        // A lock that the program's own code does not acquire.
        (Some(library), Some(_)) if called.is_some() && library.contains(".so") => format!("{kind} of {library}"),
        (_, Some(caller)) => format!("{kind} of {caller}"),
        _ => most.and_then(Used::place).map_or_else(|| kind.to_owned(), |place| format!("{kind} of {place}")),
    }
}

fn stack(frames: &Frames) -> Vec<Frame> {
    let frame = |frame: &NamedFrame| Frame {
        function: function_of(&frame.site).or(Some(&frame.site.label)).map(str::to_owned),
        source: frame.site.source.as_deref().map(|source| short(source).to_owned()),
    };
    frames.frames.iter().take(MOST_FRAMES).map(frame).collect()
}
