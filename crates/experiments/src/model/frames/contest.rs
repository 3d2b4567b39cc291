//! Who competes for the CPU, and what share the others get.

use super::flags::{Flags, Policy};
use chance::Source;
use harness::UsageError;
use instruments::cpus::schedule::weight;

/// Who competes: out of `total` quanta, the thread with the frames loses `lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    pub lost: u64,
    pub total: u64,
}

/// A probability of one, for shares that the user gives.
const WHOLE: u64 = 1 << 53;

impl Contest {
    /// Between threads of these priorities, or with the shares that the flags give.
    ///
    /// # Errors
    /// Priorities that the policy does not have, shares that do not sum to one.
    pub fn of(flags: &Flags, priorities: &[i32]) -> Result<Self, UsageError> {
        if !flags.shares.is_empty() {
            return by_shares(flags);
        }
        match flags.policy {
            Policy::Lottery => lottery(priorities),
            Policy::Weights => weights(priorities),
        }
    }

    /// What the others take of the CPU.
    pub fn share(&self) -> f64 {
        self.lost as f64 / self.total as f64
    }
}

/// Those given, or the policy's own; none where shares are given.
pub fn priorities(flags: &Flags) -> Vec<i32> {
    if !flags.shares.is_empty() {
        return Vec::new();
    }
    match (flags.priorities.as_slice(), flags.policy) {
        ([], Policy::Lottery) => vec![20, 10],
        ([], Policy::Weights) => vec![0, 10],
        (given, _) => given.to_vec(),
    }
}

/// Each thread has twice the tickets of one whose priority is a unit lower.
fn lottery(priorities: &[i32]) -> Result<Contest, UsageError> {
    within(priorities, 1..=99, "allowed: 1 to 99, the priorities of time-sharing threads")?;
    let least = priorities.iter().min().copied().unwrap_or_default();
    let tickets = priorities.iter().map(|priority| 1_u64.checked_shl((priority - least) as u32));
    contest(tickets).ok_or_else(|| {
        UsageError(format!(
            "--priorities {}: they may differ by at most 62; beyond that, one thread never runs in practice",
            listed(priorities)
        ))
    })
}

fn weights(nice: &[i32]) -> Result<Contest, UsageError> {
    within(nice, -20..=19, "allowed: nice values from -20 to 19")?;
    let weights = nice.iter().map(|nice| Some(u64::from(weight(*nice))));
    Ok(contest(weights).expect("forty weights of 17 bits at most, and a command line of threads, fit 64 bits"))
}

/// The first's tickets against everyone's; `None` if they are too many to count.
fn contest(mut tickets: impl Iterator<Item = Option<u64>>) -> Option<Contest> {
    let own = tickets.next()??;
    let lost = tickets.try_fold(0_u64, |sum, ticket| sum.checked_add(ticket?))?;
    Some(Contest { lost, total: own.checked_add(lost)? })
}

fn by_shares(flags: &Flags) -> Result<Contest, UsageError> {
    if flags.policy != Policy::Lottery {
        return Err(UsageError("--shares: only allowed with --policy lottery; omit --policy weights".into()));
    }
    let named = flags.shares.iter().enumerate().map(|(thread, share)| (thread, *share));
    Source::with_probabilities(named).map_err(|error| {
        let given: Vec<String> = flags.shares.iter().map(f64::to_string).collect();
        UsageError(format!("--shares {}: {error}", given.join(",")))
    })?;
    Ok(Contest { lost: WHOLE - (flags.shares[0] * WHOLE as f64) as u64, total: WHOLE })
}

fn within(priorities: &[i32], allowed: std::ops::RangeInclusive<i32>, why: &str) -> Result<(), UsageError> {
    let text = listed(priorities);
    if let Some(outside) = priorities.iter().find(|priority| !allowed.contains(priority)) {
        return Err(UsageError(format!("--priorities {text}: {outside} is out of range; {why}")));
    }
    if priorities.len() < 2 {
        return Err(UsageError(format!(
            "--priorities {text}: needs at least two values, for the thread with the frames and for a competitor, such as 20,10"
        )));
    }
    Ok(())
}

fn listed(priorities: &[i32]) -> String {
    priorities.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_of_priority_is_a_factor_of_two() {
        assert_eq!(lottery(&[20, 10]).unwrap(), Contest { lost: 1, total: 1025 });
        assert_eq!(lottery(&[10, 11, 10]).unwrap(), Contest { lost: 3, total: 4 });
        assert!(lottery(&[99, 1]).is_err() && lottery(&[20]).is_err() && lottery(&[100, 10]).is_err());
    }

    #[test]
    fn a_nice_step_is_about_a_tenth_of_the_cpu() {
        assert_eq!(weights(&[0, 19]).unwrap(), Contest { lost: 15, total: 1039 });
        for nice in -20..19 {
            let share = weights(&[nice, nice + 1]).unwrap().share();
            assert!((0.42..0.48).contains(&share), "{nice}: {share}");
        }
    }
}
