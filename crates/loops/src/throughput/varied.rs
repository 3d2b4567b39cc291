//! The loop with the differences from that of 2002.
//!
//! It is apart from the loop of 2002, whose rounds stay as short as they are: this one reads the clock in every round
//! that needs the time.

use super::counters::{ChildCounters, Usage};
use super::guarded::Guarded;
use super::phase::{COUNTING, OVER, RunPhase};
use super::random::Random;
use super::spec::{LoopSpec, Observation};
use super::variations::{Data, Popularity, Ramp, Variations};
use instruments::team::StartGate;
use locks::Lock;
use std::time::Duration;

/// A whole run of one child.
#[inline(never)]
pub fn work<L: Lock>(
    (locks, data, popularity): (&[Guarded<L>], &Data, Option<&Popularity>),
    child: usize,
    (spec, variations): (&LoopSpec, &Variations),
    phase: &RunPhase,
    counters: &mut ChildCounters,
    gate: &StartGate,
) {
    let mut random = Random::new(spec.seed, child);
    let Some(start) = gate.ready() else { return };
    let began = spec.clock.now();
    let before = Usage::of_this_thread();
    let (is_timed, counts) = (spec.observation == Observation::Times, spec.observation != Observation::Nothing);
    let needs_time = variations.ramp.is_some() || variations.stop.is_some();
    loop {
        let now = phase.current();
        if now == OVER {
            break;
        }
        let elapsed = if needs_time { spec.clock.now().saturating_sub(start) } else { 0 };
        if let Some(ramp) = &variations.ramp
            && !is_active(ramp, child, elapsed, spec, phase)
        {
            continue;
        }
        random.work(spec.nonhold_loads);
        let lock = popularity.map_or(child % locks.len(), |popularity| popularity.draw(random.next()));
        let counting = now == COUNTING;
        let requested = if is_timed { spec.clock.stamp() } else { 0 };
        let guard = locks[lock].lock.lock();
        let begun = if counts { locks[lock].protected.begin() } else { 0 };
        if let Some(stop) = &variations.stop
            && elapsed >= stop.at
        {
            phase.stop_once(spec.clock.now(), stop.length, spec.clock);
        }
        data.touch(lock);
        if is_timed {
            let got = spec.clock.stamp();
            let streak = locks[lock].protected.streak(child as u64);
            random.work(spec.hold_loads);
            locks[lock].protected.end(begun);
            let worked = spec.clock.stamp();
            drop(guard);
            if counting {
                counters.longest_streak = counters.longest_streak.max(streak);
                counters.waits.add(got - requested);
                counters.holds.add(worked - got);
                counters.held_ticks += worked - got;
            }
        } else {
            random.work(spec.hold_loads);
            if counts {
                locks[lock].protected.end(begun);
            }
            drop(guard);
        }
        counters.protected_rounds += u64::from(counts);
        counters.all_rounds += 1;
        counters.rounds += u64::from(counting);
        if let Some(ramp) = &variations.ramp
            && elapsed >= ramp.begins
        {
            counters.steps.add(ramp.at(elapsed) as u64);
        }
        if let Some(stop) = &variations.stop {
            counters.parts.add(spec.clock.now().saturating_sub(start) / stop.part.max(1));
        }
    }
    counters.wall_ticks += spec.clock.now() - began;
    if let (Ok(before), Ok(after)) = (before, Usage::of_this_thread()) {
        counters.cpu_ns += after.cpu_ns - before.cpu_ns;
        counters.voluntary_switches += after.voluntary_switches - before.voluntary_switches;
        counters.involuntary_switches += after.involuntary_switches - before.involuntary_switches;
    }
}

/// A child that has no further step looks this often whether the run is over.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Whether the child is active now; if it is not, it has slept until it may be.
#[inline(always)]
fn is_active(ramp: &Ramp, child: usize, elapsed: u64, spec: &LoopSpec, phase: &RunPhase) -> bool {
    let step = ramp.at(elapsed);
    let is_active = child < Ramp::active(ramp.children, step);
    if !is_active {
        sleep_until_active(ramp, child, step, elapsed, spec, phase);
    }
    is_active
}

#[cold]
fn sleep_until_active(ramp: &Ramp, child: usize, step: usize, elapsed: u64, spec: &LoopSpec, phase: &RunPhase) {
    let left = ramp.next_of(child, step).map(|(_, begins)| begins.saturating_sub(elapsed));
    let nap = left.map_or(LOOK_EVERY, |left| Duration::from_nanos(spec.clock.to_ns(left) as u64));
    // A run that ends early does not wait for a child that sleeps: so no sleep is longer than a tenth of a second.
    if phase.current() != OVER {
        std::thread::sleep(nap.min(Duration::from_millis(100)));
    }
}
