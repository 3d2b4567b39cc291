//! What the kernel was built for: the lines of its configuration that matter to a measurement.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cpus::files;

/// The configuration that the running kernel was built with, `NAME=value` lines.
#[derive(Debug, Default)]
pub(super) struct KernelConfig {
    text: Option<String>,
}

impl KernelConfig {
    /// Reads it from where distributions put it, or else from the kernel's own compressed copy.
    pub fn read(root: &Path, release: Option<&str>) -> Self {
        let plain = release.and_then(|release| {
            [format!("boot/config-{release}"), format!("lib/modules/{release}/config")]
                .iter()
                .find_map(|path| files::word(root, path))
        });
        Self { text: plain.or_else(|| decompress(&root.join("proc/config.gz"))) }
    }

    /// The value of `CONFIG_<name>`, without quotes.
    fn value(&self, name: &str) -> Option<&str> {
        let lines = self.text.as_deref().unwrap_or_default().lines();
        let mut pairs = lines.filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.trim_matches('"'))
    }

    fn has(&self, name: &str) -> bool {
        self.value(name) == Some("y")
    }

    /// Timer ticks a second on a busy CPU.
    pub fn hz(&self) -> Option<u32> {
        self.value("HZ")?.parse().ok()
    }

    /// Whether interrupts are timed by the clock instead of by the tick, and charged to no thread.
    pub fn interrupt_time(&self) -> Option<bool> {
        self.text.is_some().then(|| self.has("IRQ_TIME_ACCOUNTING"))
    }

    /// When the tick stops: `periodic` (never), `idle` (on an idle CPU), `full` (also where one thread runs alone, on
    /// the CPUs that `nohz_full=` names).
    pub fn tickless(&self) -> Option<&'static str> {
        let choices = [("HZ_PERIODIC", "periodic"), ("NO_HZ_FULL", "full"), ("NO_HZ_IDLE", "idle")];
        choices.iter().find(|(name, _)| self.has(name)).map(|(_, mode)| *mode)
    }

    /// How willing the kernel is to be preempted, unless changed at boot.
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

/// The text in a gzip file, by the program every Linux system has: one text a run is not worth a dependency.
fn decompress(path: &Path) -> Option<String> {
    if !path.exists() {
        return None;
    }
    let output = Command::new("gzip").arg("-dc").arg(path).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok()).flatten()
}

#[cfg(test)]
mod tests {
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
    fn no_configuration_says_nothing() {
        let config = KernelConfig::default();
        assert_eq!((config.hz(), config.tickless(), config.preemption()), (None, None, None));
        assert_eq!(config.interrupt_time(), None);
    }
}
