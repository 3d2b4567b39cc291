//! Interruptions of known form: their moments, and their effect on a rank at work.

use instruments::clock::Clock;
use instruments::grind::Grind;
use lockstep::injection::{Injection, Schedule};
use lockstep::watched::Watched;
use std::time::Duration;

#[test]
fn injection_is_parsed_and_invalid_text_is_refused() {
    let read = |text: &str| text.parse::<Injection>();
    assert_eq!(read("200us:10ms"), Ok(Injection { length_ns: 200_000, every_ns: 10_000_000 }));
    for (text, wanted) in [
        ("200us", "needs two times"),
        ("0:10ms", "longer than 0"),
        ("6ms:10ms", "twice the first"),
        ("200:10ms", "the unit is missing"),
    ] {
        assert!(read(text).unwrap_err().contains(wanted), "{text}");
    }
}

#[test]
fn phase_of_each_rank_differs_and_depends_on_the_seed() {
    let injection: Injection = "200us:10ms".parse().unwrap();
    let phases: Vec<u64> = (0..50).map(|rank| injection.phase_ns(3, rank)).collect();
    assert_eq!(phases, (0..50).map(|rank| injection.phase_ns(3, rank)).collect::<Vec<_>>());
    assert!(phases.iter().all(|phase| *phase < injection.every_ns));
    let mut different = phases.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), phases.len());
}

/// Compares every third moment with a list of all moments.
#[test]
fn moment_in_an_interruption_is_held_until_its_end() {
    let (first, length, every) = (17, 5, 20);
    let mut schedule = Schedule::of_ticks(first, length, every);
    for now in (0..400).step_by(3) {
        let inside = now >= first && (now - first) % every < length;
        let end = inside.then(|| now - (now - first) % every + length);
        assert_eq!(schedule.until(now), end, "at {now}");
    }
}

/// Under any disturbance, an interruption takes effect, lasts as long as it should or longer, and is recorded.
#[test]
fn injected_interruption_holds_the_work_and_is_recorded() {
    let clock = Clock::calibrate(Duration::from_millis(20)).clock;
    let grind = Grind { ns_per_load: 1.0, overhead_ns: 0.0, ns_per_cycle: None, search: Vec::new() };
    let ticks = |us: f64| clock.to_ticks(us * 1e3);
    let now = clock.stamp();
    let ends = now + ticks(3_000.0) + ticks(1_000.0);
    let schedule = Schedule::of_ticks(now + ticks(3_000.0), ticks(1_000.0), ticks(1e9));
    let mut watched = Watched::new(clock, &grind, Some(schedule));
    watched.take_seen();
    let start = clock.stamp();
    let (grinds, end) = watched.work_until(start, now + ticks(8_000.0));
    let seen = watched.take_seen();
    let injected: Vec<_> = seen.iter().filter(|seen| seen.injected).collect();
    // A thread without a CPU in that time meets none.
    let met = seen.iter().any(|one| one.length > ticks(900.0));
    assert!(met, "{seen:?}");
    assert!(injected.iter().all(|one| one.start + one.length >= ends), "{injected:?}");
    assert!(seen.windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start), "{seen:?}");
    let lost: u64 = seen.iter().map(|one| one.length).sum();
    assert!(grinds > 0 && lost <= end - start, "{lost} of {}", end - start);
}
