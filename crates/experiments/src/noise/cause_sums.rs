//! The time that each cause took, in constant memory: a night has thousands of processes.

use instruments::evidence::{Cause, Kind};
use std::collections::BTreeMap;

/// The time of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    pub count: u64,
    pub ticks: u64,
    /// Its longest part of one event.
    pub longest: u64,
}

/// Sums by cause; if there are more causes than it has room for, the half that took least is combined.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseSums {
    sums: BTreeMap<Cause, Part>,
    room: usize,
}

/// The name of the tasks that were combined.
const OTHERS: &str = "(others)";

impl Default for CauseSums {
    fn default() -> Self {
        Self::with_room(512)
    }
}

impl CauseSums {
    pub fn with_room(room: usize) -> Self {
        Self { sums: BTreeMap::new(), room }
    }

    pub fn add(&mut self, cause: &Cause, ticks: u64) {
        let part = match self.sums.get_mut(cause) {
            Some(part) => part,
            None => {
                if self.sums.len() >= self.room {
                    self.join_the_lesser_half();
                }
                self.sums.entry(cause.clone()).or_default()
            }
        };
        part.absorb(Part { count: 1, ticks, longest: ticks });
    }

    pub fn absorb(&mut self, other: &Self) {
        for (cause, part) in &other.sums {
            if self.sums.len() >= self.room && !self.sums.contains_key(cause) {
                self.join_the_lesser_half();
            }
            self.sums.entry(cause.clone()).or_default().absorb(*part);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Cause, &Part)> {
        self.sums.iter()
    }

    /// Returns the sums since an earlier state.
    ///
    /// The longest part remains that of all time, since its moment is unknown.
    pub fn since(&self, earlier: &Self) -> Self {
        let added = self.sums.iter().map(|(cause, part)| {
            let before = earlier.sums.get(cause).copied().unwrap_or_default();
            // A cause that was combined with others and came back has less than before.
            let (count, ticks) = (part.count.saturating_sub(before.count), part.ticks.saturating_sub(before.ticks));
            (cause.clone(), Part { count, ticks, ..*part })
        });
        Self { sums: added.filter(|(_, part)| part.count > 0).collect(), room: self.room }
    }

    /// Returns the kind and name that took most, with their time; the process ID only of a single process.
    pub fn largest(&self) -> Option<(Cause, u64)> {
        let mut by_name: BTreeMap<Cause, (Option<u32>, usize, u64)> = BTreeMap::new();
        for (cause, part) in &self.sums {
            let (pid, processes, ticks) = by_name.entry(Cause { pid: None, ..cause.clone() }).or_default();
            *pid = cause.pid;
            *processes += 1;
            *ticks += part.ticks;
        }
        let (cause, (pid, processes, ticks)) = by_name.into_iter().max_by_key(|(_, (_, _, ticks))| *ticks)?;
        Some((Cause { pid: pid.filter(|_| processes == 1), ..cause }, ticks))
    }

    pub fn ticks(&self) -> u64 {
        self.sums.values().map(|part| part.ticks).sum()
    }

    pub fn ticks_of(&self, kind: Kind) -> u64 {
        self.sums.iter().filter(|(cause, _)| cause.kind == kind).map(|(_, part)| part.ticks).sum()
    }

    /// Combines the smaller half of the tasks, the only causes of unlimited number.
    fn join_the_lesser_half(&mut self) {
        let mut order: Vec<(u64, Cause)> = self
            .sums
            .iter()
            .filter(|(cause, _)| cause.pid.is_some())
            .map(|(cause, part)| (part.ticks, cause.clone()))
            .collect();
        order.sort();
        let half = order.len().div_ceil(2);
        let mut others = Part::default();
        for (_, cause) in order.into_iter().take(half) {
            self.sums.remove(&cause).into_iter().for_each(|part| others.absorb(part));
        }
        if others.count > 0 {
            let cause = Cause { kind: Kind::Task, name: Some(OTHERS.into()), pid: None };
            self.sums.entry(cause).or_default().absorb(others);
        }
    }
}

impl FromIterator<(Cause, Part)> for CauseSums {
    fn from_iter<I: IntoIterator<Item = (Cause, Part)>>(parts: I) -> Self {
        Self { sums: parts.into_iter().collect(), ..Self::default() }
    }
}

impl Part {
    fn absorb(&mut self, other: Self) {
        self.count += other.count;
        self.ticks += other.ticks;
        self.longest = self.longest.max(other.longest);
    }

    pub fn add(&mut self, ticks: u64) {
        self.absorb(Self { count: 1, ticks, longest: ticks });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: u32) -> Cause {
        Cause { kind: Kind::Task, name: Some("job".into()), pid: Some(pid) }
    }

    #[test]
    fn night_of_processes_fits_and_loses_no_time() {
        let mut sums = CauseSums::with_room(16);
        for pid in 0..10_000 {
            sums.add(&task(pid), 10);
            sums.add(&task(77), 1_000);
        }
        assert!(sums.iter().count() <= 16);
        assert_eq!(sums.ticks(), 10_000 * 1_010);
        // The cause that took most is still named.
        let (most, part) = sums.iter().max_by_key(|(_, part)| part.ticks).unwrap();
        assert_eq!((most, part.longest), (&task(77), 1_000));
    }

    #[test]
    fn largest_cause_is_found_over_all_processes_of_a_name() {
        let mut sums = CauseSums::default();
        let other = Cause { name: Some("other".into()), ..task(9) };
        sums.add(&other, 25);
        assert_eq!(sums.largest(), Some((other, 25)));
        (1..=3).for_each(|pid| sums.add(&task(pid), 10));
        assert_eq!(sums.largest(), Some((Cause { pid: None, ..task(1) }, 30)));
    }

    #[test]
    fn difference_of_sums_is_the_added_part() {
        let mut sums = CauseSums::default();
        sums.add(&task(1), 10);
        let before = sums.clone();
        sums.add(&task(1), 5);
        sums.add(&task(2), 7);
        let since = sums.since(&before);
        assert_eq!(
            since.iter().map(|(cause, part)| (cause.pid, part.ticks)).collect::<Vec<_>>(),
            [(Some(1), 5), (Some(2), 7)]
        );
    }
}
