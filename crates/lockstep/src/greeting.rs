//! The begin of a job: the check that all ranks are the same program with the same flags, and the CPU of each.

use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};

/// The description that a rank exchanges before anything else.
///
/// It is text, so that a different program can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The program's version.
    pub version: String,
    /// A number that two different programs hardly share.
    pub build: u64,
    /// The flags of the call.
    pub flags: String,
    /// The reason why the rank cannot continue.
    pub problem: Option<String>,
}

/// Returns a number that distinguishes this program from others: the hash of its file.
///
/// # Errors
/// The file cannot be read.
pub fn build() -> io::Result<u64> {
    let mut file = std::fs::File::open("/proc/self/exe")?;
    let (mut hasher, mut buffer) = (DefaultHasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&buffer[..read]),
        }
    }
}

/// Returns the reason why these ranks, in their order, cannot work together; each text is as the rank sent it.
pub fn obstacle(texts: &[String]) -> Option<String> {
    let read: Vec<Option<Greeting>> = texts.iter().map(|text| serde_json::from_str(text).ok()).collect();
    let mut ranks = Vec::with_capacity(read.len());
    for (rank, greeting) in read.into_iter().enumerate() {
        match greeting {
            Some(greeting) => ranks.push(greeting),
            None => return Some(format!("rank {rank} runs another version of lockstep: its message cannot be read")),
        }
    }
    let first = ranks.first()?;
    let refused = ranks.iter().enumerate().find_map(|(rank, one)| Some((rank, one.problem.as_deref()?)));
    if let Some((rank, problem)) = refused {
        // All ranks usually have the same flags: then the problem is not specific to one of them.
        let all = ranks.iter().all(|one| one.problem.as_deref() == Some(problem));
        return Some(if all { problem.to_owned() } else { format!("rank {rank}: {problem}") });
    }
    ranks.iter().enumerate().find_map(|(rank, one)| difference(first, rank, one))
}

fn difference(first: &Greeting, rank: usize, other: &Greeting) -> Option<String> {
    if other.version != first.version {
        return Some(format!("rank {rank} is lockstep {}, and rank 0 is lockstep {}", other.version, first.version));
    }
    if other.flags != first.flags {
        return Some(format!("rank {rank} was called with `{}`, and rank 0 with `{}`", other.flags, first.flags));
    }
    let built = "both call themselves";
    (other.build != first.build)
        .then(|| format!("rank {rank} is another build of lockstep than rank 0, though {built} {}", first.version))
}

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
