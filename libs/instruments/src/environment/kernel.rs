//! The kernel: which, how it preempts and ticks, and the settings that shape a latency.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::kconfig::KernelConfig;
use crate::cpus::CpuSet;
use crate::cpus::files;

/// The kernel and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// As `uname -r`.
    pub release: Option<String>,
    /// As `uname -v`.
    pub version: Option<String>,
    /// How willing it is to be preempted: `none`, `voluntary`, `lazy`, `full`, `rt`; `dynamic` if it can be chosen at
    /// boot and the choice could not be read.
    pub preemption: Option<String>,
    /// Timer ticks a second on a busy CPU, from the kernel's configuration.
    pub hz: Option<u32>,
    /// When the tick stops: `periodic` (never), `idle` (on an idle CPU), `full` (also under a lone thread on the CPUs
    /// in `tickless_cpus`).
    pub tickless: Option<String>,
    /// CPUs of `nohz_full=`.
    pub tickless_cpus: Option<CpuSet>,
    /// CPUs that the scheduler keeps free (`isolcpus=` or isolated cpuset partitions).
    pub isolated_cpus: Option<CpuSet>,
    /// For each known weakness of processors, what the kernel does about it here.
    pub mitigations: BTreeMap<String, String>,
    /// What the kernel's own time comes from.
    pub clock_source: Option<String>,
    /// What it could come from.
    pub clock_sources_available: Vec<String>,
    /// Microseconds that real-time threads may run in each period; -1 is without limit.
    pub rt_runtime_us: Option<i64>,
    /// That period, in µs.
    pub rt_period_us: Option<u64>,
    /// Whether each session shares the CPU as one group, which makes nice values count only inside a session.
    pub autogroup: Option<bool>,
    /// When memory comes in huge pages unasked: `always`, `madvise`, `never`.
    pub transparent_hugepages: Option<String>,
}

impl Kernel {
    pub(super) fn read(root: &Path) -> Self {
        let release = files::word(root, "proc/sys/kernel/osrelease");
        let version = files::word(root, "proc/sys/kernel/version");
        let boot = files::text(root, "proc/cmdline").unwrap_or_default();
        let config = KernelConfig::read(root, release.as_deref());
        let clock = "sys/devices/system/clocksource/clocksource0";
        Self {
            preemption: read_preemption(root, &boot, &config, version.as_deref()),
            hz: config.hz(),
            tickless: tickless(&boot, &config),
            tickless_cpus: files::cpus(root, "sys/devices/system/cpu/nohz_full"),
            isolated_cpus: files::cpus(root, "sys/devices/system/cpu/isolated"),
            mitigations: read_mitigations(root),
            clock_source: files::word(root, &format!("{clock}/current_clocksource")),
            clock_sources_available: files::text(root, &format!("{clock}/available_clocksource"))
                .map(|names| names.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            rt_runtime_us: files::number(root, "proc/sys/kernel/sched_rt_runtime_us"),
            rt_period_us: files::number(root, "proc/sys/kernel/sched_rt_period_us"),
            autogroup: files::flag(root, "proc/sys/kernel/sched_autogroup_enabled"),
            transparent_hugepages: files::text(root, "sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| chosen(&text, '[', ']').map(str::to_owned)),
            release,
            version,
        }
    }
}

/// The surest source first: the running choice (root alone may read it), the choice at boot, the kernel's
/// configuration, the words in its version.
fn read_preemption(root: &Path, boot: &str, config: &KernelConfig, version: Option<&str>) -> Option<String> {
    let running = files::text(root, "sys/kernel/debug/sched/preempt");
    running
        .as_deref()
        .and_then(|text| chosen(text, '(', ')'))
        .or_else(|| parameter(boot, "preempt"))
        .or_else(|| config.preemption())
        .or_else(|| preemption_from_version(version?))
        .map(str::to_owned)
}

/// The configuration's mode, unless `nohz=off` at boot made the tick periodic.
fn tickless(boot: &str, config: &KernelConfig) -> Option<String> {
    let off = matches!(parameter(boot, "nohz"), Some("off" | "0"));
    if off { Some("periodic".to_owned()) } else { config.tickless().map(str::to_owned) }
}

/// The marked one of several choices: `always [madvise] never`.
fn chosen(choices: &str, open: char, close: char) -> Option<&str> {
    choices.split_once(open)?.1.split_once(close).map(|(choice, _)| choice)
}

/// The last value of `name=value` among the kernel's boot parameters; what follows `--` is not the kernel's.
fn parameter<'a>(boot: &'a str, name: &str) -> Option<&'a str> {
    let parameters = boot.split_whitespace().take_while(|&word| word != "--");
    parameters.filter_map(|word| word.split_once('=')).filter(|(key, _)| *key == name).map(|(_, value)| value).last()
}

/// `#1 SMP PREEMPT_DYNAMIC …`; a version without any such word is of a kernel that is not preempted, or only
/// voluntarily.
fn preemption_from_version(version: &str) -> Option<&'static str> {
    version.split_whitespace().find_map(|word| match word {
        "PREEMPT_RT" => Some("rt"),
        "PREEMPT_DYNAMIC" => Some("dynamic"),
        "PREEMPT_LAZY" => Some("lazy"),
        "PREEMPT" => Some("full"),
        _ => None,
    })
}

/// One file for each weakness, named after it.
fn read_mitigations(root: &Path) -> BTreeMap<String, String> {
    let directory = root.join("sys/devices/system/cpu/vulnerabilities");
    let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((files::word(&directory, &name)?, name))).map(|(text, name)| (name, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marked_choice_is_found() {
        assert_eq!(chosen("none voluntary (full) lazy", '(', ')'), Some("full"));
        assert_eq!(chosen("always [madvise] never", '[', ']'), Some("madvise"));
        assert_eq!(chosen("nothing marked", '[', ']'), None);
    }

    #[test]
    fn boot_parameters_are_found_and_the_last_one_wins() {
        let boot = "quiet preempt=none mitigations=auto,nosmt preempt=full -- preempt=lazy";
        assert_eq!(parameter(boot, "preempt"), Some("full"));
        assert_eq!(parameter(boot, "mitigations"), Some("auto,nosmt"));
        assert_eq!(parameter(boot, "quiet"), None);
    }

    #[test]
    fn a_version_tells_what_it_can() {
        assert_eq!(preemption_from_version("#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1"), Some("dynamic"));
        assert_eq!(preemption_from_version("#1 SMP PREEMPT_RT Debian 6.1.90-1"), Some("rt"));
        assert_eq!(preemption_from_version("#40-Ubuntu SMP"), None);
    }

    #[test]
    fn a_tick_can_be_made_periodic_at_boot() {
        assert_eq!(tickless("quiet nohz=off", &KernelConfig::default()).as_deref(), Some("periodic"));
        assert_eq!(tickless("quiet", &KernelConfig::default()), None);
    }
}
