//! Each rank on its CPU, with calibrated instruments.

use super::world::Group;
use anyhow::Context;
use instruments::clock::{Calibration, Clock};
use instruments::cpus;
use instruments::grind::Grind;
use lockstep::placement::{Allowed, assigned};
use std::time::Duration;

/// Where the ranks are.
pub struct Place {
    pub host: String,
    pub cpu: usize,
    /// By rank.
    all: Vec<(String, usize)>,
}

const CLOCK_SPAN: Duration = Duration::from_millis(200);

impl Place {
    /// Finds a CPU for each rank, and pins this one to its own.
    pub fn take(world: &Group) -> anyhow::Result<Self> {
        let host = mpi::environment::processor_name().unwrap_or_else(|_| "unknown".into());
        let allowed: Vec<usize> = cpus::allowed()?.iter().collect();
        let told: Vec<(String, Vec<usize>)> = world
            .all_texts(&serde_json::to_string(&(&host, &allowed))?)
            .iter()
            .map(|text| serde_json::from_str(text))
            .collect::<Result<_, _>>()?;
        let ranks: Vec<Allowed> = told.into_iter().map(|(host, cpus)| Allowed { host, cpus }).collect();
        let chosen: Option<Vec<usize>> = assigned(&ranks).into_iter().collect();
        let chosen = chosen.context("the affinity mask of this rank is empty")?;
        let all: Vec<(String, usize)> = ranks.into_iter().map(|rank| rank.host).zip(chosen).collect();
        let cpu = all[world.rank].1;
        cpus::pin_current_thread(cpu).with_context(|| format!("rank {}: CPU {cpu}", world.rank))?;
        Ok(Self { host, cpu, all })
    }

    /// The ranks on this one's CPU.
    pub fn ranks_on_cpu(&self, rank: usize) -> usize {
        self.all.iter().filter(|one| **one == self.all[rank]).count()
    }

    /// The most of the first `ranks` that share a CPU.
    pub fn crowd(&self, ranks: usize) -> usize {
        let first = &self.all[..ranks];
        first.iter().map(|one| first.iter().filter(|other| *other == one).count()).max().unwrap_or(1)
    }

    /// CPUs of all machines that have a rank.
    pub fn cpus(&self) -> usize {
        let mut all = self.all.clone();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    /// The machines, in the order of the first rank of each.
    pub fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = Vec::new();
        for (host, _) in &self.all {
            if !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    /// The first rank on this one's CPU.
    fn owner(&self, rank: usize) -> usize {
        self.all.iter().position(|one| *one == self.all[rank]).unwrap_or(rank)
    }

    /// The clock is each rank's own; the grind is its CPU's: the first there calibrates it, while the others sleep.
    pub fn calibrate(&self, world: &Group) -> anyhow::Result<(Calibration, Grind)> {
        let clock = Clock::calibrate(CLOCK_SPAN);
        world.wait_gently();
        let owner = self.owner(world.rank);
        let own = (owner == world.rank).then(|| Grind::calibrate(clock.clock, || false));
        world.wait_gently();
        let told = own.map(|grind| (grind.ns_per_load, grind.overhead_ns));
        let told = world.all_texts(&serde_json::to_string(&told)?);
        let found: Option<(f64, f64)> = serde_json::from_str(&told[owner])?;
        let (ns_per_load, overhead_ns) = found.context("the first rank of a CPU calibrates it")?;
        Ok((clock, Grind { ns_per_load, overhead_ns, ns_per_cycle: None, search: Vec::new() }))
    }
}
