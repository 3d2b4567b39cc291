//! When each CPU was interrupted, and what of that hit others at the same moment.

use crate::noise::record::Together;
use instruments::clock::Clock;
use instruments::coincidence::{coincidences, watched_by_all};
use instruments::gaps::Watch;
use std::ops::Range;

/// The moments of a CPU. However long the run, so many are kept: of a full memory the shorter half goes, and from then
/// on only what is longer comes in.
pub struct Moments {
    origin: u64,
    clock: Clock,
    /// Gaps that are shorter, in ticks, are not kept.
    least: u64,
    /// Start and length in ticks.
    gaps: Vec<(u64, u64)>,
    /// When somebody looked, in ticks: the time between turns, and between their pieces, is in none of these.
    watched: Vec<Range<u64>>,
}

const MOST: usize = 20_000;
const MOST_STRETCHES: usize = 4_096;
/// What is shorter is the core's or the hypervisor's own flutter.
const LEAST_NS: f64 = 1_000.0;
/// What begins within this of each other is one moment: an interrupt that goes to all CPUs reaches them so.
const WINDOW_NS: f64 = 25_000.0;

impl Moments {
    pub fn since(origin: u64, clock: Clock) -> Self {
        Self { origin, clock, least: clock.to_ticks(LEAST_NS), gaps: Vec::with_capacity(MOST), watched: Vec::new() }
    }

    pub fn add(&mut self, watch: &Watch) {
        let start = watch.start.saturating_sub(self.origin);
        self.watched.push(start..start + watch.span);
        if self.watched.len() > MOST_STRETCHES {
            self.forget_the_shorter_breaks();
        }
        for gap in &watch.gaps {
            if gap.length < self.least {
                continue;
            }
            if self.gaps.len() == MOST {
                self.forget_the_shorter_half();
            }
            self.gaps.push((gap.start.saturating_sub(self.origin), gap.length));
        }
    }

    fn forget_the_shorter_half(&mut self) {
        let mut lengths: Vec<u64> = self.gaps.iter().map(|gap| gap.1).collect();
        let median = *lengths.select_nth_unstable(MOST / 2).1;
        self.least = median + 1;
        // Of those that are equally long the first stay, as far as there is room.
        let mut room = MOST / 2 - self.gaps.iter().filter(|gap| gap.1 > median).count();
        self.gaps.retain(|gap| {
            let stays = gap.1 > median || gap.1 == median && room > 0;
            room -= usize::from(stays && gap.1 == median);
            stays
        });
    }

    /// Of a long run the pieces of a turn are one stretch, as if nothing lay between them: that is a thousandth of it.
    fn forget_the_shorter_breaks(&mut self) {
        let mut breaks: Vec<u64> =
            self.watched.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].end)).collect();
        let place = breaks.len() / 2;
        let median = *breaks.select_nth_unstable(place).1;
        self.watched.dedup_by(|next, last| {
            let joins = next.start.saturating_sub(last.end) <= median;
            last.end = if joins { next.end } else { last.end };
            joins
        });
    }

    /// When somebody looked, in nanoseconds since the run began, in order.
    pub fn watched_ns(&self) -> Vec<Range<f64>> {
        self.watched.iter().map(|stretch| self.clock.to_ns(stretch.start)..self.clock.to_ns(stretch.end)).collect()
    }

    /// In nanoseconds since the run began, in order.
    pub fn starts_ns(&self) -> Vec<f64> {
        self.gaps.iter().map(|gap| self.clock.to_ns(gap.0)).collect()
    }
}

/// For each CPU: how many of its moments came together with those of others, and how many by chance; of the time in
/// which all of them were watched.
pub fn together<'a>(all: impl Iterator<Item = &'a Moments>, seed: u64) -> Vec<Together> {
    let (trains, watched): (Vec<_>, Vec<_>) = all.map(|one| (one.starts_ns(), one.watched_ns())).unzip();
    let (trains, span_ns) = watched_by_all(&trains, &watched);
    let of = |found: instruments::coincidence::Coincidence| Together {
        gaps: found.moments,
        together: found.together,
        by_chance: found.by_chance,
        by_chance_deviation: found.deviation,
        is_common: found.is_common(),
        window_us: WINDOW_NS / 1e3,
    };
    coincidences(&trains, span_ns, WINDOW_NS, seed).into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use instruments::gaps::Gap;
    use std::time::Duration;

    #[test]
    fn the_longest_are_kept_in_constant_memory() {
        let clock = Clock::calibrate(Duration::from_millis(5)).clock;
        let mut moments = Moments::since(0, clock);
        // A night of two million gaps, every tenth of them long.
        for second in 0..200_u64 {
            let gap = |n: u64| {
                let length_ns = if n.is_multiple_of(10) { 90e3 } else { 5e3 };
                Gap { start: clock.to_ticks((second * 10_000 + n) as f64 * 1e5), length: clock.to_ticks(length_ns) }
            };
            let gaps = (0..10_000).map(gap).collect();
            moments.add(&Watch { gaps, span: 1, start: 0, passes: 1, threshold: 1, full: false, looks: Vec::new() });
        }
        assert!(moments.gaps.len() <= MOST && moments.gaps.capacity() == MOST);
        assert!(moments.gaps.iter().all(|gap| gap.1 > clock.to_ticks(6e3)));
        assert!(moments.starts_ns().is_sorted());
    }
}
