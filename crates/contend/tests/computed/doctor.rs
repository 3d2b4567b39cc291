//! `contend doctor`: the checks of this machine, as this user and as one without privileges.

use crate::command::contend;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Returns the checks of a list in JSON.
fn checks(stdout: &[u8]) -> Vec<Value> {
    serde_json::from_slice::<Value>(stdout).expect("JSON").as_array().expect("a list").clone()
}

fn state(checks: &[Value], name: &str) -> String {
    let check = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no check of {name}"));
    check["state"].as_str().unwrap().to_owned()
}

#[test]
fn every_check_that_is_missing_has_effect_and_remedy() {
    let output = contend(&["doctor", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let checks = checks(&output.stdout);
    assert!(checks.len() > 25, "{checks:?}");
    for check in &checks {
        let is_missing = check["state"] == "missing";
        let is_explained = !check["affects"].as_array().unwrap().is_empty() && check["remedy"].is_string();
        assert!(is_missing == is_explained && !check["found"].as_str().unwrap().is_empty(), "{check}");
    }
    let latency: Vec<&Value> = checks.iter().filter(|check| check["group"] == "latency settings").collect();
    assert!(latency.len() >= 10 && latency.iter().all(|check| check["cost"].is_string()), "{latency:?}");
    let raising: Vec<&Value> = checks.iter().filter(|check| check["state"] == "raises_latency").collect();
    assert!(raising.iter().all(|check| latency.contains(check) && check["remedy"].is_string()), "{raising:?}");
    let text = String::from_utf8(contend(&["doctor"]).stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for check in &checks {
        assert!(text.contains(check["name"].as_str().unwrap()), "{check}\n{text}");
    }
}

/// The trials find what this user lacks, not what the settings promise.
#[test]
fn an_unprivileged_user_lacks_what_needs_a_privilege() {
    const NOBODY: u32 = 65_534;
    let mut command = Command::new(env!("CARGO_BIN_EXE_contend"));
    command.args(["doctor", "--format", "json"]).env("CONTEND_ARCHIVE", "/nosuch/archive.git").uid(NOBODY).gid(NOBODY);
    let Ok(output) = command.output() else {
        return println!("skipped: needs root, to become an unprivileged user");
    };
    let nobody = checks(&output.stdout);
    // A setting of the machine can grant some of them to all users, but not all of them.
    let privileged = ["all switches", "futex calls", "real-time priority", "nice values below 0", "uprobes"];
    assert!(privileged.iter().any(|name| state(&nobody, name) == "missing"), "{nobody:?}");
    assert_eq!(state(&nobody, "archive"), "missing");
}
