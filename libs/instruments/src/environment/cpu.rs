//! The processor: its model, its topology, and the control of its frequency.

use crate::cpus::{CpuSet, files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The processor, as far as the kernel reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Model name; on Arm, which has none in `/proc/cpuinfo`, implementer and part: `Arm part 0xd40`.
    pub model: Option<String>,
    /// Instruction set, as printed by `uname -m`: `x86_64`, `aarch64`.
    pub architecture: String,
    /// CPUs (hardware threads) that are online.
    pub online: Option<CpuSet>,
    /// CPUs on which the calling thread may run.
    pub allowed: Option<CpuSet>,
    /// Online CPUs that are hardware threads of one core, core by core.
    pub cores: Vec<CpuSet>,
    /// Measured pairs, which take precedence over the kernel's topology; absent if `contend core` has not run since
    /// the boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<ProbedPairs>,
    /// Largest number of online CPUs in one core: 1 without SMT.
    pub threads_per_core: Option<usize>,
    /// Whether any core runs more than one thread.
    pub smt_active: Option<bool>,
    /// Number of processor packages with a CPU online.
    pub sockets: Option<usize>,
    /// Caches, equal ones together.
    pub caches: Vec<Cache>,
    /// Governor, which selects the frequency (`performance`, `schedutil`, …); several, separated by commas, if CPUs
    /// differ.
    pub governor: Option<String>,
    /// Frequency driver of the kernel.
    pub frequency_driver: Option<String>,
    /// Whether the clock may exceed its nominal frequency (turbo).
    pub boost: Option<bool>,
    /// Version of the microcode.
    pub microcode: Option<String>,
}

impl Cpu {
    pub(super) fn read(root: &Path) -> Self {
        let cpuinfo = files::text(root, "proc/cpuinfo").unwrap_or_default();
        let online = files::cpus(root, "sys/devices/system/cpu/online");
        let cores = online.as_ref().map(|online| read_cores(root, online)).unwrap_or_default();
        let threads_per_core = cores.iter().map(CpuSet::len).max();
        Self {
            model: parse_model(&cpuinfo),
            architecture: files::word(root, "proc/sys/kernel/arch")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            allowed: read_allowed(root),
            threads_per_core,
            smt_active: files::flag(root, "sys/devices/system/cpu/smt/active")
                .or_else(|| threads_per_core.map(|threads| threads > 1)),
            sockets: count_sockets(root, &cores),
            caches: read_caches(root, online.as_ref()),
            governor: read_governor(root, &cores),
            frequency_driver: files::word(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
            boost: read_boost(root),
            microcode: field(&cpuinfo, "microcode").map(str::to_owned),
            online,
            cores,
            probed: None,
        }
    }
}

/// Returns the calling thread's affinity mask.
fn read_allowed(root: &Path) -> Option<CpuSet> {
    let status = files::text(root, "proc/thread-self/status")?;
    files::parse_cpus(field(&status, "Cpus_allowed_list")?)
}

/// Returns the first value of `key` in lines of `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
    values.find(|value| !value.is_empty())
}

/// Returns the processor's name: `model name` on x86, `cpu` or `uarch` on other architectures, implementer and part
/// on Arm.
fn parse_model(cpuinfo: &str) -> Option<String> {
    if let Some(name) = field(cpuinfo, "model name") {
        return Some(name.to_owned());
    }
    if let (Some(implementer), Some(part)) = (field(cpuinfo, "CPU implementer"), field(cpuinfo, "CPU part")) {
        return Some(format!("{} part {part}", arm_implementer(implementer)));
    }
    ["cpu model", "cpu", "uarch", "Model"].iter().find_map(|key| field(cpuinfo, key)).map(str::to_owned)
}

/// Returns the designer of an Arm core: the codes of the register MIDR_EL1, assigned by Arm.
fn arm_implementer(code: &str) -> String {
    let name = match code {
        "0x41" => "Arm",
        "0x42" => "Broadcom",
        "0x43" => "Cavium",
        "0x46" => "Fujitsu",
        "0x48" => "HiSilicon",
        "0x4e" => "NVIDIA",
        "0x50" => "Applied Micro",
        "0x51" => "Qualcomm",
        "0x53" => "Samsung",
        "0x61" => "Apple",
        "0x6d" => "Microsoft",
        "0xc0" => "Ampere",
        _ => return format!("Arm implementer {code}"),
    };
    name.to_owned()
}

/// Returns the online CPUs core by core; a CPU with unknown siblings is omitted.
fn read_cores(root: &Path, online: &CpuSet) -> Vec<CpuSet> {
    let mut cores: Vec<CpuSet> = Vec::new();
    let mut placed = BTreeSet::new();
    for cpu in online.iter() {
        if placed.contains(&cpu) {
            continue;
        }
        if let Some(siblings) = crate::cpus::siblings_under(root, cpu) {
            let core = siblings.intersection(online);
            placed.extend(core.iter());
            cores.push(core);
        }
    }
    cores
}

fn count_sockets(root: &Path, cores: &[CpuSet]) -> Option<usize> {
    let package = |cpu| {
        // Kernels that do not know the package contain -1.
        files::number::<i64>(root, &format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"))
            .filter(|&package| package >= 0)
    };
    let packages: BTreeSet<i64> = cores.iter().filter_map(CpuSet::first).filter_map(package).collect();
    (!packages.is_empty()).then_some(packages.len())
}

/// Returns the governors of all cores, each once.
fn read_governor(root: &Path, cores: &[CpuSet]) -> Option<String> {
    let governor = |cpu| files::word(root, &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let governors: BTreeSet<String> = cores.iter().filter_map(CpuSet::first).filter_map(governor).collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(","))
}

/// Returns whether turbo is enabled; the switch of Intel's driver is inverted.
fn read_boost(root: &Path) -> Option<bool> {
    files::flag(root, "sys/devices/system/cpu/cpufreq/boost")
        .or_else(|| files::flag(root, "sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| !off))
}

// The caches of the processor.

/// Caches of one level, kind and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// Level; 1 is nearest to the core.
    pub level: u8,
    /// Contents.
    pub kind: CacheKind,
    /// Size of one cache, in KiB.
    pub size_kib: Option<u64>,
    /// CPUs that share a cache, for each cache.
    pub shared_by: Vec<CpuSet>,
}

/// The contents of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Only data.
    Data,
    /// Only instructions.
    Instruction,
    /// Data and instructions.
    Unified,
}

/// Returns the caches of all online CPUs; caches of equal level, kind and size are one entry.
pub(super) fn read_caches(root: &Path, online: Option<&CpuSet>) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for cpu in online.into_iter().flat_map(CpuSet::iter) {
        // CPUs that share a first-level cache share all further ones, so they are not read again.
        if !caches.iter().any(|cache| cache.level == 1 && is_shared_by(cache, cpu)) {
            (0..).map_while(|index| read_cache(root, cpu, index)).for_each(|cache| merge(&mut caches, cache));
        }
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

fn read_cache(root: &Path, cpu: usize, index: usize) -> Option<Cache> {
    let directory = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}"));
    Some(Cache {
        level: files::number(&directory, "level")?,
        kind: parse_kind(&files::text(&directory, "type")?)?,
        size_kib: files::text(&directory, "size").and_then(|size| parse_size_kib(&size)),
        shared_by: vec![files::cpus(&directory, "shared_cpu_list").unwrap_or_else(|| CpuSet::single(cpu))],
    })
}

fn is_shared_by(cache: &Cache, cpu: usize) -> bool {
    cache.shared_by.iter().any(|sharers| sharers.contains(cpu))
}

/// Adds the single cache in `found` to equal ones, unless another of its CPUs has already reported it.
fn merge(caches: &mut Vec<Cache>, found: Cache) {
    let is_equal =
        |known: &&mut Cache| (known.level, known.kind, known.size_kib) == (found.level, found.kind, found.size_kib);
    match caches.iter_mut().find(is_equal) {
        None => caches.push(found),
        Some(known) => {
            for sharers in found.shared_by {
                if !known.shared_by.contains(&sharers) {
                    known.shared_by.push(sharers);
                }
            }
        }
    }
}

fn parse_kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// Parses `1024K`; the kernel writes all sizes in K, but M is accepted too.
fn parse_size_kib(text: &str) -> Option<u64> {
    let (number, scale) = match text.strip_suffix('M') {
        Some(number) => (number, 1024),
        None => (text.strip_suffix('K')?, 1),
    };
    Some(number.parse::<u64>().ok()? * scale)
}

// The CPUs that share a core: as the kernel reports, unless a measurement has determined it.

impl Cpu {
    /// Returns whether two CPUs are hardware threads of one core: by the measurement, otherwise by the kernel's
    /// topology.
    pub fn share_a_core(&self, one: usize, other: usize) -> bool {
        let probed = self.probed.as_ref().and_then(|probed| probed.share_a_core(one, other));
        probed.unwrap_or_else(|| self.cores.iter().any(|core| core.contains(one) && core.contains(other)))
    }

    /// Returns the CPUs of a set in the order in which threads are placed on them: first one CPU of each core, then
    /// the second hardware threads, and so on.
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

    /// Returns the CPUs of a set that share the core of its first CPU, including that one.
    pub fn first_core(&self, cpus: &CpuSet) -> Vec<usize> {
        let Some(first) = cpus.first() else { return Vec::new() };
        cpus.iter().filter(|&cpu| cpu == first || self.share_a_core(first, cpu)).collect()
    }
}

/// Pairs of CPUs whose sharing of a core was measured. A hypervisor often reports to its guest that each CPU is a
/// core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbedPairs {
    /// Time of the measurement, in seconds since 1970; it is after the last start of the machine.
    pub probed_unix_s: u64,
    /// Measured pairs, each once.
    pub pairs: Vec<ProbedPair>,
}

/// Two CPUs, and whether they are hardware threads of one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbedPair {
    /// CPU numbers, the lower one first.
    pub cpus: [usize; 2],
    /// Whether one gets narrower while the other works.
    pub share_a_core: bool,
    /// Time of the measurement, in seconds since 1970; absent in older records, which have one time for all pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed_unix_s: Option<u64>,
}

impl ProbedPairs {
    /// The age up to which a measured pair holds: a hypervisor can move the CPUs of its guests at any time.
    pub const HOLDS_S: u64 = 15 * 60;

    /// Returns the pairs of several measurements that hold at this time, each by its latest measurement; `None` if there
    /// are none. `cores` are those of the kernel where it knows them, and contradict measured pairs.
    pub fn that_hold(
        measured: impl IntoIterator<Item = Self>,
        now_unix_s: u64,
        cores: Option<&[CpuSet]>,
    ) -> Option<Self> {
        let mut pairs: Vec<ProbedPair> = Vec::new();
        for of_one in measured {
            for pair in &of_one.pairs {
                let at = pair.probed_unix_s.unwrap_or(of_one.probed_unix_s);
                let pair = ProbedPair { probed_unix_s: Some(at), ..*pair };
                match pairs.iter_mut().find(|known| known.cpus == pair.cpus) {
                    Some(known) if known.probed_unix_s < pair.probed_unix_s => *known = pair,
                    Some(_) => {}
                    None => pairs.push(pair),
                }
            }
        }
        let is_of_core = |pair: &ProbedPair, core: &CpuSet| pair.cpus.iter().all(|cpu| core.contains(*cpu));
        pairs.retain(|pair| {
            let age_s = now_unix_s.checked_sub(pair.probed_unix_s.unwrap_or_default());
            let is_recent = age_s.is_some_and(|age_s| age_s <= Self::HOLDS_S);
            let by_kernel = cores.map(|cores| cores.iter().any(|core| is_of_core(pair, core)));
            is_recent && by_kernel.is_none_or(|share_a_core| share_a_core == pair.share_a_core)
        });
        let probed_unix_s = pairs.iter().filter_map(|pair| pair.probed_unix_s).max()?;
        Some(Self { probed_unix_s, pairs })
    }

    /// Returns these pairs, and the earlier ones that were not measured again, each with its own time.
    #[must_use]
    pub fn beside(mut self, earlier: Option<&Self>) -> Self {
        let only_earlier: Vec<ProbedPair> = earlier
            .into_iter()
            .flat_map(|earlier| &earlier.pairs)
            .filter(|pair| self.share_a_core(pair.cpus[0], pair.cpus[1]).is_none())
            .copied()
            .collect();
        self.pairs.extend(only_earlier);
        self
    }

    /// Returns a text such as "CPUs 0 and 1 share no core (probed)".
    pub fn words(&self) -> String {
        let named = |pair: &ProbedPair| format!("{} and {}", pair.cpus[0], pair.cpus[1]);
        let shared: Vec<String> = self.pairs.iter().filter(|pair| pair.share_a_core).map(named).collect();
        match (&shared[..], &self.pairs[..]) {
            ([], []) => "no CPUs were probed for a shared core".to_owned(),
            ([], [pair]) => format!("CPUs {} do not share a core (probed)", named(pair)),
            ([], pairs) => {
                let cpus: CpuSet = pairs.iter().flat_map(|pair| pair.cpus).collect();
                let (count, all) = (pairs.len(), cpus.len() * (cpus.len() - 1) / 2);
                if count == all {
                    format!("no two of CPUs {cpus} share a core ({count} pairs probed)")
                } else {
                    format!("none of the {count} probed pairs of CPUs shares a core")
                }
            }
            (shared, _) => format!("CPUs {} share a core (probed)", shared.join(", ")),
        }
    }

    /// Returns whether two CPUs share a core; `None` if that was not measured.
    pub(super) fn share_a_core(&self, one: usize, other: usize) -> Option<bool> {
        self.pair(one, other).map(|pair| pair.share_a_core)
    }

    fn pair(&self, one: usize, other: usize) -> Option<&ProbedPair> {
        let cpus = [one.min(other), one.max(other)];
        self.pairs.iter().find(|pair| pair.cpus == cpus)
    }

    /// Returns when two CPUs were measured; `None` if they were not.
    pub(crate) fn probed_unix_s(&self, one: usize, other: usize) -> Option<u64> {
        self.pair(one, other).map(|pair| pair.probed_unix_s.unwrap_or(self.probed_unix_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9354\n\
        microcode\t: 0x1000065\nflags\t\t: fpu tsc\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 9354\n";
    const ARM: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\
        CPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n";
    const RISCV: &str = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n";

    #[test]
    fn models_of_three_architectures() {
        assert_eq!(parse_model(X86).as_deref(), Some("AMD EPYC 9354"));
        assert_eq!(parse_model(ARM).as_deref(), Some("Arm part 0xd40"));
        assert_eq!(parse_model(RISCV).as_deref(), Some("sifive,u74-mc"));
        assert_eq!(parse_model("processor : 0\n"), None);
        assert_eq!(parse_model("CPU implementer : 0x99\nCPU part : 0x1"), Some("Arm implementer 0x99 part 0x1".into()));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        assert_eq!(field(X86, "model"), Some("2"));
        assert_eq!(field(X86, "microcode"), Some("0x1000065"));
        assert_eq!(field(X86, "mode"), None);
    }
}

#[cfg(test)]
mod cache_tests {
    use super::*;

    #[test]
    fn sizes_are_in_kib() {
        assert_eq!(parse_size_kib("48K"), Some(48));
        assert_eq!(parse_size_kib("32M"), Some(32_768));
        assert_eq!(parse_size_kib("32"), None);
    }

    #[test]
    fn equal_caches_become_one_entry_and_unequal_ones_do_not() {
        let cache = |size, sharers: &str| Cache {
            level: 1,
            kind: CacheKind::Data,
            size_kib: Some(size),
            shared_by: vec![sharers.parse().unwrap()],
        };
        let mut caches = Vec::new();
        for found in [cache(48, "0-1"), cache(48, "2-3"), cache(32, "4"), cache(48, "2-3")] {
            merge(&mut caches, found);
        }
        let shared_by = |cache: &Cache| cache.shared_by.iter().map(CpuSet::to_string).collect::<Vec<_>>();
        assert_eq!(caches.iter().map(shared_by).collect::<Vec<_>>(), [vec!["0-1", "2-3"], vec!["4"]]);
    }
}
