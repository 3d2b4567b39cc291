//! The conditions of a configuration, and its name: the plan, the progress and every view take their words from here.

use std::fmt;
use terminal::{counted, nanoseconds};

/// Everything of a configuration but its lock. Locks are ranked among those with the same conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    pub children: usize,
    /// Whether the children are processes.
    pub processes: bool,
    pub locks: usize,
    pub nonhold_us: f64,
    pub hold_us: f64,
    /// Per cent of acquisitions that read.
    pub share: u32,
    pub variations: Variations,
}

/// The differences from the loop of 2002.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variations {
    /// Hold times of every second child, in multiples of the mean.
    pub hold_ratio: u32,
    /// The exponent of Zipf's law by which each iteration draws its lock.
    pub zipf: Option<f64>,
    /// Cache lines of shared data that each critical section writes.
    pub touched_lines: usize,
    /// Whether the number of children rises and falls within a run.
    pub ramp: bool,
    /// Time for which a holder is stopped, once in a run; 0: not at all.
    pub stop_us: f64,
}

impl Default for Variations {
    fn default() -> Self {
        Self { hold_ratio: 1, zipf: None, touched_lines: 0, ramp: false, stop_us: 0.0 }
    }
}

impl Variations {
    /// Returns whether the children run the loop of 2002.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a second loop is needed.
    pub fn needs_own_loop(&self) -> bool {
        !Self { hold_ratio: 1, ..*self }.is_none()
    }
}

impl fmt::Display for Variations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = (self.hold_ratio > 1).then(|| format!("holds 1:{}", self.hold_ratio));
        let zipf = self.zipf.map(|exponent| format!("drawn by Zipf {exponent}"));
        let lines = (self.touched_lines > 0).then(|| format!("{} touched", counted(self.touched_lines, "line")));
        let ramp = self.ramp.then(|| "ramp".to_owned());
        let stop = (self.stop_us > 0.0).then(|| format!("holder stopped {}", nanoseconds(self.stop_us * 1e3)));
        let words: Vec<String> = [ratio, zipf, lines, ramp, stop].into_iter().flatten().collect();
        formatter.write_str(&words.join(", "))
    }
}

impl Conditions {
    pub fn workers(&self) -> String {
        workers(self.children, self.processes)
    }

    pub fn locks(&self) -> String {
        counted(self.locks, "lock")
    }

    pub fn hold(&self) -> String {
        format!("hold {}", nanoseconds(self.hold_us * 1e3))
    }

    pub fn nonhold(&self) -> String {
        format!("non-hold {}", nanoseconds(self.nonhold_us * 1e3))
    }

    /// Returns text such as `20 % reads`; empty where no acquisition reads.
    pub fn reads(&self) -> String {
        if self.share > 0 { format!("{} % reads", self.share) } else { String::new() }
    }

    /// Returns the non-hold and the hold time as text: `7+3 µs`.
    fn work(&self) -> String {
        format!("{}+{} µs", self.nonhold_us, self.hold_us)
    }

    /// Returns the name of a chart across the numbers of children.
    pub fn but_children(&self) -> String {
        let workers = if self.processes { "processes" } else { "threads" };
        joined([workers.to_owned(), self.locks(), self.work(), self.reads(), self.variations.to_string()])
    }

    /// Returns the name of a chart across the numbers of cache lines touched.
    pub fn but_touched_lines(&self) -> String {
        Self { variations: Variations { touched_lines: 0, ..self.variations }, ..*self }.to_string()
    }

    /// Returns the name of a chart across the hold times.
    pub fn but_hold(&self) -> String {
        joined([self.workers(), self.locks(), self.nonhold(), self.reads(), self.variations.to_string()])
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&joined([
            self.workers(),
            self.locks(),
            self.work(),
            self.reads(),
            self.variations.to_string(),
        ]))
    }
}

/// Returns the questions that decide between locks on this number of CPUs: a thread for each CPU, threads beyond them,
/// unequal hold times, data that the critical section uses, many locks of which some are hot, a number of threads that
/// rises and falls, and a holder that stops.
pub fn questions(cpus: usize) -> Vec<Conditions> {
    // On one CPU, two threads are the fewest that contend.
    let few = cpus.max(2);
    let equal = Variations::default();
    let usual = Conditions {
        children: few,
        processes: false,
        locks: 1,
        nonhold_us: 0.0,
        hold_us: 1.0,
        share: 0,
        variations: equal,
    };
    let with = |children: usize, variations: Variations| Conditions { children, variations, ..usual };
    vec![
        usual,
        with(4 * few, equal),
        with(few, Variations { hold_ratio: 10, ..equal }),
        Conditions { hold_us: 0.0, ..with(few, Variations { touched_lines: 256, ..equal }) },
        Conditions { locks: 64, ..with(4 * few, Variations { zipf: Some(1.0), ..equal }) },
        with(8 * few, Variations { ramp: true, ..equal }),
        with(2 * few, Variations { stop_us: 10_000.0, ..equal }),
    ]
}

/// Returns text such as `4 threads` or `1 process`.
pub fn workers(children: usize, processes: bool) -> String {
    match (processes, children) {
        (true, 1) => "1 process".to_owned(),
        (true, many) => format!("{many} processes"),
        (false, number) => counted(number, "thread"),
    }
}

fn joined<const N: usize>(words: [String; N]) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_readers_are_part_of_the_name() {
        let threads = Conditions {
            children: 4,
            processes: false,
            locks: 1,
            nonhold_us: 7.0,
            hold_us: 3.0,
            share: 0,
            variations: Variations::default(),
        };
        assert_eq!(threads.to_string(), "4 threads, 1 lock, 7+3 µs");
        let processes = Conditions { processes: true, locks: 2, share: 20, ..threads };
        assert_eq!(processes.to_string(), "4 processes, 2 locks, 7+3 µs, 20 % reads");
        assert_eq!(processes.but_children(), "processes, 2 locks, 7+3 µs, 20 % reads");
        assert_eq!(threads.but_hold(), "4 threads, 1 lock, non-hold 7.00 µs");
    }

    #[test]
    fn variations_are_part_of_the_name() {
        let variations =
            Variations { hold_ratio: 10, zipf: Some(1.0), touched_lines: 16, ramp: true, stop_us: 10_000.0 };
        let threads =
            Conditions { children: 4, processes: false, locks: 8, nonhold_us: 0.0, hold_us: 1.0, share: 0, variations };
        assert_eq!(
            threads.to_string(),
            "4 threads, 8 locks, 0+1 µs, holds 1:10, drawn by Zipf 1, 16 lines touched, ramp, holder stopped 10.0 ms"
        );
        assert_eq!(Variations::default().to_string(), "");
        assert!(!Variations { hold_ratio: 3, ..Variations::default() }.needs_own_loop() && variations.needs_own_loop());
    }
}
