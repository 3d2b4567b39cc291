//! The diagnosis so far in sentences for a live view: of the whole program, and of the waits for one lock.

use super::record::{Frame, LongWait, Row, RowKind};
use super::words;
use blame::names::short;
use terminal::{count, counted, nanoseconds, percent};

/// The most lines of each part, and the most bytes of a story, which must fit into a line of the live stream.
const MOST_SITES: usize = 4;
const MOST_WAITS: usize = 3;
const MOST_FRAMES: usize = 12;
const MOST_BYTES: usize = 2_400;

/// Returns whether a row is of a lock that threads waited for.
pub fn is_waited_for(row: &Row) -> bool {
    row.kind == RowKind::Lock && row.excludes() && row.wait_total_s > 0.0
}

/// Returns the sentences about the whole program: the budget, the verdict, the threads that wait for each other. Rows of
/// long waits stay when the waits have ended, so they are not listed.
pub fn whole(rows: &[Row], reason: Option<&str>) -> Vec<String> {
    let budget = words::program(rows).filter(|whole| whole.lived_s > Some(0.0)).map(words::budget);
    let stuck = rows.iter().filter(|row| row.kind == RowKind::Deadlock).filter_map(words::ending);
    fitting(budget.into_iter().chain(reason.map(str::to_owned)).chain(stuck))
}

/// Returns the first lines, as many as fit into a line of the live stream, which is JSON.
fn fitting(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut bytes = 0;
    let fits = |line: &String| {
        bytes += serde_json::to_string(line).map_or(line.len(), |text| text.len()) + 1;
        bytes <= MOST_BYTES
    };
    lines.take_while(fits).collect()
}

/// Returns the story of the waits for a lock: the threads that wait, the holders, the cause, the stack.
pub fn of(lock: &Row, rows: &[Row]) -> Vec<String> {
    // A condition and its mutex are one object.
    let is_of = |object: &String| object.split(" / ").any(|name| name == lock.lock);
    let findings = rows.iter().filter(|row| row.kind == RowKind::Finding && row.object.as_ref().is_some_and(is_of));
    let mut lines: Vec<String> = findings.map(words::finding).collect();
    lines.push(waits(lock));
    lines.extend(parts(lock));
    let is_here = |row: &&Row| {
        row.kind == RowKind::Site
            && (row.process, &row.address, &row.lock) == (lock.process, &lock.address, &lock.lock)
            && row.wait_total_s > 0.0
    };
    lines.extend(rows.iter().filter(is_here).take(MOST_SITES).map(site));
    let is_outside = lock.acquisitions == 0;
    lines.extend(lock.blocked_by.iter().take(MOST_SITES).map(|by| match is_outside {
        true => format!("Released at {} for {} of the wait.", by.site, percent(by.share)),
        false => format!("Held by the thread that acquired it at {} for {} of the wait.", by.site, percent(by.share)),
    }));
    lines.extend(lock.longest.iter().take(MOST_WAITS).map(|wait| long_wait(wait, is_outside)));
    if !lock.stack.is_empty() {
        lines.push("Call path that waited longest, the innermost function first:".into());
        lines.extend(lock.stack.iter().take(MOST_FRAMES).map(frame));
    }
    fitting(lines.into_iter())
}

fn waits(lock: &Row) -> String {
    let times = [("median", lock.wait_p50_ns), ("p99", lock.wait_p99_ns), ("maximum", lock.wait_max_ns)];
    let times = times.iter().filter_map(|(name, ns)| Some(format!(", {name} {}", nanoseconds((*ns)?))));
    let acquired = match (lock.contended, lock.acquisitions) {
        (0, _) => String::new(),
        (contended, 0) => format!(" in {}", counted(contended as usize, "wait")),
        (contended, all) => format!(" in {} contended of {} acquisitions", count(contended), count(all)),
    };
    format!("Waited {}{acquired}{}.", nanoseconds(lock.wait_total_s * 1e9), times.collect::<String>())
}

/// Returns the parts of the wait by the state of the holder.
fn parts(lock: &Row) -> Option<String> {
    let parts = [
        (lock.held_running_s, "the holder ran"),
        (lock.held_preempted_s, "the holder was ready without a CPU"),
        (lock.held_blocked_s, "the holder was blocked"),
        (lock.released_s, "the lock was free and the waiter did not run yet"),
        (lock.unknown_s, "unknown"),
    ];
    let share = |part: Option<f64>| part.map(|part| part / lock.wait_total_s).filter(|share| *share >= 0.001);
    let parts: Vec<String> =
        parts.iter().filter_map(|(part, what)| Some(format!("{what} {}", percent(share(*part)?)))).collect();
    (!parts.is_empty()).then(|| format!("Shares of the wait: {}.", parts.join(", ")))
}

fn site(row: &Row) -> String {
    let source = row.source.as_deref().map_or_else(String::new, |source| format!(" ({})", short(source)));
    let symbol = row.symbol.as_deref().unwrap_or("?");
    let contended =
        if row.contended > 0 { format!(", {}", counted(row.contended as usize, "wait")) } else { String::new() };
    format!("Waited at {symbol}{source}: {}{contended}.", nanoseconds(row.wait_total_s * 1e9))
}

/// Returns a wait; from outside only the call that ended it is seen, and not where the lock was acquired.
fn long_wait(wait: &LongWait, is_outside: bool) -> String {
    let holder = match (&wait.holder, wait.holder_thread) {
        (Some(place), Some(thread)) if is_outside => format!(", until thread {thread} released it at {place}"),
        (Some(holder), Some(thread)) => format!(", until thread {thread} released it, acquired at {holder}"),
        _ => String::new(),
    };
    let (thread, at_s, waited) = (wait.thread, wait.began_s, nanoseconds(wait.wait_ns));
    format!("Long wait: thread {thread} at {at_s:.3} s for {waited} at {}{holder}.", wait.site)
}

fn frame(frame: &Frame) -> String {
    let source = frame.source.as_deref().map_or_else(String::new, |source| format!(" ({})", short(source)));
    format!("  {}{source}", frame.function.as_deref().unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_that_was_seen_from_outside_is_no_acquisition() {
        let (holder, holder_thread) = (Some("log_line (log.c:19)".to_owned()), Some(7));
        let wait = LongWait {
            began_s: 1.0,
            wait_ns: 2e6,
            thread: 9,
            site: "log_line (log.c:14)".into(),
            holder,
            holder_thread,
            holder_off_cpu_share: None,
            handoff_ns: None,
            in_vain: false,
        };
        assert!(long_wait(&wait, true).ends_with("until thread 7 released it at log_line (log.c:19)."));
        assert!(long_wait(&wait, false).ends_with("released it, acquired at log_line (log.c:19)."));
    }
}
