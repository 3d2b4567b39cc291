//! The critical sections of several threads under one lock, and those that overlapped others: a lock that excludes has
//! none.

use instruments::clock::Clock;
use loops::latency::Round;

/// The least overlap that counts: the clocks of two CPUs can differ by a part of it.
const LEAST_NS: f64 = 1_000.0;

/// Counts over all windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sections {
    pub all: u64,
    /// Those that began before one of another thread had ended.
    pub overlapping: u64,
}

impl Sections {
    /// Adds the iterations of the threads of a window.
    pub fn add<'a>(&mut self, threads: impl Iterator<Item = &'a [Round]>, clock: Clock) {
        self.count(threads, clock.to_ticks(LEAST_NS));
    }

    /// The iterations of one thread do not overlap, so that the threads need not be distinguished.
    fn count<'a>(&mut self, threads: impl Iterator<Item = &'a [Round]>, least: u64) {
        let mut held: Vec<(u64, u64)> = threads.flatten().map(|round| (round.locked, round.releasing)).collect();
        held.sort_unstable();
        let mut last_end = 0;
        for (begin, end) in &held {
            self.overlapping += u64::from(last_end.min(*end) > begin + least);
            last_end = last_end.max(*end);
        }
        self.all += held.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(holds: &[(u64, u64)]) -> Vec<Round> {
        holds.iter().map(|&(locked, releasing)| Round { began: locked, locked, releasing, ended: releasing }).collect()
    }

    #[test]
    fn only_overlaps_beyond_the_least_are_counted() {
        let one = rounds(&[(0, 100), (200, 300), (400, 900)]);
        // The first overlaps by less than the least; the second and the third are within one long section.
        let other = rounds(&[(95, 150), (450, 500), (600, 650)]);
        let mut sections = Sections::default();
        sections.count([&one[..], &other[..]].into_iter(), 10);
        assert_eq!(sections, Sections { all: 6, overlapping: 2 });
        sections.count([&one[..], &rounds(&[(100, 200)])[..]].into_iter(), 10);
        assert_eq!(sections, Sections { all: 10, overlapping: 2 });
    }
}
