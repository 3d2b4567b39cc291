//! The environment survives serialisation.

use instruments::environment::Environment;
use serde_json::Value;

#[test]
fn environment_of_this_machine_survives_serialisation() {
    let environment = Environment::probe();
    let json = serde_json::to_string(&environment).unwrap();
    // Compared as JSON: the parser may miss the last bit of a value such as a quota of a third of a CPU.
    let back: Environment = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
}

#[test]
fn unknown_values_are_null_and_cpu_sets_are_lists() {
    let mut environment = Environment::probe_under(std::path::Path::new("/nonexistent"));
    environment.cpu.online = Some("0-3,8".parse().unwrap());
    let json = serde_json::to_value(&environment).unwrap();
    assert_eq!(json["cpu"]["online"], "0-3,8");
    assert_eq!(json["kernel"]["hz"], Value::Null);
    assert_eq!(serde_json::from_value::<Environment>(json).unwrap(), environment);
}
