//! The rows of the waits of goroutines, the verdict, and the findings.

use super::Diagnosis;
use super::inner::larger_pool;
use super::places::ON_CPU;
use crate::trace::aggregate::{bins, shares};
use crate::trace::evidence::{GoPath, GoProcess, GoWaits};
use crate::trace::plan::Verdict;
use crate::trace::record::{Blocker, Row, RowKind};
use crate::trace::rules::Rule;
use crate::trace::warnings::GoroutineWindows;
use crate::trace::words;
use blame::frames::Kind as FrameKind;
use blame::golang::{StackNumber, Waits};
use blame::purpose::Purpose;
use blame::time::Nanoseconds;
use instruments::warning::Warning;
use std::collections::BTreeMap;

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
const MOST_FINDINGS: usize = 3;
/// Locks are the problem from this share of the time in which goroutines had something to do, and from this part of the
/// run on; a lock has a finding from this share of all waits for locks on.
const LOCKS_SHARE: f64 = 0.1;
const LEAST_WAIT: f64 = 0.05;
const FINDING_SHARE: f64 = 0.15;
/// Windows that cover more of the run are not worth a warning.
const NEARLY_ALL: f64 = 0.95;
/// The words that follow the verdict where only a permission is missing.
const BY_PERMISSION: &str = " So does contend as root, or with CAP_PERFMON and CAP_BPF.";

/// The waits of a process, scaled to the time of the trace. The probes stay until the trace has its other rows, which
/// takes longer where contend gets no CPU; and a program may have begun later than the trace, or ended before it.
struct Scaled<'a> {
    of: &'a GoProcess,
    elapsed_s: f64,
    /// The ratio of that time to the windows.
    scale: f64,
}

impl GoProcess {
    fn scaled(&self, of_trace_s: f64) -> Scaled<'_> {
        let elapsed_s = self.elapsed_s.min(of_trace_s);
        Scaled { of: self, elapsed_s, scale: elapsed_s / self.watched_s.max(f64::MIN_POSITIVE) }
    }

    /// Returns a row for each lock that goroutines waited for.
    pub fn locks(&self) -> Vec<Row> {
        let scaled = self.scaled(self.elapsed_s);
        let rows = scaled.objects().into_iter().map(|group| scaled.row(&group, RowKind::Lock));
        rows.filter(Row::excludes).collect()
    }

    /// Adds the rows, the findings and the warnings to a diagnosis, and replaces its verdict on the threads, which do not wait for
    /// goroutines' locks. The trace took `of_trace_s`, and is of this process alone, or of others too.
    pub(super) fn add_to(&self, diagnosis: &mut Diagnosis, of_trace_s: f64, is_alone: bool) {
        if let Some((warning, is_permission)) = &self.refusal {
            let reason = diagnosis.reason.as_mut().filter(|_| *is_permission && diagnosis.lacks_goroutines);
            reason.into_iter().for_each(|reason| reason.push_str(BY_PERMISSION));
            return diagnosis.warnings.push(warning.clone());
        }
        let watched_share = (self.watched_s / self.elapsed_s.max(f64::MIN_POSITIVE)).min(1.0);
        let warning = GoroutineWindows { watched_share, lost_events: self.lost };
        diagnosis.warnings.extend((watched_share < NEARLY_ALL || self.lost > 0).then(|| Warning::from(warning)));
        // Without a window nothing is known.
        if self.watched_s > 0.0 {
            self.scaled(of_trace_s).add_to(diagnosis, is_alone);
        }
    }
}

impl Scaled<'_> {
    /// Returns the waits for each object; several objects can be unknown.
    fn objects(&self) -> Vec<Group> {
        self.groups(|object, path| if object == 0 { path.site.label.clone() } else { String::new() })
    }

    fn add_to(&self, diagnosis: &mut Diagnosis, is_alone: bool) {
        let objects = self.objects();
        let sites = self.groups(|_, path| path.site.label.clone());
        let locks: Vec<Row> = objects.iter().map(|group| self.row(group, RowKind::Lock)).collect();
        let places: Vec<Row> = sites.iter().map(|group| self.row(group, RowKind::Site)).collect();
        let waited_s: f64 = locks.iter().filter(|row| row.excludes()).map(|row| row.wait_total_s).sum();
        // The findings of several processes are about all of them.
        let keeps_findings = !is_alone && diagnosis.verdict == Some(Verdict::Locks);
        let of_goroutines = self.judge(diagnosis, is_alone, waited_s, &locks);
        let findings = objects.iter().zip(&locks).filter(|(_, row)| {
            of_goroutines == Verdict::Locks && row.excludes() && row.wait_total_s >= FINDING_SHARE * waited_s
        });
        let findings: Vec<Row> =
            findings.take(MOST_FINDINGS).map(|(group, row)| finding(group, row, self.of)).collect();
        let rows = &mut diagnosis.rows;
        // The threads' own futex words are those of the runtime's scheduler, and so are the places where they wait; but what they run
        // is the program's.
        rows.retain(|row| row.kind != RowKind::Place || row.lock_type == ON_CPU);
        rows.retain(|row| row.kind != RowKind::Finding || of_goroutines != Verdict::Locks || keeps_findings);
        let first = rows.iter().position(|row| row.kind != RowKind::Lock).unwrap_or(rows.len());
        rows.splice(first..first, locks);
        rows.extend(places);
        rows.extend(findings);
    }

    /// Returns the waits for objects by a key of the call path, the longest first.
    fn groups(&self, key: impl Fn(u64, &GoPath) -> String) -> Vec<Group> {
        let mut groups: BTreeMap<(u64, &str, String), Group> = BTreeMap::new();
        for ((object, stack), GoWaits { waits, purpose }) in &self.of.waits {
            let Some(path) = self.of.paths.get(*stack).filter(|path| path.kind.ends_by_others()) else { continue };
            // The receivers of a pool's channel wait for a permit, which is not what its senders may wait for.
            let of_type = match purpose {
                Some(Purpose::Exclusion) => FrameKind::Lock.name(),
                Some(Purpose::Pool) => POOL,
                _ => path.kind.name(),
            };
            let group = groups.entry((*object, of_type, key(*object, path)));
            let group =
                group.or_insert_with(|| Group { object: *object, of_type, stack: *stack, waits: Waits::default() });
            if waits.times.ticks > self.of.waits[&(*object, group.stack)].waits.times.ticks {
                group.stack = *stack;
            }
            group.waits.merge(waits);
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        let is_lock = |group: &Group| is_exclusive(group.of_type);
        groups.sort_by_key(|group| std::cmp::Reverse((is_lock(group), group.waits.times.ticks)));
        groups.truncate(MOST_ROWS);
        groups
    }

    fn row(&self, group: &Group, kind: RowKind) -> Row {
        let Group { object, of_type, stack, waits } = group;
        let (path, times) = (&self.of.paths[*stack], &waits.times);
        let seconds = |ns: u64| ns as f64 / 1e9 * self.scale;
        let parked_ns = (parked_share(waits) * times.ticks as f64) as u64;
        let part = |ns: u64| is_exclusive(of_type).then(|| seconds(ns));
        let by_site = waits.releasers.iter().map(|(stack, ns)| (self.of.label(*stack).to_owned(), *ns as f64));
        let blocked_by = shares(by_site).into_iter().map(|(site, share)| Blocker { site, share }).collect();
        let is_object = kind == RowKind::Lock;
        Row {
            address: if *object == 0 { String::new() } else { format!("{object:#x}") },
            lock_type: (*of_type).into(),
            attributes: vec!["go".into()],
            symbol: path.site.symbol.clone(),
            source: path.site.source.clone(),
            contended: times.count,
            wait_total_s: seconds(times.ticks),
            wait_p50_ns: times.quantile_ns(0.5, &Nanoseconds),
            wait_p99_ns: times.quantile_ns(0.99, &Nanoseconds),
            wait_max_ns: Some(times.most as f64),
            held_blocked_s: part(parked_ns),
            // A goroutine that is not parked runs or is ready, which the probes do not show.
            unknown_s: part(times.ticks.saturating_sub(parked_ns)),
            blocked_by,
            waits: if is_object { bins(times, &Nanoseconds) } else { Vec::new() },
            stack: if is_object { path.frames.clone() } else { Vec::new() },
            ..Row::new(kind, self.of.process, self.of.name_of(*object, path))
        }
    }

    /// Replaces the verdict: the time in locks is that of goroutines, the time on CPUs that of the threads.
    fn judge(&self, diagnosis: &mut Diagnosis, is_alone: bool, waited_s: f64, locks: &[Row]) -> Verdict {
        let whole = words::program(&diagnosis.rows);
        let ran_s = whole.map_or(0.0, |whole| whole.on_cpu_s.unwrap_or(0.0) + whole.ready_s.unwrap_or(0.0));
        let share = waited_s / (waited_s + ran_s).max(f64::MIN_POSITIVE);
        let is_locks = share >= LOCKS_SHARE && waited_s >= LEAST_WAIT * self.elapsed_s;
        let of = if is_alone { String::new() } else { format!(" of process {}", self.of.process) };
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
        // So may the threads themselves have fought for cache lines.
        let was_locks =
            diagnosis.verdict == Some(Verdict::Locks) || !is_locks && diagnosis.verdict == Some(Verdict::Contention);
        let replaces = match (is_locks, is_alone) {
            (true, true) => true,
            // The threads themselves may have waited for a lock of the runtime, and those of other processes for any.
            (true, false) | (false, true) => !was_locks,
            (false, false) => diagnosis.lacks_goroutines,
        };
        if replaces {
            diagnosis.verdict = Some(verdict);
            diagnosis.reason = Some(format!("{name}: {waited}.{signals}"));
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
    parked_ns as f64 / waits.times.ticks.max(waits.known_ns).max(1) as f64
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
fn root(group: &Group, of: &GoProcess) -> Option<usize> {
    const LONGEST_CHAIN: usize = 8;
    let most = |waits: &Waits| {
        let most = waits.holder_parked.iter().max_by_key(|(stack, ns)| (**ns, std::cmp::Reverse(**stack)))?;
        (2 * *most.1 > waits.times.ticks).then_some(*most.0)
    };
    let (mut object, mut stack) = (group.object, most(&group.waits)?);
    for _ in 0..LONGEST_CHAIN {
        if !is_exclusive(of.paths.get(stack)?.kind.name()) {
            return Some(stack);
        }
        // It waits for several objects in this place: for most of the time for this one.
        let there = of.waits.iter().filter(|((other, at), _)| *at == stack && *other != object);
        let ((next, _), next_waits) = there.max_by_key(|((other, _), one)| (one.waits.times.ticks, *other))?;
        (object, stack) = (*next, most(&next_waits.waits)?);
    }
    None
}

/// Returns the cause of the waits for a lock, and the remedy if one cause explains more than half of them.
fn finding(group: &Group, row: &Row, of: &GoProcess) -> Row {
    let waits = &group.waits;
    let most = |times: &BTreeMap<StackNumber, u64>| {
        let by_stack = times.iter().filter_map(|(stack, ns)| {
            let GoPath { kind, site, .. } = of.paths.get(*stack)?;
            Some(((kind.name(), &*site.label, site.symbol.as_deref()), *ns as f64))
        });
        shares(by_stack).into_iter().next()
    };
    let parked_share = parked_share(waits);
    let known_share = (waits.known_ns as f64 / waits.times.ticks.max(1) as f64).min(1.0);
    let (lock, percent) = (&row.lock, words::whole_percent);
    let is_pool = group.of_type == POOL;
    let (rule, cause, place, share, advice) = match most(&waits.holder_parked) {
        Some(((kind, site, _), part)) if parked_share > 0.5 => {
            let how = parked_as(kind);
            let share = parked_share * part;
            let holder = if is_pool { "the goroutines that had it" } else { "the goroutine that held it" };
            let mut text = format!("for {} of the wait {holder} {how} in {site}", percent(share));
            let (mut site, within) = (site, if is_exclusive(kind) { root(group, of) } else { None });
            if let Some(within) = within {
                text.push_str(&format!(
                    ", whose holder {} in {}",
                    parked_as(of.paths[within].kind.name()),
                    of.label(within)
                ));
                site = of.label(within);
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
            let place = of_most.map_or(of.label(group.stack), |(site, _)| site).to_owned();
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
    use blame::durations::Times;
    use blame::golang::Kind;
    use blame::names::Site;

    /// Goroutines wait for an object at the stack of its number; its holder was parked at this stack.
    fn waits(holder_parked: usize, ns: u64) -> Waits {
        let mut times = Times::default();
        times.note(100);
        Waits { times, holder_parked: BTreeMap::from([(holder_parked, ns)]), ..Waits::default() }
    }

    #[test]
    fn holder_that_waits_for_a_lock_is_followed_to_its_root() {
        let path =
            |kind| GoPath { kind, site: Site { symbol: None, source: None, label: String::new() }, frames: Vec::new() };
        let root = |all: &[((u64, usize), Waits)]| {
            let waits = all.iter().map(|(place, waits)| (*place, GoWaits { waits: waits.clone(), purpose: None }));
            let paths = [Kind::Mutex, Kind::RwLock, Kind::Sleep].map(path).into();
            let of = GoProcess { paths, waits: waits.collect(), ..GoProcess::default() };
            let waits = of.waits[&(7, 0)].waits.clone();
            root(&Group { object: 7, of_type: Kind::Mutex.name(), stack: 0, waits }, &of)
        };
        assert_eq!(root(&[((7, 0), waits(1, 90)), ((8, 1), waits(2, 80))]), Some(2));
        assert_eq!(root(&[((7, 0), waits(2, 90))]), Some(2));
        assert_eq!(root(&[((7, 0), waits(1, 90)), ((8, 1), waits(2, 40))]), None, "less than half is known");
        assert_eq!(root(&[((7, 0), waits(1, 90))]), None, "nothing is known of the other lock");
        // Two that wait for each other have none.
        assert_eq!(root(&[((7, 0), waits(1, 90)), ((8, 1), waits(0, 90))]), None);
    }

    /// Its threads wait in the runtime's scheduler, which is not a place in the program; what they run is one.
    #[test]
    fn go_program_has_the_places_where_it_ran() {
        let place = |state: &str| Row { lock_type: state.into(), ..Row::new(RowKind::Place, 1, "main.merge".into()) };
        let rows = vec![place("work"), place(ON_CPU)];
        let mut diagnosis =
            Diagnosis { verdict: None, reason: None, rows, warnings: Vec::new(), lacks_goroutines: false };
        let of = GoProcess { elapsed_s: 2.0, watched_s: 2.0, ..GoProcess::default() };
        of.add_to(&mut diagnosis, 2.0, true);
        let states: Vec<&str> = diagnosis.rows.iter().map(|row| &*row.lock_type).collect();
        assert_eq!(states, [ON_CPU]);
    }

    #[test]
    fn sums_are_those_of_the_trace_although_the_probes_stay() {
        let scale = |elapsed_s, of_trace_s| {
            GoProcess { elapsed_s, watched_s: 2.0, ..GoProcess::default() }.scaled(of_trace_s).scale
        };
        assert_eq!(scale(4.0, 3.0), 1.5);
        assert_eq!(scale(2.0, 60.0), 1.0, "it ended early, or began late");
    }
}
