//! `contend ab` finds a difference that is there, also on a busy machine: one command sleeps fifteen times as long.

use crate::command::{contend, record, results};

#[test]
fn a_command_that_sleeps_longer_is_slower_and_fails_the_gate() {
    let record = record(&["ab", "sleep 0.02", "sleep 0.3", "--runs", "12", "--quiet"]);
    let wall = results(&record).iter().find(|row| row["metric"] == "wall_s" && !row["verdict"].is_null()).unwrap();
    assert_eq!(wall["verdict"], "slower", "{wall}");
    assert!(wall["ratio_ci"][0].as_f64().unwrap() > 1.0, "{wall}");
    let gate = contend(&["ab", "sleep 0.02", "sleep 0.3", "--runs", "12", "--quiet", "--fail-if", "slower:1%"]);
    assert_eq!(gate.status.code(), Some(3), "{}", String::from_utf8_lossy(&gate.stderr));
    // In six runs, the CPU time cannot show a difference next to the wall time.
    let faster = contend(&["ab", "sleep 0.3", "sleep 0.02", "--runs", "6", "--quiet", "--fail-if", "slower:1%"]);
    assert_eq!(faster.status.code(), Some(0), "{}", String::from_utf8_lossy(&faster.stderr));
}

#[test]
fn a_large_difference_ends_the_comparison_before_its_time() {
    let record = record(&["ab", "sleep 0.01", "sleep 0.05", "--seconds", "20", "--quiet"]);
    let parameters = &record["parameters"];
    assert_eq!(parameters["ended_by"], "decided");
    let looks = parameters["looks"].as_array().unwrap();
    assert!(looks.last().unwrap()["time_share"].as_f64().unwrap() < 1.0, "{looks:?}");
}
