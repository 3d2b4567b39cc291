//! The kernel: its version, its preemption and tick, and the settings that affect latencies.

use crate::cpus::{CpuSet, files};
use crate::helper;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

/// The kernel and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kernel {
    /// Release, as printed by `uname -r`.
    pub release: Option<String>,
    /// Version, as printed by `uname -v`.
    pub version: Option<String>,
    /// Preemption model: `none`, `voluntary`, `lazy`, `full`, `rt`; `dynamic` if it can be chosen at boot and the
    /// choice could not be read.
    pub preemption: Option<String>,
    /// Timer ticks per second on a busy CPU, from the kernel's configuration.
    pub hz: Option<u32>,
    /// Condition in which the tick stops: `periodic` (never), `idle` (on an idle CPU), `full` (also under a single
    /// thread on the CPUs in `tickless_cpus`).
    pub tickless: Option<String>,
    /// CPUs of `nohz_full=`.
    pub tickless_cpus: Option<CpuSet>,
    /// CPUs that the scheduler keeps free (`isolcpus=`).
    pub isolated_cpus: Option<CpuSet>,
    /// CPUs of isolated cpuset partitions; older records lack it, and the four fields below.
    #[serde(default)]
    pub partitioned_cpus: Option<CpuSet>,
    /// CPUs from which RCU callbacks are moved (`rcu_nocbs=` or `nohz_full=` at boot).
    #[serde(default)]
    pub callback_free_cpus: Option<CpuSet>,
    /// CPUs on which unbound kernel workers may run.
    #[serde(default)]
    pub unbound_worker_cpus: Option<CpuSet>,
    /// Driver of the idle states: `none` without one, `poll` where `idle=poll` was given at boot.
    #[serde(default)]
    pub idle_driver: Option<String>,
    /// Options of the configuration that settings of CPUs need and this kernel lacks.
    #[serde(default)]
    pub lacking_options: Option<Vec<String>>,
    /// For each known vulnerability of processors, its mitigation by this kernel.
    pub mitigations: BTreeMap<String, String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Available clock sources.
    pub clock_sources_available: Vec<String>,
    /// Time in microseconds for which real-time threads may run in each period; -1 is without limit.
    pub rt_runtime_us: Option<i64>,
    /// Length of that period, in µs.
    pub rt_period_us: Option<u64>,
    /// Whether each session shares the CPU as one group, so that nice values have an effect only inside a session.
    pub autogroup: Option<bool>,
    /// Policy for huge pages without a request: `always`, `madvise`, `never`.
    pub transparent_hugepages: Option<String>,
}

impl Kernel {
    pub(super) fn read(root: &Path) -> Self {
        let release = files::word(root, "proc/sys/kernel/osrelease");
        let version = files::word(root, "proc/sys/kernel/version");
        let options = files::text(root, "proc/cmdline");
        let boot = options.clone().unwrap_or_default();
        let online = files::cpus(root, "sys/devices/system/cpu/online");
        let config = KernelConfig::read(root, release.as_deref());
        let clock = "sys/devices/system/clocksource/clocksource0";
        Self {
            preemption: read_preemption(root, &boot, &config, version.as_deref()),
            hz: config.hz(),
            tickless: tickless(&boot, &config),
            tickless_cpus: files::cpus(root, "sys/devices/system/cpu/nohz_full"),
            isolated_cpus: files::cpus(root, "sys/devices/system/cpu/isolated"),
            partitioned_cpus: files::cpus(root, "sys/fs/cgroup/cpuset.cpus.isolated"),
            callback_free_cpus: options.and_then(|options| callback_free(&options, online.as_ref())),
            unbound_worker_cpus: files::text(root, "sys/devices/virtual/workqueue/cpumask")
                .and_then(|mask| files::parse_mask(&mask)),
            idle_driver: match boot_parameter(&boot, "idle") {
                Some("poll") => Some("poll".to_owned()),
                _ => files::word(root, "sys/devices/system/cpu/cpuidle/current_driver"),
            },
            lacking_options: config.lacking(),
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

/// Whether the timer tick stops under a single running thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TickStop<'k> {
    /// It does on these CPUs (`nohz_full=`).
    On(&'k CpuSet),
    /// It would on CPUs of `nohz_full=` at boot.
    Possible,
    /// This kernel cannot stop it.
    Impossible,
    /// The kernel does not report it.
    Unknown,
}

impl Kernel {
    /// Returns whether the tick stops under a single running thread.
    pub fn tick_stop(&self) -> TickStop<'_> {
        match (&self.tickless_cpus, self.tickless.as_deref()) {
            (Some(cpus), _) if !cpus.is_empty() => TickStop::On(cpus),
            (None, Some("idle" | "periodic")) => TickStop::Impossible,
            (Some(_), _) => TickStop::Possible,
            (None, _) => TickStop::Unknown,
        }
    }

    /// Returns the CPUs on which the scheduler places no thread by itself; `None` where nothing is known of them.
    pub fn isolated(&self) -> Option<CpuSet> {
        let sets = [&self.isolated_cpus, &self.partitioned_cpus];
        let is_known = sets.iter().any(|cpus| cpus.is_some());
        is_known.then(|| sets.into_iter().flatten().flat_map(CpuSet::iter).collect())
    }

    /// Returns whether the kernel is known to lack an option of its configuration, such as `RCU_NOCB_CPU`.
    pub fn lacks(&self, option: &str) -> bool {
        self.lacking_options.as_ref().is_some_and(|options| options.iter().any(|lacking| lacking == option))
    }
}

/// Returns the CPUs from which RCU callbacks are moved; `None` for a list that is not understood.
fn callback_free(boot: &str, online: Option<&CpuSet>) -> Option<CpuSet> {
    let mut cpus = Vec::new();
    // `rcu_nocbs` without CPUs moves none: it only allows cpusets to.
    for list in ["rcu_nocbs", "nohz_full"].iter().filter_map(|name| boot_parameter(boot, name)) {
        match list {
            "all" => cpus.extend(online?.iter()),
            list => cpus.extend(list.parse::<CpuSet>().ok()?.iter()),
        }
    }
    Some(cpus.into_iter().collect())
}

/// Returns the preemption model by the most reliable source first: the current choice (only root may read it), the
/// choice at boot, the kernel's configuration, the words in its version.
fn read_preemption(root: &Path, boot: &str, config: &KernelConfig, version: Option<&str>) -> Option<String> {
    let running = files::text(root, "sys/kernel/debug/sched/preempt");
    running
        .as_deref()
        .and_then(|text| chosen(text, '(', ')'))
        .or_else(|| boot_parameter(boot, "preempt"))
        .or_else(|| config.preemption())
        .or_else(|| preemption_from_version(version?))
        .map(str::to_owned)
}

/// Returns the configured mode of the tick, unless `nohz=off` at boot made the tick periodic.
fn tickless(boot: &str, config: &KernelConfig) -> Option<String> {
    let off = matches!(boot_parameter(boot, "nohz"), Some("off" | "0"));
    if off { Some("periodic".to_owned()) } else { config.tickless().map(str::to_owned) }
}

/// Returns the marked one of several choices: `always [madvise] never`.
fn chosen(choices: &str, open: char, close: char) -> Option<&str> {
    choices.split_once(open)?.1.split_once(close).map(|(choice, _)| choice)
}

/// Returns the last value of `name=value` among the kernel's boot parameters; the words after `--` are not for the
/// kernel.
fn boot_parameter<'a>(boot: &'a str, name: &str) -> Option<&'a str> {
    let parameters = boot.split_whitespace().take_while(|&word| word != "--");
    parameters.filter_map(|word| word.split_once('=')).filter(|(key, _)| *key == name).map(|(_, value)| value).last()
}

/// Returns the preemption model from a version such as `#1 SMP PREEMPT_DYNAMIC …`; a version without any such word is
/// that of a kernel that is not preempted, or only voluntarily.
fn preemption_from_version(version: &str) -> Option<&'static str> {
    version.split_whitespace().find_map(|word| match word {
        "PREEMPT_RT" => Some("rt"),
        "PREEMPT_DYNAMIC" => Some("dynamic"),
        "PREEMPT_LAZY" => Some("lazy"),
        "PREEMPT" => Some("full"),
        _ => None,
    })
}

/// Reads the mitigations: one file for each vulnerability, named after it.
fn read_mitigations(root: &Path) -> BTreeMap<String, String> {
    let directory = root.join("sys/devices/system/cpu/vulnerabilities");
    let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Some((files::word(&directory, &name)?, name))).map(|(text, name)| (name, text)).collect()
}

// The kernel's build configuration: the lines that matter to a measurement.

/// The build configuration of the running kernel, in lines of `NAME=value`.
#[derive(Debug, Default)]
pub(super) struct KernelConfig {
    text: Option<String>,
}

impl KernelConfig {
    /// Reads the configuration from the places that distributions use, or otherwise from the kernel's own compressed
    /// copy.
    pub fn read(root: &Path, release: Option<&str>) -> Self {
        let plain = release.and_then(|release| {
            [format!("boot/config-{release}"), format!("lib/modules/{release}/config")]
                .iter()
                .find_map(|path| files::word(root, path))
        });
        Self { text: plain.or_else(|| decompress(&root.join("proc/config.gz"))) }
    }

    /// Returns the value of `CONFIG_<name>`, without quotes.
    fn value(&self, name: &str) -> Option<&str> {
        let lines = self.text.as_deref().unwrap_or_default().lines();
        let mut pairs = lines.filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"'))
    }

    fn has(&self, name: &str) -> bool {
        self.value(name) == Some("y")
    }

    /// Returns the timer ticks per second on a busy CPU.
    pub fn hz(&self) -> Option<u32> {
        self.value("HZ")?.parse().ok()
    }

    /// Returns whether interrupts are timed by the clock instead of by the tick, and charged to no thread.
    pub fn interrupt_time(&self) -> Option<bool> {
        self.text.is_some().then(|| self.has("IRQ_TIME_ACCOUNTING"))
    }

    /// Returns the options that settings of CPUs need and this kernel lacks; `None` for an unknown configuration.
    pub fn lacking(&self) -> Option<Vec<String>> {
        const NEEDED: [&str; 3] = ["CPU_ISOLATION", "NO_HZ_FULL", "RCU_NOCB_CPU"];
        self.text.is_some().then(|| NEEDED.into_iter().filter(|name| !self.has(name)).map(str::to_owned).collect())
    }

    /// Returns the condition in which the tick stops: `periodic` (never), `idle` (on an idle CPU), `full` (also under
    /// a single thread, on the CPUs of `nohz_full=`).
    pub fn tickless(&self) -> Option<&'static str> {
        let choices = [("HZ_PERIODIC", "periodic"), ("NO_HZ_FULL", "full"), ("NO_HZ_IDLE", "idle")];
        choices.iter().find(|(name, _)| self.has(name)).map(|(_, mode)| *mode)
    }

    /// Returns the preemption model, unless changed at boot.
    pub fn preemption(&self) -> Option<&'static str> {
        let choices = [
            ("PREEMPT_RT", "rt"),
            ("PREEMPT_LAZY", "lazy"),
            ("PREEMPT", "full"),
            ("PREEMPT_VOLUNTARY", "voluntary"),
            ("PREEMPT_NONE", "none"),
        ];
        choices.iter().find(|(name, _)| self.has(name)).map(|(_, mode)| *mode)
    }
}

/// Returns the text in a gzip file, by the program that every Linux system has: one text per run does not justify a
/// dependency.
fn decompress(path: &Path) -> Option<String> {
    if !path.exists() {
        return None;
    }
    let output =
        helper::command("gzip").ok()?.arg("-dc").arg(path).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok()).flatten()
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
        assert_eq!(boot_parameter(boot, "preempt"), Some("full"));
        assert_eq!(boot_parameter(boot, "mitigations"), Some("auto,nosmt"));
        assert_eq!(boot_parameter(boot, "quiet"), None);
    }

    #[test]
    fn version_text_provides_the_preemption_model() {
        assert_eq!(preemption_from_version("#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1"), Some("dynamic"));
        assert_eq!(preemption_from_version("#1 SMP PREEMPT_RT Debian 6.1.90-1"), Some("rt"));
        assert_eq!(preemption_from_version("#40-Ubuntu SMP"), None);
    }

    #[test]
    fn callbacks_are_moved_from_the_cpus_of_two_boot_options() {
        let online = "0-3".parse().ok();
        let of = |boot: &str| callback_free(boot, online.as_ref()).map(|cpus| cpus.to_string());
        for (boot, cpus) in
            [("quiet rcu_nocbs", ""), ("rcu_nocbs=1 nohz_full=2-3", "1-3"), ("rcu_nocbs=all quiet", "0-3")]
        {
            assert_eq!(of(boot).as_deref(), Some(cpus), "{boot}");
        }
        assert_eq!(of("rcu_nocbs=0-7:1/2"), None);
    }

    #[test]
    fn mask_of_cpus_has_the_highest_group_first() {
        let of = |mask: &str| files::parse_mask(mask).map(|cpus| cpus.to_string());
        assert_eq!(of("3\n").as_deref(), Some("0-1"));
        assert_eq!(of("1,00000000,80000000").as_deref(), Some("31,64"));
        assert_eq!(of("none"), None);
    }

    #[test]
    fn isolated_cpus_are_those_of_both_sources() {
        let mut kernel = Kernel::read(Path::new("/nonexistent"));
        assert_eq!((kernel.isolated(), kernel.tick_stop()), (None, TickStop::Unknown));
        kernel.isolated_cpus = Some(CpuSet::default());
        assert_eq!(kernel.isolated(), Some(CpuSet::default()));
        kernel.partitioned_cpus = Some(CpuSet::single(2));
        assert_eq!(kernel.isolated(), Some(CpuSet::single(2)));
    }

    #[test]
    fn a_tick_can_be_made_periodic_at_boot() {
        assert_eq!(tickless("quiet nohz=off", &KernelConfig::default()).as_deref(), Some("periodic"));
        assert_eq!(tickless("quiet", &KernelConfig::default()), None);
    }
}

#[cfg(test)]
mod kconfig_tests {
    use super::*;

    fn config(text: &str) -> KernelConfig {
        KernelConfig { text: Some(text.to_owned()) }
    }

    #[test]
    fn a_distribution_kernel() {
        let config = config(
            "# CONFIG_HZ_PERIODIC is not set\nCONFIG_NO_HZ_COMMON=y\nCONFIG_NO_HZ_IDLE=y\n\
             # CONFIG_NO_HZ_FULL is not set\n\
             # CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n\
             # CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_DYNAMIC=y\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n",
        );
        assert_eq!(config.hz(), Some(250));
        assert_eq!(config.tickless(), Some("idle"));
        assert_eq!(config.preemption(), Some("voluntary"));
        assert_eq!(config.lacking().unwrap(), ["CPU_ISOLATION", "NO_HZ_FULL", "RCU_NOCB_CPU"]);
    }

    #[test]
    fn a_real_time_kernel() {
        let config = config("CONFIG_PREEMPT_RT=y\nCONFIG_PREEMPT=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_HZ=1000\n");
        assert_eq!(config.hz(), Some(1000));
        assert_eq!(config.tickless(), Some("full"));
        assert_eq!(config.preemption(), Some("rt"));
        assert_eq!(config.interrupt_time(), Some(false));
    }

    #[test]
    fn missing_configuration_provides_nothing() {
        let config = KernelConfig::default();
        assert_eq!((config.hz(), config.tickless(), config.preemption()), (None, None, None));
        assert_eq!((config.interrupt_time(), config.lacking()), (None, None));
    }
}
