//! The processor: what it is, how its CPUs share cores, and how its frequency is governed.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cache::{Cache, read_caches};
use super::probed::ProbedPairs;
use crate::cpus::CpuSet;
use crate::cpus::files;

/// The processor, as far as the kernel tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its name; on Arm, which has none in `/proc/cpuinfo`, implementer and part: `Arm part 0xd40`.
    pub model: Option<String>,
    /// The instruction set, as `uname -m` says: `x86_64`, `aarch64`.
    pub architecture: String,
    /// CPUs (hardware threads) that are switched on.
    pub online: Option<CpuSet>,
    /// CPUs that the calling thread may run on.
    pub allowed: Option<CpuSet>,
    /// The online CPUs that are hardware threads of one core, core by core.
    pub cores: Vec<CpuSet>,
    /// What trying said of them, which goes before what the kernel says; none where nobody tried since the machine was
    /// started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<ProbedPairs>,
    /// The largest number of online CPUs in one core: 1 without SMT.
    pub threads_per_core: Option<usize>,
    /// Whether any core runs more than one thread.
    pub smt_active: Option<bool>,
    /// Processor packages with a CPU online.
    pub sockets: Option<usize>,
    /// Its caches, equal ones together.
    pub caches: Vec<Cache>,
    /// Who chooses the frequency (`performance`, `schedutil`, …); several, separated by commas, if CPUs differ.
    pub governor: Option<String>,
    /// The kernel's frequency driver.
    pub frequency_driver: Option<String>,
    /// Whether the clock may go above its nominal frequency (turbo).
    pub boost: Option<bool>,
    /// The version of its microcode.
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

/// The calling thread's affinity mask, as text.
fn read_allowed(root: &Path) -> Option<CpuSet> {
    let status = files::text(root, "proc/thread-self/status")?;
    files::parse_cpus(field(&status, "Cpus_allowed_list")?)
}

/// The first value of `key` in lines of `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim());
    values.find(|value| !value.is_empty())
}

/// The processor's name: x86's `model name`, others' `cpu` or `uarch`, Arm's implementer and part.
fn parse_model(cpuinfo: &str) -> Option<String> {
    if let Some(name) = field(cpuinfo, "model name") {
        return Some(name.to_owned());
    }
    if let (Some(implementer), Some(part)) = (field(cpuinfo, "CPU implementer"), field(cpuinfo, "CPU part")) {
        return Some(format!("{} part {part}", arm_implementer(implementer)));
    }
    ["cpu model", "cpu", "uarch", "Model"].iter().find_map(|key| field(cpuinfo, key)).map(str::to_owned)
}

/// Who designed an Arm core: the codes of the register MIDR_EL1, assigned by Arm.
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

/// The online CPUs core by core; a CPU whose siblings are not told is left out.
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
        // Kernels that do not know it say -1.
        files::number::<i64>(root, &format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"))
            .filter(|&package| package >= 0)
    };
    let packages: BTreeSet<i64> = cores.iter().filter_map(CpuSet::first).filter_map(package).collect();
    (!packages.is_empty()).then_some(packages.len())
}

/// The governors of all cores, each once.
fn read_governor(root: &Path, cores: &[CpuSet]) -> Option<String> {
    let governor = |cpu| files::word(root, &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let governors: BTreeSet<String> = cores.iter().filter_map(CpuSet::first).filter_map(governor).collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(","))
}

/// Intel's driver has its own switch, the other way round.
fn read_boost(root: &Path) -> Option<bool> {
    files::flag(root, "sys/devices/system/cpu/cpufreq/boost")
        .or_else(|| files::flag(root, "sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| !off))
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
