//! Which CPUs share a core: as the kernel says, unless it was tried.

use super::cpu::Cpu;
use crate::cpus::CpuSet;

impl Cpu {
    /// Whether two CPUs are hardware threads of one core: by what was probed, else by what the kernel says.
    pub fn share_a_core(&self, one: usize, other: usize) -> bool {
        let probed = self.probed.as_ref().and_then(|probed| probed.share_a_core(one, other));
        probed.unwrap_or_else(|| self.cores.iter().any(|core| core.contains(one) && core.contains(other)))
    }

    /// The CPUs of a set in the order in which threads are spread over them: as many cores as there are come first,
    /// then their second hardware threads, and so on.
    pub fn spread(&self, cpus: &CpuSet) -> Vec<usize> {
        let (mut left, mut spread): (Vec<usize>, Vec<usize>) = (cpus.iter().collect(), Vec::new());
        while !left.is_empty() {
            let mut round: Vec<usize> = Vec::new();
            left.retain(|&cpu| {
                let is_free = !round.iter().any(|&other| self.share_a_core(cpu, other));
                round.extend(is_free.then_some(cpu));
                !is_free
            });
            spread.extend(round);
        }
        spread
    }

    /// Those of a set that share the core of its first, that one included.
    pub fn first_core(&self, cpus: &CpuSet) -> Vec<usize> {
        let Some(first) = cpus.first() else { return Vec::new() };
        cpus.iter().filter(|&cpu| cpu == first || self.share_a_core(first, cpu)).collect()
    }
}
