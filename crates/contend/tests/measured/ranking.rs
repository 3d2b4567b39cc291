//! The ranking comes first: a line for each lock, on one screen, in the record, and in Markdown.

use crate::command::{contend, record, results};
use serde_json::Value;

fn text(arguments: &[&str]) -> String {
    let output = contend(&[arguments, &["--quiet"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_lock_has_a_line_and_the_rest_is_short() {
    let output = text(&["latency", "--lock", "all", "--threads", "1", "--seconds", "4"]);
    assert!(output.lines().all(|line| line.chars().count() <= 80), "{output}");
    assert!(output.starts_with("1 thread: lock and unlock, uncontended"), "{output}");
    let listed = text(&["latency", "--lock", "list"]);
    let locks: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(locks.len() > 20);
    assert!(output.lines().count() <= locks.len() + 24, "{output}");
    for lock in locks.iter().filter(|lock| **lock != "none") {
        let ranked = output.lines().filter(|line| line.split_whitespace().nth(1) == Some(lock));
        assert_eq!(ranked.count(), 1, "{lock}:\n{output}");
    }
}

#[test]
fn histograms_are_drawn_for_few_cells_or_on_request() {
    let few = text(&["latency", "--lock", "std,usema", "--threads", "1", "--seconds", "0.3"]);
    assert!(few.contains("std, 1 thread, locking"), "{few}");
    let five = ["latency", "--lock", "std,usema,ticket,pthread,calock", "--threads", "1", "--seconds", "0.3"];
    let many = text(&five);
    assert!(!many.contains("thread, locking") && many.contains("--histogram"), "{many}");
    assert!(text(&[&five[..], &["--histogram"]].concat()).contains("thread, locking"));
    let record = record(&five);
    assert!(results(&record).iter().all(|row| !row["histogram"].as_array().unwrap().is_empty()));
}

/// Asserts that ranks follow from the values, a row without a value has no rank, and a ratio is within its interval.
fn assert_is_ranking(ranking: &[Value], more_is_better: bool) {
    for contest in ranking.chunk_by(|one, other| (&one["among"], &one["figure"]) == (&other["among"], &other["figure"]))
    {
        for pair in contest.windows(2) {
            let [one, other] = [&pair[0], &pair[1]].map(|rank| rank["value"].as_f64().unwrap_or(0.0));
            assert!(if more_is_better { one >= other } else { one <= other }, "{pair:?}");
        }
        for (before, rank) in contest.iter().enumerate() {
            let place = rank["rank"].as_u64();
            assert!(place.is_none_or(|place| (1..=before as u64 + 1).contains(&place)), "{rank}");
            assert!(place.is_none() || rank["value"].is_number(), "no rank without a value: {rank}");
            assert_eq!(place.is_none(), rank["ratio"].is_null(), "{rank}");
            let (Some(ratio), Some(ends)) = (rank["ratio"].as_f64(), rank["ratio_ci"].as_array()) else { continue };
            assert!(ends[0].as_f64().unwrap() <= ratio && ratio <= ends[1].as_f64().unwrap(), "{rank}");
        }
    }
}

#[test]
fn record_has_the_ranking_and_its_results() {
    let latency = record(&["latency", "--lock", "sysv,std,usema", "--threads", "1,2", "--seconds", "1"]);
    let ranking = latency["ranking"].as_array().unwrap();
    // Uncontended: the lock/unlock pair. Contended by two threads: three quantiles of the wait.
    assert_eq!(ranking.len(), 3 + 3 * 3);
    assert_is_ranking(ranking, false);
    let free: Vec<_> = ranking.iter().filter(|rank| rank["figure"] == "lock and unlock").collect();
    // A system call is slower than an atomic operation by far.
    assert_eq!(free.last().unwrap()["lock"], "sysv");
    let throughput = record(&["throughput", "--lock", "std,usema", "--children", "1,2", "--run", "5ms"]);
    assert_eq!(throughput["ranking"].as_array().unwrap().len(), results(&throughput).len());
    assert_is_ranking(throughput["ranking"].as_array().unwrap(), true);
    assert!(record(&["model", "frames"]).get("ranking").is_none());
}

#[test]
fn markdown_has_a_table_per_contest_or_a_text_block() {
    let output = text(&["latency", "--lock", "sysv,std", "--threads", "1", "--seconds", "0.3", "--format", "markdown"]);
    let rows: Vec<&str> = output.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 4, "{output}");
    assert!(rows.iter().all(|row| row.matches('|').count() == rows[0].matches('|').count()), "{output}");
    assert!(output.starts_with("**1 thread**") && rows[3].contains("sysv"), "{output}");
    let block = text(&["model", "frames", "--format", "markdown"]);
    assert!(block.starts_with("```text\n") && block.contains("\n```\n"), "{block}");
}
