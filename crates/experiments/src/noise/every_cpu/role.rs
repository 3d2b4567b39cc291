//! What a CPU is for, as the system is set.

use instruments::cpus::CpuSet;
use instruments::environment::Environment;

/// In words: whether the scheduler and the tick keep away from it, and how many interrupts may come to it.
pub fn role(cpu: usize, environment: &Environment) -> String {
    let has = |set: &Option<CpuSet>| set.as_ref().is_some_and(|cpus| cpus.contains(cpu));
    let (isolated, tickless) = (has(&environment.kernel.isolated_cpus), has(&environment.kernel.tickless_cpus));
    words(isolated, tickless, interrupts(cpu))
}

fn words(isolated: bool, tickless: bool, interrupts: Option<usize>) -> String {
    let kind = match (isolated, tickless) {
        (true, true) => "isolated, nohz_full",
        (true, false) => "isolated",
        (false, true) => "nohz_full",
        (false, false) => "housekeeping",
    };
    let interrupts = interrupts.map(|number| format!(", {number} IRQ{}", if number == 1 { "" } else { "s" }));
    kind.to_owned() + &interrupts.unwrap_or_default()
}

/// Interrupts whose affinity has this CPU; `None` where the system does not say.
fn interrupts(cpu: usize) -> Option<usize> {
    let folders = std::fs::read_dir("/proc/irq").ok()?.flatten();
    let list = |folder: &std::fs::DirEntry| {
        let path = folder.path();
        let text = ["effective_affinity_list", "smp_affinity_list"]
            .iter()
            .find_map(|name| std::fs::read_to_string(path.join(name)).ok().filter(|text| !text.trim().is_empty()));
        text?.trim().parse::<CpuSet>().ok()
    };
    Some(folders.filter_map(|folder| list(&folder)).filter(|cpus| cpus.contains(cpu)).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_named_by_who_keeps_away_from_it() {
        assert_eq!(words(false, false, Some(12)), "housekeeping, 12 IRQs");
        assert_eq!(words(true, true, Some(1)), "isolated, nohz_full, 1 IRQ");
        assert_eq!(words(true, false, None), "isolated");
    }
}
