//! The environment survives being recorded.

use instruments::environment::Environment;
use serde_json::Value;

#[test]
fn this_machine_s_environment_survives_being_recorded() {
    let environment = Environment::probe();
    let json = serde_json::to_string(&environment).unwrap();
    // Compared as JSON: the parser may miss the last bit of a figure such as a quota of a third of a CPU.
    let back: Environment = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
}

#[test]
fn what_is_not_known_is_null_and_sets_of_cpus_are_lists() {
    let mut environment = Environment::probe_under(std::path::Path::new("/nonexistent"));
    environment.cpu.online = Some("0-3,8".parse().unwrap());
    let json = serde_json::to_value(&environment).unwrap();
    assert_eq!(json["cpu"]["online"], "0-3,8");
    assert_eq!(json["kernel"]["hz"], Value::Null);
    assert_eq!(serde_json::from_value::<Environment>(json).unwrap(), environment);
}
