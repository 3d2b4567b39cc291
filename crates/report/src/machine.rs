//! A machine in a line.

use instruments::environment::ProbedPairs;
use serde_json::{Map, Value};

/// Its processor, how many CPUs a process may have, what it runs in, its kernel: what of that is known.
pub fn machine(environment: &Map<String, Value>) -> String {
    let of = |group: &str, name: &str| environment.get(group).and_then(|group| group.get(name));
    let text = |group: &str, name: &str| of(group, name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let cpus = text("cpu", "allowed").and_then(|list| list.parse::<instruments::cpus::CpuSet>().ok());
    let cpus = cpus.map(|cpus| terminal::counted(cpus.iter().count(), "CPU"));
    let probed = of("cpu", "probed").and_then(|probed| serde_json::from_value::<ProbedPairs>(probed.clone()).ok());
    let parts = [
        text("cpu", "model").map(str::to_owned),
        cpus,
        text("host", "hypervisor").map(str::to_owned),
        text("kernel", "release").map(|release| format!("Linux {release}")),
        probed.map(|probed| probed.words()),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() { "unknown machine".to_owned() } else { known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(environment: &Value) -> String {
        machine(environment.as_object().unwrap())
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let whole = json!({
            "cpu": {"model": "Some CPU", "allowed": "0-3"}, "host": {"hypervisor": "KVM"}, "kernel": {"release": "6.18"},
        });
        assert_eq!(said(&whole), "Some CPU, 4 CPUs, KVM, Linux 6.18");
        assert_eq!(said(&json!({"cpu": {"model": "Some CPU", "allowed": 7}})), "Some CPU");
        let pair = json!({"probed_unix_s": 1, "pairs": [{"cpus": [0, 1], "share_a_core": false}]});
        let probed = json!({"cpu": {"model": "Some CPU", "probed": pair}});
        assert_eq!(said(&probed), "Some CPU, CPUs 0 and 1 share no core (probed)");
        assert_eq!(said(&json!({"cpu": "x"})), "unknown machine");
    }
}
