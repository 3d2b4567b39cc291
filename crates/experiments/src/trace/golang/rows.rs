//! The rows of the waits of goroutines, the verdict, and the findings.

use crate::trace::aggregate::{bins, shares};
use crate::trace::diagnosis::larger_pool;
use crate::trace::measure::NamedWait;
use crate::trace::plan::Verdict;
use crate::trace::record::{Blocker, Frame, Row, RowKind};
use crate::trace::rules::Rule;
use crate::trace::words;
use blame::durations::Times;
use blame::frames::{Kind as FrameKind, function_of};
use blame::golang::{Kind, Single, StackNumber, Waits, is_standard};
use blame::names::{Names, Site};
use blame::purpose::Purpose;
use blame::time::Nanoseconds;
use std::collections::{BTreeMap, HashMap};

/// The data that the rows are made of.
pub struct Builder<'a> {
    pub process: u32,
    pub names: &'a mut Names,
    pub stacks: &'a [Vec<u64>],
    pub waits: &'a HashMap<(u64, StackNumber), Waits>,
    pub purposes: &'a HashMap<(u64, StackNumber), Purpose>,
    pub elapsed_s: f64,
    /// The ratio of the run to the windows.
    pub scale: f64,
}

/// A diagnosis of the threads, to which the waits of goroutines are added.
pub struct Diagnosed<'a> {
    pub rows: &'a mut Vec<Row>,
    pub verdict: &'a mut Option<Verdict>,
    pub reason: &'a mut Option<String>,
    pub processes: u32,
}

/// A call path with names.
struct Path {
    kind: Kind,
    /// The first function of the program's own.
    site: Site,
    frames: Vec<Frame>,
}

/// Waits for one object, or for one object at a call site.
struct Group {
    object: u64,
    /// The type in records: that of its waits, or what its use shows it to be.
    of_type: &'static str,
    /// The call path that waited most.
    stack: usize,
    waits: Waits,
}

/// The type of an object that several goroutines may have at a time.
const POOL: &str = "pool";
const MOST_ROWS: usize = 100;
const MOST_FRAMES: usize = 16;
const MOST_FINDINGS: usize = 3;
/// Locks are the problem from this share of the time in which goroutines had something to do, and from this part of the
/// run on; a lock has a finding from this share of all waits for locks on.
const LOCKS_SHARE: f64 = 0.1;
const LEAST_WAIT: f64 = 0.05;
const FINDING_SHARE: f64 = 0.15;
/// The begin of a verdict that the goroutines of a further process can change.
const UNDECIDED: &str = "Undecided: goroutines";
/// A mutex waits at its semaphore, which is behind its state; the semaphores of a read-write lock are behind its mutex.
const SEMAPHORE_OFFSETS: [u64; 3] = [4, 8, 12];

impl Builder<'_> {
    /// Returns a row for each lock that goroutines waited for.
    pub fn locks(&mut self) -> Vec<Row> {
        let paths = self.paths();
        let rows = self.objects(&paths).into_iter().map(|group| self.row(&group, RowKind::Lock, &paths));
        rows.filter(Row::excludes).collect()
    }

    /// Returns these waits with names, and how many there were; but for sleep, I/O, those of the runtime, and those that ended
    /// before the trace began.
    pub fn single(&mut self, waits: &[Single], began_raw_ns: u64) -> (Vec<NamedWait>, u64) {
        let paths = self.paths();
        let counts = self.waits.iter().filter(|((_, stack), _)| is_shown(paths[*stack].kind));
        let count = counts.map(|(_, waits)| waits.count).sum();
        let is_wanted = |wait: &&Single| is_shown(paths[wait.stack].kind) && wait.until_ns > began_raw_ns;
        let since = |raw_ns: u64| raw_ns.saturating_sub(began_raw_ns) as f64;
        let (mut numbers, mut locks) = (HashMap::new(), HashMap::new());
        let mut named = Vec::new();
        for wait in waits.iter().filter(is_wanted) {
            let mut number = |goroutine: u64| {
                let next = numbers.len() as u32 + 1;
                *numbers.entry(goroutine).or_insert(next)
            };
            let path = &paths[wait.stack];
            let place = (wait.object, wait.stack);
            let lock: &mut String = locks.entry(place).or_insert_with(|| self.name(wait.object, path));
            let thread = number(wait.goroutine);
            let releaser = wait.end.and_then(|end| end.releaser).map(number);
            named.push(NamedWait {
                process: self.process,
                thread,
                are_goroutines: true,
                began: since(wait.since_ns),
                ended: since(wait.until_ns),
                in_vain: false,
                releaser,
                released: releaser.map(|_| since(wait.until_ns)),
                lock: lock.clone(),
                site: path.site.label.clone(),
                holder: wait.end.map(|end| paths[end.stack].site.label.clone()),
            });
        }
        (named, count)
    }

    fn paths(&mut self) -> Vec<Path> {
        (0..self.stacks.len()).map(|stack| self.path(stack)).collect()
    }

    /// Returns the waits for each object; several objects can be unknown.
    fn objects(&self, paths: &[Path]) -> Vec<Group> {
        let label = |stack: usize| paths[stack].site.label.clone();
        self.groups(paths, |object, stack| if object == 0 { label(stack) } else { String::new() })
    }

    /// Adds the rows, and replaces the verdict on the threads, which do not wait for goroutines' locks.
    pub fn add_to(&mut self, diagnosed: Diagnosed<'_>) {
        let paths = self.paths();
        let objects = self.objects(&paths);
        let sites = self.groups(&paths, |_, stack| paths[stack].site.label.clone());
        let locks: Vec<Row> = objects.iter().map(|group| self.row(group, RowKind::Lock, &paths)).collect();
        let places: Vec<Row> = sites.iter().map(|group| self.row(group, RowKind::Site, &paths)).collect();
        let waited_s: f64 = locks.iter().filter(|row| row.excludes()).map(|row| row.wait_total_s).sum();
        let Diagnosed { rows, verdict, reason, processes } = diagnosed;
        // The findings of several processes are about all of them.
        let is_alone = processes <= 1;
        let keeps_findings = !is_alone && *verdict == Some(Verdict::Locks);
        let of_goroutines = self.judge((verdict, reason, is_alone), rows, waited_s, &locks);
        let findings = objects.iter().zip(&locks).filter(|(_, row)| {
            of_goroutines == Verdict::Locks && row.excludes() && row.wait_total_s >= FINDING_SHARE * waited_s
        });
        let findings = findings.take(MOST_FINDINGS);
        let findings: Vec<Row> = findings.map(|(group, row)| finding(group, row, &paths, self.waits)).collect();
        // The threads' own futex words are those of the runtime's scheduler, and so are the places where they wait.
        rows.retain(|row| row.kind != RowKind::Place);
        rows.retain(|row| row.kind != RowKind::Finding || of_goroutines != Verdict::Locks || keeps_findings);
        let first = rows.iter().position(|row| row.kind != RowKind::Lock).unwrap_or(rows.len());
        rows.splice(first..first, locks);
        rows.extend(places);
        rows.extend(findings);
    }

    fn path(&mut self, stack: usize) -> Path {
        let addresses = self.stacks[stack].clone();
        let frames: Vec<Site> =
            addresses.iter().flat_map(|address| self.names.inlined(0, *address)).map(plain).collect();
        let functions = frames.iter().filter_map(function_of);
        let kind = Kind::of(functions);
        let is_own = |site: &&Site| function_of(site).is_some_and(|function| !is_standard(function));
        let own = frames.iter().find(is_own);
        let library =
            frames.iter().find(|site| function_of(site).is_some_and(|function| !function.starts_with("runtime.")));
        let unknown = || Site { symbol: None, source: None, label: "an unknown place".into() };
        let site = own.or(library).cloned().unwrap_or_else(unknown);
        let frame = |site: &Site| Frame { function: function_of(site).map(str::to_owned), source: site.source.clone() };
        Path { kind, site, frames: frames.iter().take(MOST_FRAMES).map(frame).collect() }
    }

    /// Returns the waits for objects by a key of the call path, the longest first.
    fn groups(&self, paths: &[Path], key: impl Fn(u64, usize) -> String) -> Vec<Group> {
        let mut groups: BTreeMap<(u64, &str, String), Group> = BTreeMap::new();
        for ((object, stack), waits) in self.waits {
            let kind = paths[*stack].kind;
            if !is_shown(kind) {
                continue;
            }
            // The receivers of a pool's channel wait for a permit, which is not what its senders may wait for.
            let of_type = match self.purposes.get(&(*object, *stack)) {
                Some(Purpose::Exclusion) => FrameKind::Lock.name(),
                Some(Purpose::Pool) => POOL,
                _ => kind.name(),
            };
            let group = groups.entry((*object, of_type, key(*object, *stack)));
            let group =
                group.or_insert_with(|| Group { object: *object, of_type, stack: *stack, waits: Waits::default() });
            let most = self.waits.get(&(*object, group.stack)).map_or(0, |waits| waits.total_ns);
            if waits.total_ns > most {
                group.stack = *stack;
            }
            group.waits.merge(waits);
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        let is_lock = |group: &Group| is_exclusive(group.of_type);
        groups.sort_by_key(|group| std::cmp::Reverse((is_lock(group), group.waits.total_ns)));
        groups.truncate(MOST_ROWS);
        groups
    }

    fn row(&mut self, group: &Group, kind: RowKind, paths: &[Path]) -> Row {
        let Group { object, of_type, stack, waits } = group;
        let path = &paths[*stack];
        let mut times = Times::default();
        waits.ns.iter().for_each(|ns| times.note(*ns));
        let seconds = |ns: u64| ns as f64 / 1e9 * self.scale;
        let parked_ns = (parked_share(waits) * waits.total_ns as f64) as u64;
        let part = |ns: u64| is_exclusive(of_type).then(|| seconds(ns));
        let by_site = waits.releasers.iter().map(|(stack, ns)| (paths[*stack].site.label.clone(), *ns as f64));
        let blocked_by = shares(by_site).into_iter().map(|(site, share)| Blocker { site, share }).collect();
        let is_object = kind == RowKind::Lock;
        Row {
            address: if *object == 0 { String::new() } else { format!("{object:#x}") },
            lock_type: (*of_type).into(),
            attributes: vec!["go".into()],
            symbol: path.site.symbol.clone(),
            source: path.site.source.clone(),
            contended: waits.count,
            wait_total_s: seconds(waits.total_ns),
            wait_p50_ns: times.quantile_ns(0.5, &Nanoseconds),
            wait_p99_ns: times.quantile_ns(0.99, &Nanoseconds),
            wait_max_ns: Some(waits.longest_ns as f64),
            held_blocked_s: part(parked_ns),
            // A goroutine that is not parked runs or is ready, which the probes do not show.
            unknown_s: part(waits.total_ns.saturating_sub(parked_ns)),
            blocked_by,
            waits: if is_object { bins(&times, &Nanoseconds) } else { Vec::new() },
            stack: if is_object { path.frames.clone() } else { Vec::new() },
            ..Row::new(kind, self.process, self.name(*object, path))
        }
    }

    /// Returns the global variable of an object, or the call site that waits for it.
    fn name(&mut self, object: u64, path: &Path) -> String {
        let of_site = || format!("{} of {}", path.kind.type_name(), path.site.label);
        if object == 0 {
            return of_site();
        }
        let offsets = if path.kind.is_lock() { &SEMAPHORE_OFFSETS[..] } else { &[0] };
        let starts = |names: &mut Names, offset: &u64| names.variable(0, object.wrapping_sub(*offset));
        self.names.lock(object, |names| {
            let exact = offsets.iter().filter_map(|offset| starts(names, offset)).find(|name| !name.contains("+0x"));
            exact.or_else(|| starts(names, &offsets[0])).unwrap_or_else(of_site)
        })
    }

    /// Replaces the verdict: the time in locks is that of goroutines, the time on CPUs that of the threads.
    fn judge(
        &self,
        (judged, reason, is_alone): (&mut Option<Verdict>, &mut Option<String>, bool),
        rows: &[Row],
        waited_s: f64,
        locks: &[Row],
    ) -> Verdict {
        let whole = words::program(rows);
        let ran_s = whole.map_or(0.0, |whole| whole.on_cpu_s.unwrap_or(0.0) + whole.ready_s.unwrap_or(0.0));
        let share = waited_s / (waited_s + ran_s).max(f64::MIN_POSITIVE);
        let is_locks = share >= LOCKS_SHARE && waited_s >= LEAST_WAIT * self.elapsed_s;
        let of = if is_alone { String::new() } else { format!(" of process {}", self.process) };
        let waited = format!(
            "goroutines{of} waited for locks for {} of the time in which they waited for one or ran",
            words::whole_percent(share)
        );
        let first = locks.iter().find(|row| !row.excludes() && row.wait_total_s > 0.0).filter(|_| !is_locks);
        let signals = first.map_or_else(String::new, |row| {
            format!(
                " The longest wait for work is at {} ({}).",
                row.lock,
                terminal::nanoseconds(row.wait_total_s * 1e9)
            )
        });
        // Other processes can be Go programs as well.
        let (verdict, name) = match is_locks {
            true => (Verdict::Locks, "Locks"),
            false if is_alone => (Verdict::NotLocks, "Not the locks"),
            false => (Verdict::Undecided, "Undecided"),
        };
        let were_missing = reason.as_deref().is_some_and(|reason| reason.starts_with(UNDECIDED));
        // So may the threads themselves have fought for cache lines.
        let was_locks =
            matches!(judged, Some(Verdict::Locks)) || !is_locks && matches!(judged, Some(Verdict::Contention));
        let replaces = match (is_locks, is_alone) {
            (true, true) => true,
            // The threads themselves may have waited for a lock of the runtime, and those of other processes for any.
            (true, false) | (false, true) => !was_locks,
            (false, false) => were_missing,
        };
        if replaces {
            *judged = Some(verdict);
            *reason = Some(format!("{name}: {waited}.{signals}"));
        }
        verdict
    }
}

/// Returns whether goroutines have an object of this type while others wait for it.
fn is_exclusive(of_type: &str) -> bool {
    Row { lock_type: of_type.to_owned(), ..Row::default() }.excludes()
}

/// Returns the part of the waits in which the goroutines that had the object were parked. Several may have it at a time.
fn parked_share(waits: &Waits) -> f64 {
    let parked_ns: u64 = waits.holder_parked.values().sum();
    parked_ns as f64 / waits.total_ns.max(waits.known_ns).max(1) as f64
}

/// Returns whether other goroutines of the program end a wait of this kind.
fn is_shown(kind: Kind) -> bool {
    !matches!(kind, Kind::Sleep | Kind::Io | Kind::Runtime)
}

/// Returns a site whose function has no offset.
fn plain(site: Site) -> Site {
    let Some(function) = function_of(&site).map(str::to_owned) else { return site };
    let label = match &site.source {
        Some(source) => format!("{function} ({})", blame::names::short(source)),
        None => function.clone(),
    };
    Site { symbol: Some(function), label, ..site }
}

/// Returns what a goroutine does that waits for this kind of object.
fn parked_as(kind: &str) -> &'static str {
    match kind {
        "sleep" => "slept",
        "io" => "waited for I/O",
        "mutex" | "rwlock" => "waited for another lock",
        _ => "waited for another goroutine",
    }
}

/// Returns where the goroutine was parked that had the lock for which the holders of this one waited, and so on to one that
/// waited for no lock; `None` where that is not known for most of each wait.
fn root(group: &Group, paths: &[Path], all: &HashMap<(u64, usize), Waits>) -> Option<usize> {
    const LONGEST_CHAIN: usize = 8;
    let most = |waits: &Waits| {
        let most = waits.holder_parked.iter().max_by_key(|(stack, ns)| (**ns, std::cmp::Reverse(**stack)))?;
        (2 * *most.1 > waits.total_ns).then_some(*most.0)
    };
    let (mut object, mut stack) = (group.object, most(&group.waits)?);
    for _ in 0..LONGEST_CHAIN {
        if !is_exclusive(paths[stack].kind.name()) {
            return Some(stack);
        }
        // It waits for several objects in this place: for most of the time for this one.
        let there = all.iter().filter(|((other, at), _)| *at == stack && *other != object);
        let ((next, _), waits) = there.max_by_key(|((other, _), waits)| (waits.total_ns, *other))?;
        (object, stack) = (*next, most(waits)?);
    }
    None
}

/// Returns the cause of the waits for a lock, and the remedy if one cause explains more than half of them.
fn finding(group: &Group, row: &Row, paths: &[Path], all: &HashMap<(u64, usize), Waits>) -> Row {
    let waits = &group.waits;
    let most = |times: &HashMap<usize, u64>| {
        let by_stack = times.iter().map(|(stack, ns)| {
            let Path { kind, site, .. } = &paths[*stack];
            ((kind.name(), &*site.label, site.symbol.as_deref()), *ns as f64)
        });
        shares(by_stack).into_iter().next()
    };
    let parked_share = parked_share(waits);
    let known_share = (waits.known_ns as f64 / waits.total_ns.max(1) as f64).min(1.0);
    let (lock, percent) = (&row.lock, words::whole_percent);
    let is_pool = group.of_type == POOL;
    let (rule, cause, place, share, advice) = match most(&waits.holder_parked) {
        Some(((kind, site, _), part)) if parked_share > 0.5 => {
            let how = parked_as(kind);
            let share = parked_share * part;
            let holder = if is_pool { "the goroutines that had it" } else { "the goroutine that held it" };
            let mut text = format!("for {} of the wait {holder} {how} in {site}", percent(share));
            let (mut site, within) = (site, if is_exclusive(kind) { root(group, paths, all) } else { None });
            if let Some(within) = within {
                text.push_str(&format!(
                    ", whose holder {} in {}",
                    parked_as(paths[within].kind.name()),
                    paths[within].site.label
                ));
                site = &paths[within].site.label;
            }
            let advice = match is_pool {
                true => larger_pool(lock, site),
                false => format!("move calls that block out of the critical section of {lock}"),
            };
            let rule = if is_pool { Rule::PoolTooSmall } else { Rule::HolderBlocked };
            (rule, text, site.to_owned(), share, advice)
        }
        _ => {
            let share = (known_share - parked_share).max(0.0);
            let rule = if share > 0.5 { Rule::HolderRan } else { Rule::SeveralCauses };
            let mut text = format!(
                "for {} of the wait the goroutine that held it was not parked: it ran, was ready, or was in a system call",
                percent(share)
            );
            let released = most(&waits.releasers);
            if let Some(((_, site, _), share)) = released {
                text.push_str(&format!("; for {} of the wait it was one that released it in {site}", percent(share)));
            }
            // The section to shorten is that of the goroutines that had it for most of the time.
            let of_most = released.filter(|(_, share)| *share > 0.5).map(|((_, site, symbol), _)| (site, symbol));
            let place = of_most.map_or(&*paths[group.stack].site.label, |(site, _)| site).to_owned();
            let within =
                of_most.and_then(|(_, symbol)| symbol).map_or_else(String::new, |symbol| format!(" in {symbol}"));
            (
                rule,
                text,
                place,
                share,
                format!("do less while {lock} is held{within}, system calls included, or divide it"),
            )
        }
    };
    Row {
        lock_type: row.lock_type.clone(),
        attributes: row.attributes.clone(),
        wait_total_s: row.wait_total_s,
        object: Some(row.lock.clone()),
        rule: Some(rule),
        place: Some(place),
        cause: Some(cause),
        known_share: Some(share),
        remedy: Some(advice).filter(|_| share > 0.5),
        ..Row::new(RowKind::Finding, row.process, row.lock.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goroutines wait for an object at the stack of its number; its holder was parked at this stack.
    fn waits(holder_parked: usize, ns: u64) -> Waits {
        Waits { total_ns: 100, holder_parked: HashMap::from([(holder_parked, ns)]), ..Waits::default() }
    }

    #[test]
    fn holder_that_waits_for_a_lock_is_followed_to_its_root() {
        let path =
            |kind| Path { kind, site: Site { symbol: None, source: None, label: String::new() }, frames: Vec::new() };
        let paths = [path(Kind::Mutex), path(Kind::RwLock), path(Kind::Sleep)];
        let root = |all: &[((u64, usize), Waits)]| {
            let all: HashMap<(u64, usize), Waits> = all.iter().cloned().collect();
            let group = Group { object: 7, of_type: Kind::Mutex.name(), stack: 0, waits: all[&(7, 0)].clone() };
            root(&group, &paths, &all)
        };
        assert_eq!(root(&[((7, 0), waits(1, 90)), ((8, 1), waits(2, 80))]), Some(2));
        assert_eq!(root(&[((7, 0), waits(2, 90))]), Some(2));
        assert_eq!(root(&[((7, 0), waits(1, 90)), ((8, 1), waits(2, 40))]), None, "less than half is known");
        assert_eq!(root(&[((7, 0), waits(1, 90))]), None, "nothing is known of the other lock");
        // Two that wait for each other have none.
        assert_eq!(root(&[((7, 0), waits(1, 90)), ((8, 1), waits(0, 90))]), None);
    }
}
