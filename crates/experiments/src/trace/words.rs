//! Sentences that the terminal, the page and the findings share.

use super::record::{Row, RowKind, Step};
use terminal::{nanoseconds, percent};

/// Who waits for whom.
pub fn hang(row: &Row) -> String {
    let waited = nanoseconds(row.wait_max_ns.unwrap_or(0.0));
    let steps: Vec<String> = row.steps.iter().map(waits).collect();
    format!("after {waited}: {}", steps.join("; "))
}

fn waits(step: &Step) -> String {
    let Step { thread, takes, taken_site, holds, held_site } = step;
    let held = if held_site.is_empty() { String::new() } else { format!(", who took it at {held_site}") };
    format!("thread {thread} waits for {takes} at {taken_site}, which {holds} has{held}")
}

/// The orders that contradict each other.
pub fn inversion(row: &Row) -> String {
    let step = |step: &Step| {
        let Step { thread, holds, held_site, takes, taken_site } = step;
        format!("thread {thread} held {holds} (taken at {held_site}) and took {takes} at {taken_site}")
    };
    row.steps.iter().map(step).collect::<Vec<String>>().join("; ")
}

/// What a person would say of the lock that was waited for most.
pub fn first(rows: &[Row]) -> Option<String> {
    let lock = rows.iter().find(|row| row.kind == RowKind::Lock && row.excludes() && row.wait_total_s > 0.0)?;
    let share = lock.wait_share.map_or_else(String::new, |share| format!(", {} of all thread time", percent(share)));
    let waited = nanoseconds(lock.wait_total_s * 1e9);
    let off = lock.holder_off_cpu_share.filter(|share| *share >= 0.01);
    let off = off.map_or_else(String::new, |share| format!(", {} of it while its holder did not run", percent(share)));
    let blamed = lock.blocked_by.first();
    let blamed =
        blamed.map_or_else(String::new, |first| format!("; {} of it is due to {}", percent(first.share), first.site));
    Some(format!("{waited} were waited for {}{share}{off}{blamed}.", lock.lock))
}

/// What may help, by how the lock was waited for.
pub fn remedy(lock: &Row) -> Option<&'static str> {
    const LONG_HOLD_NS: f64 = 20_000.0;
    const CONTENDED: f64 = 0.1;
    if lock.wait_share.unwrap_or(0.0) < 0.01 {
        return None;
    }
    let contended = lock.contended as f64 / lock.acquisitions.max(1) as f64;
    Some(match lock.hold_p50_ns {
        _ if lock.holder_off_cpu_share.unwrap_or(0.0) > 0.3 => {
            "Its holders did not run while others waited: they slept or waited themselves with the lock in hand, which \
             is to be taken out of the hold, or they were preempted, for which fewer threads than CPUs help."
        }
        Some(hold) if hold > LONG_HOLD_NS => {
            "Its holds are long: less is to be done while it is held, at the site to blame."
        }
        _ if lock.lock_type == "rwlock" => {
            "It is taken for reading and writing: where writes are rare, one without a common count of readers helps."
        }
        _ if contended > CONTENDED => {
            "Its holds are short and many: data for each thread, or several locks in its place, help more than another \
             lock."
        }
        _ => return None,
    })
}
