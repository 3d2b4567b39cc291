//! The settings of the kernel and the processor that let threads wait, each with its cost and the command that changes
//! it.

use super::{Check, State, met, of_warning, unknown};
use instruments::cpus::CpuSet;
use instruments::environment::{Activity, Environment, TickStop};
use instruments::warning::{self, FrequencyChanging, SmtSiblingsShared, Steal, Warning, WarningKind};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const GROUP: &str = "latency settings";

/// Reads the settings below a root, which tests can replace.
pub fn checks(root: &Path, environment: &Environment, allowed: &CpuSet) -> Vec<Check> {
    vec![
        preemption(environment),
        isolation(environment),
        tick(environment),
        rcu_callbacks(environment),
        idle_states(root, environment),
        governor(environment),
        turbo(environment),
        smt(environment),
        huge_pages(environment),
        virtualisation(environment, allowed),
    ]
}

/// Returns the text of a file without the white space around it.
pub fn text(root: &Path, path: &str) -> Option<String> {
    fs::read_to_string(root.join(path)).ok().map(|text| text.trim().to_owned())
}

impl Check {
    fn costs(self, cost: &'static str) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// Makes it a setting that raises latencies.
    fn raising(self, remedy: impl Into<String>) -> Self {
        Self { state: State::RaisesLatency, remedy: Some(remedy.into()), ..self }
    }
}

fn preemption(environment: &Environment) -> Check {
    const NAME: &str = "preemption";
    let kernel = &environment.kernel;
    let is_dynamic = kernel.version.as_deref().is_some_and(|version| version.contains("PREEMPT_DYNAMIC"));
    let remedy = match is_dynamic {
        true => "echo full | sudo tee /sys/kernel/debug/sched/preempt, or boot with preempt=full",
        false => "use a kernel with CONFIG_PREEMPT or CONFIG_PREEMPT_RT",
    };
    let found = match kernel.preemption.as_deref() {
        Some("none") => met(GROUP, NAME, "none: kernel code runs until it blocks or returns").raising(remedy),
        Some("voluntary") => met(GROUP, NAME, "voluntary: kernel code yields only at certain points").raising(remedy),
        Some("lazy") => met(GROUP, NAME, "lazy: at once for a real-time thread, else at the next tick"),
        Some("full") => met(GROUP, NAME, "full: everywhere except in critical sections of the kernel"),
        Some("rt") => met(GROUP, NAME, "rt: also in most critical sections of the kernel"),
        _ if is_dynamic => {
            let found = "unknown: chosen at boot (PREEMPT_DYNAMIC), and only root can read the choice";
            let remedy = Some("sudo cat /sys/kernel/debug/sched/preempt shows it".to_owned());
            Check { remedy, ..unknown(GROUP, NAME, found) }
        }
        _ => unknown(GROUP, NAME, "unknown: neither the configuration nor the version of the kernel has it"),
    };
    found.costs("a woken thread waits while kernel code of another task cannot be preempted")
}

fn isolation(environment: &Environment) -> Check {
    const NAME: &str = "CPU isolation";
    let kernel = &environment.kernel;
    let sources = [("isolcpus", &kernel.isolated_cpus), ("cpuset partitions", &kernel.partitioned_cpus)];
    let words = sources.map(|(name, cpus)| match cpus {
        None => format!("{name}: unknown"),
        Some(cpus) if cpus.is_empty() => format!("{name}: none"),
        Some(cpus) => format!("{name}: CPUs {cpus}"),
    });
    let found = met(GROUP, NAME, words.join("; "));
    let found = match kernel.isolated() {
        Some(cpus) if !cpus.is_empty() => found,
        Some(_) if kernel.lacks("CPU_ISOLATION") => {
            found.raising("write isolated to cpuset.cpus.partition of a cgroup")
        }
        Some(_) => found.raising("boot with isolcpus=CPUS, or write isolated to cpuset.cpus.partition of a cgroup"),
        None => Check { state: State::Unknown, ..found },
    };
    found.costs("another task that the scheduler places on the CPU delays a thread by up to its time slice")
}

fn tick(environment: &Environment) -> Check {
    const NAME: &str = "timer tick";
    let kernel = &environment.kernel;
    let rate = kernel.hz.map_or_else(|| "at an unknown rate".to_owned(), |hz| format!("{hz} times per second"));
    let every = || met(GROUP, NAME, format!("on every busy CPU, {rate}"));
    let found = match kernel.tick_stop() {
        TickStop::On(cpus) => met(GROUP, NAME, format!("stopped under a single task on CPUs {cpus}")),
        TickStop::Impossible => every().raising("use a kernel with CONFIG_NO_HZ_FULL, and boot with nohz_full=CPUS"),
        TickStop::Possible => every().raising("boot with nohz_full=CPUS"),
        TickStop::Unknown => unknown(GROUP, NAME, "unknown: the kernel does not list the CPUs of nohz_full"),
    };
    found.costs("each tick interrupts a running thread for some microseconds")
}

fn rcu_callbacks(environment: &Environment) -> Check {
    const NAME: &str = "RCU callbacks";
    let kernel = &environment.kernel;
    let found = match &kernel.callback_free_cpus {
        None => unknown(GROUP, NAME, "unknown: the CPUs of rcu_nocbs or nohz_full are not understood"),
        Some(cpus) if !cpus.is_empty() => met(GROUP, NAME, format!("moved away from CPUs {cpus}")),
        Some(_) if kernel.lacks("RCU_NOCB_CPU") => met(GROUP, NAME, "run on the CPU that queued them")
            .raising("use a kernel with CONFIG_RCU_NOCB_CPU, and boot with rcu_nocbs=CPUS"),
        Some(_) => met(GROUP, NAME, "run on the CPU that queued them").raising("boot with rcu_nocbs=CPUS"),
    };
    found.costs("softirq rcu interrupts a running thread, for longer the more memory is freed")
}

/// An idle state that only waits in a loop, or halts, is left within this time.
const SHALLOW_US: u64 = 2;

fn idle_states(root: &Path, environment: &Environment) -> Check {
    const NAME: &str = "idle states";
    let found = match environment.kernel.idle_driver.as_deref() {
        Some("poll") => met(GROUP, NAME, "none: an idle CPU polls (idle=poll)"),
        None => unknown(GROUP, NAME, "unknown: this kernel shows no driver of idle states"),
        Some("none") => met(GROUP, NAME, "no driver: an idle CPU halts").raising("boot with idle=poll; costs power"),
        Some(driver) => {
            let governor = ["current_governor", "current_governor_ro"];
            let governor =
                governor.iter().find_map(|name| text(root, &format!("sys/devices/system/cpu/cpuidle/{name}")));
            let governor = governor.map_or_else(String::new, |governor| format!(", governor {governor}"));
            match deepest(root) {
                None => unknown(GROUP, NAME, format!("{driver}{governor}; unknown: the states are not visible")),
                Some((name, us)) => {
                    let found = met(GROUP, NAME, format!("{driver}{governor}; deepest: {name}, left in {us} µs"));
                    let remedy = "sudo cpupower idle-set -D 0, or hold /dev/cpu_dma_latency open with 0; costs power";
                    if us > SHALLOW_US { found.raising(remedy) } else { found }
                }
            }
        }
    };
    found.costs("a thread that wakes on an idle CPU waits until the CPU has left its idle state")
}

/// Returns the enabled idle state of any CPU that takes the longest to leave, and that time in µs.
fn deepest(root: &Path) -> Option<(String, u64)> {
    let folders = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let cpus = folders(&root.join("sys/devices/system/cpu"));
    let states = cpus.flat_map(|cpu| folders(&cpu.join("cpuidle")).collect::<Vec<_>>());
    let enabled = states.filter_map(|state| {
        let is_disabled = text(&state, "disable").is_some_and(|disabled| disabled != "0");
        Some((text(&state, "name")?, text(&state, "latency")?.parse::<u64>().ok()?)).filter(|_| !is_disabled)
    });
    enabled.max_by_key(|(_, us)| *us)
}

fn governor(environment: &Environment) -> Check {
    const NAME: &str = "governor";
    let found = match environment.cpu.governor.clone() {
        Some(governor) if governor != "performance" => {
            of_warning((GROUP, NAME), &FrequencyChanging { governor }.into(), &["latency", "throughput", "ab"])
        }
        Some(governor) => met(GROUP, NAME, governor),
        None => unknown(GROUP, NAME, "unknown: not visible here, as in virtual machines"),
    };
    found.costs("a CPU that was idle runs slowly until the governor raises its frequency")
}

fn turbo(environment: &Environment) -> Check {
    const NAME: &str = "turbo";
    let found = match environment.cpu.boost {
        None => unknown(GROUP, NAME, "unknown: not visible here, as in virtual machines"),
        Some(false) => met(GROUP, NAME, "off"),
        Some(true) => met(GROUP, NAME, "on: the frequency depends on the load of other cores").missing(
            &["latency", "throughput", "ab"],
            "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost, or echo 1 to intel_pstate/no_turbo there",
        ),
    };
    found.costs("the same code takes longer while other cores are busy; without turbo it always does")
}

fn smt(environment: &Environment) -> Check {
    const NAME: &str = "SMT";
    let siblings = environment.cpu.cores.iter().find(|core| core.len() > 1);
    let now_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let online = environment.cpu.online.clone().unwrap_or_default();
    let shared = warning::standing(environment, &online, now_unix_s);
    // A probe shows more than the kernel of a guest knows.
    let is_known = |warning: &&Warning| {
        warning.is::<SmtSiblingsShared>() && (siblings.is_some() || warning.field("probed_unix_s").is_some())
    };
    let found = match (environment.cpu.smt_active, shared.iter().find(is_known)) {
        (_, Some(warning)) => of_warning((GROUP, NAME), warning, &["latency", "throughput", "load", "core"]),
        (Some(true), None) => unknown(GROUP, NAME, "on; unknown: the siblings are not visible"),
        (Some(false), None) => met(GROUP, NAME, "no siblings, as far as the kernel knows; `contend core` measures it"),
        (None, None) => unknown(GROUP, NAME, "unknown: not visible here; `contend core` measures it"),
    };
    found.costs("a busy sibling takes up to half of the core's speed, which appears in no account")
}

fn huge_pages(environment: &Environment) -> Check {
    const NAME: &str = "huge pages (THP)";
    let found = match environment.kernel.transparent_hugepages.as_deref() {
        Some("always") => met(GROUP, NAME, "always: for all memory")
            .raising("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some("madvise") => met(GROUP, NAME, "madvise: only where a program requests them"),
        Some(other) => met(GROUP, NAME, other),
        None => unknown(GROUP, NAME, "unknown: the setting cannot be read"),
    };
    found.costs("a page fault clears 2 MiB at once, and khugepaged stops a program while it merges its pages")
}

fn virtualisation(environment: &Environment, allowed: &CpuSet) -> Check {
    const NAME: &str = "virtualisation";
    let found = match &environment.host.hypervisor {
        None if !cfg!(target_arch = "x86_64") => unknown(GROUP, NAME, "unknown: not visible on this processor"),
        None => met(GROUP, NAME, "none: bare metal"),
        Some(hypervisor) => match Activity::now().ok().and_then(|activity| activity.steal_share_since_boot(allowed)) {
            None => unknown(GROUP, NAME, format!("{hypervisor}; unknown: the stolen time is not reported")),
            Some(share) => {
                let share_words = terminal::percent(share);
                let check =
                    met(GROUP, NAME, format!("{hypervisor}; {share_words} of the CPU time was stolen since the start"));
                match share > warning::STEAL_SHARE {
                    true => check.missing(&["all measurements"], Steal { share }.remedy()),
                    false => check.raising("use bare metal, or a host with a dedicated CPU for each virtual one"),
                }
            }
        },
    };
    found.costs("the host can run other guests on the CPU, and delivers timer interrupts late")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of copied files.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn with(files: &[(&str, &str)]) -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for (path, content) in files {
                let path = machine.0.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            machine
        }

        fn check(&self, name: &str) -> Check {
            let environment = Environment::probe_under(self.0.path());
            let checks = checks(self.0.path(), &environment, &CpuSet::single(0));
            checks.into_iter().find(|check| check.name == name).unwrap()
        }
    }

    const VERSION: (&str, &str) = ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1\n");

    #[test]
    fn machine_as_installed_has_costs_and_commands() {
        let machine = Machine::with(&[
            VERSION,
            ("sys/kernel/debug/sched/preempt", "none (voluntary) full lazy\n"),
            ("proc/cmdline", "quiet rcu_nocbs\n"),
            ("sys/devices/system/cpu/isolated", "\n"),
            ("sys/devices/system/cpu/nohz_full", "(null)\n"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
            ("sys/devices/system/cpu/cpuidle/current_governor", "menu\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ]);
        for (name, found, remedy) in [
            ("preemption", "voluntary", "echo full | sudo tee /sys/kernel/debug/sched/preempt"),
            ("CPU isolation", "isolcpus: none; cpuset partitions: unknown", "isolcpus=CPUS"),
            ("timer tick", "on every busy CPU, at an unknown rate", "nohz_full=CPUS"),
            ("RCU callbacks", "on the CPU that queued them", "rcu_nocbs=CPUS"),
            ("idle states", "intel_idle, governor menu; deepest: C6, left in 133 µs", "cpupower idle-set -D 0"),
            ("huge pages (THP)", "always", "echo madvise"),
        ] {
            let check = machine.check(name);
            assert_eq!(check.state, State::RaisesLatency, "{check:?}");
            assert!(check.found.contains(found) && check.remedy.as_ref().unwrap().contains(remedy), "{check:?}");
            assert!(check.cost.is_some() && check.affects.is_empty(), "{check:?}");
        }
    }

    #[test]
    fn tuned_machine_meets_the_settings() {
        let machine = Machine::with(&[
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT\n"),
            ("proc/cmdline", "isolcpus=2-3 nohz_full=2-3 idle=poll\n"),
            ("sys/devices/system/cpu/isolated", "2-3\n"),
            ("sys/devices/system/cpu/nohz_full", "2-3\n"),
            ("sys/fs/cgroup/cpuset.cpus.isolated", "1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        for (name, found) in [
            ("preemption", "rt"),
            ("CPU isolation", "isolcpus: CPUs 2-3; cpuset partitions: CPUs 1"),
            ("timer tick", "CPUs 2-3"),
            ("RCU callbacks", "moved away from CPUs 2-3"),
            ("idle states", "polls"),
            ("huge pages (THP)", "madvise"),
        ] {
            let check = machine.check(name);
            assert!(check.state == State::Met && check.found.contains(found) && check.remedy.is_none(), "{check:?}");
        }
    }

    #[test]
    fn unreadable_settings_are_unknown() {
        let machine = Machine::with(&[]);
        let names = ["preemption", "CPU isolation", "timer tick", "RCU callbacks", "idle states", "governor", "turbo"];
        for name in names.iter().chain(&["SMT", "huge pages (THP)"]) {
            let check = machine.check(name);
            assert!(check.state == State::Unknown && check.found.contains("unknown"), "{check:?}");
        }
        let dynamic = Machine::with(&[VERSION]).check("preemption");
        assert!(dynamic.state == State::Unknown && dynamic.remedy.unwrap().contains("sudo cat"));
    }

    #[test]
    fn disabled_idle_states_do_not_count() {
        let state = "sys/devices/system/cpu/cpu0/cpuidle/state2/";
        let at = |name: &str| format!("{state}{name}");
        let (name, latency, disable) = (at("name"), at("latency"), at("disable"));
        let machine = Machine::with(&[
            ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
            (&name, "C6\n"),
            (&latency, "133\n"),
            (&disable, "1\n"),
        ]);
        let check = machine.check("idle states");
        assert!(check.state == State::Met && check.found.ends_with("deepest: POLL, left in 0 µs"), "{check:?}");
    }
}
