//! `contend ab --watch`: the waits for locks of each command.

use crate::command::record;
use crate::programs::Programs;

#[test]
fn a_watched_comparison_has_the_waits_of_each_command() {
    let programs = Programs::new();
    let Some(program) = programs.compiled("chain", &[]) else { return };
    let [first, second] = [20, 16].map(|rounds| format!("{} {rounds}", program.display()));
    let record = record(&["ab", &first, &second, "--watch", "--runs", "2", "--warmup", "0", "--quiet"]);
    let parameters = &record["parameters"];
    assert!(parameters["unwatched"].is_null(), "{}", parameters["unwatched"]);
    let watched = parameters["watched"].as_array().unwrap();
    assert_eq!(watched.len(), 2);
    for side in watched {
        assert!(side["thread_time_s"].as_f64().unwrap() > 0.0);
        let locks = side["locks"].as_array().unwrap();
        assert!(locks.iter().any(|lock| lock["wait_share"].as_f64().unwrap() > 0.0), "{locks:?}");
    }
}
