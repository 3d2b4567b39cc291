//! The CPU of each rank.

/// The CPUs that a rank may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The machine of the rank.
    pub host: String,
    /// The CPUs that its launcher allows.
    pub cpus: Vec<usize>,
}

/// Returns a CPU for each rank, in their order: among those that it may use, the one that the fewest ranks before it
/// have on that machine.
///
/// So a rank that was bound stays where it is, and ranks that were not are spread evenly.
pub fn assigned(ranks: &[Allowed]) -> Vec<Option<usize>> {
    let mut taken: Vec<(&str, usize)> = Vec::with_capacity(ranks.len());
    let mut chosen = Vec::with_capacity(ranks.len());
    for rank in ranks {
        let users = |cpu: &&usize| taken.iter().filter(|one| **one == (rank.host.as_str(), **cpu)).count();
        let cpu = rank.cpus.iter().min_by_key(users).copied();
        taken.extend(cpu.map(|cpu| (rank.host.as_str(), cpu)));
        chosen.push(cpu);
    }
    chosen
}
