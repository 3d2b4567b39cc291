//! Cache lines with names: the variables, the locks, and the places in the code.

use super::super::record::Frame;
use super::record::{Place, Row, RowKind, Sharing, Word};
use blame::frames::{Frame as NamedFrame, Frames, function_of};
use blame::lines::{self, Access, LINE, Line, Lines, Totals, judge, words};
use blame::names::{Names, short};
use blame::sampling::profile::Profile;
use instruments::statistics::Interval;
use instruments::statistics::proportion::interval;
use std::collections::{BTreeMap, HashMap};

/// Lines with less of the CPU time have no row.
const LEAST_SHARE: f64 = 0.01;
const MOST_ROWS: usize = 40;
const MOST_PLACES: usize = 4;
const MOST_FRAMES: usize = 16;
/// Instructions of a line whose call paths are looked at.
const MOST_INSTRUCTIONS: usize = 24;
/// A lock's functions have this part of the samples of its line.
const MOSTLY: f64 = 0.5;

/// Names lines; `known_as` has the numbers by which the names know the processes.
pub struct Namer<'a> {
    pub profile: &'a Profile,
    pub names: &'a mut Names,
    pub known_as: &'a HashMap<u32, u32>,
}

/// Returns the row of all samples.
pub fn total(lines: &Lines) -> Row {
    let totals = lines.totals;
    let share = |count: u64| (totals.samples > 0).then(|| count as f64 / totals.samples as f64);
    Row {
        kind: RowKind::Total,
        samples: totals.samples,
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

/// Returns the part of the CPU time that some samples are of, and its interval.
fn share_of(samples: u64, totals: &Totals) -> Option<(f64, Interval)> {
    let user = totals.user_share();
    let ends = interval(samples.min(totals.samples), totals.samples, 0.95)?;
    Some((user * samples as f64 / totals.samples as f64, ends.scaled(user)))
}

impl Namer<'_> {
    /// Returns the rows of the lines that have most of the CPU time, the first with the most.
    pub fn rows(&mut self) -> Vec<Row> {
        let lines = self.profile.lines();
        let counted = |line: &Line| if line.contended > 0 { line.contended } else { line.samples };
        let mut found: Vec<((u32, u64), &Line)> = lines.lines().collect();
        found.retain(|(_, line)| share_of(counted(line), &lines.totals).is_some_and(|(share, _)| share >= LEAST_SHARE));
        found.sort_by_key(|(key, line)| (std::cmp::Reverse(counted(line)), *key));
        found.truncate(MOST_ROWS);
        found.into_iter().map(|(key, line)| self.row(key, line, counted(line))).collect()
    }

    fn row(&mut self, (process, number): (u32, u64), line: &Line, samples: u64) -> Row {
        let (address, totals) = (number * LINE, self.profile.lines().totals);
        let slot = self.known_as.get(&process).copied();
        let all = line.accesses.values().sum::<u64>().max(1) as f64;
        let sharing = match judge(&line.accesses) {
            lines::Sharing::OneThread => Sharing::OneThread,
            lines::Sharing::ReadOnly => Sharing::ReadOnly,
            lines::Sharing::Written => Sharing::SharedAndWritten,
            lines::Sharing::False => Sharing::FalseSharing,
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
        // The innermost function of the program's own, and the function of a library that it calls.
        let mut is_in_library = false;
        let (mut caller, mut called) = (None, None);
        for frame in most.iter().flat_map(|used| &used.frames.frames) {
            if !frame.is_runtime && !frame.is_of_library {
                caller = is_in_library.then(|| frame.site.label.clone());
                break;
            }
            if frame.is_of_library && !frame.is_runtime {
                is_in_library = true;
                called = function_of(&frame.site).map(str::to_owned);
            }
        }
        let lock_share: f64 = used.iter().filter(|used| used.lock.is_some()).map(|used| used.share).sum();
        let lock_type = used.iter().find_map(|used| used.lock).filter(|_| lock_share >= MOSTLY);
        let places = places(&used);
        Row {
            kind: RowKind::Line,
            process,
            address: format!("{address:#x}"),
            sharing,
            object: object(&words, lock_type, line, &places),
            lock_type: lock_type.map(str::to_owned),
            samples,
            cpu_share,
            cpu_share_ci,
            threads: threads.len() as u32,
            words,
            places,
            called: called.filter(|_| caller.is_some()),
            caller,
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
            let frames = path.map(|(path, _)| {
                let (_, addresses, called) = self.profile.path(path);
                let addresses: Vec<u64> =
                    std::iter::once(instruction - 1).chain(addresses.iter().skip(1).copied()).collect();
                Frames::of(self.names, slot, &addresses, called, |function| self.profile.python_site(process, function))
            });
            let frames = frames.unwrap_or_else(|| alone.clone());
            let is_of_lock = alone.frames.first().is_some_and(|frame| frame.is_runtime);
            let lock = alone.kind.filter(|kind| is_of_lock && kind.is_lock()).map(|kind| kind.name());
            used.push(Used { frames, share: count as f64 / all, writes, lock });
        }
        // A path that was seen says more than an instruction alone.
        used.sort_by(|one, other| {
            let rank = |used: &Used| (used.frames.frames.len() > 1, used.share);
            rank(other).partial_cmp(&rank(one)).unwrap_or(std::cmp::Ordering::Equal)
        });
        used
    }
}

/// An instruction that uses a line.
struct Used {
    frames: Frames,
    share: f64,
    writes: bool,
    /// The kind of the lock of whose functions it is.
    lock: Option<&'static str>,
}

/// Returns the places of the program's own that use a line, or those in libraries where none is.
fn places(used: &[Used]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for used in used {
        let is_own = |frame: &&NamedFrame| !frame.is_runtime && !frame.is_of_library;
        let frame = used.frames.frames.iter().find(is_own).or(used.frames.caller()).or(used.frames.frames.first());
        let Some(frame) = frame else { continue };
        let function =
            used.frames.frames.first().filter(|_| used.lock.is_some()).and_then(|first| function_of(&first.site));
        let site = match function {
            Some(function) if function_of(&frame.site) != Some(function) => {
                format!("{function}, called by {}", frame.site.label)
            }
            _ => frame.site.label.clone(),
        };
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
fn object(words: &[Word], lock_type: Option<&str>, line: &Line, places: &[Place]) -> String {
    const MOST: usize = 3;
    let mut names: Vec<&str> = words.iter().filter_map(|word| word.variable.as_deref()).collect();
    names.dedup();
    if !names.is_empty() {
        let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
        names.truncate(MOST);
        return names.join(", ") + &more;
    }
    let place = places.first().map_or_else(String::new, |place| {
        let site = place.site.rsplit(", called by ").next().unwrap_or(&place.site);
        format!(" used in {site}")
    });
    match lock_type {
        Some(kind) => format!("{kind}{}", place.replacen(" used in", " of", 1)),
        None if 4 * line.own_stack >= line.samples => format!("a variable on a stack{place}"),
        None => format!("an object on the heap{place}"),
    }
}

fn stack(frames: &Frames) -> Vec<Frame> {
    let frame = |frame: &NamedFrame| Frame {
        function: function_of(&frame.site).or(Some(&frame.site.label)).map(str::to_owned),
        source: frame.site.source.as_deref().map(|source| short(source).to_owned()),
    };
    frames.frames.iter().take(MOST_FRAMES).map(frame).collect()
}
