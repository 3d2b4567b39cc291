//! SMT interference: the readings of the probe.

use instruments::clock::Clock;
use instruments::cpus;
use instruments::neighbour::{KINDS, Probe, Reading, Workspace, pair};
use instruments::team::on_cpu;
use std::time::Duration;

fn clock() -> Clock {
    Clock::calibrate(Duration::from_millis(20)).clock
}

fn first_cpu() -> usize {
    cpus::allowed().unwrap().first().unwrap()
}

#[test]
fn probe_reads_plausible_values_within_microseconds() {
    let clock = clock();
    let Some(probe) = Probe::calibrate(clock) else { return };
    let readings: Vec<Reading> = on_cpu(first_cpu(), || (0..200).map(|_| probe.take()).collect()).unwrap();
    assert!(readings.iter().all(|reading| usize::from(reading.cpu) == first_cpu()), "{readings:?}");
    let mut cycles: Vec<f32> = readings.iter().map(|reading| reading.cycles).collect();
    cycles.sort_by(f32::total_cmp);
    // No core issues more than twelve additions per cycle, and no known one fewer than one half.
    assert!((17.0 / 12.0..34.0).contains(&cycles[100]), "{cycles:?}");
    assert!(readings.iter().any(|reading| (0.1..10.0).contains(&reading.cycles_per_ns)), "{readings:?}");
    assert!(probe.cost_ns() > 0.0);
    assert!(probe.longer(10).cost_ns() > 5.0 * probe.cost_ns());
}

#[test]
fn every_kind_of_code_has_a_duration() {
    let (clock, mut workspace) = (clock(), Workspace::new());
    for kind in &KINDS {
        let ticks = (0..20).map(|_| kind.ticks(clock, &mut workspace)).min().unwrap();
        assert!(clock.to_ns(ticks) > 20.0, "{}: {ticks} ticks", kind.name);
    }
}

/// From memory, each of its lines would take about twenty times as long.
#[test]
fn cache_walk_is_independent_of_earlier_code() {
    let (clock, mut workspace) = (clock(), Workspace::new());
    let walk = KINDS.iter().find(|kind| kind.name == "second cache").unwrap();
    let mut least = |before: &dyn Fn()| {
        let ticks = (0..20).map(|_| {
            before();
            walk.ticks(clock, &mut workspace)
        });
        ticks.min().unwrap() as f64
    };
    let elsewhere = vec![1_u64; 8 << 20];
    let warm = least(&|| ());
    let cold = least(&|| _ = std::hint::black_box(elsewhere.iter().sum::<u64>()));
    assert!(cold < 4.0 * warm, "{cold} ticks after 64 MiB, {warm} before");
}

#[test]
fn two_cpus_are_measured_as_a_pair() {
    let clock = clock();
    let allowed = cpus::allowed().unwrap();
    let (Some(probe), Some(one), Some(other)) = (Probe::calibrate(clock), allowed.first(), allowed.iter().nth(1))
    else {
        println!("skipped: needs two CPUs");
        return;
    };
    let found = pair(clock, probe, one, other, Duration::from_millis(200), || false).unwrap();
    // On a machine whose CPUs are all busy there may be no result.
    let Some(found) = found else { return println!("skipped: needs two CPUs that are not busy") };
    assert!(found.narrowing.interval.contains(found.narrowing.median) && found.line_ns > 1.0, "{found:?}");
    assert!(pair(clock, probe, one, 100_000, Duration::from_millis(10), || false).is_err());
}
