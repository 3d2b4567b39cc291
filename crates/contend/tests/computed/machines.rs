//! Records of several machines: grouped by machine, and the outlier is named by all comparing commands.

use crate::command::archive::{Archive, has_git};
use crate::command::stored::uncontended;
use serde_json::{Value, json};

/// A scatter of one per cent, different for each record.
const SCATTER: [f64; 12] = [0.3, -0.8, 1.1, -0.2, 0.6, -1.2, 0.1, 0.9, -0.5, -0.9, 0.4, -0.3];

/// Returns an archive with two records of each of these machines, and their names; the times of `odd` are multiplied by
/// `times`.
fn archive(hosts: &[&str], odd: &str, times: f64) -> (Archive, Vec<String>) {
    let measured = uncontended();
    let mut archive = Archive::new();
    let mut ids = Vec::new();
    for (place, host) in hosts.iter().chain(hosts).enumerate() {
        let mut record = measured.clone();
        let factor = if *host == odd { times } else { 1.0 };
        let ns = 1_000.0 * factor * (1.0 + 0.01 * SCATTER[place % SCATTER.len()]);
        record["warnings"] = json!([]);
        for row in record["results"].as_array_mut().unwrap() {
            row["p50_ns"] = json!(ns);
            row["p50_ci_ns"] = json!([ns * 0.999, ns * 1.001]);
            row["resolution_ns"] = json!(0.1);
        }
        archive.host = (*host).to_owned();
        ids.push(archive.insert(&record));
    }
    (archive, ids)
}

const HOSTS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

fn stdout_of(archive: &Archive, arguments: &[&str]) -> String {
    let output = archive.contend(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the outliers, each once.
fn odd(machines: &Value) -> Vec<String> {
    let all = machines["odd"].as_array().unwrap_or_else(|| panic!("{machines}"));
    let mut hosts: Vec<String> = all.iter().map(|odd| odd["host"].as_str().unwrap().to_owned()).collect();
    hosts.dedup();
    hosts
}

#[test]
fn outlier_is_named_by_every_comparing_command() {
    if !has_git() {
        return;
    }
    let (archive, ids) = archive(&HOSTS, "gamma", 1.4);
    let (alpha, gamma) = (ids[0].as_str(), ids[2].as_str());
    let compared: Value =
        serde_json::from_str(&stdout_of(&archive, &["compare", alpha, gamma, "--format", "json"])).unwrap();
    let machines = &compared["machines"];
    assert_eq!(odd(machines), ["gamma"], "{machines}");
    let grouped = machines["machines"].as_array().unwrap();
    assert!(grouped.iter().all(|machine| machine["records"] == 2) && grouped.len() == HOSTS.len(), "{machines}");
    let found = &machines["odd"][0];
    let ratio = found["value"].as_f64().unwrap() / found["others"].as_f64().unwrap();
    assert!((1.35..1.45).contains(&ratio) && found["machines"] == 5, "{found}");
    let texts = [stdout_of(&archive, &["compare", alpha, gamma]), stdout_of(&archive, &["history", "trend"])];
    for text in texts {
        assert_eq!(text.matches("outlier:").count(), 1, "{text}");
        let words = text.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(words.contains("outlier: gamma") && words.contains("at most 5.0 %"), "{text}");
    }
    let cell = "latency: std, 1 thread, on alpha: round trip, median";
    let trend = stdout_of(&archive, &["history", "trend", cell]);
    assert!(trend.contains("outlier: gamma"), "{trend}");
    let all: Vec<&str> = ["report"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    let page = stdout_of(&archive, &all);
    let begin = page.find("Outlying metrics").expect("the page has it");
    assert!(page[begin..].contains("gamma: latency"), "the page names it");
}

#[test]
fn equal_machines_are_grouped_without_outliers() {
    if !has_git() {
        return;
    }
    let (archive, ids) = archive(&HOSTS, "", 1.0);
    let compared: Value =
        serde_json::from_str(&stdout_of(&archive, &["compare", &ids[0], &ids[1], "--format", "json"])).unwrap();
    assert!(
        odd(&compared["machines"]).is_empty() && compared["machines"]["judged"].as_u64().unwrap() > 0,
        "{compared}"
    );
    let text = stdout_of(&archive, &["history", "trend"]);
    assert!(text.contains("No machine is an outlier"), "{text}");
    let list = stdout_of(&archive, &["history", "list"]);
    let line = list.lines().rev().find(|line| line.starts_with("epsilon")).expect("a line a machine");
    assert_eq!(line.split_whitespace().nth(1), Some("2"), "{list}");
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    // Two runs of one machine show no difference between machines.
    let one: Value =
        serde_json::from_str(&stdout_of(&archive, &["compare", &ids[0], &ids[6], "--format", "json"])).unwrap();
    assert!(one.get("machines").is_none(), "{one}");
}

#[test]
fn two_machines_have_no_outlier() {
    if !has_git() {
        return;
    }
    let (archive, ids) = archive(&HOSTS[..2], "beta", 3.0);
    let text = stdout_of(&archive, &["compare", &ids[0], &ids[1]]);
    assert!(text.contains("needs a metric that 3 machines have in common") && !text.contains("outlier"), "{text}");
}
