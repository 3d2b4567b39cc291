//! The ends of a ranking: the page's statement, its tables and the terminal agree on them.

use crate::command::archive::{Archive, has_git};
use crate::command::report::page;
use serde_json::{Value, json};

/// Returns a record of two locks with these iterations per second and half widths of their intervals.
fn of_two_locks(std: (f64, f64), adaptive: (f64, f64)) -> Value {
    let stored = include_str!("../../records/throughput.json");
    let mut record: Value = serde_json::from_str(stored).unwrap();
    let like = record["results"][2].clone();
    let row = |lock: &str, (loops, off): (f64, f64)| {
        let mut row = like.clone();
        row["lock"] = json!(lock);
        row["throughput_per_s"] = json!(loops);
        row["throughput_ci"] = json!([loops - off, loops + off]);
        row
    };
    record["results"] = json!([row("std", std), row("adaptive", adaptive)]);
    record
}

/// Returns the verdict, with which the page begins.
fn statement(page: &str) -> &str {
    page.split("<p class=\"verdict\">").nth(1).unwrap().split("</p>").next().unwrap()
}

/// Returns the beginning of a table's line on the page, with the rank next to the lock.
fn ranked(lock: &str, rank: usize) -> String {
    format!("<th scope=\"row\">{lock}</th><td class=\"short\">{rank}</td>")
}

/// Returns the ranks of `std` and `adaptive` on the terminal.
fn ranks_on_terminal(record: &Value) -> [String; 2] {
    let mut archive = Archive::new();
    let id = archive.insert(record);
    let output = archive.contend(&["history", "show", &id]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    ["std", "adaptive"].map(|lock| {
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.into_iter().find(|words| words.get(1) == Some(&lock)).unwrap()[0].to_owned()
    })
}

/// A page once had "adaptive … the most; std … the least" above a table in which both had rank 1.
#[test]
fn overlapping_locks_have_one_rank_and_no_superlative() {
    let record = of_two_locks((100_000.0, 9_000.0), (101_000.0, 9_000.0));
    let page = page(&[&record]);
    for word in ["highest throughput", "lowest throughput", "the most", "the least"] {
        assert!(!statement(&page).contains(word), "{word}: {}", statement(&page));
    }
    assert!(statement(&page).contains("2 threads, 1 lock, 7+3 µs, all runs: adaptive"), "{}", statement(&page));
    let ranks = |lock: &str| page.matches(&ranked(lock, 1)).count();
    assert_eq!((ranks("std"), ranks("adaptive")), (2, 2), "the ranking and the table of all values");
    if has_git() {
        assert_eq!(ranks_on_terminal(&record), ["1", "1"]);
    }
}

#[test]
fn distinct_locks_have_a_highest_and_a_lowest_throughput() {
    let record = of_two_locks((100_000.0, 1_000.0), (150_000.0, 1_000.0));
    let page = page(&[&record]);
    let words = statement(&page);
    assert!(words.contains("adaptive has the highest throughput: 150,000/s"), "{words}");
    assert!(words.contains("std has the lowest throughput: 100,000/s"), "{words}");
    assert_eq!(page.matches(&ranked("std", 2)).count(), 2);
    if has_git() {
        assert_eq!(ranks_on_terminal(&record), ["2", "1"]);
    }
}
