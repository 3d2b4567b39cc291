//! The check of mutual exclusion during a measurement: the checked operations of each lock, and those that overlapped
//! others.

use terminal::count;

/// The sign of a lock that does not exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A count under the lock that another thread overwrote.
    LostCount,
    /// A critical section that began before that of another thread had ended, by their timestamps.
    Overlap,
}

/// The checked operations of a lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<'a> {
    pub lock: &'a str,
    pub operations: u64,
    /// Those with the sign.
    pub failed: u64,
}

/// Returns the sums over the configurations of each lock, in order of appearance.
pub fn by_lock<'a>(checks: impl IntoIterator<Item = Checked<'a>>) -> Vec<Checked<'a>> {
    let mut found: Vec<Checked<'a>> = Vec::new();
    for check in checks {
        match found.iter_mut().find(|one| one.lock == check.lock) {
            Some(one) => {
                (one.operations, one.failed) = (one.operations + check.operations, one.failed + check.failed);
            }
            None => found.push(check),
        }
    }
    found
}

impl Sign {
    /// Returns the failure of a lock, after its name; `None` where it has none.
    fn failure(self, checked: &Checked<'_>) -> Option<String> {
        let [failed, operations] = [checked.failed, checked.operations].map(count);
        let words = match self {
            Self::LostCount => format!("does not exclude: {failed} of {operations} counts lost"),
            Self::Overlap => format!("does not exclude: {failed} of {operations} critical sections overlapped another"),
        };
        (checked.failed > 0).then_some(words)
    }

    /// Returns a sentence for each lock that does not exclude.
    pub fn broken(self, checked: &[Checked<'_>]) -> Vec<String> {
        let sentence = |one: &Checked<'_>| Some(format!("{} {}; it has no rank.", one.lock, self.failure(one)?));
        checked.iter().filter_map(sentence).collect()
    }

    /// Returns the errors of the run.
    pub fn errors(self, checked: &[Checked<'_>]) -> Vec<String> {
        let error = |one: &Checked<'_>| Some(format!("--lock {} {}", one.lock, self.failure(one)?));
        checked.iter().filter_map(error).collect()
    }

    /// Returns the sentence about the locks without a failure; `None` where no operation was checked.
    pub fn clean(self, checked: &[Checked<'_>]) -> Option<String> {
        let clean: Vec<&Checked<'_>> = checked.iter().filter(|one| one.failed == 0).collect();
        let operations: u64 = clean.iter().map(|one| one.operations).sum();
        let names: Vec<&str> = clean.iter().map(|one| one.lock).collect();
        let what = match self {
            Self::LostCount => "No count was lost",
            Self::Overlap => "No critical sections overlapped",
        };
        let (operations, names) = (Some(operations).filter(|number| *number > 0)?, names.join(", "));
        Some(format!("{what} in {} operations under {names}; this does not prove mutual exclusion.", count(operations)))
    }
}

/// Returns whether the lock is not among those with a failure.
pub fn is_sound(checked: &[Checked<'_>], lock: &str) -> bool {
    checked.iter().all(|one| one.lock != lock || one.failed == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(lock: &str, operations: u64, failed: u64) -> Checked<'_> {
        Checked { lock, operations, failed }
    }

    #[test]
    fn failures_of_all_configurations_of_a_lock_are_added() {
        let all = by_lock([checked("mine", 1_000, 0), checked("std", 500, 0), checked("mine", 1_000, 2)]);
        assert_eq!(all, [checked("mine", 2_000, 2), checked("std", 500, 0)]);
        assert!(!is_sound(&all, "mine") && is_sound(&all, "std") && is_sound(&all, "old"));
        assert_eq!(Sign::LostCount.broken(&all), ["mine does not exclude: 2 of 2,000 counts lost; it has no rank."]);
        let clean = Sign::LostCount.clean(&all).unwrap();
        assert!(clean.starts_with("No count was lost in 500 operations under std;"), "{clean}");
    }

    #[test]
    fn unchecked_locks_have_no_sentence() {
        assert_eq!((Sign::Overlap.clean(&[checked("std", 0, 0)]), Sign::Overlap.clean(&[])), (None, None));
    }
}
