//! Sentences that the terminal, the page and the findings share, and the matrix of waits and their causes.

use super::record::{Cause, CycleVerdict, JOIN_ORDER, LabelLock, Row, RowKind, Runner, SeenBy, Step, TimeSpike};
use record::{Table, Unit, optional};
use std::cmp::Ordering;
use std::collections::HashMap;
use terminal::{nanoseconds, percent};

/// The name of a CPU's idle time among the threads that ran on it.
pub use blame::futexes::follow::IDLE;

/// Returns the threads of a hang, each with the one that it waits for.
pub fn hang(row: &Row) -> String {
    let waited = nanoseconds(row.wait_max_ns.unwrap_or(0.0));
    let steps: Vec<String> = row.steps.iter().map(waits).chain(row.place.clone()).collect();
    format!("after {waited}: {}", steps.join("; "))
}

fn waits(step: &Step) -> String {
    let Step { thread, takes, taken_site, holds, held_site } = step;
    let holder = if held_site.is_empty() && holds == "unknown" {
        "whose holder is unknown".to_owned()
    } else if held_site.is_empty() {
        // From outside only the holder is seen.
        format!("which {holds} holds")
    } else {
        format!("which {holds} holds, acquired at {held_site}")
    };
    format!("thread {thread} waits for {takes} at {taken_site}, {holder}")
}

/// Returns the orders that contradict each other.
fn inversion(row: &Row) -> String {
    let is_reached = row.verdict == Some(CycleVerdict::Reached);
    let step = |step: &Step| {
        let Step { thread, holds, held_site, takes, taken_site } = step;
        if is_reached {
            return format!(
                "thread {thread} holds {holds}, acquired at {held_site}, and waits for {takes} at {taken_site}"
            );
        }
        format!("thread {thread} acquired {takes} at {taken_site} while it held {holds}, acquired at {held_site}")
    };
    row.steps.iter().map(step).collect::<Vec<String>>().join("; ")
}

/// Returns a cycle of locks: its verdict, the orders, and the remedy.
pub fn cycle(row: &Row) -> String {
    if row.kind == RowKind::Order && row.steps.is_empty() {
        return format!("No lock cycle: {}.", row.reason.clone().unwrap_or_default());
    }
    let runs = terminal::counted(row.runs.unwrap_or(0) as usize, "run");
    let verdict = match row.verdict {
        Some(CycleVerdict::Reached) if row.runs.is_some() => {
            format!("Deadlock, reached in run {}", row.runs.unwrap_or(0))
        }
        Some(CycleVerdict::Reached) => "Deadlock, reached in this run".to_owned(),
        Some(CycleVerdict::NotReached) => format!("Possible deadlock, not reached in {runs}"),
        Some(CycleVerdict::Excluded) => "Excluded deadlock".to_owned(),
        Some(CycleVerdict::Possible) | None => "Possible deadlock".to_owned(),
    };
    let orders = inversion(row);
    let instances = if row.instances > 1 { format!(" ({} pairs of instances)", row.instances) } else { String::new() };
    if is_excluded_by_joins(row) {
        return format!(
            "Deadlock possible by the code, but not in this run{instances}: {orders}. Reason: {JOIN_ORDER}. Acquire these \
             locks in the same order everywhere."
        );
    }
    if row.verdict == Some(CycleVerdict::Excluded) {
        return format!("{verdict}{instances}: {orders}. Reason: {}.", row.reason.clone().unwrap_or_default());
    }
    // Older records say this of two threads.
    let is_refuted = row.could_meet == Some(false);
    let refuted = if is_refuted {
        " It could not come in this run: the thread of one order had ended before the other order was used."
    } else {
        ""
    };
    let is_one_class = row.locks.first().is_some_and(|first| row.locks.iter().all(|lock| lock == first));
    let remedy = if is_one_class {
        "Acquire the instances in the order of their addresses"
    } else {
        "Acquire these locks in the same order everywhere"
    };
    format!("{verdict}{instances}: {orders}.{refuted} {remedy}.")
}

/// Returns whether the brief report has a row: a cycle that the code excludes is in the tables of `--all` only.
pub fn is_brief(row: &Row) -> bool {
    row.verdict != Some(CycleVerdict::Excluded) || is_excluded_by_joins(row)
}

/// Returns whether only the joins of this run exclude a cycle: with another schedule the same code may come to it.
fn is_excluded_by_joins(row: &Row) -> bool {
    row.verdict == Some(CycleVerdict::Excluded) && row.reason.as_deref() == Some(JOIN_ORDER)
}

/// Returns the sentence of a row that is or may become a deadlock, or that still waits.
pub fn ending(row: &Row) -> Option<String> {
    match row.kind {
        RowKind::Deadlock => Some(format!("Deadlock {}.", hang(row))),
        RowKind::Inversion | RowKind::Order => Some(cycle(row)),
        RowKind::Hang => Some(format!("Still waiting {}.", hang(row))),
        RowKind::Lock
        | RowKind::Site
        | RowKind::Budget
        | RowKind::Finding
        | RowKind::Place
        | RowKind::Label
        | RowKind::Word => None,
    }
}

/// Returns the sentences about all locks. Those of a record without a diagnosis: the longest wait, the critical lock,
/// and a remedy for the first lock.
pub fn summary(rows: &[Row]) -> Vec<String> {
    if let Some(whole) = program(rows) {
        let found = rows.iter().filter(|row| row.kind == RowKind::Finding).map(finding);
        return std::iter::once(budget(whole)).chain(labels(rows)).chain(found).chain(critical(rows)).collect();
    }
    let lock = rows.iter().find(|row| row.kind == RowKind::Lock && row.excludes());
    [first(rows), critical(rows), lock.and_then(remedy)].into_iter().flatten().collect()
}

/// Returns the budget of the whole program.
pub fn program(rows: &[Row]) -> Option<&Row> {
    rows.iter().find(|row| row.kind == RowKind::Budget && row.group.is_none() && row.thread.is_none())
}

/// Returns the parts of the time that threads lived, as shares of it. Parts below a thousandth are omitted.
pub fn budget(row: &Row) -> String {
    let lived = row.lived_s.unwrap_or(0.0);
    let parts = [
        (row.on_cpu_s, "on a CPU"),
        (row.ready_s, "ready without a CPU"),
        (row.lock_s, "waiting for locks"),
        (row.work_s, "waiting for work"),
        (row.sleep_s, "asleep"),
        (row.io_s, "in I/O"),
        (row.unknown_s, "unknown"),
    ];
    let share = |part: Option<f64>| part.unwrap_or(0.0) / lived.max(1e-9);
    let parts = parts.iter().filter(|(part, _)| share(*part) >= 0.001);
    let parts = parts.map(|(part, what)| format!("{} {what}", whole_percent(share(*part))));
    format!("Thread time {} (sampled): {}.", nanoseconds(lived * 1e9), parts.collect::<Vec<String>>().join(", "))
}

/// Returns the time of the groups of threads, for the terminal and the page.
pub fn budget_table(rows: &[Row]) -> Option<Table> {
    let is_seen = |row: &&Row| row.kind == RowKind::Budget && row.group.is_some() && row.lived_s > Some(0.0);
    let groups: Vec<&Row> = rows.iter().filter(is_seen).collect();
    let line = |row: &&Row| {
        let lived = row.lived_s.unwrap_or(0.0).max(1e-9);
        let share = |part: Option<f64>| whole_percent(part.unwrap_or(0.0) / lived);
        let parts = [row.on_cpu_s, row.ready_s, row.lock_s, row.work_s, row.sleep_s, row.io_s, row.unknown_s];
        let threads = terminal::count(row.threads.unwrap_or(0).into());
        let first = [row.name.clone().unwrap_or_default(), threads, terminal::nanoseconds(lived * 1e9)];
        first.into_iter().chain(parts.map(share)).collect()
    };
    let header = vec!["threads", "count", "lived", "on CPU", "ready", "locks", "work", "sleep", "I/O", "unknown"];
    let table = || Table { caption: "Time of the threads".into(), header, rows: groups.iter().map(line).collect() };
    (!groups.is_empty()).then(table)
}

/// Returns the first places where the threads were when they did not wait for locks, for the terminal and the page.
pub fn places_table(rows: &[Row], most: usize) -> Option<Table> {
    let places: Vec<&Row> = rows.iter().filter(|row| row.kind == RowKind::Place).take(most).collect();
    let state = |row: &Row| match row.lock_type.as_str() {
        "on_cpu" => "on a CPU",
        "sleep" => "asleep",
        "io" => "in I/O",
        "work" => "waiting for work",
        _ => "blocked",
    };
    let line = |row: &&Row| vec![row.lock.clone(), state(row).to_owned(), whole_percent(row.wait_share.unwrap_or(0.0))];
    let table = || Table {
        caption: "Time outside of locks".into(),
        header: vec!["outside of locks, in", "threads were", "of thread time"],
        rows: places.iter().map(line).collect(),
    };
    (!places.is_empty()).then(table)
}

/// Returns the part of the time in which the threads had something to do that a lock was waited for. Older records have
/// only the part of the threads' lives.
pub fn wait_share(row: &Row) -> Option<f64> {
    row.wait_busy_share.or(row.wait_share)
}

/// Returns the head of the column of [`wait_share`], which names its whole.
pub fn wait_share_head(rows: &[&Row]) -> &'static str {
    if rows.iter().any(|row| row.wait_busy_share.is_some()) { "of busy time" } else { "of thread time" }
}

/// Returns the sentences about the labelled requests that waited for locks the longest.
pub fn labels(rows: &[Row]) -> Option<String> {
    let labels = rows.iter().filter(|row| row.kind == RowKind::Label);
    let order = |row: &&Row| (row.lock_s.unwrap_or(0.0), row.total_s.unwrap_or(0.0));
    let row = labels.max_by(|one, other| order(one).partial_cmp(&order(other)).unwrap_or(Ordering::Equal))?;
    let (requests, share) = (row.requests.filter(|count| *count > 0)?, row.share?);
    let name = row.name.as_deref().unwrap_or_default();
    let noun = if requests == 1 { "request" } else { "requests" };
    let first = row.label_locks.first().map(|first| waited_for(share, first));
    let waited = first.unwrap_or_else(|| format!("{} of their time waiting for locks", whole_percent(share)));
    // Samples do not show which requests waited.
    let is_sampled = row.seen_by == SeenBy::Sampling;
    let sampled = if is_sampled { " (sampled)" } else { "" };
    let sentence = format!("{} {noun} \"{name}\" spent {waited}{sampled}.", terminal::count(requests));
    let (p99, outside) = (row.request_p99_ns, row.outside_p99_ns.filter(|_| !is_sampled));
    let Some(((waiting, p99), outside)) = row.requests_waited.filter(|count| *count > 0).zip(p99).zip(outside) else {
        return Some(sentence);
    };
    let waiting = whole_percent(waiting as f64 / requests as f64);
    let (p99, outside) = (nanoseconds(p99), nanoseconds(outside));
    Some(format!("{sentence} {waiting} of them waited; p99 of all is {p99}, and {outside} outside lock waits."))
}

/// Returns the part of the requests' time that was waiting for locks, with the first of them and its holder.
fn waited_for(share: f64, first: &LabelLock) -> String {
    const MOST_OF: f64 = 0.9;
    let holder = first.held_by.first().filter(|holder| holder.share > 0.5);
    let holder = holder.map_or_else(String::new, |holder| format!(", held by {}", holder.site));
    let (all, lock) = (whole_percent(share), &first.lock);
    if first.share >= MOST_OF * share {
        return format!("{all} of their time waiting for {lock}{holder}");
    }
    format!("{all} of their time waiting for locks, {} for {lock}{holder}", whole_percent(first.share))
}

/// Returns the labelled requests, for the terminal and the page.
pub fn label_table(rows: &[Row]) -> Option<Table> {
    let labels: Vec<&Row> = rows.iter().filter(|row| row.kind == RowKind::Label).collect();
    let time = |ns: Option<f64>| optional(ns, Unit::Ns);
    let seconds = |seconds: Option<f64>| time(seconds.map(|seconds| seconds * 1e9));
    let line = |row: &&Row| {
        let lock = |lock: &LabelLock| format!("{} ({})", lock.lock, whole_percent(lock.share));
        let locks: Vec<String> = row.label_locks.iter().take(MOST_LABEL_LOCKS).map(lock).collect();
        vec![
            row.name.clone().unwrap_or_default(),
            terminal::count(row.requests.unwrap_or(0)),
            seconds(row.total_s),
            optional(row.share, Unit::Share),
            terminal::count(row.requests_waited.unwrap_or(0)),
            time(row.request_p50_ns),
            time(row.request_p99_ns),
            time(row.request_max_ns),
            time(row.outside_p99_ns),
            time(row.wait_p50_ns),
            time(row.wait_p99_ns),
            time(row.wait_max_ns),
            seconds(row.work_s),
            locks.join(", "),
        ]
    };
    let header = vec![
        "label",
        "requests",
        "time",
        "waiting for locks",
        "waited",
        "p50",
        "p99",
        "max",
        "p99 outside lock waits",
        "lock wait p50",
        "p99",
        "max",
        "other waits",
        "locks (share of the time)",
    ];
    let table = || Table { caption: "Labelled requests".into(), header, rows: labels.iter().map(line).collect() };
    (!labels.is_empty()).then(table)
}

/// Returns a share without decimals, unless it is below one per cent.
pub fn whole_percent(share: f64) -> String {
    if share >= 0.01 { format!("{:.0} %", 100.0 * share) } else { percent(share) }
}

/// Returns a name without the arguments of C++ functions in it: `pool::wait(std::unique_lock<std::mutex>&)+0xf0` is
/// `pool::wait()+0xf0`.
pub fn without_arguments(name: &str) -> String {
    let (mut short, mut depth, mut before) = (String::new(), 0_usize, ' ');
    for letter in name.chars() {
        // Text in parentheses after a space is a source line; after a dot it is the type of a method of Go.
        let opens = letter == '(' && (depth > 0 || !matches!(before, ' ' | '.'));
        if letter == ')' && depth > 0 {
            depth -= 1;
        }
        if depth == 0 {
            short.push(letter);
        }
        depth += usize::from(opens);
        before = letter;
    }
    short
}

/// Returns the cause of the waits, its place, and the remedy.
pub fn finding(row: &Row) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (object, place, cause) = (text(&row.object), text(&row.place), text(&row.cause));
    let remedy = row.remedy.as_ref().map_or_else(String::new, |remedy| format!(" Remedy: {remedy}."));
    if row.cpu_share.is_some() {
        let place = if object.contains(&place) { String::new() } else { format!(", {place}") };
        return format!("{object}{place}: {cause}.{remedy}");
    }
    let waited = nanoseconds(row.wait_total_s * 1e9);
    let kind = if object.contains(&row.lock_type) { String::new() } else { format!("{}, ", row.lock_type) };
    let sampled = if row.seen_by == SeenBy::Sampling { " by samples" } else { "" };
    format!("{object} ({kind}waited {waited}{sampled}), {place}: {cause}.{remedy}")
}

/// Summarises the lock with the longest total wait.
pub fn first(rows: &[Row]) -> Option<String> {
    let lock = rows.iter().find(|row| row.kind == RowKind::Lock && row.excludes() && row.wait_total_s > 0.0)?;
    let share = lock.wait_share.map_or_else(String::new, |share| format!(" ({} of total thread time)", percent(share)));
    let waited = nanoseconds(lock.wait_total_s * 1e9);
    let off = lock.holder_off_cpu_share.filter(|share| *share >= 0.01);
    let off = off
        .map_or_else(String::new, |share| format!(" The holder was not running for {} of that wait.", percent(share)));
    let blamed = lock.blocked_by.first().map_or_else(String::new, |first| {
        let (site, share) = (&first.site, percent(first.share));
        // A process that is traced from outside shows only the call site that woke the waiter.
        let is_waker = lock.acquisitions == 0;
        if is_waker {
            format!(" It was released in {site} for {share} of the time whose holder is known.")
        } else {
            format!(" {site} held the lock for {share} of it.")
        }
    });
    Some(format!("Threads waited {waited} for {}{share}.{off}{blamed}", lock.lock))
}

/// Returns the lock that is critical, and the place whose holds others waited for most.
pub fn critical(rows: &[Row]) -> Option<String> {
    let locks = rows.iter().filter(|row| row.kind == RowKind::Lock);
    let shared = locks.filter_map(|row| Some((row, row.critical_share.filter(|share| *share >= 0.01)?)));
    let (lock, share) = shared.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let worst = rows.iter().filter(|row| row.kind == RowKind::Site && row.caused_total_s > 0.0);
    let worst = worst.max_by(|one, other| one.caused_total_s.total_cmp(&other.caused_total_s));
    let worst = worst.map_or_else(String::new, |site| {
        let place = match (site.symbol.as_deref(), site.source.as_deref().map(blame::names::short)) {
            (Some(symbol), Some(source)) => format!("{symbol} ({source})"),
            (symbol, source) => symbol.or(source).unwrap_or("?").to_owned(),
        };
        format!(
            " The largest cause of waits for any lock is {}, acquired at {place}: {}.",
            site.lock,
            nanoseconds(site.caused_total_s * 1e9)
        )
    });
    Some(format!(
        "On the critical path, the chain of work that determines the run time, waits for {} account for {}.{worst}",
        lock.lock,
        percent(share)
    ))
}

/// Returns the sum of all holds with its interval; a dash where it is not known. Older records have a sum without an
/// interval, which was off by a factor of two at times where the holds were sampled.
pub fn held(row: &Row) -> String {
    let dash = || "–".to_owned();
    let is_exact = row.holds_timed >= row.acquisitions && row.holds_timed > 0;
    let Some(total) = row.hold_total_s.filter(|_| is_exact || row.hold_total_ci_s.is_some()) else { return dash() };
    let ns = |s: f64| nanoseconds(s * 1e9);
    match row.hold_total_ci_s.filter(|ci| ci.width() > 0.0 && !is_exact) {
        Some(ci) => format!("{} ({}–{})", ns(total), ns(ci.low), ns(ci.high)),
        None => ns(total),
    }
}

/// Returns the wake-up latency, and the threads that ran on the CPU until then.
pub fn wakes(lock: &Row) -> Option<String> {
    let (median, most) = (lock.wake_p50_ns?, lock.wake_max_ns?);
    let runner = |runner: &Runner| {
        // Older records name idle time in other words.
        let name = if runner.name.ends_with(": the CPU was idle") { IDLE } else { &runner.name };
        format!("{name} ({})", percent(runner.share))
    };
    let runners: Vec<String> = lock.ran_instead.iter().take(3).map(runner).collect();
    let competitors = if runners.is_empty() {
        String::new()
    } else {
        format!("; on its CPU until then (share of that time): {}", runners.join(", "))
    };
    Some(format!("Wake-up latency: median {}, maximum {}{competitors}.", nanoseconds(median), nanoseconds(most)))
}

/// Returns the meaning of the letters of a histogram.
pub fn spikes(spikes: &[TimeSpike]) -> String {
    let one = |spike: &TimeSpike| {
        let echo = spike.echo_of.as_ref().zip(spike.delay_ns);
        let echo = echo.map_or_else(String::new, |(of, delay)| format!(", echo of {of}, +{}", nanoseconds(delay)));
        format!("{}: {} ({}{echo})", spike.label, nanoseconds(spike.median_ns), percent(spike.share))
    };
    spikes.iter().take(8).map(one).collect::<Vec<String>>().join("; ")
}

/// Returns a remedy, by the kind of waits.
pub fn remedy(lock: &Row) -> Option<String> {
    const LONG_HOLD_NS: f64 = 20_000.0;
    const CONTENDED: f64 = 0.1;
    if lock.wait_share.unwrap_or(0.0) < 0.01 {
        return None;
    }
    // A trace from outside sees neither hold times nor uncontended acquisitions.
    let are_holds_seen = lock.acquisitions > 0 && lock.hold_p50_ns.is_some();
    let contended = lock.contended as f64 / lock.acquisitions.max(1) as f64;
    let name = &lock.lock;
    Some(match lock.hold_p50_ns {
        _ if lock.holder_preempted_share.unwrap_or(0.0) > 0.3 => {
            format!(
                "Use fewer threads than CPUs, or raise the priority of the threads that acquire {name}: its \
                 holders were preempted while other threads waited."
            )
        }
        // Older records do not distinguish the two.
        _ if lock.holder_off_cpu_share.unwrap_or(0.0) > 0.3 && lock.holder_preempted_share.is_none() => {
            format!(
                "Move blocking calls out of the critical sections of {name}, or use fewer threads than CPUs: its \
                 holders slept, waited or were preempted while they held the lock."
            )
        }
        _ if lock.holder_off_cpu_share.unwrap_or(0.0) > 0.3 => {
            format!(
                "Move blocking calls out of the critical sections of {name}: its holders slept or waited while \
                 they held the lock."
            )
        }
        Some(hold) if hold > LONG_HOLD_NS => {
            format!("Do less in the critical section of {name} that blocks the most: its hold times are long.")
        }
        _ if lock.lock_type == "rwlock" && are_holds_seen => {
            format!("{name} is a readers-writer lock: if writes are rare, use one without a shared reader count.")
        }
        _ if contended > CONTENDED && are_holds_seen => {
            format!(
                "Use per-thread data, or several locks in place of {name}: its critical sections are short and \
                 many, so another lock helps less."
            )
        }
        _ => return None,
    })
}

/// Time waited, in s: by place that waited and place that was the cause in the end.
pub struct Matrix {
    /// The causes, the worst first.
    pub causes: Vec<String>,
    /// Places that waited, the longest first: for each cause, and in all.
    pub lines: Vec<(String, Vec<f64>, f64)>,
}

const MOST_LINES: usize = 8;
const MOST_CAUSES: usize = 8;
/// Locks in a line of the labels.
const MOST_LABEL_LOCKS: usize = 3;

impl Matrix {
    pub fn of(rows: &[Row]) -> Self {
        let mut waiting: Vec<&Row> = rows.iter().filter(|row| is_waiting(row)).collect();
        waiting.sort_by(|one, other| other.wait_total_s.total_cmp(&one.wait_total_s));
        waiting.truncate(MOST_LINES);
        let mut totals: HashMap<String, f64> = HashMap::new();
        for row in &waiting {
            row.caused_by.iter().for_each(|cause| *totals.entry(name(cause)).or_default() += seconds(row, cause));
        }
        let mut causes: Vec<(String, f64)> = totals.into_iter().collect();
        causes.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        causes.truncate(MOST_CAUSES);
        let causes: Vec<String> = causes.into_iter().map(|(name, _)| name).collect();
        let cell = |row: &Row, cause: &String| {
            row.caused_by.iter().filter(|one| name(one) == *cause).map(|one| seconds(row, one)).sum()
        };
        let line = |row: &&Row| {
            let place = format!("{} @ {}", row.lock, row.symbol.as_deref().unwrap_or("?"));
            (place, causes.iter().map(|cause| cell(row, cause)).collect(), row.wait_total_s)
        };
        let lines = waiting.iter().map(line).collect();
        Self { causes, lines }
    }
}

fn is_waiting(row: &Row) -> bool {
    row.kind == RowKind::Site && row.excludes() && !row.caused_by.is_empty()
}

fn name(cause: &Cause) -> String {
    format!("{} @ {}", cause.lock, cause.site)
}

fn seconds(row: &Row, cause: &Cause) -> f64 {
    row.wait_total_s * cause.share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_functions_are_left_out_and_lines_stay() {
        let name = "cond of tpool::wait(std::unique_lock<std::mutex>&, f(int))+0xf0 (mariadbd)";
        assert_eq!(without_arguments(name), "cond of tpool::wait()+0xf0 (mariadbd)");
        assert_eq!(without_arguments("take (queue.c:4)"), "take (queue.c:4)");
        assert_eq!(without_arguments("main.(*queue).take (queue.go:4)"), "main.(*queue).take (queue.go:4)");
        assert_eq!(without_arguments("operator() (tbb.cpp:6)"), "operator() (tbb.cpp:6)");
    }
}
