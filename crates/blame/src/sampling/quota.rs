//! The CPU time that the control groups of processes allow.

use instruments::cpus::cpu_quota_of;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The control groups that limit processes, with the limits in CPUs; `None` for a process without one.
#[derive(Debug, Default)]
pub struct Quotas(HashMap<u32, Option<(PathBuf, f64)>>);

/// Processes whose limits are kept.
const MOST_PROCESSES: usize = 4_096;

impl Quotas {
    /// Reads the present limit of a process.
    pub fn learn(&mut self, process: u32) {
        if self.0.len() < MOST_PROCESSES {
            self.0.insert(process, cpu_quota_of(process));
        }
    }

    /// Returns the number of CPUs that all processes together may use; `None` if one of them has no limit.
    pub fn cpus(&self) -> Option<f64> {
        let mut groups: HashMap<&Path, f64> = HashMap::new();
        for limit in self.0.values() {
            let (group, cpus) = limit.as_ref()?;
            groups.insert(group, *cpus);
        }
        (!groups.is_empty()).then(|| groups.values().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_group_share_its_limit() {
        let limit = |group: &str, cpus| Some((PathBuf::from(group), cpus));
        let quotas = Quotas([(1, limit("a", 2.0)), (2, limit("a", 2.0)), (3, limit("b", 0.5))].into());
        assert_eq!(quotas.cpus(), Some(2.5));
        let free = Quotas([(1, limit("a", 2.0)), (2, None)].into());
        assert_eq!((free.cpus(), Quotas::default().cpus()), (None, None));
    }
}
