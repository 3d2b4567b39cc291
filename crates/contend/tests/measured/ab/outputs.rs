//! The forms of a comparison.

use super::{ab, place, stderr};
use crate::command::read;
use serde_json::Value;
use std::fs;

#[test]
fn a_terminal_has_tables_distributions_and_a_sentence() {
    let output = ab(&["echo 100", "echo 150", "--metric", "n=(\\d+)", "--runs", "8"]);
    let text = String::from_utf8_lossy(&output.stdout);
    for word in ["A  echo 100", "B  echo 150", "B/A 1.500×", "worse", "wall time", "peak memory", "context switches"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert!(text.contains("echo 150 is worse: n 1.500× (95 % CI 1.500–1.500) that of echo 100."), "{text}");
    assert!(text.contains('█'), "{text}");
}

#[test]
fn no_difference_says_what_would_have_been_found() {
    let output = ab(&["sleep 0.001", "sleep 0.0010", "--runs", "6", "--least", "0%"]);
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let is_found = text.contains("would have been found in 9 of 10 comparisons of this length");
    assert!(is_found || text.contains("sleep 0.0010 is"), "{text}");
}

#[test]
fn the_layout_of_hyperfine_has_a_result_for_each_side() {
    let (_directory, path) = place();
    let file = format!("{path}/runs.json");
    let arguments = ["echo {n}", "--parameter", "n=1,2", "--runs", "7", "--export-hyperfine", &file];
    let output = ab(&[&arguments[..], &["--format", "hyperfine"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for document in [printed, written] {
        let result = &document["results"][1];
        assert_eq!((&result["command"], &result["parameters"]["n"]), (&"echo 2".into(), &"2".into()));
        for (field, count) in [("times", 7), ("exit_codes", 7)] {
            assert_eq!(result[field].as_array().unwrap().len(), count, "{field}");
        }
        let number = |field: &str| result[field].as_f64().unwrap_or_else(|| panic!("{field}"));
        assert!(number("min") <= number("median") && number("median") <= number("max"));
        assert!(number("mean") > 0.0 && number("stddev") >= 0.0 && number("user") >= 0.0 && number("system") >= 0.0);
    }
}

#[test]
fn csv_and_markdown_have_a_row_for_each_metric_and_side() {
    let lines = |format: &str| {
        let output = ab(&["true", "true 2", "--runs", "6", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let csv = lines("csv");
    assert!(csv.starts_with("metric,side,") && csv.lines().count() == 1 + 7 * 2, "{csv}");
    let markdown = lines("markdown");
    assert!(markdown.contains("wall time") && markdown.contains("A  true\nB  true 2"), "{markdown}");
}

#[test]
fn different_output_and_a_common_file_are_warnings() {
    let (_directory, path) = place();
    let codes = |first: &str, second: &str| {
        let output = ab(&[first, second, "--runs", "2", "--directory", &path, "--format", "json"]);
        let record = read(&output.stdout);
        let warnings = record["warnings"].as_array().unwrap().clone();
        warnings.iter().map(|warning| warning["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(codes("echo 1", "echo 2").contains(&"output_differs".to_owned()));
    assert!(!codes("echo 1", "echo  1").contains(&"output_differs".to_owned()));
    let rate = "rate_not_compared".to_owned();
    assert!(codes("echo 100 req/s", "echo 300 req/s").contains(&rate));
    assert!(!codes("echo 100 files", "echo 300 files").contains(&rate));
    let common = codes("sh -c 'echo $$ > log; sleep 0.02'", "sh -c 'echo $$$$ > log; sleep 0.02'");
    assert!(common.contains(&"same_file".to_owned()), "{common:?}");
    let separate = codes("sh -c 'echo $$ > a'", "sh -c 'echo $$ > b'");
    assert!(!separate.contains(&"same_file".to_owned()), "{separate:?}");
}
