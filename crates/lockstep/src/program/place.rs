//! The placement of each rank on its CPU, with calibrated instruments.

use super::world::Group;
use anyhow::Context;
use instruments::clock::{Calibration, Clock};
use instruments::cpus;
use instruments::grind::Grind;
use lockstep::placement::{Allowed, assigned};
use std::time::Duration;

/// The places of all ranks.
pub struct Place {
    pub host: String,
    pub cpu: usize,
    /// The host and the CPU of each rank.
    all: Vec<(String, usize)>,
}

const CLOCK_SPAN: Duration = Duration::from_millis(200);

impl Place {
    /// Chooses a CPU for each rank, and pins this one to its own.
    pub fn take(world: &Group) -> anyhow::Result<Self> {
        let host = mpi::environment::processor_name().unwrap_or_else(|_| "unknown".into());
        let allowed: Vec<usize> = cpus::allowed()?.iter().collect();
        let descriptions: Vec<(String, Vec<usize>)> = world
            .all_texts(&serde_json::to_string(&(&host, &allowed))?)
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<Result<_, _>>()?;
        let ranks: Vec<Allowed> = descriptions.into_iter().map(|(host, cpus)| Allowed { host, cpus }).collect();
        let chosen: Option<Vec<usize>> = assigned(&ranks).into_iter().collect();
        let chosen = chosen.context("the affinity mask of this rank is empty")?;
        let all: Vec<(String, usize)> = ranks.into_iter().map(|rank| rank.host).zip(chosen).collect();
        let cpu = all[world.rank].1;
        cpus::pin_current_thread(cpu).with_context(|| format!("rank {}: CPU {cpu}", world.rank))?;
        Ok(Self { host, cpu, all })
    }

    /// Returns the number of ranks on this one's CPU.
    pub fn ranks_on_cpu(&self, rank: usize) -> usize {
        self.all.iter().filter(|one| **one == self.all[rank]).count()
    }

    /// Returns the maximum number of the first `ranks` that share a CPU.
    pub fn crowd(&self, ranks: usize) -> usize {
        let first = &self.all[..ranks];
        first.iter().map(|one| first.iter().filter(|other| *other == one).count()).max().unwrap_or(1)
    }

    /// Returns the number of CPUs of all machines that have a rank.
    pub fn cpus(&self) -> usize {
        let mut all = self.all.clone();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// Returns the machines, in the order of the first rank of each.
    pub fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = Vec::new();
        for (host, _) in &self.all {
            if !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    /// Returns the first rank on this one's CPU.
    fn owner(&self, rank: usize) -> usize {
        self.all.iter().position(|one| *one == self.all[rank]).unwrap_or(rank)
    }

    /// Calibrates the instruments.
    ///
    /// Each rank has its own clock; the busy loop belongs to the CPU: the first rank there calibrates it, while the
    /// others sleep.
    pub fn calibrate(&self, world: &Group) -> anyhow::Result<(Calibration, Grind)> {
        let clock = Clock::calibrate(CLOCK_SPAN);
        world.wait_gently();
        let owner = self.owner(world.rank);
        let own = (owner == world.rank).then(|| Grind::calibrate(clock.clock, || false));
        world.wait_gently();
        let descriptions = own.map(|grind| (grind.ns_per_load, grind.overhead_ns));
        let descriptions = world.all_texts(&serde_json::to_string(&descriptions)?);
        let found: Option<(f64, f64)> = serde_json::from_str(&descriptions[owner])?;
        let (ns_per_load, overhead_ns) = found.context("the first rank of a CPU calibrates it")?;
        Ok((clock, Grind { ns_per_load, overhead_ns, ns_per_cycle: None, search: Vec::new() }))
    }
}
