//! Sentences that the terminal, the page and the findings share.

use super::record::{Row, RowKind, Runner, Step, TimeSpike};
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

/// The lock that is critical, and the place whose holds others waited for most.
pub fn critical(rows: &[Row]) -> Option<String> {
    let locks = rows.iter().filter(|row| row.kind == RowKind::Lock);
    let shared = locks.filter_map(|row| Some((row, row.critical_share.filter(|share| *share >= 0.01)?)));
    let (lock, share) = shared.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let worst = rows.iter().filter(|row| row.kind == RowKind::Site && row.caused_total_s > 0.0);
    let worst = worst.max_by(|one, other| one.caused_total_s.total_cmp(&other.caused_total_s));
    let worst = worst.map_or_else(String::new, |site| {
        let place = [site.symbol.as_deref(), site.source.as_deref().map(super::names::short)];
        let place = place.into_iter().flatten().collect::<Vec<&str>>().join(", ");
        format!(
            " Most of all waiting is due to {} as taken at {place}: {}.",
            site.lock,
            nanoseconds(site.caused_total_s * 1e9)
        )
    });
    Some(format!(
        "{} is critical: {} of the longest path through the run lay in its holds that others waited for.{worst}",
        lock.lock,
        percent(share)
    ))
}

/// The sum of all holds with its interval; a dash where it is not known. Older records have a sum without an interval,
/// which was off by a factor of two at times where the holds were sampled.
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

/// How long it took from being woken to running, and who ran instead.
pub fn wakes(lock: &Row) -> Option<String> {
    let (median, most) = (lock.wake_p50_ns?, lock.wake_max_ns?);
    let runner = |runner: &Runner| format!("{} ({})", runner.name, percent(runner.share));
    let runners: Vec<String> = lock.ran_instead.iter().take(3).map(runner).collect();
    let meanwhile = if runners.is_empty() { String::new() } else { format!("; meanwhile ran {}", runners.join(", ")) };
    Some(format!(
        "From being woken to running: {} in the median, {} at most{meanwhile}.",
        nanoseconds(median),
        nanoseconds(most)
    ))
}

/// What the letters of a histogram stand for.
pub fn spikes(spikes: &[TimeSpike]) -> String {
    let one = |spike: &TimeSpike| {
        let echo = spike.echo_of.as_ref().zip(spike.delay_ns);
        let echo = echo.map_or_else(String::new, |(of, delay)| format!(", {of} and {} more", nanoseconds(delay)));
        format!("{}: {} ({}{echo})", spike.label, nanoseconds(spike.median_ns), percent(spike.share))
    };
    spikes.iter().take(8).map(one).collect::<Vec<String>>().join("; ")
}

/// What may help, by how the lock was waited for.
pub fn remedy(lock: &Row) -> Option<&'static str> {
    const LONG_HOLD_NS: f64 = 20_000.0;
    const CONTENDED: f64 = 0.1;
    if lock.wait_share.unwrap_or(0.0) < 0.01 {
        return None;
    }
    // Whoever watches from outside sees neither holds nor who took it without waiting.
    let are_holds_seen = lock.acquisitions > 0 && lock.hold_p50_ns.is_some();
    let contended = lock.contended as f64 / lock.acquisitions.max(1) as f64;
    Some(match lock.hold_p50_ns {
        _ if lock.holder_preempted_share.unwrap_or(0.0) > 0.3 => {
            "Its holders were preempted while others waited: fewer threads than CPUs help, or a higher priority for who \
             takes it."
        }
        // Older records do not tell the two apart.
        _ if lock.holder_off_cpu_share.unwrap_or(0.0) > 0.3 && lock.holder_preempted_share.is_none() => {
            "Its holders did not run while others waited: they slept or waited themselves with the lock in hand, which \
             is to be taken out of the hold, or they were preempted, for which fewer threads than CPUs help."
        }
        _ if lock.holder_off_cpu_share.unwrap_or(0.0) > 0.3 => {
            "Its holders slept or waited themselves with the lock in hand, which is to be taken out of the hold."
        }
        Some(hold) if hold > LONG_HOLD_NS => {
            "Its holds are long: less is to be done while it is held, at the site to blame."
        }
        _ if lock.lock_type == "rwlock" && are_holds_seen => {
            "It is taken for reading and writing: where writes are rare, one without a common count of readers helps."
        }
        _ if contended > CONTENDED && are_holds_seen => {
            "Its holds are short and many: data for each thread, or several locks in its place, help more than another \
             lock."
        }
        _ => return None,
    })
}
