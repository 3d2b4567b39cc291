//! The places where threads are held in a run, and for how long: another order of the threads in each run.

use fastrand::Rng;
use std::time::Duration;

/// The way threads are held at a step of a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// A thread is held for so long at most; zero: not at all.
    pub pause: Duration,
    /// Arrivals that pass before.
    pub skip: u32,
}

/// Threads at each step are held for so long in the first run, and those of one step in the next ones.
const ALL: Duration = Duration::from_millis(150);
const ONE: Duration = Duration::from_millis(700);
/// The pauses of later runs, of which each step has one by chance.
const BY_CHANCE: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(40), Duration::from_millis(300), Duration::from_millis(1200)];
/// Arrivals that pass in later runs, below this number.
const MOST_SKIPPED: u32 = 6;

/// The time that all threads of a run together are held at most.
pub const BUDGET: Duration = Duration::from_secs(6);

/// Returns the holds of a run at each step of a cycle.
pub fn holds(steps: usize, run: u32, seed: u64) -> Vec<Hold> {
    let mut random = Rng::with_seed(seed);
    let by_chance =
        |random: &mut Rng| Hold { pause: BY_CHANCE[random.usize(..BY_CHANCE.len())], skip: random.u32(..MOST_SKIPPED) };
    let hold = |step: usize| match run as usize {
        0 => Hold { pause: ALL, skip: 0 },
        run if run <= steps => Hold { pause: if run == step + 1 { ONE } else { Duration::ZERO }, skip: 0 },
        _ => by_chance(&mut random),
    };
    let mut holds: Vec<Hold> = (0..steps).map(hold).collect();
    // A run without a pause is a plain run.
    if holds.iter().all(|hold| hold.pause.is_zero()) {
        let step = random.usize(..steps.max(1));
        holds.iter_mut().skip(step).take(1).for_each(|hold| hold.pause = ONE);
    }
    holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_holds_a_thread_and_the_same_seed_is_the_same_run() {
        for run in 0..50 {
            let holds_of_run = holds(3, run, u64::from(run));
            assert!(holds_of_run.iter().any(|hold| !hold.pause.is_zero()), "{run}");
            assert_eq!(holds_of_run, holds(3, run, u64::from(run)));
        }
        assert!(holds(2, 0, 1).iter().all(|hold| hold.pause == ALL));
        assert_eq!(holds(2, 2, 1)[0].pause, Duration::ZERO);
    }
}
