//! Where the CPU time of processes goes, into their own code or into the kernel, and how many page faults they have.

use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Processes whose account is kept.
const MOST: usize = 4_096;

/// The CPU time of all processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// In their own code and libraries.
    pub own_s: f64,
    pub kernel_s: f64,
    pub faults: u64,
}

/// Page faults, and the ticks of both modes.
type Sums = [u64; 3];

/// The kernel's sums for each process, when it was looked at first and last.
#[derive(Default)]
pub(super) struct Accounts(HashMap<u32, [Sums; 2]>);

impl Accounts {
    pub(super) fn learn(&mut self, process: u32) {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        let Some(sums) = stat.ok().and_then(|stat| sums_in(&stat)) else { return };
        if self.0.len() < MOST || self.0.contains_key(&process) {
            self.0.entry(process).or_insert([sums; 2])[1] = sums;
        }
    }

    pub(super) fn begin_part(&mut self) {
        self.0.values_mut().for_each(|[first, last]| *first = *last);
    }

    pub(super) fn modes(&self) -> Modes {
        let ticks = clock_ticks_per_second() as f64;
        let of =
            |place: usize| self.0.values().map(|[first, last]| last[place].saturating_sub(first[place])).sum::<u64>();
        Modes { own_s: of(1) as f64 / ticks, kernel_s: of(2) as f64 / ticks, faults: of(0) }
    }
}

/// Parses `/proc/PID/stat`.
fn sums_in(stat: &str) -> Option<Sums> {
    // The name before the fields can contain anything.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some([number(7)? + number(9)?, number(11)?, number(12)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_a_name_with_any_content() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 9 3 0 250 50 4 2 20 0 1 0 99 0 0";
        assert_eq!(sums_in(stat), Some([103, 250, 50]));
        assert_eq!(sums_in("7 (short) S 1"), None);
    }

    #[test]
    fn modes_are_of_the_time_between_the_first_look_and_the_last() {
        let mut accounts = Accounts([(1, [[10, 100, 40], [30, 150, 240]]), (2, [[0; 3], [0, 50, 0]])].into());
        let tick_s = 1.0 / clock_ticks_per_second() as f64;
        assert_eq!(accounts.modes(), Modes { own_s: 100.0 * tick_s, kernel_s: 200.0 * tick_s, faults: 20 });
        accounts.begin_part();
        assert_eq!(accounts.modes(), Modes::default());
    }
}
